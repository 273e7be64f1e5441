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

// torch.autograd.backward: adds the gradient of `tensors` to the .grad of every leaf, or only of
// `inputs` if given. An undefined entry of `grads` means 1 and needs a one-element tensor.
void backward(std::span<const Tensor> tensors, std::span<const Tensor> grads = {},
              const BackwardOptions& options = {}, std::span<const Tensor> inputs = {});
void backward(const Tensor& loss, const BackwardOptions& options = {});

// torch.autograd.grad: the gradients of `outputs` for `inputs`; nothing is accumulated. Throws
// Error{runtime} for an input that isn't part of the graph, unless allow_unused (then the entry is
// undefined).
std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> grad_outputs = {},
                         const BackwardOptions& options = {}, bool allow_unused = false);

}  // namespace treadle
#pragma GCC visibility pop
