// Normalisation: one op that gives groups of elements zero mean and unit variance, and the layers
// that are made of it.
#include <limits>

#include "engine/backend/cpu/norm.h"
#include "engine/ops/nn/util.h"
#include "engine/ops/view/layout.h"

namespace treadle {
namespace {

struct Normed {
  Tensor x, mean, var, rstd;  // x (outer, groups, inner); the others (groups)
};

// x (outer, groups, inner) of float32 or float64. All but `var` are differentiable.
Normed normed(const Tensor& x, double eps) {
  const std::int64_t groups = x.size(1);
  const auto stat = [&] { return Tensor::empty({groups}, x.dtype()); };
  Normed out{Tensor::empty(x.shape(), x.dtype()), stat(), stat(), stat()};
  const Tensor in = dense(x);
  normalize_groups(x.dtype(), x.size(0), groups, x.size(2), eps, in.data(), out.x.data(),
                   out.mean.data(), out.var.data(), out.rstd.data());
  if (!needs_tape({&x})) return out;
  const Ref<Node> node =
      make_node("NativeNormBackward0", {&x},
                [shape = x.shape(), sx = Saved::output(out.x), sr = Saved::output(out.rstd, 2)](
                    Node& n, const Gradients& g) {
                  const auto count = static_cast<double>(shape[0]) * static_cast<double>(shape[2]);
                  const Tensor y = sx.get(&n), rstd = reshape(sr.get(&n), {1, shape[1], 1});
                  const Dims over{0, 2};
                  Tensor r;
                  const auto plus = [&r](const Tensor& t) { r = r.defined() ? add(r, t) : t; };
                  if (g[0].defined()) {
                    const Tensor centred = sub(g[0], mean(g[0], over, true));
                    plus(mul(rstd, sub(centred, mul(y, mean(mul(g[0], y), over, true)))));
                  }
                  // There are as many gradients as the last output that was used needs.
                  if (g.size() > 1 && g[1].defined()) {
                    plus(expand(mul(reshape(g[1], {1, shape[1], 1}), Tensor(1 / count)), shape));
                  }
                  if (g.size() > 2 && g[2].defined()) {  // d rstd / dx = -rstd^2 y / count
                    const Tensor by =
                        mul(mul(reshape(g[2], {1, shape[1], 1}), square(rstd)), Tensor(-1 / count));
                    plus(mul(by, y));
                  }
                  return Gradients{r};
                });
  set_history(out.x, node, 0);
  set_history(out.mean, node, 1);
  set_history(out.rstd, node, 2);
  return out;
}

Tensor wide(const Tensor& t) {
  return t.defined() && t.dtype() != compute_dtype(t.dtype()) ? to(t, compute_dtype(t.dtype())) : t;
}

void check_floating(const Tensor& x, const char* what) {
  if (!is_floating(x.dtype())) no_implementation(x.dtype(), what);
}

// x * weight + bias, both broadcast in `shape`.
Tensor affine(Tensor x, const Tensor& weight, const Tensor& bias, const Dims& shape) {
  if (weight.defined()) x = mul(x, reshape(wide(weight), shape));
  if (bias.defined()) x = add(x, reshape(wide(bias), shape));
  return x;
}

void check_size(const char* what, const Tensor& t, std::int64_t channels) {
  if (t.defined() && (t.dim() != 1 || t.size(0) != channels)) {
    fail(ErrorKind::runtime, std::string(what) + " should contain " + std::to_string(channels) +
                                 " elements not " + std::to_string(t.numel()));
  }
}

// The channels' shape for broadcasting: (1, C, 1, ...).
Dims channel_shape(const Tensor& x) {
  Dims shape(x.dim(), 1);
  shape[1] = x.size(1);
  return shape;
}

// out in the dtype of input, and laid out like it if that is channels_last.
Tensor as_input(const Tensor& out, const Tensor& input) {
  const Tensor t = to(out, input.dtype());
  if (!is_channels_last(input)) return t;
  return contiguous(
      t, input.dim() == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d);
}

using Three = std::tuple<Tensor, Tensor, Tensor>;

// Statistics have the dtype of the input, or of weights that are wider.
DType stat_dtype(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const bool wider = (weight.defined() && weight.dtype() != x.dtype()) ||
                     (bias.defined() && bias.dtype() != x.dtype());
  return wider ? compute_dtype(x.dtype()) : x.dtype();
}

// --- over the last dimensions --------------------------------------------------------------------

std::pair<std::int64_t, std::int64_t> rows_of(const Tensor& input, const Dims& normalized_shape,
                                              const Tensor& weight, const Tensor& bias) {
  const std::int64_t k = normalized_shape.size();
  if (k == 0) {
    fail(ErrorKind::runtime,
         "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
         "element, but got normalized_shape = " +
             to_string(normalized_shape));
  }
  for (const auto& [name, t] : {std::pair{"weight", &weight}, std::pair{"bias", &bias}}) {
    if (t->defined() && t->shape() != normalized_shape) {
      fail(ErrorKind::runtime, "Expected " + std::string(name) +
                                   " to be of same shape as normalized_shape, but got " + name +
                                   " of shape " + to_string(t->shape()) +
                                   " and normalized_shape = " + to_string(normalized_shape));
    }
  }
  bool fits = k <= input.dim();
  for (std::int64_t i = 0; fits && i < k; ++i)
    fits = input.shape()[input.dim() - k + i] == normalized_shape[i];
  if (!fits) {
    fail(ErrorKind::runtime, "Given normalized_shape=" + to_string(normalized_shape) +
                                 ", expected input with shape [*, " +
                                 to_string(normalized_shape).substr(1) + ", but got input of size" +
                                 to_string(input.shape()));
  }
  std::int64_t rows = 1;
  for (std::int64_t d = 0; d < input.dim() - k; ++d) rows *= input.shape()[d];
  return {rows, product(normalized_shape)};
}

Three native_layer_norm(const Tensor& input, const Dims& normalized_shape, const Tensor& weight,
                        const Tensor& bias, double eps) {
  check_floating(input, "LayerNormKernelImpl");
  const auto [rows, columns] = rows_of(input, normalized_shape, weight, bias);
  const Normed n = normed(reshape(wide(input), {1, rows, columns}), eps);
  Dims stats = input.shape();
  for (std::int64_t i = 0; i < normalized_shape.size(); ++i) stats[input.dim() - 1 - i] = 1;
  const Tensor out = affine(reshape(n.x, input.shape()), weight, bias, normalized_shape);
  const DType kept = stat_dtype(input, weight, bias);
  return {to(out, input.dtype()), to(reshape(n.mean, stats), kept),
          to(reshape(n.rstd, stats), kept)};
}
Tensor layer_norm(const Tensor& input, const Dims& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps, bool) {
  return std::get<0>(native_layer_norm(input, normalized_shape, weight, bias, eps));
}

Tensor rms_norm(const Tensor& input, const Dims& normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  rows_of(input, normalized_shape, weight, Tensor());
  if (!is_floating(input.dtype()) && !is_complex(input.dtype())) {
    no_implementation(input.dtype(), "rms_norm");
  }
  const Tensor x = wide(input);
  Dims dims;
  for (std::int64_t d = input.dim() - normalized_shape.size(); d < input.dim(); ++d)
    dims.push_back(d);
  const double least =
      eps.value_or(x.dtype() == DType::float64 || x.dtype() == DType::complex128
                       ? std::numeric_limits<double>::epsilon()
                       : static_cast<double>(std::numeric_limits<float>::epsilon()));
  Tensor out = mul(x, rsqrt(add(mean(square(x), dims, true), Tensor(least))));
  if (weight.defined()) out = mul(out, wide(weight));
  return to(out, input.dtype());
}

// --- over channels -------------------------------------------------------------------------------

// (N, C, ...) as (N, C, rest).
Tensor by_channel(const Tensor& x) {
  return reshape(x,
                 {x.size(0), x.size(1), x.numel() == 0 ? 0 : x.numel() / (x.size(0) * x.size(1))});
}

// running = (1 - momentum) * running + momentum * value
void follow(const Tensor& running, const Tensor& value, double momentum) {
  const NoGrad off;
  copy_(running, add(mul(running, Tensor(1 - momentum)), mul(value, Tensor(momentum))));
}

// With the statistics of the batch, or the running ones.
Three batch_normed(const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const Tensor& running_mean, const Tensor& running_var, bool training,
                   double momentum, double eps) {
  check_floating(input, "batch_norm");
  if (input.numel() == 0 && input.dim() < 2) {
    const Tensor nothing = Tensor::empty({0}, compute_dtype(input.dtype()));
    return {clone(input), nothing, nothing};
  }
  if (input.dim() < 2) {
    fail(ErrorKind::runtime, "batch_norm: expected input with at least 2 dimensions, but got " +
                                 to_string(input.shape()));
  }
  const std::int64_t channels = input.size(1);
  check_size("running_mean", running_mean, channels);
  check_size("running_var", running_var, channels);
  check_size("weight", weight, channels);
  check_size("bias", bias, channels);
  const Dims shape = channel_shape(input);
  const Tensor x = wide(input);
  if (!training) {
    if (!running_mean.defined() || !running_var.defined()) {
      fail(ErrorKind::runtime,
           "Expected running_mean and running_var to be defined when training=False");
    }
    const Tensor mean = wide(detach(running_mean));
    const Tensor rstd = rsqrt(add(wide(detach(running_var)), Tensor(eps)));
    const Tensor out =
        affine(mul(sub(x, reshape(mean, shape)), reshape(rstd, shape)), weight, bias, shape);
    return {as_input(out, input), mean, rstd};
  }
  const Tensor flat = by_channel(x);
  const Normed n = normed(flat, eps);
  const auto count = static_cast<double>(flat.size(0)) * static_cast<double>(flat.size(2));
  // An empty batch has no statistics.
  if (running_mean.defined() && count > 0) follow(running_mean, n.mean, momentum);
  if (running_var.defined() && count > 0) {
    const NoGrad off;
    follow(running_var, mul(n.var, Tensor(count / (count - 1))), momentum);
  }
  const Tensor out = affine(reshape(n.x, input.shape()), weight, bias, shape);
  return {as_input(out, input), n.mean, n.rstd};
}

Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                  const Tensor& running_mean, const Tensor& running_var, bool training,
                  double momentum, double eps, bool) {
  return std::get<0>(
      batch_normed(input, weight, bias, running_mean, running_var, training, momentum, eps));
}
Three native_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Tensor& running_mean, const Tensor& running_var, bool training,
                        double momentum, double eps) {
  const Three all =
      batch_normed(input, weight, bias, running_mean, running_var, training, momentum, eps);
  const DType kept = stat_dtype(input, weight, bias);
  if (!training) {
    return {std::get<0>(all), Tensor::empty({0}, kept), Tensor::empty({0}, kept)};
  }
  return {std::get<0>(all), to(std::get<1>(all), kept), to(std::get<2>(all), kept)};
}

Tensor instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                     const Tensor& running_mean, const Tensor& running_var, bool use_input_stats,
                     double momentum, double eps, bool) {
  if (running_mean.defined() != running_var.defined()) {
    fail(ErrorKind::runtime, "Expected running_mean and running_var to be defined together");
  }
  if (!use_input_stats) {
    return std::get<0>(
        batch_normed(input, weight, bias, running_mean, running_var, false, momentum, eps));
  }
  check_floating(input, "instance_norm");
  if (input.dim() < 3) {
    fail(ErrorKind::runtime, "instance_norm: expected input with at least 3 dimensions, but got " +
                                 to_string(input.shape()));
  }
  const std::int64_t batch = input.size(0), channels = input.size(1);
  check_size("running_mean", running_mean, channels);
  check_size("running_var", running_var, channels);
  check_size("weight", weight, channels);
  check_size("bias", bias, channels);
  const Tensor flat = by_channel(wide(input));
  const Normed n = normed(reshape(flat, {1, batch * channels, flat.size(2)}), eps);
  if (running_mean.defined() && input.numel() > 0) {
    const NoGrad off;
    const auto count = static_cast<double>(flat.size(2));
    const auto of_batch = [&](const Tensor& t) { return mean(reshape(t, {batch, channels}), {0}); };
    follow(running_mean, of_batch(n.mean), momentum);
    follow(running_var, mul(of_batch(n.var), Tensor(count / (count - 1))), momentum);
  }
  const Tensor out = affine(reshape(n.x, input.shape()), weight, bias, channel_shape(input));
  return as_input(out, input);
}

Three grouped(const Tensor& input, const Tensor& weight, const Tensor& bias, std::int64_t batch,
              std::int64_t channels, std::int64_t groups, double eps) {
  check_floating(input, "GroupNormKernelImpl");
  if (groups <= 0) {
    fail(ErrorKind::runtime, "num_groups must be greater than 0, got " + std::to_string(groups));
  }
  if (channels % groups != 0) {
    fail(ErrorKind::runtime,
         "Expected number of channels in input to be divisible by num_groups, but got input of "
         "shape " +
             to_string(input.shape()) + " and num_groups=" + std::to_string(groups));
  }
  for (const auto& [name, t] : {std::pair{"weight", &weight}, std::pair{"bias", &bias}}) {
    if (t->defined() && (t->dim() != 1 || t->size(0) != channels)) {
      fail(ErrorKind::runtime,
           "Expected " + std::string(name) +
               " to be a vector of size equal to the number of channels in input, but got " + name +
               " of shape " + to_string(t->shape()) + " and input of shape " +
               to_string(input.shape()));
    }
  }
  const std::int64_t lines = batch * groups;
  const Normed n =
      normed(reshape(wide(input), {1, lines, lines == 0 ? 0 : input.numel() / lines}), eps);
  const Tensor out = affine(
      reshape(n.x,
              {batch, channels, channels * batch == 0 ? 0 : input.numel() / (channels * batch)}),
      weight, bias, {1, channels, 1});
  const DType kept = stat_dtype(input, weight, bias);
  return {as_input(reshape(out, input.shape()), input), to(reshape(n.mean, {batch, groups}), kept),
          to(reshape(n.rstd, {batch, groups}), kept)};
}
Tensor group_norm(const Tensor& input, std::int64_t num_groups, const Tensor& weight,
                  const Tensor& bias, double eps, bool) {
  if (input.dim() < 2) {
    fail(ErrorKind::runtime, "Expected at least 2 dimensions for input tensor but received " +
                                 std::to_string(input.dim()));
  }
  for (std::int64_t d = 1; d < input.dim(); ++d) {
    if (input.shape()[d] == 0) {
      fail(ErrorKind::runtime, d == 1 ? "Expected number of channels to be greater than 0, got 0"
                                      : "Expected HxW to be greater than 0, got 0");
    }
  }
  return std::get<0>(grouped(input, weight, bias, input.size(0), input.size(1), num_groups, eps));
}
Three native_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        std::int64_t batch, std::int64_t channels, std::int64_t pixels,
                        std::int64_t group, double eps) {
  std::int64_t total = 0;
  if (batch < 0 || channels < 0 || pixels < 0 || __builtin_mul_overflow(batch, channels, &total) ||
      __builtin_mul_overflow(total, pixels, &total) || total != input.numel()) {
    fail(ErrorKind::runtime,
         "native_group_norm: N * C * HxW must be the number of elements of the "
         "input of shape " +
             to_string(input.shape()));
  }
  return grouped(input, weight, bias, batch, channels, group, eps);
}

}  // namespace

std::span<const OpDef> nn_norm_ops() {
  static constexpr OpDef rows[] = {
      native<layer_norm>(
          "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? "
          "bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
          "Zero mean and unit variance over the last dimensions, then weight and bias.", kFunction),
      native<native_layer_norm>(
          "native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, "
          "float eps) -> (Tensor, Tensor, Tensor)",
          "layer_norm, the means and the inverse standard deviations.", kFunction),
      native<rms_norm>(
          "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> "
          "Tensor",
          "x / sqrt(mean(x^2) + eps) over the last dimensions, times weight.", kFunction),
      native<batch_norm>(
          "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
          "running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
          "Zero mean and unit variance of each channel of (N, C, ...), then weight and bias; not "
          "training: with the running statistics, which training updates.",
          kFunction),
      native<native_batch_norm>(
          "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
          "Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, "
          "Tensor)",
          "batch_norm, the means and the inverse standard deviations.", kFunction),
      native<instance_norm>(
          "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
          "running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> "
          "Tensor",
          "Zero mean and unit variance of each channel of each image, then weight and bias.",
          kFunction),
      native<group_norm>(
          "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float "
          "eps=1e-05, bool cudnn_enabled=True) -> Tensor",
          "Zero mean and unit variance of groups of channels, then weight and bias.", kFunction),
      native<native_group_norm>(
          "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, "
          "int group, float eps) -> (Tensor, Tensor, Tensor)",
          "group_norm, the means and the inverse standard deviations.", kFunction),
  };
  return rows;
}

}  // namespace treadle
