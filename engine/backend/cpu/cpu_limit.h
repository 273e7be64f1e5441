// How many CPUs this process may keep busy.
#pragma once
#include <string>

namespace treadle {

// CPUs in the affinity mask, at most the cgroup's quota rounded up; at least 1. Reads below `root`
// (tests give a recorded tree): /proc/self/cgroup and the cgroup v1 or v2 files it leads to.
int usable_cpus(const std::string& root = "");

}  // namespace treadle
