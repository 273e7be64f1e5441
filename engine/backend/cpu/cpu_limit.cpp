#include "engine/backend/cpu/cpu_limit.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace treadle {
namespace {

int affinity_cpus() {
  // The mask's size is the kernel's, not the library's: grow until it fits (EINVAL before).
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
    const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// Two numbers of a file; "max" and -1 mean no limit. 0: no such file or no limit.
double quota_of(const std::string& quota_file, const std::string& period_file) {
  std::ifstream quota_in(quota_file);
  std::string quota;
  double period = 0;
  if (!(quota_in >> quota)) return 0;
  if (period_file.empty()) {
    quota_in >> period;
  } else {
    std::ifstream(period_file) >> period;
  }
  const double q = std::strtod(quota.c_str(), nullptr);
  return q > 0 && period > 0 ? q / period : 0;
}

// Every ancestor's quota binds too.
double tightest(const std::string& mount, std::string path, bool v2) {
  double limit = 0;
  for (;;) {
    const std::string dir = mount + path;
    const double here = v2 ? quota_of(dir + "/cpu.max", "")
                           : quota_of(dir + "/cpu.cfs_quota_us", dir + "/cpu.cfs_period_us");
    if (here > 0) limit = limit > 0 ? std::min(limit, here) : here;
    if (path.empty()) return limit;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

}  // namespace

int usable_cpus(const std::string& root) {
  int cpus = affinity_cpus();
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {  // hierarchy:controllers:path (cgroups(7))
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    const std::string base = root + "/sys/fs/cgroup";
    double limit = 0;
    if (controllers == ",,") {
      limit = tightest(base, path, true);
    } else if (controllers.find(",cpu,") != std::string::npos) {
      limit = tightest(base + "/cpu", path, false);
    }
    if (limit > 0) cpus = std::min(cpus, static_cast<int>(std::ceil(limit)));
  }
  return std::max(1, cpus);
}

}  // namespace treadle
