// CPU features: x86-64 psABI levels, Linux's HWCAP names.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "matrix/base/text.h"
#include "matrix/cpu_features.h"
#include "matrix/fit_judge.h"
#include "matrix/tags.h"

namespace felloe {
namespace {

using Set = std::set<std::string>;

struct Need {
  std::string feature;
  bool load = false;
  Json where;
};

struct Needs {
  std::map<std::string, Need> sure, unproven;  // by feature; first place wins
  Set dispatched;
  std::string level;  // highest level that was named as a whole, "v3"
};

void add_need(std::map<std::string, Need>& into, const std::string& feature, bool load,
              const Json& where) {
  const auto [it, fresh] = into.try_emplace(feature, Need{feature, load, where});
  if (!fresh && load && !it->second.load) it->second = Need{feature, load, where};
}

void add_feature(Needs& needs, const IsaRequirement& requirement, const Json& where) {
  const std::string name = feature_name(requirement.feature);
  if (const std::string level = level_of_name(name); level > needs.level) needs.level = level;
  auto& into = requirement.guard == "unknown" ? needs.unproven : needs.sure;
  for (const std::string& feature : expand_level(name)) {
    if (!is_baseline(feature)) add_need(into, feature, requirement.when == "load", where);
  }
}

// Code of another architecture is MODULE_MACHINE's or PY_MACHINE's affair.
bool same_family(const std::string& a, const std::string& b) {
  const auto family = [](const std::string& machine) {
    if (machine == "x86_64" || machine == "i686") return 1;
    return machine == "aarch64" || machine == "armv7l" ? 2 : 0;
  };
  return family(a) == family(b) && family(a) != 0;
}

// Whether the summary can be about this host's architecture.
bool tags_allow(const Judge& judge) {
  return std::any_of(judge.platforms.begin(), judge.platforms.end(), [&](const std::string& tag) {
    const std::string machine = Platform::parse(tag).machine;
    return machine.empty() || same_family(machine, judge.host.cpu.machine);
  });
}

Needs collect(const Judge& judge, bool& scanned) {
  Needs needs;
  bool all_modules = judge.wheel.modules.known();
  if (judge.wheel.modules.known()) {
    for (const WheelModule& module : *judge.wheel.modules) {
      if (!same_family(module.machine, judge.host.cpu.machine)) continue;
      if (!module.isa.known()) {
        all_modules = false;
        continue;
      }
      for (const IsaRequirement& requirement : module.isa->requirements) {
        Json where = requirement.where.known() ? to_json(*requirement.where) : Json::object();
        if (!where.contains("module")) where["module"] = module.path;
        add_feature(needs, requirement, where);
      }
      for (const std::string& name : module.isa->dispatched) {
        for (const std::string& f : expand_level(feature_name(name))) needs.dispatched.insert(f);
      }
    }
  }
  // Hand-written facts may say it in the summary alone. What a module says in more detail (that a
  // guard is not proven) stays as it says.
  if (judge.wheel.isa.known() && tags_allow(judge)) {
    const Needs detailed = needs;
    for (const auto& [when, list] :
         {std::pair("load", &judge.wheel.isa->load), std::pair("call", &judge.wheel.isa->call)}) {
      for (const std::string& name : *list) {
        add_feature(needs, IsaRequirement{name, when, "none", {}}, Json(nullptr));
      }
    }
    for (const auto& [feature, need] : detailed.unproven) {
      if (!detailed.sure.contains(feature)) needs.sure.erase(feature);
    }
    for (const std::string& name : judge.wheel.isa->dispatched) {
      for (const std::string& f : expand_level(feature_name(name))) needs.dispatched.insert(f);
    }
    all_modules = true;
  }
  scanned = all_modules || judge.no_native_code();
  return needs;
}

Set normal_set(const Fact<std::vector<std::string>>& names) {
  Set out;
  if (names.known()) {
    for (const std::string& name : *names) out.insert(feature_name(name));
  }
  return out;
}

bool is_virtual_model(const std::string& model) {
  for (const char* generic : {"QEMU Virtual CPU", "Common KVM processor", "Common 32-bit KVM",
                              "QEMU TCG CPU", "Virtual CPU", "Virtual Processor"}) {
    if (to_lower(model).find(to_lower(generic)) != std::string::npos) return true;
  }
  return false;
}

std::string place(const Json& where) {
  if (!where.is_object()) return "";
  std::string out;
  if (where.contains("module")) out += " in " + where.at("module").get<std::string>();
  if (where.contains("symbol")) out += " (" + where.at("symbol").get<std::string>() + ")";
  return out;
}

void report_missing(Judge& judge, const Needs& needs, const Set& have) {
  const Set some = normal_set(judge.host.cpu.some_cores);
  const Set disabled = normal_set(judge.host.cpu.os_disabled);
  bool missing = false;
  for (const auto& [feature, need] : needs.sure) {
    if (have.contains(feature)) continue;
    missing = true;
    const char* code = "CPU_FEATURE_MISSING";
    std::string why = "this CPU doesn't have";
    if (disabled.contains(feature)) {
      code = "CPU_OS_STATE";
      why = "the operating system or hypervisor didn't enable";
    } else if (some.contains(feature)) {
      code = "CPU_NOT_ALL_CORES";
      why = "only some cores have";
    }
    Reason& r =
        judge.add(code, Weight::error,
                  fmt::format("{} code{} needs {}, which {}", need.load ? "load-time" : "called",
                              place(need.where), feature, why));
    r.need = feature;
    r.where = need.where;
    r.source = judge.source("cpu.features");
  }
  for (const auto& [feature, need] : needs.unproven) {
    if (have.contains(feature) || needs.sure.contains(feature)) continue;
    missing = true;
    Reason& r =
        judge.add("CPU_GUARD_UNPROVEN", Weight::unknown,
                  fmt::format("{} code{} uses {}, which this CPU doesn't have, and whether "
                              "a check guards it is not proven",
                              need.load ? "load-time" : "called", place(need.where), feature));
    r.need = feature;
    r.where = need.where;
  }
  if (missing && judge.host.cpu.model.known() && is_virtual_model(*judge.host.cpu.model)) {
    Reason& r = judge.add("CPU_HIDDEN_BY_VM", Weight::info,
                          "the CPU is a generic virtual model that may hide features of the real "
                          "one");
    r.have = *judge.host.cpu.model;
    r.hint = "start the virtual machine with the host's CPU model";
  }
}

// Host features, without those whose base is missing.
Set coherent_features(Judge& judge, bool matters) {
  Set have = normal_set(judge.host.cpu.features);
  std::vector<std::string> dropped = drop_without_base(have);
  if (!dropped.empty() && matters) {
    Reason& r = judge.add("CPU_INCOHERENT", Weight::warning,
                          fmt::format("the host lists features without their base; ignored: {}",
                                      join(dropped, ", ")));
    r.have = dropped;
    r.source = judge.source("cpu.features");
  }
  return have;
}

void judge_without_features(Judge& judge, const Needs& needs) {
  // cpu.level decides only here.
  Set known;
  const Fact<std::string>& level = judge.host.cpu.level;
  if (level.known()) {
    for (const std::string& f : expand_level("x86-64-" + *level)) known.insert(f);
    if (!needs.level.empty() && needs.level > *level) {
      Reason& r = judge.add(
          "CPU_FEATURE_MISSING", Weight::error,
          fmt::format("the code needs x86-64-{}, the host is x86-64-{}", needs.level, *level));
      r.need = "x86-64-" + needs.level;
      r.have = "x86-64-" + *level;
      r.source = judge.source("cpu.level");
      return;
    }
  }
  std::vector<std::string> open;
  for (const auto* list : {&needs.sure, &needs.unproven}) {
    for (const auto& [feature, need] : *list) {
      if (!known.contains(feature)) open.push_back(feature);
    }
  }
  if (open.empty()) return;
  judge
      .add("CPU_UNKNOWN", Weight::unknown,
           fmt::format("the wheel needs {}, and the host lists no CPU features", join(open, ", ")))
      .need = open;
}

void judge_sve(Judge& judge, const Set& have) {
  if (!judge.wheel.modules.known() || !have.contains("sve")) return;
  for (const WheelModule& module : *judge.wheel.modules) {
    if (!module.sve_vl_bits.known()) continue;
    const Fact<std::int64_t>& host = judge.host.cpu.sve_vl_bits;
    if (host.known() && *host == *module.sve_vl_bits) continue;
    Reason& r = judge.add(
        host.known() ? "SVE_VL" : "SVE_VL_UNKNOWN", host.known() ? Weight::error : Weight::unknown,
        host.known() ? fmt::format("{} is built for {}-bit SVE, the host's is {}-bit", module.path,
                                   *module.sve_vl_bits, *host)
                     : fmt::format("{} is built for {}-bit SVE, the host's length is "
                                   "not known",
                                   module.path, *module.sve_vl_bits));
    r.need = *module.sve_vl_bits;
    if (host.known()) r.have = *host;
    r.where = Json{{"module", module.path}};
    r.source = judge.source("cpu.sve_vl_bits");
  }
}

// glibc 2.33 began to refuse objects whose GNU property asks for more than the CPU has.
void judge_notes(Judge& judge, const Set& have) {
  if (!judge.wheel.modules.known()) return;
  const bool enforced = judge.glibc_at_least("2.33");
  for (const WheelModule& module : *judge.wheel.modules) {
    if (!module.isa_note.known() || !module.isa_note->needed.known()) continue;
    if (!same_family(module.machine, judge.host.cpu.machine)) continue;
    const std::string& needed = *module.isa_note->needed;
    bool met = false;
    if (judge.host.cpu.features.known()) {
      const auto features = expand_level(needed);
      met = std::all_of(features.begin(), features.end(),
                        [&](const std::string& f) { return is_baseline(f) || have.contains(f); });
    } else if (judge.host.cpu.level.known()) {
      met = level_of_name(needed) <= *judge.host.cpu.level;
    } else if (level_of_name(needed) > "v1") {
      if (enforced) {
        judge
            .add("CPU_UNKNOWN", Weight::unknown,
                 fmt::format("{} is marked as needing {}, and the host lists no CPU features",
                             module.path, needed))
            .where = Json{{"module", module.path}};
      }
      continue;
    } else {
      met = true;
    }
    if (met) continue;
    Reason& r = judge.add(
        enforced ? "ISA_NOTE" : "ISA_NOTE_ONLY", enforced ? Weight::error : Weight::warning,
        fmt::format("{} is marked as needing {}; {}", module.path, needed,
                    enforced ? "this loader refuses it on this CPU" : "this loader ignores that"));
    r.need = needed;
    r.where = Json{{"module", module.path}};
  }
}

}  // namespace

void judge_cpu(Judge& judge) {
  if (judge.platforms.empty()) return;
  bool scanned = false;
  const Needs needs = collect(judge, scanned);
  if (!scanned) {
    judge
        .add("ISA_UNKNOWN", Weight::unknown,
             "the wheel may hold native code, and which instructions it needs was not scanned")
        .hint = "check the wheel itself instead of facts about it";
  }
  const bool matters = !needs.sure.empty() || !needs.unproven.empty();
  Set have;
  if (judge.host.cpu.features.known()) {
    have = coherent_features(judge, !judge.no_native_code());
    report_missing(judge, needs, have);
    std::vector<std::string> optional;
    for (const std::string& feature : needs.dispatched) {
      if (!have.contains(feature) && !is_baseline(feature)) optional.push_back(feature);
    }
    if (!optional.empty()) {
      judge
          .add("CPU_FEATURE_OPTIONAL", Weight::info,
               fmt::format("has faster code for features that this host lacks: {}",
                           join(optional, ", ")))
          .need = optional;
    }
  } else if (matters) {
    judge_without_features(judge, needs);
  }
  judge_sve(judge, have);
  judge_notes(judge, have);
  if (judge.host.os.emulated.value_or(false) && !judge.no_native_code()) {
    judge.add("EMULATED", Weight::warning,
              "the process is translated or emulated: this says nothing about native hardware");
  }
}

}  // namespace felloe
