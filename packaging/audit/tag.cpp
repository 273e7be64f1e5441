// TAG0xx: the tags of the file name are true of the code.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "matrix/base/text.h"
#include "packaging/audit/rule.h"

namespace felloe {
namespace {

using Evidence = PlatformEvidence;
constexpr const char* kManylinux = "PEP 513, 571, 599, 600 (manylinux), PEP 656 (musllinux)";

std::string policy_name(const std::string& libc, int minor) {
  return fmt::format("{}{}", libc == "musl" ? "musllinux_1_" : "manylinux_2_", minor);
}

// The strictest promise of the file name for each libc: the lowest floor, since an installer may
// take the wheel by any one of its tags.
std::map<std::string, LinuxTag> promises(const AuditInput& in) {
  std::map<std::string, LinuxTag> out;
  if (!in.archive.name) return out;
  for (const std::string& platform : in.archive.name->platform) {
    const auto tag = parse_linux_tag(platform);
    if (!tag || tag->libc.empty()) continue;
    const auto [it, fresh] = out.try_emplace(tag->libc, *tag);
    if (!fresh && tag->minor < it->second.minor) it->second = *tag;
  }
  return out;
}

// What the promised policies don't allow, of one kind.
template <class Report>
void violations(const AuditInput& in, Evidence::Kind kind, Report report) {
  for (const auto& [libc, tag] : promises(in)) {
    for (const Evidence& e : platform_violations(
             tag.arch, libc, tag.minor, in.scan.platform_modules(), {.provided = in.provided})) {
      if (e.kind == kind) report(e, policy_name(libc, tag.minor), libc);
    }
  }
}

std::string allowed_from(const Evidence& e, const std::string& libc) {
  return e.floor == Evidence::kNever || e.floor > newest_policy(libc)
             ? std::string("no policy allows it")
             : "allowed from " + policy_name(libc, e.floor);
}

Json evidence_data(const Evidence& e) {
  return Json{{"lib", e.lib},
              {"kind", platform_evidence_name(e.kind)},
              {"floor", e.floor == Evidence::kNever ? Json(nullptr) : Json(e.floor)}};
}

void symbol_versions(const AuditInput& in, AuditSink& sink) {
  violations(
      in, Evidence::Kind::symbol_version,
      [&](const Evidence& e, const std::string& policy, const std::string& libc) {
        sink.add(
            {.file = e.module, .symbol = e.subject, .offset = e.offset, .data = evidence_data(e)},
            fmt::format("needs {} of {}, which {} doesn't have ({})", e.subject, e.lib, policy,
                        allowed_from(e, libc)));
      });
}

void libraries(const AuditInput& in, AuditSink& sink) {
  violations(
      in, Evidence::Kind::library,
      [&](const Evidence& e, const std::string& policy, const std::string& libc) {
        sink.add(
            {.file = e.module, .symbol = e.subject, .offset = e.offset, .data = evidence_data(e)},
            fmt::format("needs {}, which is not in the wheel and not part of {} ({})", e.subject,
                        policy, allowed_from(e, libc)));
      });
}

void private_symbols(const AuditInput& in, AuditSink& sink) {
  violations(
      in, Evidence::Kind::private_symbol,
      [&](const Evidence& e, const std::string& policy, const std::string& libc) {
        sink.add(
            {.file = e.module, .symbol = e.subject, .offset = e.offset, .data = evidence_data(e)},
            fmt::format("uses {}, which {} under {} doesn't promise ({})", e.subject, e.lib, policy,
                        allowed_from(e, libc)));
      });
}

void native_in_any(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.name || in.scan.modules.empty()) return;
  const auto& platforms = in.archive.name->platform;
  if (std::find(platforms.begin(), platforms.end(), "any") != platforms.end()) {
    const ScannedModule& m = in.scan.modules.front();
    sink.add({.file = m.path},
             fmt::format("is {} code, but the tag says any platform", m.elf.machine));
  }
}

void other_machine(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.name) return;
  std::set<std::string> promised;
  for (const std::string& platform : in.archive.name->platform) {
    if (const auto tag = parse_linux_tag(platform)) promised.insert(tag->arch);
  }
  if (promised.empty()) return;
  for (const ScannedModule& m : in.scan.modules) {
    if (promised.contains(m.elf.machine) && promised.size() == 1) continue;
    sink.add(
        {.file = m.path, .symbol = "e_machine", .offset = 18},
        fmt::format("is code for {}, the platform tag promises {}", m.elf.machine,
                    join(std::vector<std::string>(promised.begin(), promised.end()), " and ")));
  }
}

void linux_tag(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.name) return;
  for (const std::string& platform : in.archive.name->platform) {
    if (platform.starts_with("linux_")) {
      sink.add({}, fmt::format("{} promises nothing about libc and libraries", platform));
    }
  }
}

void could_be_lower(const AuditInput& in, AuditSink& sink) {
  const auto machine = in.scan.machine();
  if (!machine || in.scan.modules.empty()) return;
  for (const auto& [libc, promised] : promises(in)) {
    try {
      const PlatformTag honest =
          lowest_platform(*machine, in.scan.platform_modules(), {.provided = in.provided});
      if (honest.minor >= promised.minor || (!honest.libc.empty() && honest.libc != libc)) continue;
      sink.add({.data = {{"tag", honest.tag}}},
               fmt::format("the code would fit {}", honest.compressed()));
    } catch (const Error&) {
      return;  // mixed code: other rules say so
    }
  }
}

void python_tag(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.name) return;
  for (const std::string& python : in.archive.name->python) {
    for (const std::string& abi : in.archive.name->abi) {
      const auto missing = unsupported_promise(in.support, python, abi);
      if (!missing) continue;
      // Name the module group that falls short, and what forces an abi3 module up.
      for (const ModuleGroup& g : in.support.groups) {
        PythonSupport one;
        one.any = false;
        one.gil = g.gil;
        one.free_threaded = g.free_threaded;
        const auto lacks = unsupported_promise(one, python, abi);
        if (!lacks) continue;
        Place place{.file = g.members.front()};
        std::string why;
        for (const std::string& member : g.members) {
          const auto it = in.support.abi3.find(member);
          if (it == in.support.abi3.end() || it->second.symbol.empty()) continue;
          place.file = member;
          place.symbol = it->second.symbol;
          place.offset = it->second.offset;
          why = fmt::format("; {} appeared in the stable ABI of 3.{}", it->second.symbol,
                            it->second.floor);
        }
        place.data = {{"tag", fmt::format("{}-{}", python, abi)},
                      {"serves", to_text(g.gil)},
                      {"missing", *lacks}};
        sink.add(place, fmt::format("{}-{} promises Python {}, for which there is no {}{}", python,
                                    abi, *lacks, g.name, why));
      }
    }
  }
}

void outside_stable_abi(const AuditInput& in, AuditSink& sink) {
  for (const auto& [path, use] : in.support.abi3) {
    if (use.outside.empty()) continue;
    sink.add({.file = path, .symbol = use.outside.front(), .data = {{"symbols", use.outside}}},
             fmt::format("uses {} symbol{} outside the stable ABI: {}", use.outside.size(),
                         use.outside.size() == 1 ? "" : "s", join(use.outside, ", ")));
  }
}

void libc_family(const AuditInput& in, AuditSink& sink) {
  const auto promised = promises(in);
  if (promised.empty()) return;
  for (const ScannedModule& m : in.scan.modules) {
    const std::string libc = module_libc(m.elf);
    if (libc.empty() || (promised.contains(libc) && promised.size() == 1)) continue;
    sink.add({.file = m.path},
             fmt::format("is linked to {}, the platform tag promises {}", libc,
                         promised.begin()->first == libc ? promised.rbegin()->first
                                                         : promised.begin()->first));
  }
}

void suffix_machine(const AuditInput& in, AuditSink& sink) {
  for (const ScannedModule& m : in.scan.modules) {
    const auto suffix = parse_module_suffix(m.path.substr(m.path.rfind('/') + 1));
    if (!suffix || suffix->triplet.empty()) continue;
    const std::string machine = suffix->triplet.substr(0, suffix->triplet.find('-'));
    // Debian's triplets name the family where the tag names the machine.
    const std::string own = m.elf.machine == "armv7l"    ? "arm"
                            : m.elf.machine == "i686"    ? "i386"
                            : m.elf.machine == "ppc64le" ? "powerpc64le"
                                                         : m.elf.machine;
    if (machine != own) {
      sink.add({.file = m.path, .symbol = suffix->text},
               fmt::format("is named for {}, but is code for {}: no interpreter imports it",
                           machine, m.elf.machine));
    }
  }
}

}  // namespace

const std::vector<Rule> kTagRules = {
    {"TAG001", Severity::error, "symbol version above the platform tag",
     "the loader refuses the module on a system as old as the tag promises",
     "build on an older base (or with a lower libc target), or raise the tag", kManylinux,
     symbol_versions},
    {"TAG002", Severity::error, "library that the platform tag doesn't allow",
     "systems that the tag promises needn't have it",
     "bundle the library, or declare the package that holds it", kManylinux, libraries},
    {"TAG003", Severity::error, "private symbol of a system library",
     "other builds of the library don't export it", "link that library statically, or bundle it",
     kManylinux, private_symbols},
    {"TAG004", Severity::error, "native code under the platform tag any",
     "installers take it on every system and machine", "use the platform tag that the code honours",
     "PEP 425", native_in_any},
    {"TAG005", Severity::error, "code for another machine", "the loader refuses it",
     "build it for the tag's machine, or take it out", "PEP 425; gABI, e_machine", other_machine},
    {"TAG006", Severity::warning, "platform tag linux_*",
     "public indexes refuse it, and it says nothing about old systems",
     "use the manylinux or musllinux tag that the code honours", "PEP 513", linux_tag},
    {"TAG007", Severity::info, "a lower platform tag would do", "more systems could use the wheel",
     "use the lower tag", "PEP 600", could_be_lower},
    {"TAG008", Severity::error, "promised Pythons find no module",
     "the wheel installs and then can't be imported",
     "use the tag that the modules honour, or build the missing versions",
     "PEP 425, PEP 384, PEP 3149", python_tag},
    {"TAG009", Severity::error, "abi3 module uses more than the stable ABI",
     "the next Python may not have the symbol",
     "build with Py_LIMITED_API and without private functions",
     "PEP 384; CPython Misc/stable_abi.toml", outside_stable_abi},
    {"TAG010", Severity::error, "linked to another libc than the tag says",
     "glibc's programs can't load musl's libraries, nor the reverse",
     "build for the libc of the tag", "PEP 656", libc_family},
    {"TAG011", Severity::error, "module named for another machine",
     "the suffix limits which interpreter imports it",
     "rename it, or build it for the machine it names", "PEP 3149", suffix_machine},
};

}  // namespace felloe
