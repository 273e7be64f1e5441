// Softmax, losses and layers' functions.
#include <algorithm>
#include <cmath>

#include "engine/backend/cpu/dispatch.h"
#include "engine/backend/cpu/reduce.h"
#include "engine/ops/native.h"
#include "engine/ops/reduce.h"
#include "engine/ops/view_util.h"

namespace treadle {
namespace {

struct RowKernels {
  const char* name;
  kernel::RowFn (kernel::Table::*forward)[kernel::kDTypes];
  kernel::RowFn (kernel::Table::*backward)[kernel::kDTypes];
};
constexpr RowKernels kSoftmax{"SoftmaxBackward0", &kernel::Table::softmax,
                              &kernel::Table::softmax_grad};
constexpr RowKernels kLogSoftmax{"LogSoftmaxBackward0", &kernel::Table::log_softmax,
                                 &kernel::Table::log_softmax_grad};

// Rows along `dim` of dense operands; the result is dense in the same order.
Tensor run_rows(kernel::RowFn fn, std::int64_t dim, const Tensor& a, const Tensor& b) {
  if (!fn) {
    fail(ErrorKind::not_implemented,
         "\"softmax\" not implemented for '" + std::string(info(a.dtype()).scalar) + "'");
  }
  const NoGrad off;
  const auto rows = [&](const Tensor& t) {
    return t.dim() == 0 ? reshape(detach(t), {1}) : contiguous(transpose(detach(t), dim, -1));
  };
  const Tensor x = rows(a), y = b.defined() ? rows(b) : Tensor();
  const Tensor out = Tensor::empty(x.shape(), x.dtype());
  const std::int64_t count = x.shape().back(), item = item_size(x.dtype());
  const std::int64_t n = count == 0 ? 0 : x.numel() / count;
  if (n > 0) {
    kernel::RowArgs args{};
    args.rows = n;
    args.count = count;
    args.out = out.data();
    args.out_stride = args.in_stride[0] = args.in_stride[1] = count * item;
    args.in[0] = x.data();
    args.in[1] = y.defined() ? y.data() : nullptr;
    map_rows(fn, args);
  }
  return a.dim() == 0 ? reshape(out, {}) : contiguous(transpose(out, dim, -1));
}

Tensor soft(const RowKernels& k, const Tensor& input, std::int64_t dim,
            std::optional<DType> dtype) {
  const Tensor self = dtype ? to(input, *dtype) : input;
  dim = wrap_dim(dim, self.dim());
  if (self.dtype() == DType::float16 || self.dtype() == DType::bfloat16) {
    return to(soft(k, to(self, DType::float32), dim, std::nullopt), self.dtype());
  }
  const auto type = static_cast<std::size_t>(self.dtype());
  const Tensor out = run_rows((table().*k.forward)[type], dim, self, Tensor());
  if (needs_tape({&self})) {
    record(k.name, out, {&self}, [&k, dim, y = Saved::output(out)](Node& n, const Gradients& g) {
      if (none(g)) return Gradients(1);
      if (!context().grad_enabled) {
        const Tensor result = y.get_data(k.name);
        return Gradients{run_rows((table().*k.backward)[static_cast<std::size_t>(g[0].dtype())],
                                  dim, g[0], result)};
      }
      const Tensor result = y.get(&n);
      if (&k == &kSoftmax)
        return Gradients{mul(result, sub(g[0], sum(mul(g[0], result), {dim}, true)))};
      return Gradients{sub(g[0], mul(exp(result), sum(g[0], {dim}, true)))};
    });
  }
  return out;
}

Tensor reduce_loss(const Tensor& loss, const std::string& reduction) {
  if (reduction == "mean") return mean(loss);
  if (reduction == "sum") return sum(loss);
  if (reduction == "none") return loss;
  fail(ErrorKind::value, reduction + " is not a valid value for reduction");
}

// input [N, C, ...] or [C]; the loss of each target without reduction, and the weight of each.
std::pair<Tensor, Tensor> nll_parts(const Tensor& input, const Tensor& target, const Tensor& weight,
                                    std::int64_t ignore_index) {
  if (input.dim() == 0) fail(ErrorKind::value, "Expected 1 or more dimensions (got 0)");
  const std::int64_t dim = input.dim() == 1 ? 0 : 1;
  Dims expected = input.shape();
  expected.erase(dim);
  if (target.dtype() != DType::int64) {
    fail(ErrorKind::runtime,
         "expected scalar type Long but found " + std::string(info(target.dtype()).scalar));
  }
  if (target.shape() != expected) {
    if (input.dim() >= 2 && target.dim() >= 1 && input.size(0) != target.size(0)) {
      fail(ErrorKind::value, "Expected input batch_size (" + std::to_string(input.size(0)) +
                                 ") to match target batch_size (" + std::to_string(target.size(0)) +
                                 ").");
    }
    fail(ErrorKind::runtime,
         "Expected target size " + to_string(expected) + ", got " + to_string(target.shape()));
  }
  const std::int64_t classes = input.shape()[dim];
  if (weight.defined() && (weight.dim() != 1 || weight.size(0) != classes)) {
    fail(ErrorKind::runtime,
         "weight tensor should be defined either for all " + std::to_string(classes) +
             " classes or no classes but got weight tensor of shape: " + to_string(weight.shape()));
  }
  const Tensor ignored = eq(target, Tensor::wrapped(ignore_index));
  const Tensor safe = where(ignored, zeros({}, DType::int64), target);
  if (safe.numel() > 0) {
    const std::uint64_t every = dim_mask({}, safe.dim());
    const std::int64_t low = reduce(Reduction::min, safe, every, false).item_int();
    const std::int64_t high = reduce(Reduction::max, safe, every, false).item_int();
    if (low < 0 || high >= classes) {
      fail(ErrorKind::index,
           "Target " + std::to_string(low < 0 ? low : high) + " is out of bounds.");
    }
  }
  const Tensor picked = squeeze(gather(input, dim, unsqueeze(safe, dim)), Dims{dim});
  Tensor w = weight.defined() ? reshape(index_select(weight, 0, reshape(safe, {-1})), safe.shape())
                              : ones(safe.shape(), input.dtype());
  w = where(ignored, zeros({}, w.dtype()), w);
  const Tensor loss = where(ignored, zeros({}, input.dtype()), neg(mul(picked, w)));
  return {loss, w};
}

Tensor nll_loss(const Tensor& input, const Tensor& target, const Tensor& weight,
                const std::string& reduction, std::int64_t ignore_index) {
  const auto [loss, w] = nll_parts(input, target, weight, ignore_index);
  if (reduction == "mean") return div(sum(loss), sum(w));
  return reduce_loss(loss, reduction);
}

}  // namespace

Tensor softmax(const Tensor& self, std::int64_t dim, std::optional<DType> dtype) {
  return soft(kSoftmax, self, dim, dtype);
}
Tensor log_softmax(const Tensor& self, std::int64_t dim, std::optional<DType> dtype) {
  return soft(kLogSoftmax, self, dim, dtype);
}

Tensor cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                     const std::string& reduction, std::int64_t ignore_index,
                     double label_smoothing) {
  if (label_smoothing < 0 || label_smoothing > 1) {
    fail(ErrorKind::runtime,
         "label_smoothing must be between 0.0 and 1.0. Got: " + std::to_string(label_smoothing));
  }
  const std::int64_t dim = input.dim() == 1 ? 0 : 1;
  const Tensor logp = log_softmax(input, dim);
  const std::int64_t classes = input.dim() > 0 ? input.shape()[dim] : 1;
  Dims per_class(input.dim(), 1);
  if (input.dim() > 0) per_class[dim] = classes;
  if (is_floating(target.dtype()) && target.shape() == input.shape()) {
    // Class probabilities.
    Tensor p = target;
    if (label_smoothing > 0) {
      p = add(mul(p, Tensor(1 - label_smoothing)),
              Tensor(label_smoothing / static_cast<double>(classes)));
    }
    Tensor terms = mul(logp, p);
    if (weight.defined()) terms = mul(terms, reshape(weight, per_class));
    const Tensor loss = neg(sum(terms, {dim}));
    if (reduction != "mean") return reduce_loss(loss, reduction);
    return div(sum(loss), Tensor(static_cast<double>(std::max<std::int64_t>(1, loss.numel()))));
  }
  const auto [nll, w] = nll_parts(logp, target, weight, ignore_index);
  if (label_smoothing == 0) {
    return reduction == "mean" ? div(sum(nll), sum(w)) : reduce_loss(nll, reduction);
  }
  Tensor smooth = weight.defined() ? neg(sum(mul(logp, reshape(weight, per_class)), {dim}))
                                   : neg(sum(logp, {dim}));
  smooth = where(eq(target, Tensor::wrapped(ignore_index)), zeros({}, smooth.dtype()), smooth);
  const Tensor total = add(mul(nll, Tensor(1 - label_smoothing)),
                           mul(smooth, Tensor(label_smoothing / static_cast<double>(classes))));
  return reduction == "mean" ? div(sum(total), sum(w)) : reduce_loss(total, reduction);
}

namespace {

Tensor mse_loss(const Tensor& input, const Tensor& target, const std::string& reduction) {
  return reduce_loss(square(sub(input, target)), reduction);
}
Tensor l1_loss(const Tensor& input, const Tensor& target, const std::string& reduction) {
  return reduce_loss(abs(sub(input, target)), reduction);
}
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const std::string& reduction,
                      double beta) {
  if (beta < 0)
    fail(ErrorKind::runtime, "smooth_l1_loss does not support negative values for beta.");
  if (beta == 0) return l1_loss(input, target, reduction);
  const Tensor d = abs(sub(input, target));
  return reduce_loss(
      where(lt(d, Tensor(beta)), mul(square(d), Tensor(0.5 / beta)), sub(d, Tensor(0.5 * beta))),
      reduction);
}
// log is cut at -100, so that a certain and wrong prediction costs 100 and not infinity.
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                            const std::string& reduction) {
  if (input.shape() != target.shape()) {
    fail(ErrorKind::value, "Using a target size (" + to_string(target.shape()) +
                               ") that is different to the input size (" +
                               to_string(input.shape()) +
                               ") is deprecated. Please ensure they have the same size.");
  }
  const Tensor floor_value(-100.0);
  const Tensor a = mul(target, maximum(log(input), floor_value));
  const Tensor b =
      mul(sub(Tensor(1.0), target), maximum(log(sub(Tensor(1.0), input)), floor_value));
  Tensor loss = neg(add(a, b));
  if (weight.defined()) loss = mul(loss, weight);
  return reduce_loss(loss, reduction);
}
Tensor bce_with_logits(const Tensor& input, const Tensor& target, const Tensor& weight,
                       const Tensor& pos_weight, const std::string& reduction) {
  if (input.shape() != target.shape()) {
    fail(ErrorKind::value, "Target size (" + to_string(target.shape()) +
                               ") must be the same as input size (" + to_string(input.shape()) +
                               ")");
  }
  // log(sigmoid(x)) = min(x, 0) - log(1 + e^-|x|)
  const Tensor log_sigmoid = sub(minimum(input, Tensor(0.0)), log1p(exp(neg(abs(input)))));
  Tensor loss = mul(sub(Tensor(1.0), target), input);
  if (pos_weight.defined()) {
    const Tensor factor = add(mul(sub(pos_weight, Tensor(1.0)), target), Tensor(1.0));
    loss = sub(loss, mul(factor, log_sigmoid));
  } else {
    loss = sub(loss, log_sigmoid);
  }
  if (weight.defined()) loss = mul(loss, weight);
  return reduce_loss(loss, reduction);
}

Tensor layer_norm(const Tensor& input, const Dims& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  const std::int64_t k = normalized_shape.size();
  bool fits = k > 0 && k <= input.dim();
  for (std::int64_t i = 0; fits && i < k; ++i)
    fits = input.shape()[input.dim() - k + i] == normalized_shape[i];
  if (!fits) {
    fail(ErrorKind::runtime, "Given normalized_shape=" + to_string(normalized_shape) +
                                 ", expected input with shape [*, " +
                                 to_string(normalized_shape).substr(1) + ", but got input of size" +
                                 to_string(input.shape()));
  }
  Dims dims;
  for (std::int64_t i = input.dim() - k; i < input.dim(); ++i) dims.push_back(i);
  const Tensor centered = sub(input, mean(input, dims, true));
  Tensor out = mul(centered, rsqrt(add(mean(square(centered), dims, true), Tensor(eps))));
  if (weight.defined()) out = mul(out, weight);
  return bias.defined() ? add(out, bias) : out;
}

Tensor hardtanh(const Tensor& x, const Scalar& low, const Scalar& high) {
  return minimum(maximum(x, low.tensor()), high.tensor());
}
Tensor log_sigmoid(const Tensor& x) {
  return sub(minimum(x, Tensor(0.0)), log1p(exp(neg(abs(x)))));
}

}  // namespace

std::span<const OpDef> nn_ops() {
  static constexpr OpDef rows[] = {
      native<softmax>("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
                      "exp(x) / sum(exp(x)) along dim.", kFunction | kMethod),
      native<log_softmax>("log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
                          "log(softmax(x)) along dim, without overflow.", kFunction | kMethod),
      native<gelu>("gelu(Tensor self, *, str approximate='none') -> Tensor",
                   "Gaussian error linear unit; approximate 'tanh' uses the tanh formula.",
                   kFunctional),
      native<hardtanh>("hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
                       "x cut to a range.", kFunctional),
      native<log_sigmoid>("logsigmoid(Tensor self) -> Tensor", "log(sigmoid(x)), without overflow.",
                          kFunctional),
      native<nll_loss>(
          "nll_loss(Tensor self, Tensor target, Tensor? weight=None, str reduction='mean', int "
          "ignore_index=-100) -> Tensor",
          "Minus the log-probability of the target class.", kFunctional),
      native<cross_entropy>("cross_entropy(Tensor self, Tensor target, Tensor? weight=None, str "
                            "reduction='mean', int "
                            "ignore_index=-100, float label_smoothing=0.0) -> Tensor",
                            "nll_loss(log_softmax(self)); target: class indices or probabilities.",
                            kFunctional),
      native<mse_loss>("mse_loss(Tensor self, Tensor target, str reduction='mean') -> Tensor",
                       "Squared difference.", kFunctional),
      native<l1_loss>("l1_loss(Tensor self, Tensor target, str reduction='mean') -> Tensor",
                      "Absolute difference.", kFunctional),
      native<smooth_l1_loss>("smooth_l1_loss(Tensor self, Tensor target, str reduction='mean', "
                             "float beta=1.0) -> Tensor",
                             "Squared difference below beta, absolute beyond.", kFunctional),
      native<binary_cross_entropy>("binary_cross_entropy(Tensor self, Tensor target, Tensor? "
                                   "weight=None, str reduction='mean') -> Tensor",
                                   "Cross entropy of probabilities; logs are cut at -100.",
                                   kFunctional),
      native<bce_with_logits>("binary_cross_entropy_with_logits(Tensor self, Tensor target, "
                              "Tensor? weight=None, Tensor? "
                              "pos_weight=None, str reduction='mean') -> Tensor",
                              "binary_cross_entropy(sigmoid(self)), without overflow.",
                              kFunctional),
      native<layer_norm>(
          "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? "
          "bias=None, float "
          "eps=1e-05) -> Tensor",
          "Zero mean and unit variance over the last dimensions, then weight and bias.",
          kFunctional),
  };
  return rows;
}

}  // namespace treadle
