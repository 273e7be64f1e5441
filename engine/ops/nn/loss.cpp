// Losses. Compositions of differentiable ops; `reduction` is PyTorch's number: 0 none, 1 mean, 2
// sum. To add one: a function and its row.
#include <algorithm>

#include "engine/core/iter.h"
#include "engine/ops/nn/util.h"

namespace treadle {
namespace {

constexpr std::int64_t kMean = static_cast<std::int64_t>(LossReduction::mean);

// The larger of x and `least`, with all of the gradient for x where they are equal.
Tensor at_least(const Tensor& x, double least) {
  return where(lt(x, Tensor(least)), zeros({}, x.dtype()) + Tensor(least), x);
}
Tensor softplus(const Tensor& x) {  // log(1 + e^x), without overflow
  return add(at_least(x, 0), log1p(exp(neg(abs(x)))));
}
Tensor log_of(const Tensor& x) {  // log, not below -100
  return maximum(log(x), Tensor(-100.0));
}

// --- classes -------------------------------------------------------------------------------------

// input [N, C, ...] or [C]; the loss of each target without reduction, and the weight of each.
std::pair<Tensor, Tensor> nll_parts(const Tensor& input, const Tensor& target, const Tensor& weight,
                                    std::int64_t ignore_index) {
  if (input.dim() == 0) fail(ErrorKind::value, "Expected 1 or more dimensions (got 0)");
  const std::int64_t dim = input.dim() == 1 ? 0 : 1;
  Dims expected = input.shape();
  expected.erase(dim);
  if (target.dtype() != DType::int64) {
    fail(ErrorKind::runtime, "expected scalar type Long but found " + scalar_name(target.dtype()));
  }
  if (!is_floating(input.dtype())) no_implementation(input.dtype(), "nll_loss_out_frame");
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
  if (weight.defined() && weight.dtype() != input.dtype()) {
    fail(ErrorKind::runtime, "expected scalar type " + scalar_name(input.dtype()) + " but found " +
                                 scalar_name(weight.dtype()));
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
                std::int64_t reduction, std::int64_t ignore_index) {
  const auto [loss, w] = nll_parts(input, target, weight, ignore_index);
  if (reduction == kMean) return div(sum(loss), sum(w));
  return reduce_loss(loss, reduction);
}

Tensor cross_entropy_loss(const Tensor& input, const Tensor& target, const Tensor& weight,
                          std::int64_t reduction, std::int64_t ignore_index,
                          double label_smoothing) {
  if (!(label_smoothing >= 0 && label_smoothing <= 1)) {
    fail(ErrorKind::runtime,
         "label_smoothing must be between 0.0 and 1.0. Got: " + std::to_string(label_smoothing));
  }
  if (input.dim() == 0) fail(ErrorKind::value, "Expected 1 or more dimensions (got 0)");
  const std::int64_t dim = input.dim() == 1 ? 0 : 1;
  const Tensor logp = log_softmax(input, dim);
  const std::int64_t classes = input.shape()[dim];
  Dims per_class(input.dim(), 1);
  per_class[dim] = classes;
  if (target.shape() == input.shape()) {
    // Class probabilities.
    if (!is_floating(target.dtype())) {
      fail(ErrorKind::runtime,
           "Expected floating point type for target with class probabilities, got " +
               scalar_name(target.dtype()));
    }
    if (ignore_index >= 0) {
      fail(ErrorKind::runtime, "ignore_index is not supported for floating point target");
    }
    if (weight.defined() && (weight.dim() != 1 || weight.size(0) != classes)) {
      fail(ErrorKind::runtime, "cross_entropy: weight tensor should be defined either for all " +
                                   std::to_string(classes) +
                                   " classes or no classes but got weight tensor of shape: " +
                                   to_string(weight.shape()));
    }
    Tensor p = target;
    if (label_smoothing > 0) {
      p = add(mul(p, Tensor(1 - label_smoothing)),
              Tensor(label_smoothing / static_cast<double>(classes)));
    }
    Tensor terms = mul(logp, p);
    if (weight.defined()) terms = mul(terms, reshape(weight, per_class));
    const Tensor loss = neg(sum(terms, {dim}));
    if (reduction != kMean) return reduce_loss(loss, reduction);
    return div(sum(loss), Tensor(static_cast<double>(loss.numel())));
  }
  const auto [nll, w] = nll_parts(logp, target, weight, ignore_index);
  if (label_smoothing == 0) {
    return reduction == kMean ? div(sum(nll), sum(w)) : reduce_loss(nll, reduction);
  }
  Tensor smooth = weight.defined() ? neg(sum(mul(logp, reshape(weight, per_class)), {dim}))
                                   : neg(sum(logp, {dim}));
  smooth = where(eq(target, Tensor::wrapped(ignore_index)), zeros({}, smooth.dtype()), smooth);
  const Tensor total = add(mul(nll, Tensor(1 - label_smoothing)),
                           mul(smooth, Tensor(label_smoothing / static_cast<double>(classes))));
  return reduction == kMean ? div(sum(total), sum(w)) : reduce_loss(total, reduction);
}

// --- differences ---------------------------------------------------------------------------------

Tensor mse_loss(const Tensor& input, const Tensor& target, std::int64_t reduction) {
  return reduce_loss(square(sub(input, target)), reduction);
}
Tensor l1_loss(const Tensor& input, const Tensor& target, std::int64_t reduction) {
  return reduce_loss(abs(sub(input, target)), reduction);
}
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, std::int64_t reduction,
                      double beta) {
  if (!(beta >= 0))
    fail(ErrorKind::runtime, "smooth_l1_loss does not support negative values for beta.");
  if (beta == 0) return l1_loss(input, target, reduction);
  const Tensor d = abs(sub(input, target));
  return reduce_loss(
      where(lt(d, Tensor(beta)), mul(square(d), Tensor(0.5 / beta)), sub(d, Tensor(0.5 * beta))),
      reduction);
}
Tensor huber_loss(const Tensor& input, const Tensor& target, std::int64_t reduction, double delta) {
  if (!(delta > 0)) {
    fail(ErrorKind::runtime, "huber_loss does not support non-positive values for delta.");
  }
  const Tensor d = abs(sub(input, target));
  return reduce_loss(where(le(d, Tensor(delta)), mul(square(d), Tensor(0.5)),
                           mul(sub(d, Tensor(0.5 * delta)), Tensor(delta))),
                     reduction);
}

// --- probabilities -------------------------------------------------------------------------------

// Of each element. The logs are cut at -100, so that a certain and wrong prediction costs 100 and
// not infinity; the gradient is that of PyTorch, finite everywhere.
Tensor cross_entropy_of(const Tensor& x, const Tensor& t) {
  Tensor out;
  {
    const NoGrad off;
    const Tensor one(1.0);
    out = neg(add(mul(detach(t), log_of(detach(x))),
                  mul(sub(one, detach(t)), log_of(sub(one, detach(x))))));
  }
  if (needs_tape({&x, &t})) {
    record("BinaryCrossEntropyBackward0", out, {&x, &t},
           [sx = Saved(x), st = Saved(t)](Node& n, const Gradients& g) {
             Gradients r(2);
             if (none(g)) return r;
             const Tensor p = sx.get(&n), rest = sub(Tensor(1.0), p);
             if (n.needs(0)) {
               r[0] = mul(g[0], div(sub(p, st.get(&n)), at_least(mul(rest, p), 1e-12)));
             }
             if (n.needs(1)) r[1] = mul(g[0], sub(log_of(rest), log_of(p)));
             return r;
           });
  }
  return out;
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                            std::int64_t reduction) {
  if (input.shape() != target.shape()) {
    fail(ErrorKind::value, "Using a target size (" + to_string(target.shape()) +
                               ") that is different to the input size (" +
                               to_string(input.shape()) +
                               ") is deprecated. Please ensure they have the same size.");
  }
  if (!is_floating(input.dtype())) no_implementation(input.dtype(), "binary_cross_entropy");
  if (target.dtype() != input.dtype()) {
    fail(ErrorKind::runtime, "Found dtype " + scalar_name(target.dtype()) + " but expected " +
                                 scalar_name(input.dtype()));
  }
  {
    const NoGrad off;
    const Tensor x = detach(input);
    // NaN passes, as in PyTorch.
    if (any(logical_or(lt(x, Tensor(0.0)), gt(x, Tensor(1.0)))).item_int() != 0) {
      fail(ErrorKind::runtime, "all elements of input should be between 0 and 1");
    }
  }
  Tensor loss = cross_entropy_of(input, target);
  if (weight.defined()) loss = mul(loss, weight);
  return reduce_loss(loss, reduction);
}

Tensor bce_with_logits(const Tensor& input, const Tensor& target, const Tensor& weight,
                       const Tensor& pos_weight, std::int64_t reduction) {
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

Tensor kl_div(const Tensor& input, const Tensor& target, std::int64_t reduction, bool log_target) {
  if (is_complex(input.dtype()) || is_complex(target.dtype())) {
    fail(ErrorKind::runtime, "kl_div: Complex inputs not supported.");
  }
  if (log_target) return reduce_loss(mul(exp(target), sub(target, input)), reduction);
  // t log t is 0 at 0.
  const Tensor at_zero = eq(target, Tensor(0.0));
  const Tensor safe = where(at_zero, ones({}, target.dtype()), target);
  return reduce_loss(sub(mul(safe, log(safe)), mul(target, input)), reduction);
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full,
                        double eps, std::int64_t reduction) {
  Tensor loss = log_input ? sub(exp(input), mul(target, input))
                          : sub(input, mul(target, log(add(input, Tensor(eps)))));
  if (full) {  // Stirling's approximation of log(target!)
    const Tensor small = le(target, Tensor(1.0));
    const Tensor t = where(small, ones({}, target.dtype()), target);
    const Tensor stirling =
        add(sub(mul(t, log(t)), t), mul(log(mul(t, Tensor(2 * M_PI))), Tensor(0.5)));
    loss = add(loss, where(small, zeros({}, stirling.dtype()), stirling));
  }
  return reduce_loss(loss, reduction);
}

// --- margins -------------------------------------------------------------------------------------

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, double margin,
                            std::int64_t reduction) {
  const Tensor zero = zeros({}, input.dtype());
  const Tensor apart =
      where(ne(target, Tensor(1.0)), at_least(sub(Tensor(margin), input), 0), zero);
  const Tensor near = where(ne(target, Tensor(-1.0)), input, zero);
  return reduce_loss(add(apart, near), reduction);
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           double margin, std::int64_t reduction) {
  if (input1.dim() != input2.dim() || input1.dim() != target.dim()) {
    fail(ErrorKind::runtime,
         "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
         "input1: " +
             to_string(input1.shape()) + ", input2: " + to_string(input2.shape()) +
             ", target: " + to_string(target.shape()) + " ");
  }
  return reduce_loss(at_least(add(mul(neg(target), sub(input1, input2)), Tensor(margin)), 0),
                     reduction);
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             double margin, std::int64_t reduction) {
  const std::int64_t dim = target.dim();
  if (dim != 0 && dim != 1) {
    fail(ErrorKind::runtime, "0D or 1D target tensor expected, multi-target not supported");
  }
  if (input1.dim() != dim + 1 || input2.dim() != dim + 1) {
    fail(ErrorKind::runtime,
         std::to_string(dim) + "D target tensor expects " + std::to_string(dim + 1) +
             "D input tensors, but found inputs with sizes " + to_string(input1.shape()) + " and " +
             to_string(input2.shape()) + ".");
  }
  constexpr double kTiny = 1e-12;
  const Tensor product = sum(mul(input1, input2), {dim});
  const Tensor size1 = add(sum(mul(input1, input1), {dim}), Tensor(kTiny));
  const Tensor size2 = add(sum(mul(input2, input2), {dim}), Tensor(kTiny));
  const Tensor cosine = div(product, sqrt(mul(size1, size2)));
  const Tensor zero = zeros({}, cosine.dtype());
  const Tensor same = where(eq(target, Tensor(1.0)), sub(Tensor(1.0), cosine), zero);
  const Tensor apart =
      where(eq(target, Tensor(-1.0)), at_least(sub(cosine, Tensor(margin)), 0), zero);
  return reduce_loss(add(same, apart), reduction);
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& target, std::int64_t reduction) {
  return reduce_loss(softplus(mul(neg(input), target)), reduction);
}

// input (N, C) or (C); throws unless target has the shape `wanted` for it.
std::pair<std::int64_t, std::int64_t> samples_of(const char* op, const Tensor& input,
                                                 const Tensor& target, bool target_per_class) {
  const bool one = input.dim() <= 1;
  const std::int64_t classes = input.dim() == 0 ? 1 : input.size(-1);
  const std::int64_t samples = one ? 1 : input.size(0);
  if (input.dim() > 2 || classes == 0) {
    fail(ErrorKind::runtime,
         std::string(op) +
             ": Expected non-empty vector or matrix with optional 0-dim batch size, "
             "but got: " +
             to_string(input.shape()));
  }
  const std::int64_t wanted = target_per_class ? samples * classes : samples;
  const bool fits = target.numel() == wanted &&
                    (target_per_class ? target.dim() == input.dim() || (target.dim() <= 1 && one)
                                      : target.dim() <= 1);
  if (!fits) {
    fail(ErrorKind::runtime, std::string("inconsistent target size: ") + to_string(target.shape()) +
                                 " for input of size: " + to_string(input.shape()));
  }
  if (target.dtype() != DType::int64) {
    fail(ErrorKind::runtime, "expected scalar type Long but found " + scalar_name(target.dtype()));
  }
  return {samples, classes};
}

Tensor multi_margin_loss(const Tensor& input, const Tensor& target, const Scalar& p,
                         const Scalar& margin, const Tensor& weight, std::int64_t reduction) {
  if (p.f != 1 && p.f != 2) fail(ErrorKind::runtime, "only p == 1 and p == 2 supported");
  if (!is_floating(input.dtype())) no_implementation(input.dtype(), "multi_margin_loss");
  const auto [samples, classes] = samples_of("multi_margin_loss", input, target, false);
  if (weight.defined() && (weight.dim() > 1 || weight.numel() != classes)) {
    fail(ErrorKind::runtime, "inconsistent weight size: " + to_string(weight.shape()) + " for " +
                                 std::to_string(classes) + " classes");
  }
  const Tensor t = reshape(dense(target), {samples, 1});
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::int64_t c = t.data_as<std::int64_t>()[i];
    if (c < 0 || c >= classes) {
      fail(ErrorKind::runtime, "target out of range: " + std::to_string(c) + " for " +
                                   std::to_string(classes) + " classes");
    }
  }
  const Tensor x = reshape(input, {samples, classes});
  Tensor z = at_least(add(sub(x, gather(x, 1, t)), margin.tensor()), 0);
  if (p.f == 2) z = square(z);
  if (weight.defined()) {
    z = mul(z,
            reshape(index_select(reshape(weight, {classes}), 0, reshape(t, {-1})), {samples, 1}));
  }
  const Tensor itself = eq(t, arange(0, classes, 1, DType::int64));
  z = where(itself, zeros({}, z.dtype()), z);
  Tensor loss = div(sum(z, {1}), Tensor(static_cast<double>(classes)));
  if (input.dim() <= 1) loss = reshape(loss, {});
  return reduce_loss(loss, reduction);
}

// target: the classes of each sample, ended by -1.
std::tuple<Tensor, Tensor> multilabel_margin_parts(const Tensor& input, const Tensor& target,
                                                   std::int64_t reduction) {
  if (!is_floating(input.dtype())) no_implementation(input.dtype(), "multilabel_margin_loss");
  const auto [samples, classes] = samples_of("multilabel_margin_loss", input, target, true);
  const Tensor list = reshape(dense(target), {samples, classes});
  const auto* at = list.data_as<std::int64_t>();
  std::int64_t most = 0;
  const Tensor is_target = zeros({samples, classes}, input.dtype());
  const Tensor other = ones({samples, classes}, input.dtype());  // 1: not a target
  {
    const NoGrad off;
    const Tensor flag = zeros({samples, classes}, DType::boolean);
    for (std::int64_t n = 0; n < samples; ++n) {
      for (std::int64_t k = 0; k < classes; ++k) {
        const std::int64_t c = at[n * classes + k];
        if (c < -1 || c >= classes) {
          fail(ErrorKind::runtime,
               "multilabel_margin_loss: target out of range: " + std::to_string(c) + " for " +
                   std::to_string(classes) + " classes");
        }
      }
      for (std::int64_t k = 0; k < classes && at[n * classes + k] >= 0; ++k) {
        flag.data_as<bool>()[n * classes + at[n * classes + k]] = true;
        most = std::max(most, k + 1);
      }
    }
    cast_into(is_target, flag);
    cast_into(other, logical_not(flag));
  }
  const Tensor index = zeros({samples, most}, DType::int64);
  const Tensor counts = zeros({samples, most}, DType::boolean);
  for (std::int64_t n = 0; n < samples; ++n) {
    for (std::int64_t k = 0; k < most && at[n * classes + k] >= 0; ++k) {
      index.data_as<std::int64_t>()[n * most + k] = at[n * classes + k];
      counts.data_as<bool>()[n * most + k] = true;
    }
  }
  const Tensor x = reshape(input, {samples, classes});
  const Tensor own = unsqueeze(sub(Tensor(1.0), gather(x, 1, index)), 2);  // (N, labels, 1)
  Tensor z = mul(relu(add(own, unsqueeze(x, 1))), unsqueeze(other, 1));
  z = where(unsqueeze(counts, 2), z, zeros({}, z.dtype()));
  Tensor loss = div(sum(z, {1, 2}), Tensor(static_cast<double>(classes)));
  if (input.dim() <= 1) loss = reshape(loss, {});
  return {reduce_loss(loss, reduction), reshape(is_target, target.shape())};
}
Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, std::int64_t reduction) {
  return std::get<0>(multilabel_margin_parts(input, target, reduction));
}

Tensor distance(const Tensor& a, const Tensor& b, double p, double eps) {
  return p_norm(add(sub(a, b), Tensor(eps)), p, {-1}, false);
}
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin, double p, double eps, bool swap, std::int64_t reduction) {
  if (anchor.dim() != positive.dim() || anchor.dim() != negative.dim()) {
    fail(ErrorKind::runtime,
         "The anchor, positive, and negative tensors are expected to have the same number of "
         "dimensions, but got: anchor " +
             std::to_string(anchor.dim()) + "D, positive " + std::to_string(positive.dim()) +
             "D, and negative " + std::to_string(negative.dim()) + "D inputs");
  }
  if (!(margin > 0)) {
    fail(ErrorKind::value, "Expected margin to be greater than 0, got " + std::to_string(margin));
  }
  const Tensor near = distance(anchor, positive, p, eps);
  Tensor far = distance(anchor, negative, p, eps);
  if (swap) far = minimum(far, distance(positive, negative, p, eps));
  return reduce_loss(at_least(add(sub(near, far), Tensor(margin)), 0), reduction);
}

}  // namespace

Tensor cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                     const std::string& reduction, std::int64_t ignore_index,
                     double label_smoothing) {
  LossReduction r = LossReduction::mean;
  if (reduction == "none") {
    r = LossReduction::none;
  } else if (reduction == "sum") {
    r = LossReduction::sum;
  } else if (reduction != "mean") {
    fail(ErrorKind::value, reduction + " is not a valid value for reduction");
  }
  return cross_entropy_loss(input, target, weight, static_cast<std::int64_t>(r), ignore_index,
                            label_smoothing);
}

std::span<const OpDef> nn_loss_ops() {
  static constexpr OpDef rows[] = {
      native<nll_loss>("nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
                       "int ignore_index=-100) -> Tensor",
                       "Minus the log-probability of the target class.", kFunctional),
      native<cross_entropy_loss>(
          "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
          "int ignore_index=-100, float label_smoothing=0.0) -> Tensor",
          "nll_loss(log_softmax(self)); target: class indices or probabilities.", kFunctional),
      native<mse_loss>("mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
                       "Squared difference.", kFunctional),
      native<l1_loss>("l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
                      "Absolute difference.", kFunctional),
      native<smooth_l1_loss>("smooth_l1_loss(Tensor self, Tensor target, int reduction=1, "
                             "float beta=1.0) -> Tensor",
                             "Squared difference below beta, absolute beyond.", kFunctional),
      native<huber_loss>(
          "huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0) -> Tensor",
          "Half the squared difference up to delta, linear beyond.", kFunctional),
      native<binary_cross_entropy>("binary_cross_entropy(Tensor self, Tensor target, Tensor? "
                                   "weight=None, int reduction=1) -> Tensor",
                                   "Cross entropy of probabilities; logs are cut at -100.",
                                   kFunctional),
      native<bce_with_logits>(
          "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, "
          "Tensor? pos_weight=None, int reduction=1) -> Tensor",
          "binary_cross_entropy(sigmoid(self)), without overflow.", kFunction),
      native<kl_div>("kl_div(Tensor self, Tensor target, int reduction=1, *, bool "
                     "log_target=False) -> Tensor",
                     "target * (log(target) - self), self being log-probabilities.", kFunction),
      native<poisson_nll_loss>(
          "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int "
          "reduction) -> Tensor",
          "exp(input) - target * input, or input - target * log(input + eps).", kFunction),
      native<hinge_embedding_loss>("hinge_embedding_loss(Tensor self, Tensor target, float "
                                   "margin=1.0, int reduction=1) -> Tensor",
                                   "self where target is 1, max(0, margin - self) where it is -1.",
                                   kFunction),
      native<margin_ranking_loss>(
          "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int "
          "reduction=1) -> Tensor",
          "max(0, -target * (input1 - input2) + margin).", kFunction),
      native<cosine_embedding_loss>(
          "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, "
          "int reduction=1) -> Tensor",
          "1 - cos where target is 1, max(0, cos - margin) where it is -1.", kFunction),
      native<soft_margin_loss>(
          "soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
          "log(1 + exp(-target * self)).", kFunctional),
      native<multi_margin_loss>(
          "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? "
          "weight=None, int reduction=1) -> Tensor",
          "Mean over the other classes of max(0, margin - x[target] + x)^p.", kFunctional),
      native<multilabel_margin_loss>(
          "multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
          "Sum over targets and other classes of max(0, 1 - (x[target] - x[other])), divided by "
          "the classes; target: classes ended by -1.",
          kFunctional),
      native<triplet_margin_loss>(
          "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, "
          "float p=2.0, float eps=1e-06, bool swap=False, int reduction=1) -> Tensor",
          "max(0, |anchor - positive| - |anchor - negative| + margin).", kFunction),
  };
  return rows;
}

}  // namespace treadle
