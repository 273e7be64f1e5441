// Means and sums of squared deviations, in float64 and without cancellation.
#pragma once
#include <cstdint>

#include "engine/backend/kernel.h"

namespace treadle {

// For each of `rows` dense rows of `count` elements the mean, and the sum of the squares of its
// differences from the mean. Real dtypes. A row of no elements has the mean NaN and the sum 0.
// Two passes over blocks, joined by a fixed tree: the same bits for any number of threads.
void moments(DType dtype, const char* in, std::int64_t rows, std::int64_t count, double* mean,
             double* squares);

}  // namespace treadle
