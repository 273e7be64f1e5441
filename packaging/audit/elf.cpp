// ELF0xx: what the loader will make of each module.
#include <fmt/format.h>

#include <algorithm>

#include "matrix/base/text.h"
#include "packaging/audit/rule.h"

namespace felloe {
namespace {

// glibc keeps this much static TLS for libraries opened later (rtld.optional_static_tls), bytes.
constexpr std::uint64_t kSpareTls = 512;

void broken(const AuditInput& in, AuditSink& sink) {
  for (const ScanTrouble& t : in.scan.troubles) {
    if (t.kind != ScanTrouble::Kind::broken_elf) continue;
    sink.add({.file = t.path, .data = {{"where", t.where}}}, t.message);
  }
}

void exec_stack(const AuditInput& in, AuditSink& sink) {
  for (const ScannedModule& m : in.scan.modules) {
    if (m.elf.stack_executable.value_or(false)) {
      sink.add({.file = m.path, .symbol = "PT_GNU_STACK"}, "asks for an executable stack");
    } else if (!m.elf.stack_executable) {
      sink.add({.file = m.path, .symbol = "PT_GNU_STACK"},
               "has no PT_GNU_STACK header, so the loader makes the stack executable");
    }
  }
}

void page_size(const AuditInput& in, AuditSink& sink) {
  for (const ScannedModule& m : in.scan.modules) {
    // The largest page size that kernels of the machine use (psABIs; Linux arch/arm64 Kconfig).
    const std::uint64_t largest =
        m.elf.machine == "aarch64" || m.elf.machine == "ppc64le" ? 65536 : 4096;
    if (m.elf.p_align == 0 || m.elf.p_align >= largest) continue;
    sink.add({.file = m.path, .symbol = "p_align"},
             fmt::format("segments are aligned to {} bytes, kernels for {} use pages of up to {}",
                         m.elf.p_align, m.elf.machine, largest));
  }
}

void textrel(const AuditInput& in, AuditSink& sink) {
  for (const ScannedModule& m : in.scan.modules) {
    if (m.elf.textrel) sink.add({.file = m.path, .symbol = "DT_TEXTREL"}, "has text relocations");
  }
}

// Whether a search path leads out of the wheel: absolute, or up past its root.
bool leads_out(const std::string& module, const std::string& entry) {
  constexpr std::string_view kOrigin = "$ORIGIN", kBraced = "${ORIGIN}";
  std::string_view rest = entry;
  if (rest.starts_with(kOrigin)) {
    rest.remove_prefix(kOrigin.size());
  } else if (rest.starts_with(kBraced)) {
    rest.remove_prefix(kBraced.size());
  } else {
    return true;
  }
  auto depth = static_cast<long>(std::count(module.begin(), module.end(), '/'));
  for (const std::string& part : split(rest, '/')) {
    if (part == "..") {
      // A sibling wheel in the same site-packages is one folder up at most: depth 0 is still
      // inside.
      if (--depth < 0) return true;
    } else if (!part.empty() && part != ".") {
      ++depth;
    }
  }
  return false;
}

void run_path(const AuditInput& in, AuditSink& sink) {
  for (const ScannedModule& m : in.scan.modules) {
    for (const auto& [name, path] :
         {std::pair("DT_RPATH", m.elf.rpath), {"DT_RUNPATH", m.elf.runpath}}) {
      if (path.empty()) continue;
      for (const std::string& entry : split(path, ':')) {
        if (!leads_out(m.path, entry)) continue;
        sink.add({.file = m.path, .symbol = name},
                 fmt::format("search path \"{}\" leads out of the wheel", entry));
      }
    }
  }
}

// The folder that a search path entry means, inside the wheel.
std::string resolve(const std::string& module, const std::string& entry) {
  const auto at = entry.find("ORIGIN");
  if (at == std::string::npos) return {};
  const auto end = entry.find('/', at);
  const std::string rest = end == std::string::npos ? "" : entry.substr(end);
  const auto slash = module.rfind('/');
  const fs::path folder =
      slash == std::string::npos ? fs::path(".") : fs::path(module.substr(0, slash));
  return (folder / ("." + rest)).lexically_normal().generic_string();
}

void not_found_inside(const AuditInput& in, AuditSink& sink) {
  for (const ScannedModule& m : in.scan.modules) {
    std::set<std::string> folders;
    for (const std::string& path : {m.elf.rpath, m.elf.runpath}) {
      for (const std::string& entry : split(path, ':')) {
        std::string folder = resolve(m.path, entry);
        if (folder.ends_with('/')) folder.pop_back();
        if (!folder.empty()) folders.insert(folder == "." ? "" : folder + "/");
      }
    }
    for (const std::string& soname : m.elf.needed) {
      if (!in.inside.contains(soname)) continue;
      const bool found = std::any_of(folders.begin(), folders.end(), [&](const std::string& f) {
        return in.archive.zip.find(f + soname) != nullptr;
      });
      if (!found) {
        sink.add(
            {.file = m.path, .symbol = soname},
            fmt::format("needs {}, which is in the wheel, but no search path leads to it", soname));
      }
    }
  }
}

void needed_path(const AuditInput& in, AuditSink& sink) {
  for (const ScannedModule& m : in.scan.modules) {
    for (const std::string& soname : m.elf.needed) {
      if (soname.find('/') != std::string::npos) {
        sink.add({.file = m.path, .symbol = soname},
                 fmt::format("needs a path, not a name: {}", soname));
      }
    }
  }
}

void static_tls(const AuditInput& in, AuditSink& sink) {
  for (const ScannedModule& m : in.scan.modules) {
    if (!m.elf.static_tls || m.elf.tls_size <= kSpareTls) continue;
    sink.add({.file = m.path, .symbol = "DF_STATIC_TLS", .data = {{"tls_size", m.elf.tls_size}}},
             fmt::format("needs {} bytes of static TLS; the loader keeps {} spare", m.elf.tls_size,
                         kSpareTls));
  }
}

void libpython(const AuditInput& in, AuditSink& sink) {
  for (const ScannedModule& m : in.scan.modules) {
    if (module_kind(m.path, m.elf) == "executable") continue;
    for (const std::string& soname : m.elf.needed) {
      if (soname.starts_with("libpython")) {
        sink.add({.file = m.path, .symbol = soname}, fmt::format("is linked to {}", soname));
      }
    }
  }
}

}  // namespace

const std::vector<Rule> kElfRules = {
    {"ELF001", Severity::error, "broken ELF file", "the loader refuses it, or reads past its end",
     "build it again; check that no tool cut or rewrote it", "System V gABI", broken},
    {"ELF002", Severity::error, "executable stack",
     "glibc 2.41 and later refuse to load it; before, it switches off a protection of the whole "
     "process",
     "link with -z noexecstack; give assembly files a .note.GNU-stack section",
     "glibc 2.41 release notes; gABI, PT_GNU_STACK", exec_stack},
    {"ELF003", Severity::warning, "segments aligned to less than a page",
     "kernels with larger pages (16K on a Raspberry Pi 5, 64K on servers) refuse it",
     "link with -z max-page-size=65536", "AArch64 psABI; Linux Documentation/arch/arm64",
     page_size},
    {"ELF004", Severity::error, "text relocations", "hardened systems (SELinux, musl) refuse it",
     "compile everything with -fPIC", "gABI, DT_TEXTREL", textrel},
    {"ELF005", Severity::warning, "search path leads out of the wheel",
     "on another machine somebody else's files lie there, or nothing",
     "set RUNPATH to $ORIGIN-relative folders at link time", "gABI, shared object dependencies",
     run_path},
    {"ELF006", Severity::warning, "bundled library is not found by search path",
     "it loads only if something opened the library before", "link with -Wl,-rpath,$ORIGIN/...",
     "gABI, shared object dependencies", not_found_inside},
    {"ELF007", Severity::error, "needed library named by path",
     "that path exists on the build machine only", "give the library a soname and link again",
     "gABI, DT_NEEDED", needed_path},
    {"ELF008", Severity::warning, "much static TLS",
     "dlopen fails when the spare static TLS block is used up: \"cannot allocate memory in static "
     "TLS block\"",
     "compile without -ftls-model=initial-exec", "glibc manual, rtld.optional_static_tls",
     static_tls},
    {"ELF009", Severity::error, "extension linked to libpython",
     "most interpreters don't have that library, and with it two interpreters are loaded",
     "link without libpython; the interpreter provides the symbols", "PEP 513", libpython},
};

}  // namespace felloe
