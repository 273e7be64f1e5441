// Libraries that a wheel may leave to others: a declared dependency's wheel, or the GPU driver.
// To add a package: a row in provided.cpp.
#pragma once
#include <set>
#include <string>
#include <vector>

namespace felloe {

// Soname patterns (a trailing '*' matches any rest) that these requirements (METADATA's
// Requires-Dist) bring along, and those of the NVIDIA driver. Requirements of an extra don't count.
std::set<std::string> provided_sonames(const std::vector<std::string>& requires_dist);

bool soname_matches(const std::set<std::string>& patterns, const std::string& soname);

}  // namespace felloe
