// What the files of nn.functional's ops share.
#pragma once
#include <cmath>
#include <string>
#include <utility>

#include "engine/core/visit.h"
#include "engine/ops/native.h"
#include "engine/ops/reduction/reduce.h"
#include "engine/ops/view/util.h"

namespace treadle {

// Contiguous, without tape.
inline Tensor dense(const Tensor& t) {
  const NoGrad off;
  return contiguous(resolve(detach(t)));
}

inline std::string scalar_name(DType dtype) { return std::string(info(dtype).scalar); }

// A linear map and its adjoint, functions of a tensor without tape: each is the other's gradient,
// so that derivatives of any order exist.
template <class F, class A>
Tensor linear_map(const char* name, const Tensor& x, F f, A adjoint) {
  Tensor out;
  {
    const NoGrad off;
    out = f(detach(x));
  }
  if (is_differentiable(out.dtype()) && needs_tape({&x})) {
    record(name, out, {&x}, [name, f, adjoint](Node&, const Gradients& g) {
      return none(g) ? Gradients(1) : Gradients{linear_map(name, g[0], adjoint, f)};
    });
  }
  return out;
}

// `list` (one value, or one for each of n dimensions) as n values. Throws Error{runtime} with
// PyTorch's text otherwise, and for values that no tensor can have.
Dims spatial_list(const Dims& list, std::int64_t n, const char* op, const char* name);

// Dense images in PyTorch's memory format channels_last: (N, C, H, W) or (N, C, D, H, W) with the
// channels beside each other.
bool is_channels_last(const Tensor& t);
Tensor to_channels_last(const Tensor& t);  // without tape

enum class LossReduction : std::int64_t { none = 0, mean = 1, sum = 2 };
// Throws Error{value} for another number.
Tensor reduce_loss(const Tensor& loss, std::int64_t reduction);

// (sum |x|^p)^(1/p) along `dim` (all dimensions if it is empty), with a gradient of 0 where it is
// 0. p: 0, infinite or any positive number.
Tensor p_norm(const Tensor& x, double p, const Dims& dim, bool keepdim);
// That gradient for x; norm and g with the reduced dimensions of `mask` as 1.
Tensor p_norm_gradient(const Tensor& x, const Tensor& norm, const Tensor& g, double p,
                       std::uint64_t mask);

Tensor dropout(const Tensor& input, double p, bool train);  // random.cpp
// 1 with probability 1 - p, else 0, in `shape` and `dtype`; draws from the default generator.
Tensor keep_mask(const Dims& shape, DType dtype, double p);
// The same in the shape, layout and dtype of `t`, drawn in the order of its memory.
Tensor keep_mask_like(const Tensor& t, double p);

}  // namespace treadle
