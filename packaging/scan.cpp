#include "packaging/scan.h"

#include <algorithm>

#include "matrix/base/hash.h"
#include "packaging/isa/isa.h"

namespace felloe {
namespace {

constexpr std::uint16_t kExecutable = 2, kShared = 3;

// __fatBinC_Wrapper / fatbin header magic, little endian (CUDA's fatbinary.h).
constexpr std::string_view kFatBinary("\x50\xed\x55\xba", 4);

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string module_kind(const std::string& path, const ElfFile& elf) {
  const bool program =
      elf.type == kExecutable || elf.pie || (!elf.interpreter.empty() && elf.soname.empty());
  if (program) return "executable";
  const auto suffix = parse_module_suffix(file_name(path));
  if (suffix && suffix->kind != ModuleSuffix::Kind::none) return "extension";
  const bool init = std::any_of(elf.symbols.begin(), elf.symbols.end(), [](const ElfSymbol& s) {
    return !s.undefined() && s.name.starts_with("PyInit_");
  });
  return init ? "extension" : "library";
}

std::vector<PlatformModule> WheelScan::platform_modules() const {
  std::vector<PlatformModule> out;
  for (const ScannedModule& m : modules) out.push_back({m.path, &m.elf});
  return out;
}

std::vector<PythonModule> WheelScan::python_modules() const {
  std::vector<PythonModule> out;
  for (const ScannedModule& m : modules) out.push_back({m.path, &m.elf});
  return out;
}

std::optional<std::string> WheelScan::machine() const {
  for (const ScannedModule& m : modules) {
    if (m.elf.machine != modules.front().elf.machine) return std::nullopt;
  }
  return modules.empty() ? std::nullopt : std::optional(modules.front().elf.machine);
}

WheelScan scan_wheel(const WheelArchive& archive, const ScanOptions& options) {
  WheelScan out;
  for (const ZipEntry& entry : archive.zip.entries()) {
    if (entry.folder()) continue;
    std::optional<ZipMember> member;
    try {
      member.emplace(archive.zip.read(entry, options.max_member));
    } catch (const Error& e) {
      out.troubles.push_back({ScanTrouble::Kind::unreadable, entry.name, e.where(), e.message()});
      continue;
    }
    if (options.hash) out.sha256[entry.name] = sha256_record(member->text());
    if (!is_elf(member->bytes())) continue;
    try {
      ScannedModule m;
      m.path = entry.name;
      m.elf = read_elf(member->bytes());
      if (m.elf.type != kExecutable && m.elf.type != kShared) continue;  // objects aren't loaded
      m.fat_binary_magic = member->text().find(kFatBinary) != std::string_view::npos;
      m.isa = scan_isa(m.elf, m.path);
      m.elf.bytes = {};
      out.modules.push_back(std::move(m));
    } catch (const Error& e) {
      out.troubles.push_back({ScanTrouble::Kind::broken_elf, entry.name, e.where(), e.message()});
    }
  }
  return out;
}

}  // namespace felloe
