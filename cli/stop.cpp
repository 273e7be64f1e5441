#include "cli/stop.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "matrix/base/stop.h"

namespace felloe {
namespace {

extern "C" void on_stop_signal(int signal) {
  request_stop(signal);
  static constexpr char kText[] = "\nstopping what was started (once more: at once) ...\n";
  const ssize_t ignored = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  (void)ignored;
}

}  // namespace

void catch_stop_signals() {
  stop_fd();
  for (const int signal : kStopSignals) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_DFL) continue;
    struct sigaction action {};
    action.sa_handler = on_stop_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(signal, &action, nullptr);
  }
}

void end_by(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t own;
  ::sigemptyset(&own);
  ::sigaddset(&own, signal);
  ::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &own, nullptr);
  ::_exit(128 + signal);  // only if it could not end us
}

}  // namespace felloe
