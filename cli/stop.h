// Ctrl-C and SIGTERM for commands that run others (nightly, build, smoke): the children are ended,
// the command says so and then ends by that signal itself (docs/exit-codes.md). All other commands
// keep the default: they end at once.
#pragma once

namespace felloe {

// From here on the first signal requests a stop (matrix/base/stop.h); a second one ends felloe at
// once. A signal that is ignored (nohup, a shell's background job) stays ignored.
void catch_stop_signals();

// Ends this process by `signal`, so that a shell sees 128 + signal and stops its script.
[[noreturn]] void end_by(int signal);

}  // namespace felloe
