// Names of CPU features, x86-64 levels and what each feature is built on. The names are those of
// Linux (/proc/cpuinfo, elf_hwcaps).
#pragma once
#include <set>
#include <string>
#include <vector>

namespace felloe {

// The Linux name for any accepted spelling: "sse3" -> "pni", "lse" -> "atomics".
std::string feature_name(const std::string& name);

// "x86-64-v3" -> all features of v2 and v3; any other name -> itself.
std::vector<std::string> expand_level(const std::string& name);

// "x86-64-v3" -> "v3"; any other name -> "".
std::string level_of_name(const std::string& name);

// Part of the plain ABI of x86-64 or AArch64: never a requirement.
bool is_baseline(const std::string& feature);

// Removes features whose base is not in the set; returns what was removed, sorted.
std::vector<std::string> drop_without_base(std::set<std::string>& features);

}  // namespace felloe
