// Being told to stop (Ctrl-C, SIGTERM): one flag for the whole process. cli/ installs the handlers
// that set it (cli/stop.h); run_process() then ends its child, and whatever takes long asks
// stop_requested() between two pieces of work. The flag is never taken back.
#pragma once
#include <chrono>
#include <string>

namespace felloe {

// The signals that ask to stop; all others keep their meaning.
inline constexpr int kStopSignals[] = {2, 15, 1};  // SIGINT, SIGTERM, SIGHUP

// Sets the flag. May be called from a signal handler once stop_fd() has been called.
void request_stop(int signal) noexcept;

// The signal that asked first; 0: none did.
int stop_requested() noexcept;

// A descriptor that is readable from the moment on when a stop is requested: for poll(2).
int stop_fd();

// Waits; less if a stop is requested.
void sleep_unless_stopped(std::chrono::milliseconds time);

// Throws Error{interrupted} if a stop was requested.
void throw_if_stopped(const std::string& hint = {});

// Takes the request back: for tests.
void forget_stop();

}  // namespace felloe
