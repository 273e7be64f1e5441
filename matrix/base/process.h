// Child processes: an argument vector (never a shell), an explicit environment, a time limit, and
// the output either captured or appended to a log file.
#pragma once
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace felloe {

struct Command {
  std::vector<std::string> argv;               // argv[0] is looked up on PATH
  std::filesystem::path cwd;                   // empty: ours
  std::map<std::string, std::string> set_env;  // added to our environment
  std::vector<std::string> unset_env;          // removed; a trailing '*' is a prefix match
  bool clear_env = false;                      // start from an empty environment instead
  std::string input;                           // standard input
  std::filesystem::path log;                   // not empty: output is appended there as it comes
  std::chrono::milliseconds timeout{0};        // 0: none. On expiry the process group is killed
  std::size_t max_output = 16u << 20;          // captured bytes per stream; the rest is dropped
};

struct ProcessResult {
  int code = -1;   // exit code; -1 if a signal ended it
  int signal = 0;  // the signal, 0 if it exited
  bool timed_out = false;
  bool started = true;  // false: argv[0] was not found or not executable
  std::string out;      // standard output
  std::string err;      // standard error
  double seconds = 0;
  bool ok() const { return started && code == 0; }
  std::string describe() const;  // "exit code 3", "killed by signal 4 (SIGILL)", "not found", ...
};

// Runs and waits. Never throws for what the child does; throws Error{environment} only if pipes or
// fork fail or the log can't be written, and Error{interrupted} when a stop is requested
// (matrix/base/stop.h), after the child and its process group have been ended.
ProcessResult run_process(const Command& command);

// As run_process, but anything else than exit code 0 throws: Error{environment} if it could not be
// started (`hint` says how to get it), else Error{child} with the last lines of its output.
ProcessResult run_checked(const Command& command, const std::string& hint = {});

// Absolute path of a program on PATH, or nothing.
std::optional<std::filesystem::path> find_program(const std::string& name);

// The command line as a person would type it in a shell.
std::string shell_quote(const std::vector<std::string>& argv);

}  // namespace felloe
