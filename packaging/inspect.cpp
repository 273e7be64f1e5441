#include "packaging/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "matrix/base/text.h"
#include "packaging/provided.h"
#include "packaging/scan.h"

namespace felloe {
namespace {

// The parts of glibc and musl: what a linux_* tag, which promises nothing, may still take for
// granted.
constexpr std::string_view kLibcParts[] = {"libc.so.6",       "libm.so.6",   "libdl.so.2",
                                           "libpthread.so.0", "librt.so.1",  "libutil.so.1",
                                           "libresolv.so.2",  "libanl.so.1", "libmvec.so.1",
                                           "libnsl.so.1",     "libc.so"};

bool libc_part(std::string_view soname) {
  return soname.starts_with("ld-linux") || soname.starts_with("ld-musl") ||
         soname.starts_with("ld64.so") || soname.starts_with("libc.musl-") ||
         std::find(std::begin(kLibcParts), std::end(kLibcParts), soname) != std::end(kLibcParts);
}

Where where_of(const std::string& module, std::uint64_t offset) {
  Where w;
  w.module = module;
  w.offset = static_cast<std::int64_t>(offset);
  return w;
}

bool numeric_version(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

// "GLIBC_2.17" -> {"GLIBC", "2.17"}; nothing for versions that are no number (GLIBC_PRIVATE).
std::optional<std::pair<std::string, std::string>> family_of(const std::string& version) {
  const auto bar = version.rfind('_');
  if (bar == std::string::npos) return std::nullopt;
  if (version == "GLIBC_ABI_DT_RELR")
    return std::pair("GLIBC", "2.36");  // glibc 2.36 introduced it
  if (!numeric_version(std::string_view(version).substr(bar + 1))) return std::nullopt;
  return std::pair(version.substr(0, bar), version.substr(bar + 1));
}

Fact<LibcFloor> libc_floor(const WheelScan& scan, const WheelName& name) {
  Fact<LibcFloor> out = Fact<LibcFloor>::none();
  for (const ScannedModule& m : scan.modules) {
    const std::string libc = module_libc(m.elf);
    if (libc == "musl" && !out.known()) {
      // musl has no symbol versions: the code can't say more than the tag.
      LibcFloor floor{"musl", "1.0", Where{}};
      for (const std::string& platform : name.platform) {
        const auto tag = parse_linux_tag(platform);
        if (tag && tag->libc == "musl")
          floor.version = fmt::format("{}.{}", tag->major, tag->minor);
      }
      floor.where->module = m.path;
      out = floor;
    }
    for (const ElfVersionNeed& need : m.elf.version_needs) {
      const auto family = family_of(need.version);
      if (!family || family->first != "GLIBC") continue;
      if (!out.known() || compare_versions(family->second, out->version) > 0) {
        LibcFloor floor{"glibc", family->second, where_of(m.path, need.offset)};
        floor.where->symbol = need.version;
        out = floor;
      }
    }
    if (libc == "glibc" && !out.known()) {
      LibcFloor floor{"glibc", "2.0", Where{}};
      floor.where->module = m.path;
      out = floor;
    }
  }
  return out;
}

std::set<std::string> libraries_inside(const WheelScan& scan) {
  std::set<std::string> out;
  for (const ScannedModule& m : scan.modules) {
    out.insert(m.path.substr(m.path.rfind('/') + 1));
    if (!m.elf.soname.empty()) out.insert(m.elf.soname);
  }
  return out;
}

std::vector<LibFloor> lib_floors(const WheelScan& scan, const std::set<std::string>& inside) {
  std::map<std::pair<std::string, std::string>, LibFloor> found;
  for (const ScannedModule& m : scan.modules) {
    for (const ElfVersionNeed& need : m.elf.version_needs) {
      const auto family = family_of(need.version);
      if (!family || family->first == "GLIBC" || inside.contains(need.lib)) continue;
      LibFloor floor{need.lib, family->first, family->second, where_of(m.path, need.offset)};
      floor.where->symbol = need.version;
      const auto [it, fresh] = found.try_emplace({need.lib, family->first}, floor);
      if (!fresh && compare_versions(floor.version, it->second.version) > 0) it->second = floor;
    }
  }
  std::vector<LibFloor> out;
  for (auto& [key, floor] : found) out.push_back(std::move(floor));
  return out;
}

// Allowed if any one of the platform tags lets it come from the system.
bool allowed_by_tag(const WheelName& name, const std::string& soname) {
  return std::any_of(name.platform.begin(), name.platform.end(), [&](const std::string& p) {
    const auto tag = parse_linux_tag(p);
    return platform_allows_library(p, soname) || (tag && tag->libc.empty() && libc_part(soname));
  });
}

std::vector<Unresolved> unresolved(const WheelScan& scan, const WheelName& name,
                                   const std::set<std::string>& inside,
                                   const std::vector<std::string>& requires_dist) {
  const std::set<std::string> provided = provided_sonames(requires_dist);
  std::map<std::string, std::string> found;
  for (const ScannedModule& m : scan.modules) {
    for (const std::string& soname : m.elf.needed) {
      if (inside.contains(soname) || soname_matches(provided, soname) ||
          allowed_by_tag(name, soname)) {
        continue;
      }
      found.try_emplace(soname, m.path);
    }
  }
  std::vector<Unresolved> out;
  for (const auto& [soname, path] : found) out.push_back({soname, path});
  return out;
}

// gABI and glibc's stackinfo.h: without PT_GNU_STACK the stack is executable on these.
Fact<bool> exec_stack(const ElfFile& elf) {
  if (elf.stack_executable) return *elf.stack_executable;
  static const std::set<std::string> executable = {"x86_64", "i686", "aarch64", "armv7l", "s390x"};
  return executable.contains(elf.machine) ? Fact<bool>(true) : Fact<bool>();
}

Fact<std::string> level_name(std::optional<std::uint32_t> bits) {
  if (!bits) return {};
  for (int level = 3; level >= 0; --level) {
    if ((*bits >> level & 1u) != 0) return fmt::format("x86-64-v{}", level + 1);
  }
  return Fact<std::string>::none();
}

WheelModule module_facts(const ScannedModule& m) {
  WheelModule out;
  out.path = m.path;
  out.kind = module_kind(m.path, m.elf);
  out.machine = m.elf.machine;
  out.elf_class = m.elf.elf_class;
  out.needed = m.elf.needed;
  out.isa = m.isa;
  if (m.elf.isa_note) {
    out.isa_note = IsaNote{level_name(m.elf.isa_note->needed), level_name(m.elf.isa_note->used)};
  } else {
    out.isa_note = Fact<IsaNote>::none();
  }
  if (m.elf.p_align > 0) out.p_align = static_cast<std::int64_t>(m.elf.p_align);
  out.exec_stack = exec_stack(m.elf);
  out.static_tls = m.elf.static_tls;
  out.tls_size = static_cast<std::int64_t>(m.elf.tls_size);
  PythonAbi abi;
  abi.imports_cpython = imports_cpython(m.elf);
  const auto suffix = parse_module_suffix(m.path.substr(m.path.rfind('/') + 1));
  abi.suffix =
      suffix && !suffix->text.empty() ? Fact<std::string>(suffix->text) : Fact<std::string>::none();
  out.python_abi = abi;
  return out;
}

// The union over modules; unknown as soon as one of them wasn't scanned.
Fact<IsaSummary> isa_summary(const std::vector<WheelModule>& modules) {
  std::set<std::string> load, call, dispatched;
  for (const WheelModule& m : modules) {
    if (!m.isa.known()) return {};
    for (const IsaRequirement& r : m.isa->requirements) {
      if (r.guard == "none") (r.when == "load" ? load : call).insert(r.feature);
    }
    dispatched.insert(m.isa->dispatched.begin(), m.isa->dispatched.end());
  }
  IsaSummary out;
  out.load.assign(load.begin(), load.end());
  out.call.assign(call.begin(), call.end());
  out.dispatched.assign(dispatched.begin(), dispatched.end());
  return out;
}

// Device code isn't read yet: all that can be said is that there is none at all.
Fact<WheelCuda> cuda_facts(const WheelScan& scan, const std::vector<std::string>& requires_dist) {
  static const std::set<std::string> libraries = {
      "libcuda*",     "libcublas*",   "libcudnn*", "libcufft*", "libcurand*",
      "libcusparse*", "libcusolver*", "libnccl*",  "libnvrtc*", "libnvJitLink*"};
  for (const ScannedModule& m : scan.modules) {
    if (m.fat_binary_magic) return {};
    for (const std::string& soname : m.elf.needed) {
      if (soname_matches(libraries, soname)) return {};
    }
  }
  for (const std::string& requirement : requires_dist) {
    if (requirement.starts_with("nvidia-") && requirement.find("extra") == std::string::npos)
      return {};
  }
  return Fact<WheelCuda>::none();
}

void require_readable(const WheelArchive& archive) {
  archive.zip.require_sound();
  for (const WheelTrouble& t : archive.troubles) {
    // The facts don't come from RECORD and WHEEL; whether those are right is the audit's question.
    if (t.file.ends_with("/RECORD") || t.file.ends_with("/WHEEL")) continue;
    throw Error(ErrorKind::input, archive.zip.name() + (t.file.empty() ? "" : "!" + t.file),
                t.message, "`felloe audit` lists all that is wrong with this wheel");
  }
}

}  // namespace

WheelFacts inspect_wheel(const std::filesystem::path& path, const InspectOptions& options) {
  const WheelArchive archive = open_wheel(path);
  require_readable(archive);
  WheelFacts out;
  const Headers& metadata = *archive.metadata;
  const auto required = [&](const char* key) {
    const auto value = metadata.get(key);
    if (!value) {
      throw Error(ErrorKind::input, archive.zip.name() + "!" + archive.dist_info_file("METADATA"),
                  fmt::format("has no {} field", key), "core metadata requires it");
    }
    return *value;
  };
  out.file = archive.zip.name();
  out.name = required("Name");
  out.version = required("Version");
  if (archive.name->build) out.build = *archive.name->build;
  out.tags = archive.name->tags();
  const auto requires_python = metadata.get("Requires-Python");
  out.requires_python =
      requires_python ? Fact<std::string>(*requires_python) : Fact<std::string>::none();
  const std::vector<std::string> requires_dist = metadata.all("Requires-Dist");
  out.requires_dist = requires_dist;

  const WheelScan scan = scan_wheel(archive, {.hash = false, .max_member = options.max_member});
  if (!scan.troubles.empty()) {
    const ScanTrouble& t = scan.troubles.front();
    throw Error(ErrorKind::input, t.where, t.message,
                "`felloe audit` lists all that is wrong with this wheel");
  }
  const std::set<std::string> inside = libraries_inside(scan);
  out.libc_floor = libc_floor(scan, *archive.name);
  out.lib_floors = lib_floors(scan, inside);
  out.unresolved = unresolved(scan, *archive.name, inside, requires_dist);
  std::vector<WheelModule> modules;
  for (const ScannedModule& m : scan.modules) modules.push_back(module_facts(m));
  std::sort(modules.begin(), modules.end(),
            [](const WheelModule& a, const WheelModule& b) { return a.path < b.path; });
  out.isa = isa_summary(modules);
  out.modules = std::move(modules);
  out.cuda = cuda_facts(scan, requires_dist);
  return out;
}

}  // namespace felloe
