// Moving pixels: padding, windows as columns (unfold, fold), channels into pixels and back, and
// sampling at the points of a grid.
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/backend/cpu/conv.h"
#include "engine/backend/cpu/points.h"
#include "engine/core/iter.h"
#include "engine/ops/nn/util.h"

namespace treadle {
namespace {

// --- padding -------------------------------------------------------------------------------------

std::int64_t checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) fail(ErrorKind::runtime, "pad: sizes are too large");
  return sum;
}

// pad: before and after the last dimension, then the one before it, and so on. Negative: cut off.
Tensor constant_pad(const Tensor& self, const Dims& pad, const Scalar& value) {
  const std::int64_t n = pad.size() / 2;
  if (pad.size() % 2 != 0) {
    fail(ErrorKind::runtime,
         "Length of pad must be even but instead it equals " + std::to_string(pad.size()));
  }
  if (n > self.dim()) {
    fail(ErrorKind::runtime,
         "Length of pad should be no more than twice the number of dimensions of the input. Pad "
         "length is " +
             std::to_string(pad.size()) + "while the input has " + std::to_string(self.dim()) +
             "dimensions.");
  }
  check_fits(value, self.dtype());
  Tensor in = self;
  Dims shape = self.shape(), begin(self.dim(), 0);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t d = self.dim() - 1 - i, size = self.shape()[d];
    const std::int64_t before = pad[2 * i], after = pad[2 * i + 1];
    shape[d] = checked_sum(size, checked_sum(before, after));
    if (shape[d] < 0) {
      fail(ErrorKind::runtime, "The input size " + std::to_string(size) +
                                   ", plus negative padding " + std::to_string(before) + " and " +
                                   std::to_string(after) +
                                   " resulted in a negative output size, which is invalid. Check "
                                   "dimension " +
                                   std::to_string(d) + " of your input.");
    }
    const std::int64_t from = std::min(size, std::max<std::int64_t>(0, -before));
    const std::int64_t to = std::max(from, std::min(size, checked_sum(size, after)));
    in = slice(in, d, from, to);
    begin[d] = std::max<std::int64_t>(0, before);
  }
  product(shape);
  const bool last = is_channels_last(self);
  const auto window = [begin, inner = in.shape()](Tensor t) {
    for (std::int64_t d = 0; d < t.dim(); ++d) {
      const std::int64_t at = std::min(begin[d], t.shape()[d]);
      t = slice(t, d, at, std::min(t.shape()[d], at + inner[d]));
    }
    return t;
  };
  Tensor out;
  {
    const NoGrad off;
    out = full(shape, value, self.dtype());
    const Tensor place = window(out);
    if (place.shape() == in.shape()) cast_into(place, detach(in));
    if (last) out = to_channels_last(out);
  }
  if (is_differentiable(out.dtype()) && needs_tape({&in})) {
    record("ConstantPadNdBackward0", out, {&in}, [window](Node&, const Gradients& g) {
      return none(g) ? Gradients(1) : Gradients{window(g[0])};
    });
  }
  return out;
}

// The other modes: which input each output of a dimension shows.
Tensor pad_index(const std::string& mode, std::int64_t in, std::int64_t before, std::int64_t after,
                 std::int64_t d, const Dims& shape) {
  const std::int64_t out = checked_sum(in, checked_sum(before, after));
  const auto given = [&] {
    return "padding (" + std::to_string(before) + ", " + std::to_string(after) + ") at dimension " +
           std::to_string(d) + " of input " + to_string(shape);
  };
  if (mode == "reflect" && (before >= in || after >= in)) {
    fail(ErrorKind::runtime,
         "Argument #4: Padding size should be less than the corresponding input dimension, but "
         "got: " +
             given());
  }
  if (mode == "circular" && (before > in || after > in)) {
    fail(ErrorKind::runtime, "Padding value causes wrapping around more than once. " + given());
  }
  if (mode == "circular" && out < 0) {
    fail(ErrorKind::runtime,
         "Negative padding value is resulting in an empty dimension. " + given());
  }
  if (mode != "circular" && out < 1) {
    fail(ErrorKind::runtime,
         "input (" + std::to_string(in) + ") is too small: the output would be empty. " + given());
  }
  const Tensor index = Tensor::empty({out}, DType::int64);
  std::int64_t* at = index.data_as<std::int64_t>();
  for (std::int64_t o = 0; o < out; ++o) {
    std::int64_t i = o - before;
    if (mode == "reflect") {
      if (i < 0) i = -i;
      if (i >= in) i = 2 * (in - 1) - i;
    } else if (mode == "circular") {  // around what negative padding leaves
      const std::int64_t first = std::max<std::int64_t>(0, -before);
      const std::int64_t left =
          std::max<std::int64_t>(1, in - first + std::min<std::int64_t>(0, after));
      i = first + (((i - first) % left) + left) % left;
    }
    at[o] = std::clamp<std::int64_t>(i, 0, in - 1);
  }
  return index;
}

Tensor pad(const Tensor& self, const Dims& pad, const std::string& mode,
           std::optional<double> value) {
  if (pad.size() % 2 != 0) fail(ErrorKind::runtime, "Padding length must be divisible by 2");
  const std::int64_t n = pad.size() / 2;
  if (n > self.dim()) {
    fail(ErrorKind::runtime,
         "Padding length should be less than or equal to two times the input dimension but got "
         "padding length " +
             std::to_string(pad.size()) + " and input of dimension " + std::to_string(self.dim()));
  }
  if (mode == "constant") return constant_pad(self, pad, value.value_or(0));
  if (value && *value != 0) {
    fail(ErrorKind::runtime, "Padding mode \"" + mode + "\" doesn't take in value argument");
  }
  if (mode != "reflect" && mode != "replicate" && mode != "circular") {
    fail(ErrorKind::not_implemented, "Unrecognised padding mode " + mode);
  }
  if (n < 1 || n > 3 || (self.dim() != n + 1 && self.dim() != n + 2)) {
    fail(ErrorKind::not_implemented,
         "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now");
  }
  for (std::int64_t d = self.dim() - n - (mode == "circular" ? 0 : 1); d < self.dim(); ++d) {
    if (self.shape()[d] == 0) {
      fail(ErrorKind::runtime, "Expected " + std::to_string(n + 1) + "D or " +
                                   std::to_string(n + 2) +
                                   "D (batch mode) tensor with possibly 0 batch size and other "
                                   "non-zero dimensions for input, but got: " +
                                   to_string(self.shape()));
    }
  }
  Tensor out = self;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t d = self.dim() - 1 - i;
    if (pad[2 * i] == 0 && pad[2 * i + 1] == 0) continue;
    out = index_select(
        out, d, pad_index(mode, self.shape()[d], pad[2 * i], pad[2 * i + 1], d, self.shape()));
  }
  return same(out, self) ? clone(self) : out;
}

// --- windows as columns --------------------------------------------------------------------------

struct Columns {
  Windows windows;
  Dims size;  // of the image
};
Columns columns_of(const char* op, const Dims& image, const Dims& kernel_size, const Dims& dilation,
                   const Dims& padding, const Dims& stride) {
  const Dims k = spatial_list(kernel_size, 2, op, "kernel_size");
  const Dims dl = spatial_list(dilation, 2, op, "dilation");
  const Dims p = spatial_list(padding, 2, op, "padding");
  const Dims s = spatial_list(stride, 2, op, "stride");
  Columns c;
  c.size = spatial_list(image, 2, op, "output_size");
  for (std::int64_t i = 0; i < 2; ++i) {
    const auto need = [&](bool ok, const char* what, const Dims& v) {
      if (!ok) {
        fail(ErrorKind::runtime, std::string(what) + " should be " +
                                     (what[0] == 'p' ? "non-negative" : "greater than zero") +
                                     ", but got " + to_string(v));
      }
    };
    need(k[i] > 0, "kernel size", k);
    need(dl[i] > 0, "dilation", dl);
    need(p[i] >= 0, "padding", p);
    need(s[i] > 0, "stride", s);
    std::int64_t span = 0;
    if (__builtin_mul_overflow(dl[i], k[i] - 1, &span) || span > std::int64_t{1} << 60) {
      fail(ErrorKind::runtime, std::string(op) + ": dilation and kernel size are too large");
    }
    const std::int64_t room = c.size[i] + 2 * p[i] - span - 1;
    const std::int64_t d = i + 1;
    c.windows.in[d] = c.size[i];
    c.windows.kernel[d] = k[i];
    c.windows.stride[d] = s[i];
    c.windows.pad[d] = p[i];
    c.windows.dilation[d] = dl[i];
    c.windows.out[d] = room < 0 ? 0 : room / s[i] + 1;
  }
  if (c.windows.out[1] < 1 || c.windows.out[2] < 1 || c.size[0] < 1 || c.size[1] < 1) {
    fail(ErrorKind::runtime,
         "Given spatial size " + to_string(c.size) + ", kernel_size=" + to_string(k) +
             ", dilation=" + to_string(dl) + ", padding=" + to_string(p) +
             ", stride=" + to_string(s) + ", calculated shape of the array of sliding blocks as (" +
             std::to_string(c.windows.out[1]) + ", " + std::to_string(c.windows.out[2]) +
             "), but its components must be at least one.");
  }
  product({c.windows.taps(), c.windows.out[1], c.windows.out[2]});
  return c;
}

// (N, C, H, W) to (N, C * taps, windows), and back.
Tensor run_columns(const Tensor& t, const Columns& c, bool unfold) {
  const Tensor in = dense(t);
  const std::int64_t taps = c.windows.taps(), outputs = c.windows.outputs();
  const std::int64_t channels = unfold ? in.size(1) : in.size(1) / taps;
  const Tensor out = Tensor::empty(unfold ? Dims{in.size(0), channels * taps, outputs}
                                          : Dims{in.size(0), channels, c.size[0], c.size[1]},
                                   in.dtype());
  if (out.numel() > 0) {
    (unfold ? unfold_windows : fold_windows)(in.dtype(), c.windows, in.size(0) * channels,
                                             in.data(), out.data());
  }
  return out;
}
Tensor im2col(const Tensor& self, const Dims& kernel_size, const Dims& dilation,
              const Dims& padding, const Dims& stride) {
  if (self.dim() == 3) {
    return squeeze(im2col(unsqueeze(self, 0), kernel_size, dilation, padding, stride), Dims{0});
  }
  if (self.dim() != 4 || self.size(1) == 0) {
    fail(ErrorKind::runtime,
         "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
         "dimensions for input, but got: " +
             to_string(self.shape()));
  }
  const Columns c =
      columns_of("unfold", {self.size(2), self.size(3)}, kernel_size, dilation, padding, stride);
  return linear_map(
      "Im2ColBackward0", self, [c](const Tensor& t) { return run_columns(t, c, true); },
      [c](const Tensor& t) { return run_columns(t, c, false); });
}
Tensor col2im(const Tensor& self, const Dims& output_size, const Dims& kernel_size,
              const Dims& dilation, const Dims& padding, const Dims& stride) {
  if (self.dim() == 2) {
    return squeeze(col2im(unsqueeze(self, 0), output_size, kernel_size, dilation, padding, stride),
                   Dims{0});
  }
  if (self.dim() != 3 || self.size(1) == 0 || self.size(2) == 0) {
    fail(ErrorKind::runtime,
         "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
         "dimensions for input, but got: " +
             to_string(self.shape()));
  }
  if (self.dtype() == DType::boolean || (is_integral(self.dtype()))) {
    no_implementation(self.dtype(), "col2im_out_cpu");
  }
  const Columns c = columns_of("fold", output_size, kernel_size, dilation, padding, stride);
  if (self.size(1) % c.windows.taps() != 0) {
    fail(ErrorKind::runtime,
         "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but "
         "got input.size(1)=" +
             std::to_string(self.size(1)) + " and kernel_size=" + to_string(kernel_size) + ".");
  }
  if (self.size(2) != c.windows.outputs()) {
    fail(ErrorKind::runtime, "Given output_size=" + to_string(c.size) +
                                 ", expected size of input's dimension 2 to "
                                 "match the calculated number of sliding blocks " +
                                 std::to_string(c.windows.out[1]) + " * " +
                                 std::to_string(c.windows.out[2]) + " = " +
                                 std::to_string(c.windows.outputs()) +
                                 ", but got input.size(2)=" + std::to_string(self.size(2)) + ".");
  }
  return linear_map(
      "Col2ImBackward0", self, [c](const Tensor& t) { return run_columns(t, c, false); },
      [c](const Tensor& t) { return run_columns(t, c, true); });
}

// --- channels ------------------------------------------------------------------------------------

void check_pixels(const char* op, const Tensor& self, std::int64_t factor) {
  if (self.dim() < 3) {
    fail(ErrorKind::runtime,
         std::string(op) + " expects input to have at least 3 dimensions, but got input with " +
             std::to_string(self.dim()) + " dimension(s)");
  }
  if (factor <= 0) {
    fail(ErrorKind::runtime,
         std::string(op) + " expects a positive factor, but got " + std::to_string(factor));
  }
}
Tensor pixel_shuffle(const Tensor& self, std::int64_t r) {
  check_pixels("pixel_shuffle", self, r);
  const std::int64_t n = self.dim() - 3, c = self.size(-3), h = self.size(-2), w = self.size(-1);
  if (r > std::int64_t{1} << 31 || c % (r * r) != 0) {
    fail(ErrorKind::runtime,
         "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
         "upscale_factor, but input.size(-3)=" +
             std::to_string(c) + " is not divisible by " + std::to_string(r) + " squared");
  }
  Dims split(self.shape().span().subspan(0, static_cast<std::size_t>(n))), order, joined = split;
  for (std::int64_t d = 0; d < n; ++d) order.push_back(d);
  for (const std::int64_t s : {c / (r * r), r, r, h, w}) split.push_back(s);
  for (const std::int64_t d : {0, 3, 1, 4, 2}) order.push_back(n + d);
  for (const std::int64_t s : {c / (r * r), h * r, w * r}) joined.push_back(s);
  return reshape(permute(reshape(self, split), order), joined);
}
Tensor pixel_unshuffle(const Tensor& self, std::int64_t r) {
  check_pixels("pixel_unshuffle", self, r);
  const std::int64_t n = self.dim() - 3, c = self.size(-3), h = self.size(-2), w = self.size(-1);
  if (h % r != 0 || w % r != 0) {
    fail(ErrorKind::runtime,
         "pixel_unshuffle expects height and width to be divisible by downscale_factor, but "
         "input.size(-2)=" +
             std::to_string(h) + " and input.size(-1)=" + std::to_string(w) +
             " are not both divisible by " + std::to_string(r));
  }
  if (r > std::int64_t{1} << 31) {
    fail(ErrorKind::runtime, "pixel_unshuffle: downscale_factor is too large");
  }
  Dims split(self.shape().span().subspan(0, static_cast<std::size_t>(n))), order, joined = split;
  for (std::int64_t d = 0; d < n; ++d) order.push_back(d);
  for (const std::int64_t s : {c, h / r, r, w / r, r}) split.push_back(s);
  for (const std::int64_t d : {0, 2, 4, 1, 3}) order.push_back(n + d);
  for (const std::int64_t s : {c * r * r, h / r, w / r}) joined.push_back(s);
  return reshape(permute(reshape(self, split), order), joined);
}
Tensor channel_shuffle(const Tensor& self, std::int64_t groups) {
  if (self.dim() < 3) {
    fail(ErrorKind::runtime,
         "channel_shuffle expects input with > 2 dims, but got input with sizes " +
             to_string(self.shape()));
  }
  const std::int64_t c = self.size(1);
  if (groups <= 0) {
    fail(ErrorKind::runtime,
         "Number of groups to divide channels in must be positive. Value of "
         "groups:" +
             std::to_string(groups));
  }
  if (c % groups != 0) {
    fail(ErrorKind::runtime, "Number of channels must be divisible by groups. Got " +
                                 std::to_string(c) + " channels and " + std::to_string(groups) +
                                 " groups.");
  }
  Dims split{self.size(0), groups, c / groups};
  for (std::int64_t d = 2; d < self.dim(); ++d) split.push_back(self.shape()[d]);
  return reshape(transpose(reshape(self, split), 1, 2), self.shape());
}

// --- grids ---------------------------------------------------------------------------------------

// Points of an image of `size` under the affine maps theta (N, d, d + 1), in [-1, 1].
Tensor affine_grid_generator(const Tensor& theta, const Dims& size, bool align_corners) {
  const std::int64_t n = size.size() - 2;
  if (n != 2 && n != 3) {
    fail(ErrorKind::runtime, "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.");
  }
  if (theta.dim() != 3 || theta.size(0) != size[0] || theta.size(1) != n ||
      theta.size(2) != n + 1) {
    fail(ErrorKind::runtime, "Expected a batch of affine matrices of shape (" +
                                 std::to_string(size[0]) + ", " + std::to_string(n) + ", " +
                                 std::to_string(n + 1) + ") for size " + to_string(size) +
                                 ", but got " + to_string(theta.shape()));
  }
  for (const std::int64_t s : size) {
    if (s <= 0)
      fail(ErrorKind::runtime, "Expected non-zero, positive output size. Got " + to_string(size));
  }
  Dims space;
  for (std::int64_t i = 0; i < n; ++i) space.push_back(size[2 + i]);
  const std::int64_t points = product(space);
  // x, y, (z,) 1: the last dimension of the image is x.
  std::vector<Tensor> columns;
  for (std::int64_t i = n - 1; i >= 0; --i) {
    const std::int64_t s = space[i];
    Tensor line = s <= 1 ? zeros({s}, theta.dtype()) : linspace(-1, 1, s, theta.dtype());
    if (!align_corners && s > 1) {
      line = mul(line, Tensor(static_cast<double>(s - 1) / static_cast<double>(s)));
    }
    Dims shape(n, 1);
    shape[i] = s;
    columns.push_back(reshape(expand(reshape(line, shape), space), {points}));
  }
  columns.push_back(ones({points}, theta.dtype()));
  const Tensor base = stack(columns, 1);
  const Tensor out = matmul(base, transpose(theta, 1, 2));
  Dims shape{size[0]};
  for (const std::int64_t s : space) shape.push_back(s);
  shape.push_back(n);
  return reshape(out, shape);
}

struct Points : PointShape {
  Dims x_shape, y_shape;
  Tensor index;
};
Tensor points_x(const Tensor& y, const Tensor& w, const Points& s);
Tensor points_w(const Tensor& y, const Tensor& x, const Points& s);
Tensor points_y(const Tensor& x, const Tensor& w, const Points& s) {
  const Tensor out = Tensor::empty(s.y_shape, x.dtype());
  points_output(x.dtype(), s, s.index.data_as<std::int64_t>(), dense(x).data(), dense(w).data(),
                out.data());
  if (needs_tape({&x, &w})) {
    record("GridSamplerBackward0", out, {&x, &w},
           [s, sx = Saved(x), sw = Saved(w)](Node& n, const Gradients& g) {
             Gradients r(2);
             if (none(g)) return r;
             if (n.needs(0)) r[0] = points_x(g[0], sw.get(&n), s);
             if (n.needs(1)) r[1] = points_w(g[0], sx.get(&n), s);
             return r;
           });
  }
  return out;
}
Tensor points_x(const Tensor& y, const Tensor& w, const Points& s) {
  const Tensor out = Tensor::empty(s.x_shape, y.dtype());
  points_input(y.dtype(), s, s.index.data_as<std::int64_t>(), dense(y).data(), dense(w).data(),
               out.data());
  if (needs_tape({&y, &w})) {
    record("GridSamplerBackwardBackward0", out, {&y, &w},
           [s, sy = Saved(y), sw = Saved(w)](Node& n, const Gradients& g) {
             Gradients r(2);
             if (none(g)) return r;
             if (n.needs(0)) r[0] = points_y(g[0], sw.get(&n), s);
             if (n.needs(1)) r[1] = points_w(sy.get(&n), g[0], s);
             return r;
           });
  }
  return out;
}
Tensor points_w(const Tensor& y, const Tensor& x, const Points& s) {
  const Tensor out = Tensor::empty({s.batch, s.taps, s.points}, y.dtype());
  points_weight(y.dtype(), s, s.index.data_as<std::int64_t>(), dense(y).data(), dense(x).data(),
                out.data());
  if (needs_tape({&y, &x})) {
    record("GridSamplerBackwardBackward0", out, {&y, &x},
           [s, sy = Saved(y), sx = Saved(x)](Node& n, const Gradients& g) {
             Gradients r(2);
             if (none(g)) return r;
             if (n.needs(0)) r[0] = points_y(sx.get(&n), g[0], s);
             if (n.needs(1)) r[1] = points_x(sy.get(&n), g[0], s);
             return r;
           });
  }
  return out;
}

enum class Sampling : std::int64_t { bilinear = 0, nearest = 1, bicubic = 2 };
enum class Outside : std::int64_t { zeros = 0, border = 1, reflection = 2 };

// Pixel coordinates brought into [0, size); gradients vanish where they are cut.
Tensor cut(const Tensor& c, std::int64_t size) {
  const Tensor top(static_cast<double>(size - 1)), zero = zeros({}, c.dtype());
  return where(gt(c, Tensor(0.0)), where(lt(c, top), c, zero + top), zero);
}
Tensor bring_inside(const Tensor& c, std::int64_t size, Outside outside, bool align) {
  if (outside == Outside::zeros) return c;
  if (outside == Outside::border) return cut(c, size);
  const double low = align ? 0 : -0.5,
               span = align ? static_cast<double>(size - 1) : static_cast<double>(size);
  if (span <= 0) return mul(c, Tensor(0.0));
  const Tensor away = abs(sub(c, Tensor(low)));
  Tensor flips, odd;
  {
    const NoGrad off;
    flips = floor(div(detach(away), Tensor(span)));
    odd = ne(remainder(flips, Tensor(2.0)), Tensor(0.0));
  }
  const Tensor extra = sub(away, mul(flips, Tensor(span)));
  return cut(where(odd, sub(Tensor(span + low), extra), add(extra, Tensor(low))), size);
}

// Positions of one dimension: a pixel or -1 for each tap, and its weight.
struct Line {
  std::vector<Tensor> at, weight;  // (N, P) of the floating dtype; weight undefined: 1
};
Line line_of(const Tensor& grid, std::int64_t size, Sampling mode, Outside outside, bool align) {
  const auto n = static_cast<double>(size);
  const Tensor pixel =
      align ? mul(add(grid, Tensor(1.0)), Tensor((n - 1) / 2))
            : mul(sub(mul(add(grid, Tensor(1.0)), Tensor(n)), Tensor(1.0)), Tensor(0.5));
  // -1 for what isn't in the image, NaN among it.
  const auto inside = [&](const Tensor& p) {
    const NoGrad off;
    const Tensor at = detach(p);
    return where(logical_and(ge(at, Tensor(0.0)), le(at, Tensor(n - 1))), at,
                 full({}, -1, at.dtype()));
  };
  const auto whole = [](const Tensor& p) {
    const NoGrad off;
    return floor(detach(p));
  };
  Line line;
  if (mode == Sampling::bicubic) {
    const Tensor low = whole(pixel), t = sub(pixel, low);
    constexpr double kA = -0.75;
    const auto near = [&](const Tensor& x) {
      return add(mul(mul(sub(mul(x, Tensor(kA + 2)), Tensor(kA + 3)), x), x), Tensor(1.0));
    };
    const auto far = [&](const Tensor& x) {
      return sub(mul(add(mul(sub(mul(x, Tensor(kA)), Tensor(5 * kA)), x), Tensor(8 * kA)), x),
                 Tensor(4 * kA));
    };
    line.weight = {far(add(t, Tensor(1.0))), near(t), near(sub(Tensor(1.0), t)),
                   far(sub(Tensor(2.0), t))};
    for (int k = -1; k <= 2; ++k) {
      const NoGrad off;
      const Tensor at =
          bring_inside(add(low, Tensor(static_cast<double>(k))), size, outside, align);
      // Reflected positions are whole, up to rounding.
      line.at.push_back(inside(outside == Outside::reflection ? whole(add(at, Tensor(0.25))) : at));
    }
    return line;
  }
  const Tensor p = bring_inside(pixel, size, outside, align);
  if (mode == Sampling::nearest) {  // half goes to the even pixel
    const NoGrad off;
    const Tensor up = floor(add(detach(p), Tensor(0.5)));
    const Tensor tie = logical_and(eq(sub(up, detach(p)), Tensor(0.5)),
                                   ne(remainder(up, Tensor(2.0)), Tensor(0.0)));
    line.at = {inside(where(tie, sub(up, Tensor(1.0)), up))};
    line.weight = {Tensor()};
    return line;
  }
  const Tensor low = whole(p), part = sub(p, low);
  line.at = {inside(low), inside(add(low, Tensor(1.0)))};
  line.weight = {sub(Tensor(1.0), part), part};
  return line;
}

Tensor grid_sampler(const Tensor& input, const Tensor& grid, std::int64_t interpolation_mode,
                    std::int64_t padding_mode, bool align_corners) {
  const std::int64_t n = input.dim() - 2;
  if (n != 2 && n != 3) {
    fail(ErrorKind::runtime,
         "grid_sampler(): expected 4D or 5D input and grid with same number of "
         "dimensions, but got input with sizes " +
             to_string(input.shape()) + " and grid with sizes " + to_string(grid.shape()));
  }
  if (interpolation_mode < 0 || interpolation_mode > 2 || padding_mode < 0 || padding_mode > 2) {
    fail(ErrorKind::runtime,
         "grid_sampler(): interpolation_mode and padding_mode must be 0, 1 or 2");
  }
  if (input.dtype() != grid.dtype()) {
    fail(ErrorKind::runtime,
         "grid_sampler(): expected input and grid to have same dtype, but input "
         "has " +
             scalar_name(input.dtype()) + " and grid has " + scalar_name(grid.dtype()));
  }
  if (!is_floating(input.dtype())) no_implementation(input.dtype(), "grid_sampler");
  if (grid.dim() != input.dim() || grid.size(0) != input.size(0) || grid.size(-1) != n) {
    fail(ErrorKind::runtime,
         "grid_sampler(): expected grid to have size " + std::to_string(n) +
             " in last dimension and the batch size of the input, but got grid with sizes " +
             to_string(grid.shape()) + " and input with sizes " + to_string(input.shape()));
  }
  for (std::int64_t d = 2; d < input.dim(); ++d) {
    if (input.shape()[d] <= 0) {
      fail(ErrorKind::runtime,
           "grid_sampler(): expected input to have non-empty spatial "
           "dimensions, but input has sizes " +
               to_string(input.shape()));
    }
  }
  const auto mode = static_cast<Sampling>(interpolation_mode);
  const auto outside = static_cast<Outside>(padding_mode);
  Points s;
  s.batch = input.size(0);
  s.channels = input.size(1);
  s.inputs = 1;
  s.points = 1;
  s.x_shape = input.shape();
  s.y_shape = {s.batch, s.channels};
  for (std::int64_t d = 0; d < n; ++d) {
    s.inputs *= input.shape()[2 + d];
    s.points *= grid.shape()[1 + d];
    s.y_shape.push_back(grid.shape()[1 + d]);
  }
  const Tensor flat = reshape(grid, {s.batch, s.points, n});
  // Every tap: its position in the plane (-1: outside) and the product of its weights.
  std::vector<Tensor> at{Tensor()}, weight{Tensor()};
  for (std::int64_t d = 0; d < n; ++d) {  // the grid's last entry belongs to the first dimension
    const std::int64_t size = input.shape()[2 + d];
    const Line line = line_of(select(flat, 2, n - 1 - d), size, mode, outside, align_corners);
    std::vector<Tensor> next_at, next_weight;
    for (std::size_t i = 0; i < at.size(); ++i) {
      for (std::size_t k = 0; k < line.at.size(); ++k) {
        const NoGrad off;
        const Tensor here = to(line.at[k], DType::int64);
        if (!at[i].defined()) {
          next_at.push_back(here);
        } else {
          const Tensor outside_both = logical_or(lt(at[i], Tensor::wrapped(std::int64_t{0})),
                                                 lt(here, Tensor::wrapped(std::int64_t{0})));
          next_at.push_back(where(outside_both, full({}, -1, DType::int64),
                                  add(mul(at[i], Tensor::wrapped(size)), here)));
        }
      }
      for (const Tensor& w : line.weight) {
        next_weight.push_back(!weight[i].defined() ? w
                              : !w.defined()       ? weight[i]
                                                   : mul(weight[i], w));
      }
    }
    at = std::move(next_at);
    weight = std::move(next_weight);
  }
  s.taps = static_cast<std::int64_t>(at.size());
  s.index = dense(stack(at, 1));
  Tensor w;
  if (weight[0].defined()) {
    w = stack(weight, 1);
  } else {  // the nearest pixel: constant in the grid, whose gradient is 0
    const Tensor none = linear_map(
        "GridSamplerBackward0", flat,
        [s](const Tensor& t) {
          return zeros({s.batch, s.taps, s.points}, t.dtype());
        },
        [shape = flat.shape()](const Tensor& g) { return zeros(shape, g.dtype()); });
    w = add(none, Tensor::wrapped(std::int64_t{1}));
  }
  // Positions are those of the input's precision, as in PyTorch; sums of 16-bit floats are not.
  const DType wide = compute_dtype(input.dtype());
  return wide == input.dtype() ? points_y(input, w, s)
                               : to(points_y(to(input, wide), to(w, wide), s), input.dtype());
}

}  // namespace

std::span<const OpDef> nn_vision_ops() {
  static constexpr const char* kGrid =
      "input (N, C, ...) at the points grid (N, ..., d) in [-1, 1]; modes 0 bilinear, 1 nearest, 2 "
      "bicubic; padding 0 zeros, 1 border, 2 reflection.";
  static constexpr OpDef rows[] = {
      native<pad>("pad(Tensor self, int[] pad, str mode='constant', float? value=None) -> Tensor",
                  "Padded by pad = (before, after) of the last dimension, then of the one before "
                  "it; mode 'constant', 'reflect', 'replicate' or 'circular'.",
                  kFunctional),
      native<constant_pad>(
          "constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor",
          "Padded with value by pad = (before, after) of the last dimension, then of the one "
          "before it, and so on; negative numbers cut off.",
          kFunction),
      native<im2col>("im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, "
                     "int[2] stride) -> Tensor",
                     "The windows of (N, C, H, W) as columns: (N, C * KH * KW, windows).",
                     kFunctional),
      native<col2im>("col2im(Tensor self, int[2] output_size, int[2] kernel_size, int[2] dilation, "
                     "int[2] padding, int[2] stride) -> Tensor",
                     "The sum of columns at the places of their windows.", kFunctional),
      native<pixel_shuffle>("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
                            "(..., C r^2, H, W) to (..., C, H r, W r).", kFunction),
      native<pixel_unshuffle>("pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
                              "(..., C, H r, W r) to (..., C r^2, H, W).", kFunction),
      native<channel_shuffle>("channel_shuffle(Tensor self, int groups) -> Tensor",
                              "Channels of (N, C, ...) as (groups, C / groups), transposed.",
                              kFunction),
      native<channel_shuffle>("native_channel_shuffle(Tensor self, int groups) -> Tensor",
                              "channel_shuffle().", kFunction),
      native<affine_grid_generator>(
          "affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor",
          "The points of images of `size` under affine maps, for grid_sampler.", kFunction),
      native<grid_sampler>("grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int "
                           "padding_mode, bool align_corners) -> Tensor",
                           kGrid, kFunction),
      native<grid_sampler>("grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int "
                           "padding_mode, bool align_corners) -> Tensor",
                           kGrid, kFunction),
      native<grid_sampler>("grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int "
                           "padding_mode, bool align_corners) -> Tensor",
                           kGrid, kFunction),
  };
  return rows;
}

}  // namespace treadle
