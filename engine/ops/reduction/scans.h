// What other ops share with the scans.
#pragma once
#include "engine/core/tensor.h"
#include "engine/ops/schema.h"

namespace treadle {

Tensor cumprod(const Tensor& self, std::int64_t dim, std::optional<DType> dtype = std::nullopt);

// x^0, x^1, ... along a new last dimension of that size, at least 1; integers become int64.
Tensor rising_powers(const Tensor& x, std::int64_t size);

// Moved by one along dim, to lower positions with `back`; `fill` comes in at the other end.
// Differentiable.
Tensor shift(const Tensor& t, std::int64_t dim, bool back, const Scalar& fill);

}  // namespace treadle
