#include "matrix/cpu_features.h"

#include <algorithm>
#include <array>
#include <utility>

namespace felloe {
namespace {

// Other common spellings of Linux's names.
constexpr std::pair<const char*, const char*> kAliases[] = {
    {"sse3", "pni"},         {"lzcnt", "abm"},    {"cmpxchg16b", "cx16"}, {"lahf", "lahf_lm"},
    {"pclmul", "pclmulqdq"}, {"sha", "sha_ni"},   {"lse", "atomics"},     {"rdm", "asimdrdm"},
    {"dotprod", "asimddp"},  {"fp16", "asimdhp"}, {"rcpc", "lrcpc"},
};

// x86-64 psABI, "micro-architecture levels": what each adds.
struct Level {
  const char* name;
  std::vector<const char*> adds;
};
const std::array<Level, 4>& levels() {
  static const std::array<Level, 4> table = {{
      {"v1", {"cx8", "cmov", "mmx", "fxsr", "sse", "sse2"}},
      {"v2", {"pni", "ssse3", "sse4_1", "sse4_2", "popcnt", "cx16", "lahf_lm"}},
      {"v3", {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}},
      {"v4", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
  }};
  return table;
}

constexpr const char* kBaseline[] = {"cx8",  "cmov", "mmx", "fxsr", "sse",
                                     "sse2", "fpu",  "fp",  "asimd"};

// Feature and base (Intel SDM vol. 1 ch. 13-15, Arm ARM): without the base it can't be used.
constexpr std::pair<const char*, const char*> kBases[] = {
    {"avx", "xsave"}, {"f16c", "avx"},       {"fma", "avx"},      {"avx2", "avx"},
    {"vaes", "avx"},  {"vpclmulqdq", "avx"}, {"avx512f", "avx2"}, {"avx_vnni", "avx2"},
    {"sve2", "sve"},  {"svei8mm", "sve"},    {"svebf16", "sve"},
};

std::string base_of(const std::string& feature) {
  for (const auto& [name, base] : kBases) {
    if (feature == name) return base;
  }
  if (feature != "avx512f" && feature.starts_with("avx512")) return "avx512f";
  return {};
}

}  // namespace

std::string feature_name(const std::string& name) {
  for (const auto& [alias, linux_name] : kAliases) {
    if (name == alias) return linux_name;
  }
  return name;
}

std::string level_of_name(const std::string& name) {
  for (const Level& level : levels()) {
    if (name == std::string("x86-64-") + level.name) return level.name;
  }
  return {};
}

std::vector<std::string> expand_level(const std::string& name) {
  const std::string wanted = level_of_name(name);
  if (wanted.empty()) return {name};
  std::vector<std::string> out;
  for (const Level& level : levels()) {
    if (level.name > wanted) break;
    out.insert(out.end(), level.adds.begin(), level.adds.end());
  }
  return out;
}

bool is_baseline(const std::string& feature) {
  return std::find(std::begin(kBaseline), std::end(kBaseline), feature) != std::end(kBaseline);
}

std::vector<std::string> drop_without_base(std::set<std::string>& features) {
  std::vector<std::string> dropped;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = features.begin(); it != features.end();) {
      const std::string base = base_of(*it);
      if (base.empty() || features.contains(base)) {
        ++it;
        continue;
      }
      dropped.push_back(*it);
      it = features.erase(it);
      changed = true;
    }
  }
  std::sort(dropped.begin(), dropped.end());
  return dropped;
}

}  // namespace felloe
