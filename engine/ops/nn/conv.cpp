// Convolutions. Three functions, each linear in both arguments, whose gradients are each other:
//   forward(x, w) = y        input_of(y, w) = x, the transposed convolution        weight_of(y, x)
// Complex numbers: the functions themselves conjugate nothing; gradients conjugate the other
// factor.
#include <algorithm>

#include "engine/backend/cpu/conv.h"
#include "engine/ops/nn/util.h"

namespace treadle {
namespace {

// The dtype whose kernel convolves `dtype`.
DType conv_dtype(DType dtype) {
  return is_integral(dtype) && dtype != DType::boolean ? DType::int64 : compute_dtype(dtype);
}

Dims with_spatial(std::int64_t first, std::int64_t second, const std::int64_t* sizes,
                  std::int64_t n) {
  Dims shape{first, second};
  for (std::int64_t d = 3 - n; d < 3; ++d) shape.push_back(sizes[d]);
  return shape;
}

struct Conv : ConvShape {
  std::int64_t rank = 1;  // spatial dimensions

  Dims x_shape() const { return with_spatial(batch, in_channels, in, rank); }
  Dims y_shape() const { return with_spatial(batch, out_channels, out, rank); }
  Dims w_shape() const { return with_spatial(out_channels, in_channels / groups, kernel, rank); }
};

// Runs a kernel over dense copies in the dtype of products.
template <class F>
Tensor run(const Tensor& a, const Tensor& b, const Dims& shape, F kernel) {
  const NoGrad off;
  const DType wide = conv_dtype(a.dtype());
  const auto ready = [&](const Tensor& t) {
    return t.dtype() == wide ? dense(t) : cast(dense(t), wide);
  };
  const Tensor out = Tensor::empty(shape, wide);
  if (out.numel() > 0) kernel(wide, ready(a).data(), ready(b).data(), out.data());
  const Tensor narrow = wide == a.dtype() ? out : cast(out, a.dtype());
  return is_channels_last(a) && shape.size() == a.dim() ? to_channels_last(narrow) : narrow;
}

Tensor input_of(const Tensor& y, const Tensor& w, const Conv& c);
Tensor weight_of(const Tensor& y, const Tensor& x, const Conv& c);

Tensor forward(const Tensor& x, const Tensor& w, const Tensor& bias, const Conv& c) {
  const Tensor out = run(x, w, c.y_shape(), [&](DType t, const char* xp, const char* wp, char* yp) {
    Tensor b;
    if (bias.defined()) b = bias.dtype() == t ? dense(bias) : cast(dense(bias), t);
    conv_output(t, c, xp, wp, b.defined() ? b.data() : nullptr, yp);
  });
  if (!is_differentiable(out.dtype())) return out;
  const auto backward = [c, sx = Saved(x), sw = Saved(w)](Node& n, const Gradients& g) {
    Gradients r(n.edge_count());
    if (none(g)) return r;
    if (n.needs(0)) r[0] = input_of(g[0], conj(sw.get(&n)), c);
    if (n.needs(1)) r[1] = weight_of(g[0], conj(sx.get(&n)), c);
    if (n.edge_count() > 2 && n.needs(2)) {
      Dims dims{0};
      for (std::int64_t d = 2; d < g[0].dim(); ++d) dims.push_back(d);
      r[2] = sum(g[0], dims);
    }
    return r;
  };
  if (bias.defined()) {
    if (needs_tape({&x, &w, &bias})) {
      record("ConvolutionBackward0", out, {&x, &w, &bias}, backward);
    }
  } else if (needs_tape({&x, &w})) {
    record("ConvolutionBackward0", out, {&x, &w}, backward);
  }
  return out;
}

Tensor input_of(const Tensor& y, const Tensor& w, const Conv& c) {
  const Tensor out = run(y, w, c.x_shape(), [&](DType t, const char* yp, const char* wp, char* xp) {
    conv_input(t, c, yp, wp, xp);
  });
  if (is_differentiable(out.dtype()) && needs_tape({&y, &w})) {
    record("ConvolutionBackward0", out, {&y, &w},
           [c, sy = Saved(y), sw = Saved(w)](Node& n, const Gradients& g) {
             Gradients r(2);
             if (none(g)) return r;
             if (n.needs(0)) r[0] = forward(g[0], conj(sw.get(&n)), Tensor(), c);
             if (n.needs(1)) r[1] = weight_of(conj(sy.get(&n)), g[0], c);
             return r;
           });
  }
  return out;
}

Tensor weight_of(const Tensor& y, const Tensor& x, const Conv& c) {
  const Tensor out = run(y, x, c.w_shape(), [&](DType t, const char* yp, const char* xp, char* wp) {
    conv_weight(t, c, yp, xp, wp);
  });
  if (is_differentiable(out.dtype()) && needs_tape({&y, &x})) {
    record("ConvolutionBackwardBackward0", out, {&y, &x},
           [c, sy = Saved(y), sx = Saved(x)](Node& n, const Gradients& g) {
             Gradients r(2);
             if (none(g)) return r;
             if (n.needs(0)) r[0] = forward(conj(sx.get(&n)), g[0], Tensor(), c);
             if (n.needs(1)) r[1] = input_of(conj(sy.get(&n)), g[0], c);
             return r;
           });
  }
  return out;
}

// --- arguments -----------------------------------------------------------------------------------

struct Options {
  Dims stride, padding, dilation, output_padding;  // one value for each spatial dimension
  std::int64_t groups = 1;
  bool transposed = false;
  Dims extra;  // padding at the end beyond `padding`, for "same" with an even window
};

void check_options(const Options& o) {
  const auto all = [](const Dims& list, std::int64_t least) {
    return std::all_of(list.begin(), list.end(), [&](std::int64_t v) { return v >= least; });
  };
  if (!all(o.padding, 0)) fail(ErrorKind::runtime, "negative padding is not supported");
  if (!all(o.output_padding, 0)) {
    fail(ErrorKind::runtime, "negative output_padding is not supported");
  }
  if (!all(o.stride, 1)) fail(ErrorKind::runtime, "non-positive stride is not supported");
  if (!all(o.dilation, 1)) fail(ErrorKind::runtime, "dilation should be greater than zero");
  if (o.groups <= 0)
    fail(ErrorKind::runtime, "expected positive integer groups, got " + std::to_string(o.groups));
}

void check_dtypes(const Tensor& x, const Tensor& w, const Tensor& bias, bool transposed) {
  if (x.dtype() != w.dtype()) {
    fail(ErrorKind::runtime, "Input type (" + scalar_name(x.dtype()) + ") and weight type (" +
                                 scalar_name(w.dtype()) + ") should be the same");
  }
  if (bias.defined() && bias.dtype() != x.dtype()) {
    fail(ErrorKind::runtime, "Input type (" + scalar_name(x.dtype()) + ") and bias type (" +
                                 scalar_name(bias.dtype()) + ") should be the same");
  }
  const bool small_integer = is_integral(x.dtype()) && x.dtype() != DType::int64;
  if (x.dtype() == DType::boolean || (transposed && small_integer)) {
    no_implementation(x.dtype(), transposed ? "slow_conv_transpose2d_out_cpu" : "slow_conv2d_cpu");
  }
}

Tensor convolve(const Tensor& input, const Tensor& w, const Tensor& bias, const Options& o) {
  check_options(o);
  const std::int64_t n = w.dim() - 2;
  const Tensor& x = input;
  if (x.dim() != w.dim()) {
    fail(ErrorKind::runtime, "Expected " + std::to_string(w.dim()) + "-dimensional input for " +
                                 std::to_string(w.dim()) + "-dimensional weight " +
                                 to_string(w.shape()) + ", but got " + std::to_string(x.dim()) +
                                 "-dimensional input of size " + to_string(x.shape()) + " instead");
  }
  check_dtypes(x, w, bias, o.transposed);
  const auto wrong = [&](std::int64_t wanted, const std::string& more) {
    fail(ErrorKind::runtime,
         "Given " +
             std::string(o.transposed ? "transposed=1" : "groups=" + std::to_string(o.groups)) +
             ", weight of size " + to_string(w.shape()) + ", expected input" +
             to_string(x.shape()) + " to have " + std::to_string(wanted) + " channels, but got " +
             std::to_string(x.size(1)) + " channels instead" + more);
  };
  if (w.size(0) < o.groups || w.size(0) % o.groups != 0) {
    fail(ErrorKind::runtime,
         "Given groups=" + std::to_string(o.groups) + ", expected weight to be divisible by " +
             std::to_string(o.groups) + " at dimension 0, but got weight of size " +
             to_string(w.shape()) + " instead");
  }
  std::int64_t channels = 0;  // of the output
  if (o.transposed) {
    if (x.size(1) != w.size(0)) wrong(w.size(0), "");
    channels = w.size(1) * o.groups;
  } else {
    if (x.size(1) != w.size(1) * o.groups) wrong(w.size(1) * o.groups, "");
    channels = w.size(0);
  }
  if (bias.defined() && (bias.dim() != 1 || bias.size(0) != channels)) {
    fail(ErrorKind::runtime,
         "Given " +
             std::string(o.transposed ? "transposed=1" : "groups=" + std::to_string(o.groups)) +
             ", weight of size " + to_string(w.shape()) +
             ", expected bias to be 1-dimensional with " + std::to_string(channels) +
             " elements, but got bias of size " + to_string(bias.shape()) + " instead");
  }
  Conv c;
  c.rank = n;
  c.batch = x.size(0);
  c.groups = o.groups;
  c.in_channels = o.transposed ? channels : x.size(1);
  c.out_channels = o.transposed ? x.size(1) : channels;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t d = 3 - n + i;
    c.kernel[d] = w.shape()[2 + i];
    c.stride[d] = o.stride[i];
    c.pad[d] = o.padding[i];
    c.dilation[d] = o.dilation[i];
    std::int64_t span = 0;  // of the window, less one
    if (__builtin_mul_overflow(o.dilation[i], c.kernel[d] - 1, &span) || span > std::int64_t{1}
                                                                                    << 60) {
      fail(ErrorKind::runtime, "convolution: dilation " + to_string(o.dilation) +
                                   " is too large for weight of size " + to_string(w.shape()));
    }
    if (o.transposed) {
      c.out[d] = x.shape()[2 + i];
      if (o.output_padding[i] >= std::max(o.stride[i], o.dilation[i])) {
        fail(ErrorKind::runtime,
             "output padding must be smaller than either stride or dilation, but got "
             "output_padding: " +
                 to_string(o.output_padding) + ", stride: " + to_string(o.stride) +
                 ", dilation: " + to_string(o.dilation));
      }
      std::int64_t reach = 0;
      if (__builtin_mul_overflow(c.out[d] - 1, o.stride[i], &reach) || reach > std::int64_t{1}
                                                                                   << 60) {
        fail(ErrorKind::runtime, "conv_transpose: stride " + to_string(o.stride) +
                                     " is too large for input of size " + to_string(x.shape()));
      }
      c.in[d] = reach - 2 * o.padding[i] + span + o.output_padding[i] + 1;
      if (c.in[d] <= 0 || c.out[d] <= 0) {
        fail(ErrorKind::runtime, "Given input size per channel: " + to_string(x.shape()) +
                                     ". Calculated output size per channel: " +
                                     std::to_string(c.in[d]) + ". Output size is too small");
      }
    } else {
      c.in[d] = x.shape()[2 + i];
      const std::int64_t extra = o.extra.empty() ? 0 : o.extra[i];
      const std::int64_t room = c.in[d] + 2 * o.padding[i] + extra - span - 1;
      if (room < 0 || c.kernel[d] <= 0) {
        Dims padded, window;
        for (std::int64_t k = 0; k < n; ++k) {
          padded.push_back(x.shape()[2 + k] + 2 * o.padding[k]);
          window.push_back(o.dilation[k] * (w.shape()[2 + k] - 1) + 1);
        }
        fail(ErrorKind::runtime, "Calculated padded input size per channel: " + to_string(padded) +
                                     ". Kernel size: " + to_string(window) +
                                     ". Kernel size can't be greater than actual input size");
      }
      c.out[d] = room / o.stride[i] + 1;
    }
  }
  product(c.x_shape());  // throw if they overflow
  product(c.y_shape());
  if (!o.transposed) return forward(x, w, bias, c);
  const Tensor out = input_of(x, w, c);
  if (!bias.defined()) return out;
  Dims shape(w.dim(), 1);
  shape[1] = channels;
  return add(out, reshape(bias, shape));
}

// conv1d, conv2d, ...: lists made complete, and unbatched input.
struct Named {
  const char* name;
  std::int64_t rank;
};
template <class F>
Tensor batched(const Named& op, const Tensor& input, const Tensor& weight, const F& f) {
  const std::int64_t n = op.rank;
  if (weight.dim() != n + 2) {
    fail(ErrorKind::runtime, std::string(op.name) + ": expected weight of " +
                                 std::to_string(n + 2) + " dimensions, but got weight of size " +
                                 to_string(weight.shape()));
  }
  if (input.dim() != n + 1 && input.dim() != n + 2) {
    fail(ErrorKind::runtime, "Expected " + std::to_string(n + 1) + "D (unbatched) or " +
                                 std::to_string(n + 2) + "D (batched) input to " + op.name +
                                 ", but got input of size: " + to_string(input.shape()));
  }
  if (input.dim() == n + 2) return f(input);
  return squeeze(f(unsqueeze(input, 0)), Dims{0});
}

Tensor conv(const Named& op, const Tensor& input, const Tensor& weight, const Tensor& bias,
            const Dims& stride, const Dims& padding, const Dims& dilation, std::int64_t groups) {
  return batched(op, input, weight, [&](const Tensor& x) {
    const std::int64_t n = op.rank;
    return convolve(
        x, weight, bias,
        {spatial_list(stride, n, op.name, "stride"), spatial_list(padding, n, op.name, "padding"),
         spatial_list(dilation, n, op.name, "dilation"), Dims(n, 0), groups, false, Dims()});
  });
}
Tensor conv_same(const Named& op, const Tensor& input, const Tensor& weight, const Tensor& bias,
                 const Dims& stride, const std::string& padding, const Dims& dilation,
                 std::int64_t groups) {
  const std::int64_t n = op.rank;
  if (padding == "valid") return conv(op, input, weight, bias, stride, {0}, dilation, groups);
  if (padding != "same") {
    fail(ErrorKind::runtime, "Invalid padding string: '" + padding + "'");
  }
  return batched(op, input, weight, [&](const Tensor& x) {
    Options o{spatial_list(stride, n, op.name, "stride"),
              Dims(n, 0),
              spatial_list(dilation, n, op.name, "dilation"),
              Dims(n, 0),
              groups,
              false,
              Dims(n, 0)};
    for (std::int64_t i = 0; i < n; ++i) {
      if (o.stride[i] != 1) {
        fail(ErrorKind::runtime, "padding='same' is not supported for strided convolutions");
      }
      std::int64_t total = 0;
      if (__builtin_mul_overflow(o.dilation[i], weight.shape()[2 + i] - 1, &total)) {
        fail(ErrorKind::runtime, "convolution: dilation " + to_string(o.dilation) +
                                     " is too large for weight of size " +
                                     to_string(weight.shape()));
      }
      o.padding[i] = total / 2;
      o.extra[i] = total % 2;
    }
    return convolve(x, weight, bias, o);
  });
}
Tensor conv_transpose(const Named& op, const Tensor& input, const Tensor& weight,
                      const Tensor& bias, const Dims& stride, const Dims& padding,
                      const Dims& output_padding, std::int64_t groups, const Dims& dilation) {
  return batched(op, input, weight, [&](const Tensor& x) {
    const std::int64_t n = op.rank;
    return convolve(
        x, weight, bias,
        {spatial_list(stride, n, op.name, "stride"), spatial_list(padding, n, op.name, "padding"),
         spatial_list(dilation, n, op.name, "dilation"),
         spatial_list(output_padding, n, op.name, "output_padding"), groups, true, Dims()});
  });
}

constexpr Named kConv[] = {{"conv1d", 1}, {"conv2d", 2}, {"conv3d", 3}};
constexpr Named kTransposed[] = {
    {"conv_transpose1d", 1}, {"conv_transpose2d", 2}, {"conv_transpose3d", 3}};

template <int N>
Tensor conv_nd(const Tensor& input, const Tensor& weight, const Tensor& bias, const Dims& stride,
               const Dims& padding, const Dims& dilation, std::int64_t groups) {
  return conv(kConv[N - 1], input, weight, bias, stride, padding, dilation, groups);
}
template <int N>
Tensor conv_nd_same(const Tensor& input, const Tensor& weight, const Tensor& bias,
                    const Dims& stride, const std::string& padding, const Dims& dilation,
                    std::int64_t groups) {
  return conv_same(kConv[N - 1], input, weight, bias, stride, padding, dilation, groups);
}
template <int N>
Tensor conv_transpose_nd(const Tensor& input, const Tensor& weight, const Tensor& bias,
                         const Dims& stride, const Dims& padding, const Dims& output_padding,
                         std::int64_t groups, const Dims& dilation) {
  return conv_transpose(kTransposed[N - 1], input, weight, bias, stride, padding, output_padding,
                        groups, dilation);
}

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const Dims& stride, const Dims& padding, const Dims& dilation, bool transposed,
                   const Dims& output_padding, std::int64_t groups) {
  const std::int64_t n = weight.dim() - 2;
  if (n < 1 || n > 3) {
    fail(ErrorKind::runtime,
         "weight should have at least three and at most five dimensions, but "
         "got weight of size " +
             to_string(weight.shape()));
  }
  return convolve(input, weight, bias,
                  {spatial_list(stride, n, "convolution", "stride"),
                   spatial_list(padding, n, "convolution", "padding"),
                   spatial_list(dilation, n, "convolution", "dilation"),
                   spatial_list(output_padding, n, "convolution", "output_padding"), groups,
                   transposed, Dims()});
}

// Time, batch, channels; weight (kernel, in, out).
Tensor conv_tbc(const Tensor& self, const Tensor& weight, const Tensor& bias, std::int64_t pad) {
  if (self.dim() != 3) {
    fail(ErrorKind::runtime, "Input must have 3 dims: time, batch, in_channel");
  }
  if (weight.dim() != 3) {
    fail(ErrorKind::runtime,
         "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.");
  }
  if (bias.dim() != 1) fail(ErrorKind::runtime, "Bias must be 1-D");
  const Tensor out =
      conv_nd<1>(permute(self, {1, 2, 0}), permute(weight, {2, 1, 0}), bias, {1}, {pad}, {1}, 1);
  return permute(out, {2, 0, 1});
}

}  // namespace

std::span<const OpDef> nn_conv_ops() {
  static constexpr OpDef rows[] = {
      native<conv_nd<1>>(
          "conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, int[1] "
          "padding=0, int[1] dilation=1, int groups=1) -> Tensor",
          "Correlation of input (N, C, L) with weight (O, C / groups, K), plus bias (O).",
          kFunction),
      native<conv_nd_same<1>>(
          "conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, str "
          "padding='valid', int[1] dilation=1, int groups=1) -> Tensor",
          "conv1d with padding 'valid' (none) or 'same' (output as long as the input).", kFunction),
      native<conv_nd<2>>(
          "conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] "
          "padding=0, int[2] dilation=1, int groups=1) -> Tensor",
          "Correlation of input (N, C, H, W) with weight (O, C / groups, KH, KW), plus bias (O).",
          kFunction),
      native<conv_nd_same<2>>(
          "conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, str "
          "padding='valid', int[2] dilation=1, int groups=1) -> Tensor",
          "conv2d with padding 'valid' (none) or 'same' (output as large as the input).",
          kFunction),
      native<conv_nd<3>>(
          "conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, int[3] "
          "padding=0, int[3] dilation=1, int groups=1) -> Tensor",
          "Correlation of input (N, C, D, H, W) with weight (O, C / groups, KD, KH, KW), plus bias "
          "(O).",
          kFunction),
      native<conv_nd_same<3>>(
          "conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, str "
          "padding='valid', int[3] dilation=1, int groups=1) -> Tensor",
          "conv3d with padding 'valid' (none) or 'same' (output as large as the input).",
          kFunction),
      native<conv_transpose_nd<1>>(
          "conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, "
          "int[1] padding=0, int[1] output_padding=0, int groups=1, int[1] dilation=1) -> Tensor",
          "The gradient of conv1d for its input: out[t * stride - padding + k * dilation] += "
          "input[t] weight[k]; weight (C, O / groups, K).",
          kFunction),
      native<conv_transpose_nd<2>>(
          "conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, int[2] "
          "stride=1, int[2] padding=0, int[2] output_padding=0, int groups=1, int[2] dilation=1) "
          "-> Tensor",
          "The gradient of conv2d for its input; weight (C, O / groups, KH, KW).", kFunction),
      native<conv_transpose_nd<3>>(
          "conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, int[3] "
          "stride=1, int[3] padding=0, int[3] output_padding=0, int groups=1, int[3] dilation=1) "
          "-> Tensor",
          "The gradient of conv3d for its input; weight (C, O / groups, KD, KH, KW).", kFunction),
      native<convolution>(
          "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
          "int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor",
          "conv1d to conv3d and their transposed forms, by the rank of weight.", kFunction),
      native<conv_tbc>("conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
                       "conv1d of (time, batch, channels) with weight (K, C, O).", kFunction),
  };
  return rows;
}

}  // namespace treadle
