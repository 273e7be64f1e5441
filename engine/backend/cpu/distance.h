// Distances between the rows of two matrices.
#pragma once
#include <cstdint>

#include "engine/backend/kernel.h"

namespace treadle {

// x1 (batch, rows1, columns) and x2 (batch, rows2, columns), dense, float32 or float64.
struct DistanceShape {
  std::int64_t batch, rows1, rows2, columns;
  double p;  // of the norm: 0, infinite, or positive
};
// out (batch, rows1, rows2) = |x1 - x2|_p. Sums are of double.
void row_distances(DType dtype, const DistanceShape& shape, const char* x1, const char* x2,
                   char* out);
// The gradient for x1 of distances `dist` with gradients `g`; 0 where a distance is 0.
void row_distances_grad(DType dtype, const DistanceShape& shape, const char* g, const char* x1,
                        const char* x2, const char* dist, char* out);

}  // namespace treadle
