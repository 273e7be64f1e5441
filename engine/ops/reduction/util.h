// What the files with reductions share.
#pragma once
#include "engine/ops/reduction/reduce.h"
#include "engine/ops/view/util.h"

namespace treadle {

// Gradient of an op that adds elements up: every element gets that of its sum.
inline Tensor spread(const Tensor& g, const Dims& shape, std::uint64_t mask, bool keepdim) {
  return expand(restore_dims(g, mask, shape.size(), keepdim), shape);
}

inline std::int64_t reduced_count(const Tensor& t, std::uint64_t mask) {
  std::int64_t n = 1;
  for (std::int64_t i = 0; i < t.dim(); ++i) n *= mask >> i & 1 ? t.shape()[i] : 1;
  return n;
}

// The dimensions of a mask.
inline Dims mask_dims(std::uint64_t mask, std::int64_t rank) {
  Dims dims;
  for (std::int64_t i = 0; i < rank; ++i) {
    if (mask >> i & 1) dims.push_back(i);
  }
  return dims;
}

// The tensor with the dimensions of `mask` last and everything dense, without tape.
inline Tensor reduced_last(const Tensor& self, std::uint64_t mask) {
  const NoGrad off;
  Dims order = mask_dims(~mask, self.dim());
  for (const std::int64_t d : mask_dims(mask, self.dim())) order.push_back(d);
  return contiguous(permute(detach(self), order));
}

// Throws Error{not_implemented} for a dtype without fractions, in the words of mean().
void check_floating(const Tensor& t, const char* op);

}  // namespace treadle
