// Matrix products of any strides, on the pool.
#pragma once
#include "engine/backend/kernel.h"

namespace treadle {

// C (m x n) = alpha A (m x k) B (k x n) + beta C for float32, float64, complex64, complex128,
// int64 and uint8 (integers wrap); see kernel::GemmArgs. C must not overlap A or B, and its
// elements must be distinct. The split over threads depends on the shape alone: any number of
// threads gives the same bits. Throws Error{not_implemented} for other dtypes, Error{value} for
// negative sizes.
void gemm(DType dtype, const kernel::GemmArgs& args);

}  // namespace treadle
