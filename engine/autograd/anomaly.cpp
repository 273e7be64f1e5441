// See anomaly.h.
#include "engine/autograd/anomaly.h"

#include "engine/autograd/engine.h"
#include "engine/core/context.h"
#include "engine/core/warn.h"
#include "engine/ops/names.h"

namespace treadle {

void Anomaly::note(Node& made) {
  if (trace) made.set_origin(trace(), Ref<Node>(current_node()));
}

void Anomaly::report(const Node& node) {
  auto [text, maker] = node.origin();
  if (text.empty()) {
    warn("Error detected in " + node.name() +
         ". No forward pass information available. Enable detect anomaly during forward pass for "
         "more information.");
  } else {
    warn("Error detected in " + node.name() +
         ". Traceback of forward call that caused the error:\n" + text);
  }
  while (maker) {
    auto [place, next] = maker->origin();
    warn("\n\nPrevious calculation was induced by " + maker->name() +
         (place.empty()
              ? ". No forward pass information available."
              : ". Traceback of forward call that induced the previous calculation:\n" + place));
    maker = std::move(next);
  }
}

Gradients Anomaly::apply(Node& node, Gradients grads) {
  Gradients results;
  try {
    results = node.apply(std::move(grads));
  } catch (...) {
    report(node);
    throw;
  }
  if (!check_nan.load(std::memory_order_relaxed)) return results;
  const NoGrad off;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Tensor& g = results[i];
    if (!g.defined() || !is_differentiable(g.dtype()) || !any(isnan(g)).item_int()) continue;
    report(node);
    fail(ErrorKind::runtime, "Function '" + node.name() + "' returned nan values in its " +
                                 std::to_string(i) + "th output.");
  }
  return results;
}

}  // namespace treadle
