// Elementwise ops that ops/pointwise.cpp is made of and that ops/names.h leaves out (functor/ has
// their formulas).
#pragma once
#include "engine/core/tensor.h"

namespace treadle {

Tensor clamp_tensor(const Tensor& self, const Tensor& min, const Tensor& max);
Tensor prelu_kernel(const Tensor& self, const Tensor& weight);
Tensor round(const Tensor& self);
void abs_inplace(const Tensor& self);  // real tensors

}  // namespace treadle
