// Linear maps along single dimensions of a tensor, as one op: what average pooling and
// interpolation are.
#pragma once
#include <memory>
#include <vector>

#include "engine/backend/cpu/pooling.h"
#include "engine/core/tensor.h"

namespace treadle {

struct AlongDim {
  std::int64_t dim;
  std::shared_ptr<const Taps> taps;
};
// Applies the maps one after another. Differentiable. float32, float64, the 16-bit floats and
// int64.
Tensor resample_dims(const char* name, const Tensor& x, const std::vector<AlongDim>& maps);

// Throws Error{runtime} for more outputs in one dimension than a table of weights is made for.
void check_table_size(const char* op, std::int64_t outputs);

}  // namespace treadle
