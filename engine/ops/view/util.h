// Helpers of ops that make views or undo them.
#pragma once
#include <utility>

#include "engine/autograd/node.h"
#include "engine/core/context.h"
#include "engine/ops/names.h"
#include "engine/ops/out.h"

namespace treadle {

// A tensor over self's memory with another geometry, tracked as a view of it. No history yet.
Tensor make_view(const Tensor& self, Dims shape, Dims strides, std::int64_t offset,
                 ViewInfo::Creation creation = ViewInfo::Creation::normal);

// The memory of a lazy conjugate or negative as it is, below the tape: what kernels read.
Tensor raw(const Tensor& lazy);

// Zeros of `shape` with `g` in the window that `window(tensor)` cuts out: the gradient of a view.
// Differentiable, since the gradient of that is the window again.
template <class F>
Tensor embed(const Tensor& g, const Dims& shape, F window) {
  Tensor out;
  {
    const NoGrad off;
    out = zeros(shape, g.dtype());
    cast_into(window(out), g);
  }
  if (needs_tape({&g})) {
    record("EmbedBackward0", out, {&g},
           [window](Node&, const Gradients& gg) { return Gradients{window(gg[0])}; });
  }
  return out;
}

// Gradients of an op whose one output gradient is undefined are all undefined.
inline bool none(const Gradients& g) { return !g[0].defined(); }

// `shape` with one -1 replaced by what `numel` leaves. Throws Error{runtime} with PyTorch's text.
Dims infer_size(const Dims& shape, std::int64_t numel);

}  // namespace treadle
