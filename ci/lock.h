// One run at a time in a work folder, and no left-overs. The lock is an flock whose descriptor
// every child process inherits: after a kill -9 it stays held for as long as a compiler or pip that
// the killed run started still writes into the folder. The next run ends those first.
#pragma once
#include <sys/stat.h>

#include <filesystem>

namespace felloe {

class WorkLock {
 public:
  // Creates the folder. Throws Error{environment} if a living run holds the lock (naming its
  // process) or the folder can't be written.
  explicit WorkLock(const std::filesystem::path& work);
  ~WorkLock();
  WorkLock(const WorkLock&) = delete;
  WorkLock& operator=(const WorkLock&) = delete;

  int ended_leftovers() const { return ended_; }  // processes of a killed run that were ended

  // Ends whatever still has the lock open besides us: children of children that ran in a process
  // group of their own, as Ninja's do.
  void end_leftovers();

 private:
  bool kill_holders(const struct stat& file);  // false: there are none

  int fd_ = -1;
  int ended_ = 0;
};

}  // namespace felloe
