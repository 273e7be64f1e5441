// Running the reduction kernels: dimension lists, layouts, blocks, threads. Below the tape.
#pragma once
#include "engine/core/tensor.h"

namespace treadle {

enum class Reduction : std::uint8_t { sum, prod, any, all, max, min, argmax, argmin };

// The dimensions of `dim` as a bit mask; all of them if it is empty. Throws Error{runtime} for one
// given twice.
std::uint64_t dim_mask(const Dims& dim, std::int64_t rank);
// Shape after reducing the dimensions of `mask`.
Dims reduced_shape(const Dims& shape, std::uint64_t mask, bool keepdim);

// Reduces over `mask`. `index`, if given, receives the positions of max and min over one dimension.
Tensor reduce(Reduction op, const Tensor& self, std::uint64_t mask, bool keepdim,
              Tensor* index = nullptr);
// The same in the dtype that the kernels accumulate in: float32 for sums and products of the 16-bit
// floats.
Tensor reduce_wide(Reduction op, const Tensor& self, std::uint64_t mask, bool keepdim,
                   Tensor* index = nullptr);

// `t` (a result of a reduction over `mask` without keepdim) with its reduced dimensions as size 1
// again.
Tensor restore_dims(const Tensor& t, std::uint64_t mask, std::int64_t rank, bool keepdim);

}  // namespace treadle
