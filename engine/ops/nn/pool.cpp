// Pooling. Averages are linear maps along each dimension (resample.h). Maxima are gathered at
// the positions that a kernel finds, which gives their gradients of any order.
#include <algorithm>
#include <array>

#include "engine/ops/nn/resample.h"
#include "engine/ops/nn/util.h"

namespace treadle {
namespace {

struct Named {
  const char* name;
  std::int64_t rank;
};

// Spatial sizes as three, the first ones 1.
using Sizes = std::array<std::int64_t, 3>;

struct Pool {
  Dims kernel, stride, padding, dilation;  // one value for each spatial dimension
  bool ceil = false;
};

void check_input(const Named& op, const Tensor& x) {
  const std::int64_t n = op.rank;
  bool ok = x.dim() == n + 1 || x.dim() == n + 2;
  for (std::int64_t d = x.dim() == n + 2 ? 1 : 0; ok && d < x.dim(); ++d) ok = x.shape()[d] > 0;
  if (!ok) {
    fail(ErrorKind::runtime, std::string(op.name) + "(): Expected " + std::to_string(n + 1) +
                                 "D or " + std::to_string(n + 2) +
                                 "D (batch mode) tensor with optional 0 dim batch size for input, "
                                 "but got: " +
                                 to_string(x.shape()));
  }
}

Pool pool_options(const Named& op, const Tensor& x, const Dims& kernel,
                  const std::optional<Dims>& stride, const Dims& padding, const Dims& dilation,
                  bool ceil) {
  const std::int64_t n = op.rank;
  Pool p;
  p.kernel = spatial_list(kernel, n, op.name, "kernel_size");
  p.stride = stride && !stride->empty() ? spatial_list(*stride, n, op.name, "stride") : p.kernel;
  p.padding = spatial_list(padding, n, op.name, "padding");
  p.dilation = spatial_list(dilation, n, op.name, "dilation");
  p.ceil = ceil;
  const auto positive = [&](const Dims& list, const char* what) {
    for (const std::int64_t v : list) {
      if (v <= 0) {
        fail(ErrorKind::runtime, std::string(op.name) + "() " + what +
                                     " should be greater than zero, but got " + to_string(list));
      }
    }
  };
  positive(p.kernel, "kernel size");
  positive(p.stride, "stride");
  positive(p.dilation, "dilation");
  for (std::int64_t i = 0; i < n; ++i) {
    if (p.padding[i] < 0) {
      fail(ErrorKind::runtime,
           "pad must be non-negative, but got pad: " + std::to_string(p.padding[i]));
    }
    std::int64_t span = 0;
    if (__builtin_mul_overflow(p.dilation[i], p.kernel[i] - 1, &span) || span > std::int64_t{1}
                                                                                    << 60) {
      fail(ErrorKind::runtime, std::string(op.name) + ": dilation and kernel size are too large");
    }
    if (p.padding[i] > (span + 1) / 2) {
      fail(ErrorKind::runtime, "pad should be at most half of effective kernel size, but got pad=" +
                                   std::to_string(p.padding[i]) +
                                   ", kernel_size=" + std::to_string(p.kernel[i]) +
                                   " and dilation=" + std::to_string(p.dilation[i]));
    }
  }
  check_input(op, x);
  return p;
}

// Output size of dimension i. With ceil the last window may hang over, but must start inside.
std::int64_t pooled_size(const Named& op, const Pool& p, std::int64_t i, const Tensor& x) {
  const std::int64_t in = x.shape()[x.dim() - op.rank + i];
  const std::int64_t room = in + 2 * p.padding[i] - p.dilation[i] * (p.kernel[i] - 1) - 1 +
                            (p.ceil ? p.stride[i] - 1 : 0);
  std::int64_t out = room < 0 ? 0 : room / p.stride[i] + 1;
  if (p.ceil && out > 0 && (out - 1) * p.stride[i] >= in + p.padding[i]) --out;
  if (out < 1) {
    fail(ErrorKind::runtime, "Given input size: " + to_string(x.shape()) +
                                 ". Calculated output size: " + std::to_string(out) +
                                 ". Output size is too small");
  }
  return out;
}

// --- averages ------------------------------------------------------------------------------------

struct AvgDim {
  Taps sums;                    // weights of 1
  std::vector<double> divisor;  // of each output
};

Tensor average(const char* name, const Tensor& x, std::int64_t rank,
               const std::vector<AvgDim>& dims, std::optional<std::int64_t> divisor_override) {
  std::vector<AlongDim> maps;
  const bool whole = is_integral(x.dtype());
  if (whole && x.dtype() != DType::int64) no_implementation(x.dtype(), "avg_pool2d_out_frame");
  if (is_complex(x.dtype())) no_implementation(x.dtype(), "avg_pool2d_out_frame");
  for (std::int64_t i = rank - 1; i >= 0; --i) {
    const AvgDim& d = dims[static_cast<std::size_t>(i)];
    auto taps = std::make_shared<Taps>(d.sums);
    for (std::size_t o = 0; !whole && o < d.divisor.size(); ++o) {
      // A single divisor is applied with the last map.
      const double by = !divisor_override ? d.divisor[o]
                        : i == 0          ? static_cast<double>(*divisor_override)
                                          : 1;
      for (auto t = d.sums.offset[o]; t < d.sums.offset[o + 1]; ++t) {
        taps->weight[static_cast<std::size_t>(t)] /= by;
      }
    }
    maps.push_back({x.dim() - rank + i, taps});
  }
  const Tensor out = resample_dims(name, x, maps);
  if (!whole) return out;
  if (divisor_override) return div_trunc(out, Tensor::wrapped(*divisor_override));
  Tensor by = ones({1}, DType::int64);
  for (const AvgDim& d : dims) {
    const std::vector<std::int64_t> values(d.divisor.begin(), d.divisor.end());
    by = mul(unsqueeze(by, -1),
             from_values(std::span<const std::int64_t>(values),
                         {static_cast<std::int64_t>(values.size())}, DType::int64));
  }
  return div_trunc(out, squeeze(by, Dims{0}));
}

Tensor avg_pool(const Named& op, const char* node, const Tensor& self, const Dims& kernel_size,
                const std::optional<Dims>& stride, const Dims& padding, bool ceil_mode,
                bool count_include_pad, std::optional<std::int64_t> divisor_override) {
  const Pool p = pool_options(op, self, kernel_size, stride, padding, {1}, ceil_mode);
  if (divisor_override && *divisor_override == 0) {
    fail(ErrorKind::runtime, "divisor must be not zero");
  }
  std::vector<AvgDim> dims;
  for (std::int64_t i = 0; i < op.rank; ++i) {
    const std::int64_t in = self.shape()[self.dim() - op.rank + i];
    const std::int64_t out = pooled_size(op, p, i, self);
    AvgDim d;
    d.sums.in = in;
    for (std::int64_t o = 0; o < out; ++o) {
      const std::int64_t start = o * p.stride[i] - p.padding[i];
      const std::int64_t end = std::min(start + p.kernel[i], in + p.padding[i]);
      const std::int64_t first = std::max<std::int64_t>(start, 0), last = std::min(end, in);
      const std::int64_t n = std::max<std::int64_t>(last - first, 0);
      d.sums.push(n > 0 ? first : 0, std::vector<double>(static_cast<std::size_t>(n), 1.0));
      d.divisor.push_back(
          static_cast<double>(std::max<std::int64_t>(1, count_include_pad ? end - start : n)));
    }
    dims.push_back(std::move(d));
  }
  return average(node, self, op.rank, dims, divisor_override);
}

// Window i of `out` over `in` elements: [i in / out, (i + 1) in / out), rounded outwards.
std::int64_t adaptive_start(std::int64_t i, std::int64_t in, std::int64_t out) {
  return i / out * in + i % out * in / out;
}
std::int64_t adaptive_end(std::int64_t i, std::int64_t in, std::int64_t out) {
  return ((i + 1) * in + out - 1) / out;
}

Dims adaptive_size(const Named& op, const Tensor& self, const Dims& output_size) {
  const Dims size = spatial_list(output_size, op.rank, op.name, "output_size");
  for (const std::int64_t s : size) {
    if (s < 0) {
      fail(ErrorKind::runtime, std::string(op.name) +
                                   "(): elements of output_size must be greater than or equal to "
                                   "0, but got " +
                                   to_string(size));
    }
  }
  check_input(op, self);
  Dims shape = self.shape();
  for (std::int64_t i = 0; i < op.rank; ++i) {
    shape[self.dim() - op.rank + i] = size[i];
    check_table_size(op.name, size[i]);
  }
  product(shape);
  return size;
}

Tensor adaptive_avg_pool(const Named& op, const char* node, const Tensor& self,
                         const Dims& output_size) {
  const Dims size = adaptive_size(op, self, output_size);
  if (!is_floating(self.dtype())) no_implementation(self.dtype(), "adaptive_avg_pool2d");
  std::vector<AvgDim> dims;
  for (std::int64_t i = 0; i < op.rank; ++i) {
    const std::int64_t in = self.shape()[self.dim() - op.rank + i];
    AvgDim d;
    d.sums.in = in;
    for (std::int64_t o = 0; o < size[i]; ++o) {
      const std::int64_t start = adaptive_start(o, in, size[i]);
      const std::int64_t n = adaptive_end(o, in, size[i]) - start;
      d.sums.push(start, std::vector<double>(static_cast<std::size_t>(n), 1.0));
      d.divisor.push_back(static_cast<double>(n));
    }
    dims.push_back(std::move(d));
  }
  return average(node, self, op.rank, dims, std::nullopt);
}

// --- maxima --------------------------------------------------------------------------------------

using Pair = std::tuple<Tensor, Tensor>;

// Values at the positions `index` (batch..., C, spatial...) within each plane of self.
Tensor at_positions(const Tensor& self, const Tensor& index, std::int64_t rank) {
  const auto flat = [&](const Tensor& t) { return flatten(t, t.dim() - rank, -1); };
  return reshape(gather(flat(self), -1, flat(index)), index.shape());
}

Pair maxima(const Named& op, const Tensor& self, const std::vector<Starts>& given) {
  if (self.dtype() == DType::boolean) no_implementation(self.dtype(), op.name);
  Starts dims[3];
  Dims shape = self.shape();
  std::int64_t planes = 1;
  for (std::int64_t d = 0; d < self.dim() - op.rank; ++d) planes *= self.shape()[d];
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::int64_t k = i - (3 - op.rank);
    if (k < 0) {
      dims[i].start = {0};
      dims[i].size = {1};
    } else {
      dims[i] = given[static_cast<std::size_t>(k)];
      shape[self.dim() - op.rank + k] = dims[i].out;
    }
  }
  product(shape);
  const Tensor index = Tensor::empty(shape, DType::int64);
  if (index.numel() > 0) {
    max_windows(self.dtype(), dims, planes, dense(self).data(), index.data_as<std::int64_t>());
  }
  const Tensor values = at_positions(self, index, op.rank);
  if (!is_channels_last(self) || needs_tape({&self})) return {values, index};
  return {to_channels_last(values), to_channels_last(index)};
}

Pair max_pool(const Named& op, const Tensor& self, const Dims& kernel_size,
              const std::optional<Dims>& stride, const Dims& padding, const Dims& dilation,
              bool ceil_mode) {
  const Pool p = pool_options(op, self, kernel_size, stride, padding, dilation, ceil_mode);
  std::vector<Starts> dims;
  for (std::int64_t i = 0; i < op.rank; ++i) {
    Starts s;
    s.in = self.shape()[self.dim() - op.rank + i];
    s.out = pooled_size(op, p, i, self);
    s.step = p.dilation[i];
    for (std::int64_t o = 0; o < s.out; ++o) {
      std::int64_t start = o * p.stride[i] - p.padding[i];
      const std::int64_t end = std::min(start + (p.kernel[i] - 1) * s.step + 1, s.in);
      if (start < 0) start += (-start + s.step - 1) / s.step * s.step;
      if (start >= s.in || end <= start) {
        // All of the window lies in the padding; PyTorch's kernels then give the border.
        fail(ErrorKind::runtime, std::string(op.name) + "(): window " + std::to_string(o) +
                                     " of dimension " + std::to_string(i) +
                                     " lies outside of the input " + to_string(self.shape()));
      }
      s.start.push_back(start);
      s.size.push_back((end - start + s.step - 1) / s.step);
    }
    dims.push_back(std::move(s));
  }
  return maxima(op, self, dims);
}

Pair adaptive_max_pool(const Named& op, const Tensor& self, const Dims& output_size) {
  const Dims size = adaptive_size(op, self, output_size);
  if (!is_floating(self.dtype())) no_implementation(self.dtype(), op.name);
  std::vector<Starts> dims;
  for (std::int64_t i = 0; i < op.rank; ++i) {
    Starts s;
    s.in = self.shape()[self.dim() - op.rank + i];
    s.out = size[i];
    for (std::int64_t o = 0; o < s.out; ++o) {
      s.start.push_back(adaptive_start(o, s.in, s.out));
      s.size.push_back(adaptive_end(o, s.in, s.out) - s.start.back());
    }
    dims.push_back(std::move(s));
  }
  return maxima(op, self, dims);
}

// Graham's fractional pooling: windows start at pseudo-random steps that one sample in [0, 1)
// for each plane and dimension decides.
Pair fractional_max_pool(const Named& op, const Tensor& self, const Dims& kernel_size,
                         const Dims& output_size, const Tensor& samples) {
  const std::int64_t n = op.rank;
  const Dims kernel = spatial_list(kernel_size, n, op.name, "kernel_size");
  const Dims size = spatial_list(output_size, n, op.name, "output_size");
  check_input(op, self);
  if (!is_floating(self.dtype())) no_implementation(self.dtype(), op.name);
  if (samples.dtype() != self.dtype()) {
    fail(ErrorKind::runtime, "Expect _random_samples to have the same dtype as input, but got " +
                                 scalar_name(samples.dtype()) + " and " +
                                 scalar_name(self.dtype()));
  }
  const std::int64_t channels = self.shape()[self.dim() - n - 1];
  const std::int64_t batch = self.dim() == n + 2 ? self.size(0) : 1;
  if (samples.dim() != 3 || samples.size(0) < batch || samples.size(1) < channels ||
      samples.size(2) < n) {
    fail(ErrorKind::runtime, "Expect _random_samples of size (" + std::to_string(batch) + ", " +
                                 std::to_string(channels) + ", " + std::to_string(n) +
                                 ") or more, but got " + to_string(samples.shape()));
  }
  const std::int64_t planes = batch * channels;
  const Tensor random =
      dense(to(detach(narrow(narrow(samples, 0, 0, batch), 1, 0, channels)), DType::float64));
  std::vector<Starts> dims;
  for (std::int64_t i = 0; i < n; ++i) {
    Starts s;
    s.in = self.shape()[self.dim() - n + i];
    s.out = size[i];
    s.per_plane = true;
    const std::int64_t room = s.in - kernel[i];
    if (kernel[i] <= 0 || s.out <= 0 || room < 0 || s.out + kernel[i] - 1 > s.in) {
      fail(ErrorKind::runtime, std::string(op.name) + "(): pool size (" +
                                   std::to_string(kernel[i]) + ") too large relative to input (" +
                                   std::to_string(s.in) + ") for output size " +
                                   std::to_string(s.out));
    }
    // 2-D: samples are for width and height, in this order; 3-D: depth, height, width.
    const std::int64_t which = n == 2 ? 1 - i : i;
    const double step = s.out > 1 ? static_cast<double>(room) / static_cast<double>(s.out - 1) : 0;
    for (std::int64_t p = 0; p < planes; ++p) {
      const double u = random.data_as<double>()[p * samples.size(2) + which];
      for (std::int64_t o = 0; o < s.out; ++o) {
        std::int64_t start = room;
        if (o + 1 < s.out) {
          double at = 0;
          if (self.dtype() == DType::float64) {
            at = std::trunc((static_cast<double>(o) + u) * step) - std::trunc(u * step);
          } else {  // borders fall where float32 puts them
            const auto fu = static_cast<float>(u), fs = static_cast<float>(step);
            at = std::trunc((static_cast<float>(o) + fu) * fs) - std::trunc(fu * fs);
          }
          // A NaN among the samples is a 0.
          start = at > 0 ? static_cast<std::int64_t>(std::min(at, static_cast<double>(room))) : 0;
        }
        s.start.push_back(start);
        s.size.push_back(kernel[i]);
      }
    }
    dims.push_back(std::move(s));
  }
  return maxima(op, self, dims);
}

Tensor max_unpool(const Named& op, const Tensor& self, const Tensor& indices,
                  const Dims& output_size) {
  const std::int64_t n = op.rank;
  if (indices.dtype() != DType::int64) {
    fail(ErrorKind::runtime,
         "elements in indices should be type int64 but got: " + scalar_name(indices.dtype()));
  }
  if (output_size.size() != n) {
    fail(ErrorKind::runtime, "There should be exactly " + std::to_string(n) +
                                 " elements in output_size, but got " +
                                 std::to_string(output_size.size()) + " elements.");
  }
  if (self.dim() != n + 1 && self.dim() != n + 2) {
    fail(ErrorKind::runtime, "Input to " + std::string(op.name) + " should be a " +
                                 std::to_string(n + 1) + "d or " + std::to_string(n + 2) +
                                 "d Tensor, but got a tensor with " + std::to_string(self.dim()) +
                                 " dimensions.");
  }
  if (indices.shape() != self.shape()) {
    fail(ErrorKind::runtime, "Expected shape of indices to be same as that of the input tensor (" +
                                 to_string(self.shape()) + ") but got indices tensor with shape: " +
                                 to_string(indices.shape()));
  }
  Dims shape = self.shape();
  for (std::int64_t i = 0; i < n; ++i) {
    if (output_size[i] < 0) {
      fail(ErrorKind::runtime, "max_unpool: negative output_size " + to_string(output_size));
    }
    shape[self.dim() - n + i] = output_size[i];
  }
  const std::int64_t room = product(output_size);
  std::int64_t planes = 1, inputs = 1;
  for (std::int64_t d = 0; d < self.dim(); ++d) {
    (d < self.dim() - n ? planes : inputs) *= self.shape()[d];
  }
  const Tensor place = reshape(dense(indices), {planes, inputs});
  const std::int64_t* at = place.data_as<std::int64_t>();
  for (std::int64_t i = 0; i < place.numel(); ++i) {
    if (at[i] < 0 || at[i] >= room) {
      fail(ErrorKind::runtime, "Found an invalid max index: " + std::to_string(at[i]) +
                                   " (output volumes are of size " + to_string(output_size) + ")");
    }
  }
  const Tensor out = zeros({planes, room}, self.dtype());
  if (self.numel() == 0) return reshape(out, shape);
  const Tensor rows = unsqueeze(arange(0, planes, 1, DType::int64), 1);
  return reshape(index_put_(out, {rows, place}, reshape(self, {planes, inputs})), shape);
}

// --- the names -----------------------------------------------------------------------------------

constexpr Named kAvg[] = {{"avg_pool1d", 1}, {"avg_pool2d", 2}, {"avg_pool3d", 3}};
constexpr const char* kAvgNode[] = {"AvgPool1DBackward0", "AvgPool2DBackward0",
                                    "AvgPool3DBackward0"};
constexpr Named kAdaptiveAvg[] = {
    {"adaptive_avg_pool1d", 1}, {"adaptive_avg_pool2d", 2}, {"adaptive_avg_pool3d", 3}};
constexpr const char* kAdaptiveAvgNode[] = {
    "AdaptiveAvgPool1DBackward0", "AdaptiveAvgPool2DBackward0", "AdaptiveAvgPool3DBackward0"};
constexpr Named kMax[] = {{"max_pool1d", 1}, {"max_pool2d", 2}, {"max_pool3d", 3}};
constexpr Named kAdaptiveMax[] = {
    {"adaptive_max_pool1d", 1}, {"adaptive_max_pool2d", 2}, {"adaptive_max_pool3d", 3}};
constexpr Named kFractional[] = {{"fractional_max_pool2d", 2}, {"fractional_max_pool3d", 3}};
constexpr Named kUnpool[] = {{"max_unpool2d", 2}, {"max_unpool3d", 3}};

template <int N>
Tensor avg(const Tensor& self, const Dims& kernel_size, const std::optional<Dims>& stride,
           const Dims& padding, bool ceil_mode, bool count_include_pad,
           std::optional<std::int64_t> divisor_override) {
  return avg_pool(kAvg[N - 1], kAvgNode[N - 1], self, kernel_size, stride, padding, ceil_mode,
                  count_include_pad, divisor_override);
}
Tensor avg_1d(const Tensor& self, const Dims& kernel_size, const std::optional<Dims>& stride,
              const Dims& padding, bool ceil_mode, bool count_include_pad) {
  return avg<1>(self, kernel_size, stride, padding, ceil_mode, count_include_pad, std::nullopt);
}
template <int N>
Tensor adaptive_avg(const Tensor& self, const Dims& output_size) {
  return adaptive_avg_pool(kAdaptiveAvg[N - 1], kAdaptiveAvgNode[N - 1], self, output_size);
}
template <int N>
Pair max_with_indices(const Tensor& self, const Dims& kernel_size,
                      const std::optional<Dims>& stride, const Dims& padding, const Dims& dilation,
                      bool ceil_mode) {
  return max_pool(kMax[N - 1], self, kernel_size, stride, padding, dilation, ceil_mode);
}
template <int N>
Tensor max_only(const Tensor& self, const Dims& kernel_size, const std::optional<Dims>& stride,
                const Dims& padding, const Dims& dilation, bool ceil_mode) {
  return std::get<0>(max_with_indices<N>(self, kernel_size, stride, padding, dilation, ceil_mode));
}
template <int N>
Pair adaptive_max(const Tensor& self, const Dims& output_size) {
  return adaptive_max_pool(kAdaptiveMax[N - 1], self, output_size);
}
template <int N>
Pair fractional_max(const Tensor& self, const Dims& kernel_size, const Dims& output_size,
                    const Tensor& samples) {
  return fractional_max_pool(kFractional[N - 2], self, kernel_size, output_size, samples);
}
template <int N>
Tensor unpool(const Tensor& self, const Tensor& indices, const Dims& output_size) {
  return max_unpool(kUnpool[N - 2], self, indices, output_size);
}

#define TREADLE_AVG_ARGS(n)                                                               \
  "(Tensor self, int[" n "] kernel_size, int[" n "]? stride=None, int[" n                 \
  "] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override" \
  "=None) -> Tensor"
#define TREADLE_MAX_ARGS(n)                                                                     \
  "(Tensor self, int[" n "] kernel_size, int[" n "]? stride=None, int[" n "] padding=0, int[" n \
  "] dilation=1, bool ceil_mode=False) -> "

}  // namespace

std::span<const OpDef> nn_pool_ops() {
  static constexpr const char* kAverage =
      "Mean of each window of (N, C, ...); stride: kernel_size if None; padding counts as 0.";
  static constexpr const char* kMaximum =
      "Largest element of each window of (N, C, ...); stride: kernel_size if None.";
  static constexpr const char* kMaximumAt =
      "Largest element of each window, and its position in its plane.";
  static constexpr const char* kMean = "Means of windows that cut each dimension in equal parts.";
  static constexpr const char* kMost =
      "Maxima of windows that cut each dimension in equal parts, and their positions.";
  static constexpr const char* kFraction =
      "Maxima of windows that start at pseudo-random steps, and their positions.";
  static constexpr const char* kBack = "Zeros with self's elements at the positions of indices.";
  static constexpr OpDef rows[] = {
      native<avg_1d>("avg_pool1d(Tensor self, int[1] kernel_size, int[1]? stride=None, int[1] "
                     "padding=0, bool ceil_mode=False, bool count_include_pad=True) -> Tensor",
                     kAverage, kFunction),
      native<avg<2>>("avg_pool2d" TREADLE_AVG_ARGS("2"), kAverage, kFunctional),
      native<avg<3>>("avg_pool3d" TREADLE_AVG_ARGS("3"), kAverage, kFunctional),
      native<adaptive_avg<1>>("adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
                              kMean, kFunction),
      native<adaptive_avg<2>>("adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor",
                              kMean, kFunctional),
      native<adaptive_avg<3>>("adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor",
                              kMean, kFunctional),
      native<max_only<1>>("max_pool1d" TREADLE_MAX_ARGS("1") "Tensor", kMaximum, kFunction),
      native<max_only<2>>("max_pool2d" TREADLE_MAX_ARGS("2") "Tensor", kMaximum, kFunction),
      native<max_only<3>>("max_pool3d" TREADLE_MAX_ARGS("3") "Tensor", kMaximum, kFunction),
      native<max_with_indices<1>>(
          "max_pool1d_with_indices" TREADLE_MAX_ARGS("1") "(Tensor, Tensor)", kMaximumAt,
          kFunction),
      native<max_with_indices<2>>(
          "max_pool2d_with_indices" TREADLE_MAX_ARGS("2") "(Tensor, Tensor)", kMaximumAt,
          kFunctional),
      native<max_with_indices<3>>(
          "max_pool3d_with_indices" TREADLE_MAX_ARGS("3") "(Tensor, Tensor)", kMaximumAt,
          kFunctional),
      native<adaptive_max<1>>(
          "adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)", kMost,
          kFunction),
      native<adaptive_max<2>>(
          "adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)", kMost,
          kFunctional),
      native<adaptive_max<3>>(
          "adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)", kMost,
          kFunctional),
      native<fractional_max<2>>("fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] "
                                "output_size, Tensor random_samples) -> (Tensor, Tensor)",
                                kFraction, kFunctional),
      native<fractional_max<3>>("fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] "
                                "output_size, Tensor random_samples) -> (Tensor, Tensor)",
                                kFraction, kFunctional),
      native<unpool<2>>("max_unpool2d(Tensor self, Tensor indices, int[2] output_size) -> Tensor",
                        kBack, kFunctional),
      native<unpool<3>>("max_unpool3d(Tensor self, Tensor indices, int[3] output_size) -> Tensor",
                        kBack, kFunctional),
  };
  return rows;
}

}  // namespace treadle
