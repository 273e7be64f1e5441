// Fourier transforms for other ops (stft). Semantics are those of the Python functions.
#pragma once
#include <optional>

#include "engine/core/tensor.h"

namespace treadle {

// Along one dimension, multiplied by `scale`; differentiable to any order. Sizes of 0 are refused
// before. Complex in, complex out:
Tensor fft_complex(const Tensor& self, std::int64_t dim, bool backward, double scale);
// Real in; the first n / 2 + 1 of n results:
Tensor fft_real(const Tensor& self, std::int64_t dim, double scale);
// The inverse of that (backward), with n real results:
Tensor fft_half(const Tensor& self, std::int64_t dim, std::int64_t n, double scale);

}  // namespace treadle
