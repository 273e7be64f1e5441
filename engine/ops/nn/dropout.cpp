// The dropout family besides dropout itself (random.cpp): of whole channels, and the kind that
// keeps mean and variance (alpha dropout, for SELU).
#include "engine/ops/nn/util.h"

namespace treadle {
namespace {

void check_probability(double p) {
  if (!(p >= 0 && p <= 1)) {
    fail(ErrorKind::runtime,
         "dropout probability has to be between 0 and 1, but got " + std::to_string(p));
  }
}

// The factor and the summand of a call, empty if it changes nothing.
struct Noise {
  Tensor factor, shift;
};
Noise noise(const Tensor& input, double p, bool train, bool feature, bool alpha) {
  check_probability(p);
  if (p == 0 || !train || input.numel() == 0) return {};
  if (p == 1) return {zeros({}, input.dtype()), Tensor()};
  const NoGrad off;
  Tensor keep;
  if (feature) {
    if (input.dim() < 2) {
      fail(ErrorKind::runtime, "Feature dropout requires at least 2 dimensions in the input");
    }
    Dims shape(input.dim(), 1);
    shape[0] = input.size(0);
    shape[1] = input.size(1);
    keep = keep_mask(shape, input.dtype(), p);
  } else {
    keep = keep_mask_like(input, p);
  }
  if (!alpha) return {div(keep, Tensor(1 - p)), Tensor()};
  constexpr double kAlpha = 1.7580993408473766;  // SELU's scale times its alpha
  const double a = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  const Tensor shift = add(mul(sub(keep, Tensor(1.0)), Tensor(kAlpha * a)), Tensor(kAlpha * a * p));
  return {mul(keep, Tensor(a)), shift};
}

template <bool Feature, bool Alpha>
Tensor drop(const Tensor& input, double p, bool train) {
  const Noise n = noise(input, p, train, Feature, Alpha);
  if (!n.factor.defined()) return input;
  const Tensor out = mul(input, n.factor);
  return n.shift.defined() ? add(out, n.shift) : out;
}
template <bool Feature, bool Alpha>
void drop_inplace(const Tensor& input, double p, bool train) {
  const Noise n = noise(input, p, train, Feature, Alpha);
  if (!n.factor.defined()) return;
  mul_(input, n.factor);
  if (n.shift.defined()) add_(input, n.shift);
}

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p,
                                          std::optional<bool> train) {
  check_probability(p);
  if (input.numel() == 0) return {input, zeros(input.shape(), DType::boolean)};
  if (!train.value_or(true)) return {mul(input, Tensor(1.0)), ones(input.shape(), DType::boolean)};
  Tensor keep;
  {
    const NoGrad off;
    keep = keep_mask(input.shape(), DType::float32, p);
    keep = ne(keep, Tensor(0.0));
  }
  const double scale = p == 1 ? 0 : 1 / (1 - p);
  return {mul(mul(input, keep), Tensor(scale)), keep};
}

}  // namespace

std::span<const OpDef> nn_dropout_ops() {
  static constexpr OpDef rows[] = {
      native<drop<true, false>, drop_inplace<true, false>>(
          "feature_dropout(Tensor input, float p, bool train) -> Tensor",
          "In training: whole channels zeroed with probability p, the others divided by 1 - p.",
          kFunction),
      native<drop<false, true>, drop_inplace<false, true>>(
          "alpha_dropout(Tensor input, float p, bool train) -> Tensor",
          "In training: elements set to SELU's lower limit with probability p, then scaled and "
          "shifted to the former mean and variance.",
          kFunction),
      native<drop<true, true>, drop_inplace<true, true>>(
          "feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor",
          "alpha_dropout of whole channels.", kFunction),
      native<native_dropout>(
          "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
          "dropout and the mask of what was kept.", kFunction),
  };
  return rows;
}

}  // namespace treadle
