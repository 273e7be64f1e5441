// Plans, their records, their execution and the lock that keeps runs apart.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <thread>

#include "ci/executor.h"
#include "ci/lock.h"
#include "ci/plan.h"
#include "ci/state.h"
#include "matrix/base/fs.h"

using namespace felloe;

namespace {

struct Bench {
  TempDir dir;
  RunOptions options;
  Bench() {
    options.work = dir.path() / "work";
    options.jobs = 2;
    options.retry_pause = 0.001;
  }
  std::vector<StepReport> run(const Plan& plan) const { return run_plan(plan, options); }
};

// A step that counts its runs and writes its input to a file.
Step writer(const Bench& bench, const std::string& id, std::vector<std::string> deps, Json input,
            std::shared_ptr<std::atomic<int>> runs) {
  const fs::path file = bench.dir.path() / (id + ".txt");
  Step step;
  step.id = id;
  step.kind = "write";
  step.title = id;
  step.deps = std::move(deps);
  step.inputs = input;
  step.action = [=](StepContext&) {
    ++*runs;
    write_file(file, input.dump());
    return StepOutput{Json{{"input", input}}, {file}};
  };
  return step;
}

std::shared_ptr<std::atomic<int>> counter() { return std::make_shared<std::atomic<int>>(0); }

}  // namespace

TEST_CASE("a plan refuses what would not be a plan", "[ci]") {
  Plan plan;
  plan.add({.id = "a", .kind = "k", .title = "A", .action = {}});
  CHECK_THROWS_WITH(plan.add({.id = "a", .kind = "k", .title = "A", .action = {}}),
                    "two steps have the same id");
  CHECK_THROWS_WITH(plan.add({.id = "b", .kind = "k", .title = "B", .deps = {"c"}, .action = {}}),
                    "depends on a step that was not added before: c");
  CHECK(plan.to_json() == Json::parse(R"([{"id":"a","kind":"k","title":"A","deps":[]}])"));
}

TEST_CASE("a step runs once, and again only for other inputs or damaged outputs", "[ci]") {
  const Bench bench;
  const auto a = counter(), b = counter();
  const auto plan = [&](int input_a) {
    Plan out;
    out.add(writer(bench, "a", {}, input_a, a));
    out.add(writer(bench, "b", {"a"}, 7, b));
    return out;
  };
  auto first = bench.run(plan(1));
  CHECK(first[0].state == StepState::done);
  CHECK(first[1].state == StepState::done);
  auto second = bench.run(plan(1));
  CHECK(second[0].state == StepState::cached);
  CHECK(second[1].state == StepState::cached);
  CHECK(second[1].data == first[1].data);
  CHECK(*a == 1);

  SECTION("other input: it and what depends on it") {
    bench.run(plan(2));
    CHECK(*a == 2);
    CHECK(*b == 2);
  }
  SECTION("changed output: it alone, because the result is the same again") {
    write_file(bench.dir.path() / "a.txt", "damaged");
    auto third = bench.run(plan(1));
    CHECK(third[0].state == StepState::done);
    CHECK(third[1].state == StepState::cached);
    CHECK(read_file(bench.dir.path() / "a.txt") == "1");
  }
  SECTION("missing output") {
    fs::remove(bench.dir.path() / "b.txt");
    bench.run(plan(1));
    CHECK(*a == 1);
    CHECK(*b == 2);
  }
  SECTION("a record cut short by a crash of the machine, or edited") {
    const fs::path record = bench.options.work / "state" / "a.json";
    const std::string whole = read_file(record);
    for (const std::string& text : {whole.substr(0, whole.size() / 2), std::string(),
                                    std::string("[]"), std::string(R"({"key": 3})")}) {
      const int before = *a;
      write_file(record, text);
      CHECK(bench.run(plan(1))[0].state == StepState::done);
      CHECK(*a == before + 1);
    }
  }
  SECTION("force") {
    RunOptions options = bench.options;
    options.force = true;
    run_plan(plan(1), options);
    CHECK(*a == 2);
    CHECK(*b == 2);
  }
}

TEST_CASE("a failed step is reported, tried again if that may help, and its dependents skipped",
          "[ci]") {
  const Bench bench;
  const auto tries = counter();
  const auto failing = [&](ErrorKind kind, int passes_at) {
    Step step;
    step.id = "net";
    step.kind = "net";
    step.title = "net";
    step.attempts = 3;
    step.action = [=](StepContext& context) {
      ++*tries;
      CHECK(context.attempt == *tries);
      if (*tries < passes_at) throw Error(kind, "here", "broken", "mend it");
      return StepOutput{};
    };
    return step;
  };
  const auto run = [&](ErrorKind kind, int passes_at) {
    Plan plan;
    plan.add(failing(kind, passes_at));
    plan.add(writer(bench, "after", {"net"}, 1, counter()));
    plan.add(writer(bench, "last", {"after"}, 1, counter()));
    Step always = writer(bench, "always", {"last"}, 1, counter());
    always.runs_after_failure = true;
    plan.add(always);
    return bench.run(plan);
  };
  SECTION("it passes at the third try") {
    const auto reports = run(ErrorKind::environment, 3);
    CHECK(reports[0].state == StepState::done);
    CHECK(reports[0].attempts == 3);
    CHECK(reports[2].state == StepState::done);
  }
  SECTION("it never passes") {
    const auto reports = run(ErrorKind::child, 9);
    CHECK(*tries == 3);
    CHECK(reports[0].state == StepState::failed);
    REQUIRE(reports[0].error);
    CHECK(reports[0].error->hint() == "mend it");
    CHECK(reports[1].state == StepState::skipped);
    CHECK(reports[2].because == "net");
    CHECK(reports[3].state == StepState::done);
  }
  SECTION("a wrong command line doesn't become right by trying") {
    run(ErrorKind::usage, 9);
    CHECK(*tries == 1);
  }
}

TEST_CASE("an exception of another class is a bug that is reported, not a crash", "[ci]") {
  const Bench bench;
  Plan plan;
  plan.add({.id = "a", .kind = "k", .title = "A", .action = [](StepContext&) -> StepOutput {
              throw std::out_of_range("index");
            }});
  const auto reports = bench.run(plan);
  REQUIRE(reports[0].error);
  CHECK(reports[0].error->kind() == ErrorKind::internal);
}

TEST_CASE("steps without a path between them run at the same time", "[ci]") {
  const Bench bench;
  std::atomic<int> inside{0}, most{0};
  Plan plan;
  for (const char* id : {"a", "b"}) {
    plan.add({.id = id, .kind = "k", .title = id, .action = [&](StepContext&) {
                most = std::max(most.load(), ++inside);
                for (int i = 0; i < 2000 && most < 2; ++i) {
                  std::this_thread::sleep_for(std::chrono::milliseconds(1));
                }
                --inside;
                return StepOutput{};
              }});
  }
  bench.run(plan);
  CHECK(most == 2);
}

TEST_CASE("a folder's digest sees names, contents and the executable bit", "[ci]") {
  const TempDir dir;
  write_file(dir.path() / "a/b", "1");
  const std::string before = content_digest(dir.path());
  CHECK(content_digest(dir.path()) == before);
  SECTION("content") { write_file(dir.path() / "a/b", "2"); }
  SECTION("name") { fs::rename(dir.path() / "a/b", dir.path() / "a/c"); }
  SECTION("mode") { fs::permissions(dir.path() / "a/b", fs::perms::owner_all); }
  SECTION("another file") { write_file(dir.path() / "z", ""); }
  CHECK(content_digest(dir.path()) != before);
}

TEST_CASE("two runs can't share a work folder", "[ci]") {
  const TempDir dir;
  const WorkLock lock(dir.path());
  try {
    const WorkLock second(dir.path());
    FAIL("the second lock was given");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::environment);
    CHECK(error.message() ==
          "another run is using this folder: process " + std::to_string(::getpid()));
  }
}

TEST_CASE("what a killed run left running is ended before the next begins", "[ci]") {
  const TempDir dir;
  // The "run": takes the lock, starts a child that would write for minutes, and is killed.
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t run = ::fork();
  if (run == 0) {
    const WorkLock lock(dir.path());
    if (::fork() == 0) {
      ::execlp("sleep", "sleep", "600", nullptr);
      ::_exit(1);
    }
    (void)!::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  ::kill(run, SIGKILL);
  ::waitpid(run, nullptr, 0);
  const WorkLock lock(dir.path());
  CHECK(lock.ended_leftovers() >= 1);
  ::close(ready[0]);
  ::close(ready[1]);
}
