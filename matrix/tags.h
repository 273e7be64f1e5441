// Compatibility tags (PEP 425, 600, 656) taken apart, and whether an interpreter accepts one
// (PEP 425, 703, 803).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/facts.h"

namespace felloe {

struct Tag {
  std::string python, abi, platform;
  static Tag parse(const std::string& triple);
};

// A platform tag: which system, libc and machine it is for.
struct Platform {
  std::string os;          // "any", "Linux", "Darwin", "Windows", or "" (another system)
  std::string libc;        // "glibc", "musl", or "" where the tag promises none
  std::string libc_floor;  // "2.17"; empty where none
  std::string machine;     // as in facts; empty: every machine
  static Platform parse(const std::string& tag);
  bool runs_on(const std::string& machine_name) const {
    return machine.empty() || machine == machine_name;
  }
};

// Whether an interpreter takes the python-abi part of a tag.
struct TagMatch {
  bool version = false;       // implementation and version agree
  std::optional<bool> build;  // the kind of build (free-threaded or not) agrees; nothing: not known
};
TagMatch match_python(const Tag& tag, const HostPython& python);

// True if the free-threaded build, false if not, nothing if the facts don't say.
std::optional<bool> is_free_threaded(const HostPython& python);

// Whether `python` can import a module with this file name part ("cpython-312-x86_64-linux-gnu",
// "abi3", "" for a plain .so).
bool can_import(const std::string& suffix, const HostPython& python);

// The 32- or 64-bit class that a machine name of the facts implies; 0 if not known.
int elf_class_of(const std::string& machine);

}  // namespace felloe
