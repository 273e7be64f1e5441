// Which manylinux or musllinux tag a set of ELF files honours: the lowest policy whose allowed
// libraries, symbol versions and public symbols cover all of them, with the evidence of what forces
// it. Sources: PEP 513, 571, 599, 600 (manylinux), PEP 656 (musllinux) and the policies' public
// data (tables.cpp). To add a policy: run make_tables.py on newer data.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "packaging/elf/elf.h"

namespace felloe {

struct PlatformModule {
  std::string path;  // as evidence names it, e.g. the wheel member
  const ElfFile* elf = nullptr;
};

// One thing that keeps the code from a lower tag, or from any.
struct PlatformEvidence {
  enum class Kind {
    symbol_version,  // `subject` = "GLIBC_2.27"
    library,         // `subject` = "libfoo.so.1": not allowed from the system, not in the wheel
    private_symbol,  // `subject` = "_dist_code": a symbol that the allowed `lib` doesn't promise
  };
  Kind kind = Kind::symbol_version;
  std::string module, lib, subject;
  std::optional<std::uint64_t> offset;  // in `module`, bytes
  int floor = 0;  // the first policy minor (2_<floor>, musl 1_<floor>) that allows it; kNever: none
  static constexpr int kNever = 1 << 20;
};

const char* platform_evidence_name(PlatformEvidence::Kind kind);

struct PlatformTag {
  std::string tag;    // "manylinux_2_17_x86_64", "musllinux_1_2_aarch64", "linux_x86_64", "any"
  std::string alias;  // the older name of the same tag, "manylinux2014_x86_64", or empty
  std::string libc;   // "glibc", "musl", or empty when no module uses a libc
  int minor = 0;      // policy minor; PlatformEvidence::kNever under "linux_*", 0 under "any"
  std::vector<PlatformEvidence> evidence;  // what forces `minor`, all of the highest floor, sorted

  // Both names as a compressed tag set, older name first:
  // "manylinux2014_x86_64.manylinux_2_17_x86_64".
  std::string compressed() const;
};

struct PlatformOptions {
  // Sonames that something else provides for sure (a declared dependency, the driver): not judged.
  // A trailing '*' matches any rest.
  std::set<std::string> provided;
};

// `arch` is a wheel architecture ("x86_64", "aarch64", ...). Libraries that a module needs and that
// are themselves among `modules` (by soname or file name) are in the wheel. No modules: tag "any".
// Under musl, whose code shows no version, the tag is the newest policy of the table.
// Throws Error{input} if modules of glibc and musl are mixed or a module is of another machine.
PlatformTag lowest_platform(const std::string& arch, const std::vector<PlatformModule>& modules,
                            const PlatformOptions& options = {});

// Everything that `arch`'s policy 2_<minor> (libc "glibc") or 1_<minor> ("musl") doesn't allow:
// the evidence with a floor above `minor`.
std::vector<PlatformEvidence> platform_violations(const std::string& arch, const std::string& libc,
                                                  int minor,
                                                  const std::vector<PlatformModule>& modules,
                                                  const PlatformOptions& options = {});

// The libc that a module is linked to: "glibc", "musl", or empty.
std::string module_libc(const ElfFile& elf);

// Whether a platform tag's policy lets this library come from the system. `platform` is a full tag;
// a linux_* tag, which promises nothing, allows none. The dynamic loader itself is always allowed.
bool platform_allows_library(std::string_view platform, std::string_view soname);

// A platform tag taken apart; nothing if it isn't a Linux tag.
struct LinuxTag {
  std::string libc;          // "glibc", "musl", empty for linux_*
  int major = 0, minor = 0;  // libc version; 0 for linux_*
  std::string arch;
};
std::optional<LinuxTag> parse_linux_tag(std::string_view platform);

// The last manylinux policy minor that the tables know.
int newest_policy(const std::string& libc);

}  // namespace felloe
