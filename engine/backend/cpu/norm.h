// Normalisation of groups of elements.
#pragma once
#include <cstdint>

#include "engine/backend/kernel.h"

namespace treadle {

// x (outer, groups, inner), dense, float32 or float64. For each group, over all of outer and inner:
// mean, var (biased), rstd = 1 / sqrt(var + eps), and out = (x - mean) * rstd. Sums are of double.
// Groups without elements have a mean and variance of NaN.
void normalize_groups(DType dtype, std::int64_t outer, std::int64_t groups, std::int64_t inner,
                      double eps, const char* x, char* out, char* mean, char* var, char* rstd);

}  // namespace treadle
