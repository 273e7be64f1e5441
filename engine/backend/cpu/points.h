// Weighted sums of elements at given positions of images: what sampling at points is made of.
#pragma once
#include <cstdint>

#include "engine/backend/kernel.h"

namespace treadle {

// Images x (batch, channels, inputs); for each of `points` outputs `taps` positions and weights,
// index and w (batch, taps, points), the same for all channels; an index of -1 contributes nothing,
// the others must lie in [0, inputs). All dense, float32 or float64.
struct PointShape {
  std::int64_t batch, channels, inputs, taps, points;
};
// The three sides of y[n, c, p] = sum over t of w[n, t, p] x[n, c, index[n, t, p]], each the
// gradient of the others.
void points_output(DType dtype, const PointShape& shape, const std::int64_t* index, const char* x,
                   const char* w, char* y);
void points_input(DType dtype, const PointShape& shape, const std::int64_t* index, const char* y,
                  const char* w, char* x);
void points_weight(DType dtype, const PointShape& shape, const std::int64_t* index, const char* y,
                   const char* x, char* w);

}  // namespace treadle
