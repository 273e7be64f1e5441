// The pool, the CPU limit and dispatch. Also run under TSan (preset tsan).
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/backend/cpu/cpu_limit.h"
#include "engine/backend/cpu/dispatch.h"
#include "engine/backend/cpu/pool.h"
#include "engine/core/error.h"

using treadle::parallel_for;

namespace {

struct Threads {
  explicit Threads(int n) : before(treadle::get_num_threads()) { treadle::set_num_threads(n); }
  ~Threads() { treadle::set_num_threads(before); }
  int before;
};

std::int64_t sum_to(std::int64_t n) {
  std::atomic<std::int64_t> sum{0};
  parallel_for(0, n, 100, [&](std::int64_t b, std::int64_t e) {
    std::int64_t s = 0;
    for (std::int64_t i = b; i < e; ++i) s += i;
    sum += s;
  });
  return sum;
}

}  // namespace

TEST_CASE("pieces cover the range once and depend on range and grain alone", "[pool]") {
  const auto pieces_with = [](int threads, std::int64_t begin, std::int64_t end,
                              std::int64_t grain) {
    const Threads scope(threads);
    std::mutex mutex;
    std::set<std::pair<std::int64_t, std::int64_t>> pieces;
    parallel_for(begin, end, grain, [&](std::int64_t b, std::int64_t e) {
      const std::lock_guard lock(mutex);
      REQUIRE(pieces.emplace(b, e).second);
    });
    return pieces;
  };
  for (const std::int64_t n : {0, 1, 99, 100, 101, 1000, 300000}) {
    const auto one = pieces_with(1, 7, 7 + n, 100);
    std::int64_t at = 7;
    for (const auto& [b, e] : one) {
      CHECK(b == at);
      CHECK(e > b);
      at = e;
    }
    CHECK(at == 7 + n);
    CHECK(pieces_with(2, 7, 7 + n, 100) == one);
    CHECK(pieces_with(4, 7, 7 + n, 100) == one);
  }
}

TEST_CASE("several threads take part", "[pool]") {
  const Threads scope(3);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  for (int attempt = 0; attempt < 200 && seen.size() < 2; ++attempt) {
    parallel_for(0, 64, 1, [&](std::int64_t, std::int64_t) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
  }
  CHECK(seen.size() >= 2);
}

TEST_CASE("an exception in a piece arrives at the caller and the pool stays usable", "[pool]") {
  const Threads scope(3);
  for (int i = 0; i < 20; ++i) {
    CHECK_THROWS_AS(parallel_for(0, 1000, 10,
                                 [&](std::int64_t b, std::int64_t) {
                                   if (b >= 500) throw std::out_of_range("piece");
                                 }),
                    std::out_of_range);
    CHECK(sum_to(1000) == 499500);
  }
}

TEST_CASE("nested and concurrent work ends with the right sums", "[pool]") {
  const Threads scope(3);
  std::atomic<std::int64_t> total{0};
  parallel_for(0, 20, 1, [&](std::int64_t, std::int64_t) { total += sum_to(1000); });
  CHECK(total == 20 * 499500);
  std::vector<std::thread> callers;
  std::atomic<int> right{0};
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) right += sum_to(10000) == 49995000;
    });
  }
  for (std::thread& t : callers) t.join();
  CHECK(right == 200);
}

// TSan doesn't follow a multithreaded program through fork. gcc and clang say differently that it
// is on.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TREADLE_UNDER_TSAN
#endif
#elif defined(__SANITIZE_THREAD__)
#define TREADLE_UNDER_TSAN
#endif
#ifndef TREADLE_UNDER_TSAN
TEST_CASE("a child made by fork has its own working pool", "[pool][fork]") {
  const Threads scope(3);
  REQUIRE(sum_to(10000) == 49995000);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);  // a pool that waits for the parent's threads would hang for ever
    const bool ok = sum_to(10000) == 49995000 && sum_to(100000) == 4999950000;
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(sum_to(10000) == 49995000);
}
#endif

TEST_CASE("the number of threads is checked", "[pool]") {
  CHECK_THROWS_AS(treadle::set_num_threads(0), treadle::Error);
  CHECK_THROWS_AS(treadle::set_num_threads(5000), treadle::Error);
}

TEST_CASE("cgroup quotas of v1 and v2 and of parents limit the CPUs", "[pool]") {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("treadle_cgroup_" + std::to_string(getpid()));
  const auto write = [&](const std::string& file, const std::string& text) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  };
  write("proc/self/cgroup", "0::/a/b\n");
  const int all = treadle::usable_cpus(root.string());
  CHECK(all >= 1);
  write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  CHECK(treadle::usable_cpus(root.string()) == all);
  write("sys/fs/cgroup/a/cpu.max", "50000 100000\n");
  CHECK(treadle::usable_cpus(root.string()) == 1);
  write("proc/self/cgroup", "4:cpu,cpuacct:/x\n0::/none\n");
  CHECK(treadle::usable_cpus(root.string()) == all);
  write("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
  CHECK(treadle::usable_cpus(root.string()) == all);
  write("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "90000\n");
  CHECK(treadle::usable_cpus(root.string()) == 1);
  fs::remove_all(root);
}

TEST_CASE("an ISA that isn't there is an error", "[dispatch]") {
  CHECK_THROWS_WITH(treadle::table_of("sse9"),
                    Catch::Contains("'sse9', which isn't in this build"));
  for (const treadle::IsaInfo& isa : treadle::compiled_isas()) {
    CHECK(isa.usable == isa.missing.empty());
    if (!isa.usable) CHECK_THROWS_WITH(treadle::table_of(isa.name), Catch::Contains(isa.missing));
  }
  CHECK(treadle::config_string().find("isa=" + std::string(treadle::current_isa())) == 0);
}

// Hidden: tests/unit/CMakeLists.txt runs it once for each ISA, and with a wrong name, in a process
// of its own, because the choice is made once.
TEST_CASE("TREADLE_FORCE_ISA is obeyed or refused", "[.forced]") {
  const char* forced = std::getenv("TREADLE_FORCE_ISA");
  REQUIRE(forced != nullptr);
  bool usable = false;
  for (const treadle::IsaInfo& isa : treadle::compiled_isas()) {
    usable = usable || (isa.name == forced && isa.usable);
  }
  if (usable) {
    CHECK(treadle::current_isa() == forced);
    CHECK(treadle::table().unary[0][static_cast<int>(treadle::DType::float32)] ==
          treadle::table_of(forced).unary[0][static_cast<int>(treadle::DType::float32)]);
  } else {
    CHECK_THROWS_WITH(treadle::table(), Catch::Contains("TREADLE_FORCE_ISA asks for the ISA '" +
                                                        std::string(forced) + "'"));
  }
}
