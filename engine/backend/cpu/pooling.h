// Windows and weights along single dimensions: average pooling, interpolation; and maxima of
// windows.
#pragma once
#include <cstdint>
#include <vector>

#include "engine/backend/kernel.h"

namespace treadle {

// Output o of one dimension is the sum of weight[offset[o] + t] times input start[o] + t, for t
// below offset[o + 1] - offset[o].
struct Taps {
  std::int64_t in = 0;
  std::vector<std::int64_t> start, offset{0};
  std::vector<double> weight;

  std::int64_t out() const { return static_cast<std::int64_t>(start.size()); }
  // Adds the next output.
  void push(std::int64_t from, const std::vector<double>& weights) {
    start.push_back(from);
    weight.insert(weight.end(), weights.begin(), weights.end());
    offset.push_back(static_cast<std::int64_t>(weight.size()));
  }
};

// y (outer, taps.out(), inner) from x (outer, taps.in, inner), dense; or, the adjoint, x from y.
// float32, float64 and int64.
void resample(DType dtype, const Taps& taps, std::int64_t outer, std::int64_t inner, const char* x,
              char* y);
void resample_adjoint(DType dtype, const Taps& taps, std::int64_t outer, std::int64_t inner,
                      const char* y, char* x);

// Where windows start in one dimension, how many elements they have and how far these lie apart. If
// `per_plane`, there are as many lists of `out` starts as planes.
struct Starts {
  std::int64_t in = 1, out = 1;
  std::vector<std::int64_t> start, size;  // all within [0, in)
  std::int64_t step = 1;
  bool per_plane = false;
};

// index (planes, out 0, out 1, out 2): position in its plane of the largest element of each window,
// the first of equals; the last NaN if there is one. Windows must not be empty. Real dtypes.
void max_windows(DType dtype, const Starts dims[3], std::int64_t planes, const char* x,
                 std::int64_t* index);

}  // namespace treadle
