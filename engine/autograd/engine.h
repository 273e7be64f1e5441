// backward() and grad(): running the tape. Both work on the calling thread and may be called from
// several threads at once, also on graphs that share nodes.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "engine/autograd/node.h"

#pragma GCC visibility push(default)
namespace treadle {

struct BackwardOptions {
  std::optional<bool> retain_graph;  // default: as create_graph
  bool create_graph = false;         // the gradients can be differentiated again
};

// One end of a backward pass: a tensor, or (without one) a place in the graph.
struct End {
  Edge edge;
  Tensor tensor;
  explicit End(const Tensor& t) : edge(gradient_edge(t)), tensor(t) {}
  explicit End(Edge e) : edge(std::move(e)) {}
};

// torch.autograd.backward: adds the gradient of `tensors` to the .grad of every leaf, or only of
// `inputs` if given. An undefined entry of `grads` means 1 and needs a one-element tensor.
void backward(std::span<const Tensor> tensors, std::span<const Tensor> grads = {},
              const BackwardOptions& options = {}, std::span<const Tensor> inputs = {});
void backward(std::span<const End> ends, std::span<const Tensor> grads,
              const BackwardOptions& options, std::span<const End> inputs);
void backward(const Tensor& loss, const BackwardOptions& options = {});

// torch.autograd.grad: the gradients of `outputs` for `inputs`; nothing is accumulated. Throws
// Error{runtime} for an input that isn't part of the graph, unless allow_unused (then the entry is
// undefined).
std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> grad_outputs = {},
                         const BackwardOptions& options = {}, bool allow_unused = false);
std::vector<Tensor> grad(std::span<const End> outputs, std::span<const End> inputs,
                         std::span<const Tensor> grad_outputs, const BackwardOptions& options,
                         bool allow_unused);

// Of the backward pass that this thread is running: its number (-1: none), the node whose apply()
// runs (null: none), and what it is to call at its end (throws Error{runtime} if there is none).
std::int64_t current_run();
Node* current_node();
void call_at_end(std::function<void()> callback);
// Whether it comes by the place that the edge leads to.
bool will_execute(const Edge& edge);
bool visits_everything();  // it isn't restricted to some inputs; true if there is none

}  // namespace treadle
#pragma GCC visibility pop
