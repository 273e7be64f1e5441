// Anomaly mode: nodes remember where the forward pass made them, and a backward function that
// throws or gives NaN is reported with that place. Off, it costs one load for each new node.
#pragma once
#include <atomic>
#include <string>

#include "engine/autograd/node.h"

#pragma GCC visibility push(default)
namespace treadle {

struct Anomaly {
  std::atomic<bool> enabled{false};
  std::atomic<bool> check_nan{true};
  // Set by the Python module before `enabled`: the stack of the calling thread as text. Without it
  // nothing is noted.
  std::string (*trace)() = nullptr;

  void note(Node& made);  // keeps the trace in the new node
  // Warns of what the node's backward did wrong, with its origin and that of the nodes whose
  // backward made it.
  void report(const Node& node);
  // node.apply(), reported if it throws; throws Error{runtime} if a gradient is NaN.
  Gradients apply(Node& node, Gradients grads);
};
namespace detail {
inline constinit Anomaly the_anomaly;
}
inline Anomaly& anomaly() { return detail::the_anomaly; }

}  // namespace treadle
#pragma GCC visibility pop
