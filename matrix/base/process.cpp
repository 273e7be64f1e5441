#include "matrix/base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <thread>

#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/stop.h"
#include "matrix/base/text.h"

extern char** environ;

namespace felloe {
namespace {

constexpr std::chrono::milliseconds kLongestPause(50);
constexpr std::chrono::seconds kGrace(5);  // between "please end" and the end

struct Pipe {
  std::array<int, 2> fd{-1, -1};
  Pipe() {
    if (::pipe2(fd.data(), O_CLOEXEC) != 0) {
      throw Error(ErrorKind::environment, "pipe", std::strerror(errno));
    }
  }
  ~Pipe() {
    close_read();
    close_write();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_read() { shut(fd[0]); }
  void close_write() { shut(fd[1]); }
  static void shut(int& f) {
    if (f >= 0) ::close(f);
    f = -1;
  }
};

bool unset_matches(const std::vector<std::string>& patterns, std::string_view name) {
  for (const std::string& pattern : patterns) {
    if (!pattern.empty() && pattern.back() == '*'
            ? name.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1))
            : name == pattern) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> build_environment(const Command& command) {
  std::map<std::string, std::string> env;
  if (!command.clear_env) {
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view text(*entry);
      const std::size_t eq = text.find('=');
      if (eq == std::string_view::npos) continue;
      if (unset_matches(command.unset_env, text.substr(0, eq))) continue;
      env.emplace(text.substr(0, eq), text.substr(eq + 1));
    }
  }
  for (const auto& [name, value] : command.set_env) env[name] = value;
  std::vector<std::string> out;
  out.reserve(env.size());
  for (const auto& [name, value] : env) out.push_back(std::string(name).append("=").append(value));
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (std::string& s : strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

// The log file: what a child writes stands there at once, so that people can follow it.
class Log {
 public:
  explicit Log(const fs::path& path) : path_(path) {
    if (path.empty()) return;
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd_ < 0) fail_write(path, errno);
  }
  ~Log() { Pipe::shut(fd_); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void write(std::string_view text) {
    while (fd_ >= 0 && error_ == 0 && !text.empty()) {
      const ssize_t put = ::write(fd_, text.data(), text.size());
      if (put >= 0) {
        text.remove_prefix(static_cast<std::size_t>(put));
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
  }
  // Throws if a part of the output is missing.
  void check() const {
    if (error_ != 0) fail_write(path_, error_);
  }

 private:
  const fs::path path_;
  int fd_ = -1;
  int error_ = 0;
};

// Blocks signals for this thread, whose next writes and forks they concern. Per thread, because
// steps run children at the same time.
class BlockedSignals {
 public:
  explicit BlockedSignals(std::initializer_list<int> signals) {
    ::sigemptyset(&set_);
    for (const int signal : signals) ::sigaddset(&set_, signal);
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  const sigset_t& before() const { return before_; }
  // Takes those that arrived meanwhile, so that they don't arrive now.
  void swallow() const {
    const timespec none{};
    while (::sigtimedwait(&set_, nullptr, &none) > 0) {
    }
  }

 private:
  sigset_t set_{}, before_{};
};

using Clock = std::chrono::steady_clock;

// Waits for the child until it ends, `deadline` passes or a stop is requested. False: it lives.
bool wait_for(pid_t pid, int& status, std::optional<Clock::time_point> deadline) {
  for (std::chrono::milliseconds pause(1);; pause = std::min(pause * 2, kLongestPause)) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) return true;
    if (stop_requested() != 0 || (deadline && Clock::now() >= *deadline)) return false;
    sleep_unless_stopped(pause);
  }
}

// Asks the group to end; programs like Ninja then end their own children and remove what they have
// written by half. What is still there after the grace is killed.
void stop_group(pid_t pid) {
  ::kill(-pid, SIGTERM);
  int status = 0;
  bool leader = true;
  for (const auto until = Clock::now() + kGrace; Clock::now() < until;) {
    leader = leader && ::waitpid(pid, &status, WNOHANG) == 0;
    if (!leader && ::kill(-pid, 0) != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ::kill(-pid, SIGKILL);
  while (leader && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::string ProcessResult::describe() const {
  if (!started) return "could not be started";
  if (timed_out) return fmt::format("timed out after {:.0f} s", seconds);
  if (signal != 0) return fmt::format("killed by signal {} ({})", signal, ::strsignal(signal));
  return fmt::format("exit code {}", code);
}

std::optional<std::filesystem::path> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (::access(name.c_str(), X_OK) == 0) return std::filesystem::path(name);
    return std::nullopt;
  }
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    const std::filesystem::path candidate =
        std::filesystem::path(folder.empty() ? "." : folder) / name;
    std::error_code ec;
    if (::access(candidate.c_str(), X_OK) == 0 && !std::filesystem::is_directory(candidate, ec)) {
      return candidate;
    }
  }
  return std::nullopt;
}

ProcessResult run_process(const Command& command) {
  throw_if_stopped();
  ProcessResult result;
  const auto program = find_program(command.argv.at(0));
  if (!program) {
    result.started = false;
    return result;
  }
  std::vector<std::string> args = command.argv;
  std::vector<std::string> env = build_environment(command);
  std::vector<char*> argv = pointers(args);
  std::vector<char*> envp = pointers(env);
  const std::string program_path = std::filesystem::absolute(*program).string();

  Log log(command.log);
  Pipe in, out, err, failed;
  const auto start = Clock::now();
  std::optional<Clock::time_point> deadline;
  if (command.timeout.count() > 0) deadline = start + command.timeout;
  const pid_t pid = [&] {
    // No handler of ours may run in the child, and a signal for it must not get lost before execve.
    const BlockedSignals blocked{SIGINT, SIGTERM, SIGHUP};
    const pid_t forked = ::fork();
    if (forked != 0) return forked;
    // Only async-signal-safe calls from here to execve.
    ::setpgid(0, 0);
    for (const int signal : kStopSignals) {
      struct sigaction action {};
      ::sigaction(signal, nullptr, &action);
      if (action.sa_handler != SIG_IGN) ::signal(signal, SIG_DFL);
    }
    ::sigprocmask(SIG_SETMASK, &blocked.before(), nullptr);
    ::dup2(in.fd[0], 0);
    ::dup2(out.fd[1], 1);
    ::dup2(err.fd[1], 2);
    if (command.cwd.empty() || ::chdir(command.cwd.c_str()) == 0) {
      ::execve(program_path.c_str(), argv.data(), envp.data());
    }
    const int code = errno;
    const ssize_t ignored = ::write(failed.fd[1], &code, sizeof code);
    (void)ignored;
    ::_exit(127);
  }();
  if (pid < 0) throw Error(ErrorKind::environment, "fork", std::strerror(errno));
  ::setpgid(pid, pid);
  in.close_read();
  out.close_write();
  err.close_write();
  failed.close_write();

  std::size_t sent = 0;
  if (command.input.empty()) in.close_write();
  const auto drain = [&](int& fd, std::string& into) {
    char buffer[1 << 14];
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) {
      Pipe::shut(fd);
      return;
    }
    const std::string_view text(buffer, static_cast<std::size_t>(got));
    if (into.size() < command.max_output) {
      into.append(text.substr(0, command.max_output - into.size()));
    }
    log.write(text);
  };
  const BlockedSignals no_sigpipe{SIGPIPE};  // a child that stops reading must not kill us
  while (out.fd[0] >= 0 || err.fd[0] >= 0 || in.fd[1] >= 0) {
    int wait_ms = -1;
    if (deadline) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - Clock::now());
      if (left.count() <= 0) break;
      wait_ms = static_cast<int>(std::min<long long>(left.count(), 60'000));
    }
    std::array<pollfd, 4> polls{{{out.fd[0], POLLIN, 0},
                                 {err.fd[0], POLLIN, 0},
                                 {in.fd[1], POLLOUT, 0},
                                 {stop_fd(), POLLIN, 0}}};
    if (::poll(polls.data(), polls.size(), wait_ms) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    if (stop_requested() != 0) break;
    if (polls[0].revents != 0) drain(out.fd[0], result.out);
    if (polls[1].revents != 0) drain(err.fd[0], result.err);
    if (polls[2].revents != 0) {
      const ssize_t put = ::write(in.fd[1], command.input.data() + sent,
                                  std::min<std::size_t>(command.input.size() - sent, 4096));
      if (put > 0) sent += static_cast<std::size_t>(put);
      if (put < 0 || sent == command.input.size()) in.close_write();
    }
  }
  no_sigpipe.swallow();

  int status = 0;
  const bool ended = stop_requested() == 0 && wait_for(pid, status, deadline);
  if (!ended) {
    if (stop_requested() != 0) {
      stop_group(pid);
      throw_if_stopped();
    }
    result.timed_out = true;
    ::kill(-pid, SIGKILL);
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
  log.check();
  int exec_error = 0;
  if (::read(failed.fd[0], &exec_error, sizeof exec_error) == sizeof exec_error) {
    result.started = false;
    result.err = std::strerror(exec_error);
  }
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

ProcessResult run_checked(const Command& command, const std::string& hint) {
  ProcessResult result = run_process(command);
  if (!result.started) {
    throw Error(ErrorKind::environment, command.argv.at(0), "program not found or not executable",
                hint.empty() ? "install it or put it on PATH" : hint);
  }
  if (!result.ok()) {
    const std::string& text = result.err.empty() ? result.out : result.err;
    std::string message =
        fmt::format("`{}` failed: {}", shell_quote(command.argv), result.describe());
    const std::string tail = last_lines(text, 12);
    if (!tail.empty()) message += "\n" + tail;
    throw Error(ErrorKind::child, command.argv.at(0), message, hint);
  }
  return result;
}

std::string shell_quote(const std::vector<std::string>& argv) {
  std::string out;
  for (const std::string& arg : argv) {
    if (!out.empty()) out += ' ';
    const bool plain =
        !arg.empty() &&
        arg.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-") ==
            std::string::npos;
    if (plain) {
      out += arg;
      continue;
    }
    out += '\'';
    for (const char c : arg) {
      if (c == '\'') {
        out += "'\\''";
      } else {
        out += c;
      }
    }
    out += '\'';
  }
  return out;
}

}  // namespace felloe
