// Interpolation: for each dimension and mode the weights of its outputs.
#include "engine/ops/nn/resample.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/ops/nn/util.h"

namespace treadle {

Tensor resample_dims(const char* name, const Tensor& x, const std::vector<AlongDim>& maps) {
  if (const DType wide = compute_dtype(x.dtype()); wide != x.dtype()) {
    return to(resample_dims(name, to(x, wide), maps), x.dtype());
  }
  const bool last = is_channels_last(x);
  const auto run = [maps, last](const Tensor& t, bool adjoint) {
    Tensor at = dense(t);
    for (std::size_t i = 0; i < maps.size(); ++i) {
      const AlongDim& m = maps[adjoint ? maps.size() - 1 - i : i];
      std::int64_t outer = 1, inner = 1;
      for (std::int64_t d = 0; d < at.dim(); ++d) {
        if (d < m.dim) outer *= at.shape()[d];
        if (d > m.dim) inner *= at.shape()[d];
      }
      Dims shape = at.shape();
      shape[m.dim] = adjoint ? m.taps->in : m.taps->out();
      product(shape);
      const Tensor next = Tensor::empty(shape, at.dtype());
      if (next.numel() > 0) {
        (adjoint ? resample_adjoint : resample)(at.dtype(), *m.taps, outer, inner, at.data(),
                                                next.data());
      }
      at = next;
    }
    return last ? to_channels_last(at) : at;
  };
  return linear_map(
      name, x, [run](const Tensor& t) { return run(t, false); },
      [run](const Tensor& t) { return run(t, true); });
}

void check_table_size(const char* op, std::int64_t outputs) {
  constexpr std::int64_t kMost = 1 << 24;
  if (outputs <= kMost) return;
  fail(ErrorKind::runtime, std::string(op) + ": an output size of " + std::to_string(outputs) +
                               " is too large; at most " + std::to_string(kMost) +
                               " are supported in one dimension");
}

namespace {

enum class Mode : std::uint8_t { nearest, nearest_exact, linear, cubic, linear_aa, cubic_aa };

// Keys' cubic convolution (1981).
double cubic_near(double x, double a) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
double cubic_far(double x, double a) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; }

// Input positions per output position.
double step_of(std::int64_t in, std::int64_t out, bool align, std::optional<double> scale) {
  if (align) {
    return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  }
  return scale && *scale > 0 ? 1 / *scale : static_cast<double>(in) / static_cast<double>(out);
}

Taps taps_of(Mode mode, std::int64_t in, std::int64_t out, bool align,
             std::optional<double> scale) {
  Taps taps;
  taps.in = in;
  const double step = step_of(in, out, align, scale);
  const auto clamp = [in](double i) {  // also where i is beyond int64, or NaN
    return i > 0 ? static_cast<std::int64_t>(std::min(i, static_cast<double>(in - 1))) : 0;
  };
  std::vector<double> w;
  for (std::int64_t o = 0; o < out; ++o) {
    const double centre = step * (static_cast<double>(o) + 0.5);
    const double source = align ? step * static_cast<double>(o) : centre - 0.5;
    switch (mode) {
      case Mode::nearest:
      case Mode::nearest_exact: {  // in float32, as PyTorch: borders between inputs depend on it
        const auto fstep = static_cast<float>(step);
        const float shift = mode == Mode::nearest_exact ? 0.5F : 0.0F;
        taps.push(clamp(std::floor((static_cast<float>(o) + shift) * fstep)), {1.0});
        break;
      }
      case Mode::linear: {
        const double x = std::max(source, 0.0);
        const std::int64_t i = clamp(std::floor(x));
        const double part = std::clamp(x - static_cast<double>(i), 0.0, 1.0);
        if (i + 1 < in) {
          taps.push(i, {1 - part, part});
        } else {
          taps.push(i, {1.0});
        }
        break;
      }
      case Mode::cubic: {
        constexpr double kA = -0.75;
        const double low = std::floor(source);
        const double t = std::clamp(source - low, 0.0, 1.0);
        const double c[4] = {cubic_far(t + 1, kA), cubic_near(t, kA), cubic_near(1 - t, kA),
                             cubic_far(2 - t, kA)};
        // Positions outside count as the border.
        const std::int64_t first = clamp(low - 1), last = clamp(low + 2);
        w.assign(static_cast<std::size_t>(last - first + 1), 0.0);
        for (int k = 0; k < 4; ++k) {
          w[static_cast<std::size_t>(clamp(low + k - 1) - first)] += c[k];
        }
        taps.push(first, w);
        break;
      }
      case Mode::linear_aa:
      case Mode::cubic_aa: {
        const double half = mode == Mode::linear_aa ? 1 : 2, wide = std::max(step, 1.0);
        const double support = half * wide;
        const std::int64_t first = clamp(std::trunc(std::max(centre - support + 0.5, 0.0)));
        const std::int64_t end = std::max(
            first + 1,
            static_cast<std::int64_t>(std::min(static_cast<double>(in), centre + support + 0.5)));
        w.clear();
        double total = 0;
        for (std::int64_t i = first; i < end; ++i) {
          const double x = std::abs((static_cast<double>(i) - centre + 0.5) / wide);
          double v = 0;
          if (mode == Mode::linear_aa) {
            v = std::max(1 - x, 0.0);
          } else if (x < 2) {
            v = x < 1 ? cubic_near(x, -0.5) : cubic_far(x, -0.5);
          }
          w.push_back(v);
          total += v;
        }
        for (double& v : w) v = total != 0 ? v / total : v;
        taps.push(first, w);
        break;
      }
    }
  }
  return taps;
}

struct Resize {
  const char* name;
  Mode mode;
  std::int64_t rank;
};

// Bytes are rounded after each dimension, and weights are whole multiples of a power of two: as
// PyTorch, whose 16-bit arithmetic this follows.
Tensor resize_bytes(const Resize& r, const Tensor& input, const std::vector<AlongDim>& maps) {
  const NoGrad off;
  Tensor out = to(detach(input), DType::int64);
  for (const AlongDim& m : maps) {
    double most = 0;
    for (const double w : m.taps->weight) most = std::max(most, w);
    int bits = 1;
    while (bits < 22 && std::lround(most * (1 << (bits + 1))) < 1 << 15) ++bits;
    auto taps = std::make_shared<Taps>(*m.taps);
    for (double& w : taps->weight) w = std::trunc(w * (1 << bits) + (w < 0 ? -0.5 : 0.5));
    const Tensor sum = resample_dims(r.name, out, {{m.dim, taps}});
    const Tensor half = Tensor::wrapped(std::int64_t{1} << (bits - 1));
    const Tensor whole = floor_divide(add(sum, half), Tensor::wrapped(std::int64_t{1} << bits));
    out = minimum(maximum(whole, Tensor::wrapped(std::int64_t{0})),
                  Tensor::wrapped(std::int64_t{255}));
  }
  return to(out, DType::uint8);
}

Tensor resize(const Resize& r, const Tensor& input, const Dims& size, bool align,
              const std::optional<std::vector<double>>& scales) {
  const std::int64_t n = r.rank;
  if (input.dim() != n + 2) {
    fail(ErrorKind::runtime, std::string(r.name) + ": expected a " + std::to_string(n + 2) +
                                 "-dimensional input, but got sizes " + to_string(input.shape()));
  }
  if (size.size() != n) {
    fail(ErrorKind::runtime, "It is expected output_size equals to " + std::to_string(n) +
                                 ", but got size " + std::to_string(size.size()));
  }
  bool empty = false;
  for (std::int64_t d = 1; d < n + 2; ++d) empty |= input.shape()[d] == 0;
  for (const std::int64_t s : size) {
    if (s <= 0 || empty) {
      fail(ErrorKind::runtime, "Input and output sizes should be greater than 0, but got input " +
                                   to_string(input.shape()) + " and output " + to_string(size));
    }
  }
  Dims shape = input.shape();
  for (std::int64_t d = 0; d < n; ++d) shape[d + 2] = size[d];
  product(shape);
  for (const std::int64_t s : size) check_table_size(r.name, s);
  std::vector<AlongDim> maps;
  for (std::int64_t d = n - 1; d >= 0; --d) {
    std::optional<double> scale;
    if (scales && d < static_cast<std::int64_t>(scales->size())) {
      scale = (*scales)[static_cast<std::size_t>(d)];
    }
    maps.push_back({d + 2, std::make_shared<const Taps>(
                               taps_of(r.mode, input.shape()[d + 2], size[d], align, scale))});
  }
  if (input.dtype() == DType::uint8) return resize_bytes(r, input, maps);
  if (!is_floating(input.dtype())) no_implementation(input.dtype(), r.name);
  return resample_dims(r.name, input, maps);
}

constexpr Resize kResize[] = {
    {"UpsampleNearest1DBackward0", Mode::nearest, 1},
    {"UpsampleNearest2DBackward0", Mode::nearest, 2},
    {"UpsampleNearest3DBackward0", Mode::nearest, 3},
    {"UpsampleNearestExact1DBackward0", Mode::nearest_exact, 1},
    {"UpsampleNearestExact2DBackward0", Mode::nearest_exact, 2},
    {"UpsampleNearestExact3DBackward0", Mode::nearest_exact, 3},
    {"UpsampleLinear1DBackward0", Mode::linear, 1},
    {"UpsampleBilinear2DBackward0", Mode::linear, 2},
    {"UpsampleTrilinear3DBackward0", Mode::linear, 3},
    {"UpsampleBicubic2DBackward0", Mode::cubic, 2},
    {"UpsampleBilinear2DAaBackward0", Mode::linear_aa, 2},
    {"UpsampleBicubic2DAaBackward0", Mode::cubic_aa, 2},
};

template <int I>
Tensor nearest(const Tensor& input, const Dims& size,
               const std::optional<std::vector<double>>& scales) {
  return resize(kResize[I], input, size, false, scales);
}
template <int I>
Tensor smooth(const Tensor& input, const Dims& size, bool align,
              const std::optional<std::vector<double>>& scales) {
  return resize(kResize[I], input, size, align, scales);
}

#define TREADLE_NEAREST(name) \
  name "(Tensor input, int[] output_size, float[]? scale_factors=None) -> Tensor"
#define TREADLE_SMOOTH(name)                                          \
  name "(Tensor input, int[] output_size, bool align_corners=False, " \
       "float[]? scale_factors=None) -> Tensor"

}  // namespace

std::span<const OpDef> nn_resample_ops() {
  static constexpr const char* kNearest = "Each output is the input it falls on.";
  static constexpr const char* kExact = "Each output is the input its centre falls on.";
  static constexpr const char* kLinear = "Linear between the nearest inputs of each dimension.";
  static constexpr const char* kCubic = "Cubic convolution of 4 inputs of each dimension.";
  static constexpr const char* kAa = "The filter is widened when the image gets smaller.";
  static constexpr OpDef rows[] = {
      native<nearest<0>>(TREADLE_NEAREST("upsample_nearest1d"), kNearest, kFunctional),
      native<nearest<1>>(TREADLE_NEAREST("upsample_nearest2d"), kNearest, kFunctional),
      native<nearest<2>>(TREADLE_NEAREST("upsample_nearest3d"), kNearest, kFunctional),
      native<nearest<3>>(TREADLE_NEAREST("_upsample_nearest_exact1d"), kExact, kFunctional),
      native<nearest<4>>(TREADLE_NEAREST("_upsample_nearest_exact2d"), kExact, kFunctional),
      native<nearest<5>>(TREADLE_NEAREST("_upsample_nearest_exact3d"), kExact, kFunctional),
      native<smooth<6>>(TREADLE_SMOOTH("upsample_linear1d"), kLinear, kFunctional),
      native<smooth<7>>(TREADLE_SMOOTH("upsample_bilinear2d"), kLinear, kFunctional),
      native<smooth<8>>(TREADLE_SMOOTH("upsample_trilinear3d"), kLinear, kFunctional),
      native<smooth<9>>(TREADLE_SMOOTH("upsample_bicubic2d"), kCubic, kFunctional),
      native<smooth<10>>(TREADLE_SMOOTH("_upsample_bilinear2d_aa"), kAa, kFunctional),
      native<smooth<11>>(TREADLE_SMOOTH("_upsample_bicubic2d_aa"), kAa, kFunctional),
  };
  return rows;
}

}  // namespace treadle
