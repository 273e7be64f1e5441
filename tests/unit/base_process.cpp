#include "matrix/base/process.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <thread>

#include "matrix/base/fs.h"
#include "matrix/base/stop.h"
#include "tests/unit/throws.h"

using namespace felloe;
using felloe::test::error_of;

namespace {

Command sh(const std::string& script) {
  Command command;
  command.argv = {"/bin/sh", "-c", script};
  return command;
}

}  // namespace

TEST_CASE("both streams and the exit code are kept apart") {
  const ProcessResult result = run_process(sh("echo out; echo err >&2; exit 3"));
  CHECK(result.out == "out\n");
  CHECK(result.err == "err\n");
  CHECK(result.code == 3);
  CHECK_FALSE(result.ok());
  CHECK(result.describe() == "exit code 3");
}

TEST_CASE("input reaches the child, also one that doesn't read it") {
  Command command = sh("cat");
  command.input = std::string(1 << 20, 'x');
  CHECK(run_process(command).out == command.input);
  command.argv[2] = "exit 0";
  CHECK(run_process(command).ok());
}

TEST_CASE("a program that isn't there is told apart from one that fails") {
  Command command;
  command.argv = {"felloe-no-such-program"};
  CHECK_FALSE(run_process(command).started);
  const auto error = error_of([&] { run_checked(command, "get it somewhere"); });
  CHECK(error.kind() == ErrorKind::environment);
  CHECK(error.where() == "felloe-no-such-program");
  CHECK(error.hint() == "get it somewhere");
}

TEST_CASE("a file that isn't a program is reported, not run") {
  const TempDir dir;
  write_file(dir.path() / "tool",
             "\x7f"
             "ELF but no more",
             0755);
  Command command;
  command.argv = {(dir.path() / "tool").string()};
  CHECK_FALSE(run_process(command).started);
}

TEST_CASE("a failing child is Error{child} with its last lines") {
  const auto error = error_of([] { run_checked(sh("echo first; echo the cause >&2; exit 7")); });
  CHECK(error.kind() == ErrorKind::child);
  CHECK(error.message().find("exit code 7") != std::string::npos);
  CHECK(error.message().find("the cause") != std::string::npos);
}

TEST_CASE("a signal is named") {
  const ProcessResult result = run_process(sh("kill -ILL $$"));
  CHECK(result.signal == SIGILL);
  CHECK(result.code == -1);
  CHECK(result.describe() == "killed by signal 4 (Illegal instruction)");
}

TEST_CASE("a timeout ends the whole process group") {
  Command command = sh("sleep 60 & sleep 60; wait");
  command.timeout = std::chrono::milliseconds(200);
  const ProcessResult result = run_process(command);
  CHECK(result.timed_out);
  CHECK_FALSE(result.ok());
  CHECK(result.seconds < 20);
}

TEST_CASE("the environment is what was asked for") {
  Command command = sh("echo $FELLOE_A-$FELLOE_B1-$FELLOE_B2");
  ::setenv("FELLOE_B1", "1", 1);
  ::setenv("FELLOE_B2", "2", 1);
  command.set_env["FELLOE_A"] = "a";
  CHECK(run_process(command).out == "a-1-2\n");
  command.unset_env = {"FELLOE_B*"};
  CHECK(run_process(command).out == "a--\n");
  command.unset_env.clear();
  command.clear_env = true;
  CHECK(run_process(command).out == "a--\n");
}

TEST_CASE("output beyond the limit is dropped and the child still ends") {
  Command command = sh("head -c 1000000 /dev/zero");
  command.max_output = 1000;
  const ProcessResult result = run_process(command);
  CHECK(result.ok());
  CHECK(result.out.size() == 1000);
}

TEST_CASE("the folder and the log file") {
  const TempDir dir;
  Command command = sh("pwd; echo e >&2");
  command.cwd = dir.path();
  command.log = dir.path() / "log";
  const ProcessResult result = run_process(command);
  CHECK(result.out == fs::canonical(dir.path()).string() + "\n");
  CHECK(read_file(command.log).find("e\n") != std::string::npos);
  command.cwd = dir.path() / "none";
  CHECK_FALSE(run_process(command).started);
}

namespace {

// Waits until the file holds the text; false after 20 s.
bool comes(const fs::path& file, const std::string& text) {
  for (int i = 0; i < 2000; ++i) {
    if (read_file_or_empty(file).find(text) != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

bool lives(const std::string& pid) { return ::kill(std::stoi(pid), 0) == 0; }

struct Stopped {  // the flag is the process's: other tests must not see it
  ~Stopped() { forget_stop(); }
};

}  // namespace

TEST_CASE("a line stands in the log while the child still runs") {
  const TempDir dir;
  Command command = sh("echo first; while [ ! -e go ]; do sleep 0.01; done; echo second");
  command.cwd = dir.path();
  command.log = dir.path() / "log";
  std::thread child([&] { run_process(command); });
  CHECK(comes(command.log, "first\n"));
  CHECK(read_file(command.log) == "first\n");
  write_file(dir.path() / "go", "");
  child.join();
  CHECK(read_file(command.log) == "first\nsecond\n");
}

TEST_CASE("a log that can't be written is an error, before and during the run") {
  Command command = sh("echo x");
  command.log = "/proc/no-such-folder/log";
  CHECK(error_of([&] { run_process(command); }).kind() == ErrorKind::environment);
  command.log = "/dev/full";
  const auto error = error_of([&] { run_process(command); });
  CHECK(error.kind() == ErrorKind::environment);
  CHECK(error.where() == "/dev/full");
}

TEST_CASE("a request to stop ends the process group, and nothing more is started") {
  const TempDir dir;
  const Stopped after;
  Command command = sh("sleep 300 & echo $! > pids; wait");
  command.cwd = dir.path();
  std::thread asks([&] {
    CHECK(comes(dir.path() / "pids", "\n"));
    request_stop(SIGTERM);
  });
  const auto error = error_of([&] { run_process(command); });
  asks.join();
  CHECK(error.kind() == ErrorKind::interrupted);
  CHECK(error.message() == "stopped by SIGTERM");
  CHECK_FALSE(lives(read_file(dir.path() / "pids")));
  command = sh("touch started");
  command.cwd = dir.path();
  CHECK(error_of([&] { run_process(command); }).kind() == ErrorKind::interrupted);
  CHECK_FALSE(fs::exists(dir.path() / "started"));
}

TEST_CASE("a child that is asked to stop may clean up, one that ignores it is killed") {
  const TempDir dir;
  const Stopped after;
  Command command = sh("trap 'echo cleaned > done; exit 0' TERM; echo > up; sleep 300 & wait");
  bool kind = true;
  SECTION("cleans up") {}
  SECTION("ignores it") {
    command = sh("trap '' TERM; echo > up; while :; do sleep 0.1; done");
    kind = false;
  }
  command.cwd = dir.path();
  std::thread asks([&] {
    CHECK(comes(dir.path() / "up", "\n"));
    request_stop(SIGINT);
  });
  CHECK(error_of([&] { run_process(command); }).message() == "stopped by SIGINT");
  asks.join();
  CHECK(fs::exists(dir.path() / "done") == kind);
}

TEST_CASE("a child that has closed its output is still waited for, and timed") {
  Command command = sh("exec >&- 2>&-; sleep 0.3; exit 7");
  CHECK(run_process(command).code == 7);
  command = sh("exec >&- 2>&-; sleep 300");
  command.timeout = std::chrono::milliseconds(200);
  CHECK(run_process(command).timed_out);
}

TEST_CASE("command lines are quoted for a shell") {
  CHECK(shell_quote({"a", "b c", "", "it's"}) == R"(a 'b c' '' 'it'\''s')");
}
