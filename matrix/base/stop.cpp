#include "matrix/base/stop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "matrix/base/error.h"

namespace felloe {
namespace {

static_assert(kStopSignals[0] == SIGINT && kStopSignals[1] == SIGTERM && kStopSignals[2] == SIGHUP);

std::atomic<int> requested{0};
std::atomic<int> event{-1};  // a handler may read this, but not a function's static

}  // namespace

void request_stop(int signal) noexcept {
  const int before = errno;
  int none = 0;
  requested.compare_exchange_strong(none, signal);
  const std::uint64_t one = 1;
  const ssize_t ignored = ::write(event.load(), &one, sizeof one);
  (void)ignored;
  errno = before;
}

int stop_requested() noexcept { return requested.load(); }

int stop_fd() {
  static const int fd = [] {
    const int made = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (made < 0) throw Error(ErrorKind::environment, "eventfd", std::strerror(errno));
    event = made;
    return made;
  }();
  return fd;
}

void sleep_unless_stopped(std::chrono::milliseconds time) {
  pollfd wait{stop_fd(), POLLIN, 0};
  ::poll(&wait, 1, static_cast<int>(time.count()));
}

void throw_if_stopped(const std::string& hint) {
  const int signal = stop_requested();
  if (signal == 0) return;
  throw Error(ErrorKind::interrupted, "", std::string("stopped by SIG") + (::sigabbrev_np(signal)),
              hint);
}

void forget_stop() {
  requested = 0;
  std::uint64_t count = 0;
  const ssize_t ignored = ::read(stop_fd(), &count, sizeof count);
  (void)ignored;
}

}  // namespace felloe
