// One pass over a wheel's members: inflates each once, hashes it if asked, and reads every ELF
// file. inspect and audit judge what this collects.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "matrix/facts.h"
#include "packaging/elf/elf.h"
#include "packaging/policy/platform.h"
#include "packaging/wheel/archive.h"
#include "packaging/wheel/python_tags.h"

namespace felloe {

struct ScannedModule {
  std::string path;
  ElfFile elf;          // its `bytes` are dropped: wheels of several GB must not stay in memory
  Fact<ModuleIsa> isa;  // packaging/isa/isa.h
  bool fat_binary_magic = false;  // the bytes of a CUDA fat binary header occur in the file
};

struct ScanTrouble {
  enum class Kind { unreadable, broken_elf };
  Kind kind;
  std::string path;   // the member
  std::string where;  // path@offset
  std::string message;
};

struct WheelScan {
  std::vector<ScannedModule> modules;  // shared objects and executables, in the order of the zip
  std::map<std::string, std::string> sha256;  // member -> "sha256=..." as RECORD writes it
  std::vector<ScanTrouble> troubles;

  std::vector<PlatformModule> platform_modules() const;
  std::vector<PythonModule> python_modules() const;
  // The one machine of all modules; nothing if there is none or they differ.
  std::optional<std::string> machine() const;
};

struct ScanOptions {
  bool hash = false;
  std::uint64_t max_member = 8ull << 30;  // bytes
};

// Members that can't be read become troubles.
WheelScan scan_wheel(const WheelArchive& archive, const ScanOptions& options);

// "extension", "library" or "executable".
std::string module_kind(const std::string& path, const ElfFile& elf);

}  // namespace felloe
