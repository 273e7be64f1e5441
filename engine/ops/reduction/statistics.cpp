// Variance, standard deviation, covariance and correlation.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/backend/cpu/moments.h"
#include "engine/core/warn.h"
#include "engine/ops/native.h"
#include "engine/ops/reduction/util.h"

namespace treadle {
namespace {

using OptScalar = std::optional<Scalar>;
using Pair = std::tuple<Tensor, Tensor>;

void check_dtype(const Tensor& t, const char* op) {
  if (!is_differentiable(t.dtype())) {
    fail(ErrorKind::not_implemented,
         std::string(op) + " only support floating point and complex dtypes");
  }
}

// What is asked for: the dimensions, and the divisor n - correction, not below 0.
struct Spread {
  std::uint64_t mask;
  double divisor;
  bool keepdim;
};
Spread spread_of(const char* op, const Tensor& self, const Dims& dim, const OptScalar& correction,
                 bool keepdim) {
  const std::uint64_t mask = dim_mask(dim, self.dim());
  const double n = static_cast<double>(reduced_count(self, mask));
  const double divisor = n - (correction ? correction->f : 1.0);
  if (!(divisor > 0)) {
    warn(std::string(op) +
         "(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
         "factor (input numel divided by output numel).");
  }
  return {mask, divisor, keepdim};
}

// Variance in float64 and the mean in self's dtype, without tape.
Pair compute(const Tensor& self, const Spread& s) {
  const NoGrad off;
  if (is_complex(self.dtype())) {
    const auto [re, re_mean] = compute(real(detach(self)), s);
    const auto [im, im_mean] = compute(imag(detach(self)), s);
    return {add(re, im), view_as_complex(stack({re_mean, im_mean}, -1))};
  }
  const Tensor in = reduced_last(self, s.mask);
  const Dims shape = reduced_shape(self.shape(), s.mask, s.keepdim);
  const Tensor mean = Tensor::empty(shape, DType::float64);
  const Tensor squares = Tensor::empty(shape, DType::float64);
  moments(self.dtype(), in.data(), mean.numel(), reduced_count(self, s.mask),
          mean.data_as<double>(), squares.data_as<double>());
  return {div(squares, Tensor(std::max(0.0, s.divisor))), cast(mean, self.dtype())};
}

Tensor var_gradient(const Tensor& g, const Tensor& x, const Spread& s) {
  const Tensor mean_x = mean(x, mask_dims(s.mask, x.dim()), true);
  const Tensor grad = restore_dims(g, s.mask, x.dim(), s.keepdim);
  const Tensor off_mean = sub(x, mean_x);
  if (s.divisor > 0) return mul(mul(grad, Tensor(2.0 / s.divisor)), off_mean);
  // No freedom: infinite away from the mean, undefined at it.
  const auto number = [&](double v) { return full({}, v, to_real(x.dtype())); };
  return mul(grad, where(eq(x, mean_x), number(std::numeric_limits<double>::quiet_NaN()),
                         number(std::numeric_limits<double>::infinity())));
}

Tensor mean_gradient(const Tensor& g, const Tensor& x, const Spread& s) {
  const double n = static_cast<double>(reduced_count(x, s.mask));
  return spread(div(g, Tensor(n)), x.shape(), s.mask, s.keepdim);
}

// Variance or standard deviation, and the mean. The gradient of a standard deviation is 0 where it
// is 0.
Pair var_and_mean(const Tensor& self, const Spread& s, bool root, const char* name) {
  const auto [wide, mean] = compute(self, s);
  Tensor out;
  {
    const NoGrad off;
    out = cast(root ? sqrt(wide) : wide, to_real(self.dtype()));
  }
  if (needs_tape({&self})) {
    const Ref<Node> node = make_node(
        name, {&self},
        [s, root, x = Saved(self), y = root ? Saved::output(out) : Saved()](Node& n,
                                                                            const Gradients& g) {
          const Tensor in = x.get(&n);
          Tensor r;
          if (g[0].defined()) {
            Tensor grad = g[0];
            if (root) {
              const Tensor deviation = y.get(&n);
              const Tensor none = eq(deviation, Tensor(0));
              const Tensor zero = zeros({}, deviation.dtype()), one = ones({}, deviation.dtype());
              grad = where(none, zero, div(grad, mul(where(none, one, deviation), Tensor(2.0))));
            }
            r = var_gradient(grad, in, s);
          }
          if (g.size() > 1 && g[1].defined()) {
            const Tensor m = mean_gradient(g[1], in, s);
            r = r.defined() ? add(r, m) : m;
          }
          return Gradients{r};
        });
    set_history(out, node, 0);
    set_history(mean, node, 1);
  }
  return {out, mean};
}

Tensor var(const Tensor& self, const Dims& dim, const OptScalar& correction, bool keepdim) {
  check_dtype(self, "std and var");
  return std::get<0>(
      var_and_mean(self, spread_of("var", self, dim, correction, keepdim), false, "VarBackward0"));
}
Tensor std_dev(const Tensor& self, const Dims& dim, const OptScalar& correction, bool keepdim) {
  check_dtype(self, "std and var");
  return std::get<0>(
      var_and_mean(self, spread_of("std", self, dim, correction, keepdim), true, "StdBackward0"));
}
Pair var_mean(const Tensor& self, const Dims& dim, const OptScalar& correction, bool keepdim) {
  check_dtype(self, "var_mean");
  return var_and_mean(self, spread_of("var_mean", self, dim, correction, keepdim), false,
                      "VarMeanBackward0");
}
Pair std_mean(const Tensor& self, const Dims& dim, const OptScalar& correction, bool keepdim) {
  check_dtype(self, "std_mean");
  return var_and_mean(self, spread_of("std_mean", self, dim, correction, keepdim), true,
                      "StdMeanBackward0");
}

// PyTorch's older forms, which say `unbiased` for a correction of 1.
template <auto F>
auto all_unbiased(const Tensor& self, bool unbiased) {
  return F(self, {}, Scalar(unbiased ? 1 : 0), false);
}
template <auto F>
auto dim_unbiased(const Tensor& self, const Dims& dim, bool unbiased, bool keepdim) {
  return F(self, dim, Scalar(unbiased ? 1 : 0), keepdim);
}

// --- covariance ---------------------------------------------------------------------------------

void check_weights(const Tensor& w, const char* name, bool floating, std::int64_t observations) {
  const auto refuse = [&](const std::string& why) {
    fail(ErrorKind::runtime, "cov(): expected " + std::string(name) + why);
  };
  if (w.dim() > 1) {
    refuse(" to have one or fewer dimensions but got " + std::string(name) + " with " +
           std::to_string(w.dim()) + " dimensions");
  }
  if (floating ? !is_floating(w.dtype()) : !is_integral(w.dtype()) || w.dtype() == DType::boolean) {
    refuse(" to have " + std::string(floating ? "floating point" : "integral") + " dtype but got " +
           name + " with " + std::string(info(w.dtype()).scalar) + " dtype");
  }
  if (w.numel() != observations) {
    refuse(" to have the same numel as there are observations in the input but got " +
           std::to_string(w.numel()) + " != " + std::to_string(observations));
  }
  const NoGrad off;
  if (w.numel() > 0 && amin(detach(w)).item() < 0)
    fail(ErrorKind::runtime, "cov(): " + std::string(name) + " cannot be negative");
}

Tensor cov(const Tensor& self, std::int64_t correction, const Tensor& fweights,
           const Tensor& aweights) {
  if (self.dim() > 2) {
    fail(ErrorKind::runtime,
         "cov(): expected input to have two or fewer dimensions but got an input with " +
             std::to_string(self.dim()) + " dimensions");
  }
  if (self.dtype() == DType::boolean)
    fail(ErrorKind::runtime, "cov(): bool dtype is not supported for input");
  Tensor in = self.dim() < 2 ? reshape(self, {1, -1}) : self;
  const std::int64_t n = in.size(1);
  Tensor w;
  if (fweights.defined()) {
    check_weights(fweights, "fweights", false, n);
    w = reshape(fweights, {-1});
  }
  if (aweights.defined()) {
    check_weights(aweights, "aweights", true, n);
    w = w.defined() ? mul(w, reshape(aweights, {-1})) : reshape(aweights, {-1});
  }
  const Tensor total = w.defined() ? sum(w) : full({}, Scalar(n), DType::int64);
  if (w.defined() && n != 0 && detach(total).item() == 0)
    fail(ErrorKind::runtime, "cov(): weights sum to zero, can't be normalized");
  const Tensor mean = div(sum(w.defined() ? mul(in, w) : in, {1}), total);
  Tensor divisor;
  if (w.defined() && aweights.defined() && correction != 0) {
    divisor =
        sub(total,
            div(mul(sum(mul(w, reshape(aweights, {-1}))), Tensor(static_cast<double>(correction))),
                total));
  } else {
    divisor = sub(total, Tensor::wrapped(correction));
  }
  if (!(detach(divisor).item() > 0)) {
    warn(
        "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
        "observations.");
    divisor = zeros_like(divisor);
  }
  in = sub(in, unsqueeze(mean, 1));
  const Tensor weighted = w.defined() ? mul(in, w) : in;
  return squeeze(div(matmul(in, conj(t(weighted))), divisor));
}

Tensor corrcoef(const Tensor& self) {
  if (self.dim() > 2) {
    fail(ErrorKind::runtime,
         "corrcoef(): expected input to have two or fewer dimensions but got an input with " +
             std::to_string(self.dim()) + " dimensions");
  }
  const Tensor c = cov(self, 1, Tensor(), Tensor());
  if (c.dim() == 0) return div(c, c);  // 1, or NaN without a spread
  const Tensor diagonal =
      as_strided(c, {c.size(0)}, {c.strides()[0] + c.strides()[1]}, c.impl()->offset);
  const Tensor deviation = sqrt(is_complex(c.dtype()) ? real(diagonal) : diagonal);
  const Tensor r = div(div(c, unsqueeze(deviation, 1)), unsqueeze(deviation, 0));
  const auto clip = [](const Tensor& x) {
    const Tensor one = ones({}, x.dtype());
    return where(gt(x, one), one, where(lt(x, neg(one)), neg(one), x));
  };
  if (!is_complex(r.dtype())) return clip(r);
  return view_as_complex(stack({clip(real(r)), clip(imag(r))}, -1));
}

constexpr unsigned kBoth = kFunction | kMethod;
constexpr unsigned kAll = kBoth | kOut;

}  // namespace

std::span<const OpDef> statistics_ops() {
  static constexpr OpDef rows[] = {
      native<all_unbiased<var>>("var(Tensor self, bool unbiased=True) -> Tensor",
                                "Variance of all elements.", kBoth),
      native<dim_unbiased<var>>(
          "var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
          "Variance over the dimensions.", kAll),
      native<var>("var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
                  "keepdim=False) -> Tensor",
                  "Variance; the divisor is n - correction (1 by default).", kAll),
      native<all_unbiased<std_dev>>("std(Tensor self, bool unbiased=True) -> Tensor",
                                    "Standard deviation of all elements.", kBoth),
      native<dim_unbiased<std_dev>>(
          "std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
          "Standard deviation over the dimensions.", kAll),
      native<std_dev>("std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
                      "bool keepdim=False) -> Tensor",
                      "Standard deviation; the divisor is n - correction (1 by default).", kAll),
      native<all_unbiased<var_mean>>(
          "var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
          "Variance and mean of all elements.", kFunction),
      native<dim_unbiased<var_mean>>("var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, "
                                     "bool keepdim=False) -> (Tensor, Tensor)",
                                     "Variance and mean over the dimensions.", kFunction),
      native<var_mean>("var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? "
                       "correction=None, bool keepdim=False) -> (Tensor, Tensor)",
                       "Variance and mean; the divisor is n - correction (1 by default).",
                       kFunction),
      native<all_unbiased<std_mean>>(
          "std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
          "Standard deviation and mean of all elements.", kFunction),
      native<dim_unbiased<std_mean>>("std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, "
                                     "bool keepdim=False) -> (Tensor, Tensor)",
                                     "Standard deviation and mean over the dimensions.", kFunction),
      native<std_mean>("std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? "
                       "correction=None, bool keepdim=False) -> (Tensor, Tensor)",
                       "Standard deviation and mean; the divisor is n - correction (1 by default).",
                       kFunction),
      native<cov>("cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? "
                  "aweights=None) -> Tensor",
                  "Covariances of the variables, which are the rows; the columns are observations, "
                  "with the frequencies fweights and the weights aweights. The divisor is n - "
                  "correction.",
                  kBoth),
      native<corrcoef>("corrcoef(Tensor self) -> Tensor",
                       "Correlation coefficients of the variables, which are the rows.", kBoth),
  };
  return rows;
}

}  // namespace treadle
