#include "packaging/policy/platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

#include "matrix/base/text.h"
#include "packaging/policy/tables.h"

namespace felloe {
namespace {

using policy_detail::PolicyRow;
using Floors = std::map<std::string, int, std::less<>>;

constexpr int kNever = PlatformEvidence::kNever;

int number(std::string_view text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

// "a:1 b:2" -> {a: 1, b: 2}
Floors parse_floors(std::string_view text) {
  Floors out;
  for (const std::string& word : split(text, ' ')) {
    const auto colon = word.rfind(':');
    if (colon != std::string::npos) {
      out[word.substr(0, colon)] = number(std::string_view(word).substr(colon + 1));
    }
  }
  return out;
}

// What one libc's policies allow on one architecture.
struct Tables {
  std::vector<const PolicyRow*> policies;               // lowest first
  std::map<std::string, Floors, std::less<>> versions;  // family -> version -> minor
  Floors libraries;
  std::map<std::string, Floors, std::less<>> private_symbols;
};

// musl's soname holds the architecture (PEP 656: musl's own names).
std::string musl_soname(const std::string& arch) {
  const std::string name = arch == "i686" ? "x86" : arch == "armv7l" ? "armv7" : arch;
  return "libc.musl-" + name + ".so.1";
}

Tables make_tables(const std::string& arch, const std::string& libc) {
  const bool musl = libc == "musl";
  Tables t;
  for (const PolicyRow& row : musl ? policy_detail::kMusllinux : policy_detail::kManylinux) {
    const auto arches = split(row.arches, ' ');
    if (std::find(arches.begin(), arches.end(), arch) != arches.end()) t.policies.push_back(&row);
  }
  if (!musl) {
    for (const auto& row : policy_detail::kSymbolVersions) {
      if (row.arch == arch) t.versions[row.family] = parse_floors(row.versions);
    }
  }
  t.libraries =
      parse_floors(musl ? policy_detail::kMusllinuxLibraries : policy_detail::kManylinuxLibraries);
  if (musl) t.libraries[musl_soname(arch)] = t.libraries["libc.so"];
  for (const auto& row :
       musl ? policy_detail::kMusllinuxPrivateSymbols : policy_detail::kManylinuxPrivateSymbols) {
    t.private_symbols[row.lib] = parse_floors(row.symbols);
  }
  return t;
}

const Tables& tables_for(const std::string& arch, const std::string& libc) {
  thread_local std::map<std::pair<std::string, std::string>, Tables> cache;
  const auto [it, fresh] = cache.try_emplace({arch, libc});
  if (fresh) it->second = make_tables(arch, libc);
  return it->second;
}

// The loader is part of every libc: ld-linux-x86-64.so.2, ld64.so.1, ld-musl-x86_64.so.1.
bool is_loader(std::string_view soname) {
  return soname.starts_with("ld-linux") || soname.starts_with("ld64.so") ||
         soname.starts_with("ld-musl");
}

std::string_view basename(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool matches(const std::set<std::string>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& p) {
    return p.ends_with('*') ? name.starts_with(std::string_view(p).substr(0, p.size() - 1))
                            : name == p;
  });
}

class Judge {
 public:
  Judge(const Tables& tables, const std::vector<PlatformModule>& modules,
        const PlatformOptions& options)
      : tables_(tables), options_(options) {
    for (const PlatformModule& m : modules) {
      inside_.insert(std::string(basename(m.path)));
      if (!m.elf->soname.empty()) inside_.insert(m.elf->soname);
    }
    for (const PlatformModule& m : modules) judge(m);
    std::sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) {
      return std::tie(a.floor, a.module, a.subject, a.lib) <
             std::tie(b.floor, b.module, b.subject, b.lib);
    });
  }

  std::vector<PlatformEvidence> take() { return std::move(found_); }

 private:
  void judge(const PlatformModule& m) {
    for (const ElfVersionNeed& need : m.elf->version_needs) judge_version(m, need);
    for (const std::string& lib : m.elf->needed) judge_library(m, lib);
  }

  // A family that the policies name (GLIBC, GLIBCXX, ...) must be covered, whoever provides it;
  // other families (OPENSSL_1_1_0, GFORTRAN_8) belong to libraries that aren't the system's.
  void judge_version(const PlatformModule& m, const ElfVersionNeed& need) {
    const auto underscore = need.version.find('_');
    const auto family = tables_.versions.find(std::string_view(need.version).substr(0, underscore));
    if (underscore == std::string::npos || family == tables_.versions.end()) return;
    const auto it = family->second.find(std::string_view(need.version).substr(underscore + 1));
    add(PlatformEvidence::Kind::symbol_version, m, need.lib, need.version, need.offset,
        it == family->second.end() ? kNever : it->second);
  }

  void judge_library(const PlatformModule& m, const std::string& lib) {
    if (inside_.contains(lib) || is_loader(lib) || matches(options_.provided, lib)) return;
    const auto allowed = tables_.libraries.find(lib);
    add(PlatformEvidence::Kind::library, m, lib, lib, std::nullopt,
        allowed == tables_.libraries.end() ? kNever : allowed->second);
    const auto secret = tables_.private_symbols.find(lib);
    if (secret == tables_.private_symbols.end()) return;
    for (const ElfSymbol& s : m.elf->symbols) {
      if (!s.undefined()) continue;
      const auto it = secret->second.find(s.name);
      if (it == secret->second.end()) continue;
      add(PlatformEvidence::Kind::private_symbol, m, lib, std::string(s.name), s.offset,
          it->second);
    }
  }

  void add(PlatformEvidence::Kind kind, const PlatformModule& m, const std::string& lib,
           const std::string& subject, std::optional<std::uint64_t> offset, int floor) {
    found_.push_back({kind, m.path, lib, subject, offset, floor});
  }

  const Tables& tables_;
  const PlatformOptions& options_;
  std::set<std::string, std::less<>> inside_;
  std::vector<PlatformEvidence> found_;
};

// The libc that all modules agree on; empty if none uses one.
std::string common_libc(const std::string& arch, const std::vector<PlatformModule>& modules) {
  std::string libc, first;
  for (const PlatformModule& m : modules) {
    if (m.elf->machine != arch) {
      throw Error(ErrorKind::input, m.path,
                  fmt::format("is code for {}, expected {}", m.elf->machine, arch),
                  "a wheel holds code for one machine; take the other file out or build it again");
    }
    const std::string own = module_libc(*m.elf);
    if (own.empty() || own == libc) continue;
    if (!libc.empty()) {
      throw Error(ErrorKind::input, m.path,
                  fmt::format("is linked to {}, but {} is linked to {}", own, first, libc),
                  "no platform has both: build all of them for one libc");
    }
    libc = own;
    first = m.path;
  }
  return libc;
}

}  // namespace

const char* platform_evidence_name(PlatformEvidence::Kind kind) {
  switch (kind) {
    case PlatformEvidence::Kind::symbol_version:
      return "symbol_version";
    case PlatformEvidence::Kind::library:
      return "library";
    case PlatformEvidence::Kind::private_symbol:
      return "private_symbol";
  }
  return "";
}

std::string PlatformTag::compressed() const { return alias.empty() ? tag : alias + "." + tag; }

std::string module_libc(const ElfFile& elf) {
  for (const std::string& lib : elf.needed) {
    if (lib == "libc.so" || lib.starts_with("libc.musl-") || lib.starts_with("ld-musl"))
      return "musl";
    if (lib == "libc.so.6") return "glibc";
  }
  if (elf.interpreter.find("/ld-musl") != std::string::npos) return "musl";
  for (const ElfVersionNeed& need : elf.version_needs) {
    if (need.version.starts_with("GLIBC_")) return "glibc";
  }
  return elf.interpreter.find("/ld-linux") != std::string::npos ? "glibc" : "";
}

std::vector<PlatformEvidence> platform_violations(const std::string& arch, const std::string& libc,
                                                  int minor,
                                                  const std::vector<PlatformModule>& modules,
                                                  const PlatformOptions& options) {
  std::vector<PlatformEvidence> found = Judge(tables_for(arch, libc), modules, options).take();
  std::erase_if(found, [&](const PlatformEvidence& e) { return e.floor <= minor; });
  return found;
}

PlatformTag lowest_platform(const std::string& arch, const std::vector<PlatformModule>& modules,
                            const PlatformOptions& options) {
  PlatformTag out;
  if (modules.empty()) {
    out.tag = "any";
    return out;
  }
  out.libc = common_libc(arch, modules);
  // Code that uses no libc runs on every glibc platform; its tag is the oldest one.
  const Tables& tables = tables_for(arch, out.libc.empty() ? "glibc" : out.libc);
  std::vector<PlatformEvidence> found = Judge(tables, modules, options).take();
  const int floor = found.empty() ? 0 : found.back().floor;
  std::erase_if(found, [&](const PlatformEvidence& e) { return e.floor != floor; });
  out.evidence = std::move(found);
  // musl's libc has no symbol versions, so nothing in the code shows that an older musl is enough:
  // the newest policy is the one promise that can't be false (PEP 656 asks for the musl it was
  // built with).
  const int least = out.libc == "musl" ? std::max(floor, newest_policy("musl")) : floor;
  const auto policy = std::find_if(tables.policies.begin(), tables.policies.end(),
                                   [&](const PolicyRow* p) { return p->minor >= least; });
  if (policy == tables.policies.end()) {
    out.minor = kNever;
    out.tag = "linux_" + arch;
    return out;
  }
  out.minor = (*policy)->minor;
  out.tag =
      fmt::format("{}_{}_{}", out.libc == "musl" ? "musllinux_1" : "manylinux_2", out.minor, arch);
  if (*(*policy)->alias != 0) out.alias = fmt::format("{}_{}", (*policy)->alias, arch);
  return out;
}

std::optional<LinuxTag> parse_linux_tag(std::string_view platform) {
  const auto rest_of = [&](std::string_view prefix) -> std::optional<std::string> {
    if (!platform.starts_with(prefix) || platform.size() == prefix.size()) return std::nullopt;
    return std::string(platform.substr(prefix.size()));
  };
  for (const PolicyRow& row : policy_detail::kManylinux) {
    if (*row.alias == 0) continue;
    if (auto arch = rest_of(std::string(row.alias) + "_"))
      return LinuxTag{"glibc", 2, row.minor, *arch};
  }
  if (auto arch = rest_of("linux_")) return LinuxTag{"", 0, 0, *arch};
  for (const auto& [prefix, libc] : {std::pair("manylinux_", "glibc"), {"musllinux_", "musl"}}) {
    const auto rest = rest_of(prefix);
    if (!rest) continue;
    const auto first = rest->find('_');
    if (first == std::string::npos) return std::nullopt;
    const auto second = rest->find('_', first + 1);
    if (second == std::string::npos || second + 1 == rest->size()) return std::nullopt;
    const int major = number(std::string_view(*rest).substr(0, first));
    const int minor = number(std::string_view(*rest).substr(first + 1, second - first - 1));
    if (major < 0 || minor < 0) return std::nullopt;
    return LinuxTag{libc, major, minor, rest->substr(second + 1)};
  }
  return std::nullopt;
}

bool platform_allows_library(std::string_view platform, std::string_view soname) {
  if (is_loader(soname)) return true;
  const auto tag = parse_linux_tag(platform);
  if (!tag || tag->libc.empty()) return false;
  const Tables& tables = tables_for(tag->arch, tag->libc);
  const auto it = tables.libraries.find(soname);
  return it != tables.libraries.end() && it->second <= tag->minor;
}

int newest_policy(const std::string& libc) {
  return (libc == "musl" ? policy_detail::kMusllinux : policy_detail::kManylinux).back().minor;
}

}  // namespace felloe
