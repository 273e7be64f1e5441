#include "ci/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/text.h"

namespace felloe {
namespace {

// Processes that have this file open, from /proc/PID/fd; ours excepted. Those of other users can't
// be looked into and can't have inherited our descriptor.
std::vector<pid_t> holders(const struct stat& file) {
  std::vector<pid_t> out;
  std::error_code ec;
  for (auto it = fs::directory_iterator("/proc", ec); !ec && it != fs::end(it); it.increment(ec)) {
    const std::string name = it->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = static_cast<pid_t>(std::stol(name));
    if (pid == ::getpid()) continue;
    std::error_code gone;
    for (auto fd = fs::directory_iterator(it->path() / "fd", gone); !gone && fd != fs::end(fd);
         fd.increment(gone)) {
      struct stat info {};
      if (::stat(fd->path().c_str(), &info) == 0 && info.st_dev == file.st_dev &&
          info.st_ino == file.st_ino) {
        out.push_back(pid);
        break;
      }
    }
  }
  return out;
}

// When a process started, in clock ticks since boot (proc(5), field 22 of stat): with the pid it
// names one process for good, where a pid alone may have been given to another since.
std::string start_time(pid_t pid) {
  const std::string stat = read_file_or_empty("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t paren = stat.rfind(')');  // the name before it may hold anything
  if (paren == std::string::npos) return {};
  const std::vector<std::string> fields = split(std::string_view(stat).substr(paren + 1), ' ');
  return fields.size() > 20 ? fields[20] : std::string();
}

std::string identity(pid_t pid) { return std::to_string(pid) + " " + start_time(pid); }

}  // namespace

WorkLock::WorkLock(const fs::path& work) {
  make_dirs(work);
  const fs::path path = work / "lock";
  // No O_CLOEXEC: children must inherit it, that is the point.
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT, 0644);
  if (fd_ < 0) {
    throw Error(ErrorKind::environment, path.string(),
                std::string("cannot write: ") + std::strerror(errno),
                "choose a work folder you may write to with --work");
  }
  const auto give_up = [&](const std::string& message, const std::string& hint) {
    ::close(fd_);
    throw Error(ErrorKind::environment, path.string(), message, hint);
  };
  struct stat info {};
  ::fstat(fd_, &info);
  for (int tries = 0; ::flock(fd_, LOCK_EX | LOCK_NB) != 0; ++tries) {
    const std::string owner(trim(read_file_or_empty(path)));
    const pid_t owner_pid = owner.empty() ? 0 : static_cast<pid_t>(std::atol(owner.c_str()));
    if (owner_pid > 0 && owner == identity(owner_pid)) {
      give_up("another run is using this folder: process " + std::to_string(owner_pid),
              "wait for it to end, or choose another folder with --work");
    }
    if (tries == 100) give_up("processes of a killed run don't end", "end them by hand");
    // A run that has just taken the lock writes its name a moment later: give it that moment.
    if (tries >= 10) kill_holders(info);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const std::string owner = identity(::getpid()) + "\n";
  if (::ftruncate(fd_, 0) != 0 ||
      ::pwrite(fd_, owner.data(), owner.size(), 0) != static_cast<ssize_t>(owner.size())) {
    give_up(std::string("cannot write: ") + std::strerror(errno), "is the disk full?");
  }
}

WorkLock::~WorkLock() { ::close(fd_); }

bool WorkLock::kill_holders(const struct stat& file) {
  const std::vector<pid_t> found = holders(file);
  for (const pid_t pid : found) {
    if (::kill(pid, SIGKILL) == 0) ++ended_;
  }
  return !found.empty();
}

void WorkLock::end_leftovers() {
  struct stat info {};
  ::fstat(fd_, &info);
  for (int tries = 0; tries < 100 && kill_holders(info); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace felloe
