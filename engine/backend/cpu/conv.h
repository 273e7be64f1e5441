// Convolutions of one to three dimensions over dense memory, and the windows of unfold and fold.
#pragma once
#include <cstdint>

#include "engine/backend/kernel.h"

namespace treadle {

// Images (batch, channels, in[0], in[1], in[2]) and (batch, channels, out[0], out[1], out[2]) that
// are connected by kernel windows: element k of the window of output position o lies at input
// position o * stride - pad + k * dilation, or outside, where it counts as zero. Fewer than three
// dimensions: the first ones are 1.
struct Windows {
  std::int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1};
  std::int64_t pad[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};

  std::int64_t inputs() const { return in[0] * in[1] * in[2]; }
  std::int64_t outputs() const { return out[0] * out[1] * out[2]; }
  std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  // Every output is one input.
  bool trivial() const;
};
// Weights are (out_channels, in_channels / groups, kernel[0], kernel[1], kernel[2]).
struct ConvShape : Windows {
  std::int64_t batch = 0, groups = 1, in_channels = 0, out_channels = 0;
};

// The three sides of y[n, o, p] = sum over c and k of w[o, c, k] x[n, c, p * stride - pad + k *
// dilation]: y from x and w (plus bias[o] if it isn't null), the x that gets a given y's, and the w
// that does. float32, float64, complex64, complex128 and int64; others throw
// Error{not_implemented}. The results are overwritten. Scratch: about a megabyte for each thread.
// The order of additions depends on the shape alone.
void conv_output(DType dtype, const ConvShape& shape, const char* x, const char* w,
                 const char* bias, char* y);
void conv_input(DType dtype, const ConvShape& shape, const char* y, const char* w, char* x);
void conv_weight(DType dtype, const ConvShape& shape, const char* y, const char* x, char* w);

// Windows side by side: columns[plane, k, o] = image[plane, position of k in o], zero outside; and
// the sum of columns back at their positions. Any dtype; bool sums are "or".
void unfold_windows(DType dtype, const Windows& windows, std::int64_t planes, const char* image,
                    char* columns);
void fold_windows(DType dtype, const Windows& windows, std::int64_t planes, const char* columns,
                  char* image);

}  // namespace treadle
