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
#include <fstream>

#include "matrix/base/error.h"
#include "matrix/base/text.h"

extern char** environ;

namespace felloe {
namespace {

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
  for (const auto& [name, value] : env) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (std::string& s : strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
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

  Pipe in, out, err, failed;
  const auto start = std::chrono::steady_clock::now();
  const pid_t pid = ::fork();
  if (pid < 0) throw Error(ErrorKind::environment, "fork", std::strerror(errno));
  if (pid == 0) {
    // Only async-signal-safe calls from here to execve.
    ::setpgid(0, 0);
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
  }
  ::setpgid(pid, pid);
  in.close_read();
  out.close_write();
  err.close_write();
  failed.close_write();

  std::ofstream log;
  if (!command.log.empty()) log.open(command.log, std::ios::app | std::ios::binary);

  std::size_t sent = 0;
  if (command.input.empty()) in.close_write();
  // A child that stops reading must not kill us.
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  const auto drain = [&](int& fd, std::string& into) {
    char buffer[1 << 14];
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) {
      Pipe::shut(fd);
      return;
    }
    const auto count = static_cast<std::size_t>(got);
    if (into.size() < command.max_output) {
      into.append(buffer, std::min(count, command.max_output - into.size()));
    }
    if (log.is_open()) log.write(buffer, got);
  };
  while (out.fd[0] >= 0 || err.fd[0] >= 0 || in.fd[1] >= 0) {
    int wait_ms = -1;
    if (command.timeout.count() > 0) {
      const auto left = command.timeout - std::chrono::duration_cast<std::chrono::milliseconds>(
                                              std::chrono::steady_clock::now() - start);
      if (left.count() <= 0) {
        result.timed_out = true;
        ::kill(-pid, SIGKILL);
        break;
      }
      wait_ms = static_cast<int>(std::min<long long>(left.count(), 60'000));
    }
    std::array<pollfd, 3> polls{
        {{out.fd[0], POLLIN, 0}, {err.fd[0], POLLIN, 0}, {in.fd[1], POLLOUT, 0}}};
    if (::poll(polls.data(), polls.size(), wait_ms) < 0 && errno != EINTR) break;
    if (polls[0].revents != 0) drain(out.fd[0], result.out);
    if (polls[1].revents != 0) drain(err.fd[0], result.err);
    if (polls[2].revents != 0) {
      const ssize_t put = ::write(in.fd[1], command.input.data() + sent,
                                  std::min<std::size_t>(command.input.size() - sent, 4096));
      if (put > 0) sent += static_cast<std::size_t>(put);
      if (put < 0 || sent == command.input.size()) in.close_write();
    }
  }
  ::sigaction(SIGPIPE, &before, nullptr);

  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  int exec_error = 0;
  if (::read(failed.fd[0], &exec_error, sizeof exec_error) == sizeof exec_error) {
    result.started = false;
    result.err = std::strerror(exec_error);
  }
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
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
