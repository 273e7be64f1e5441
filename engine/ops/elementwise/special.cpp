// Special functions that are made of the maps of functor/special.h: multivariate gamma, polygamma
// with its checks, logit with eps, and PyTorch's second names. To add one: a function and a row.
#include "engine/ops/elementwise/special.h"

#include <cmath>

#include "engine/ops/native.h"
#include "engine/ops/view/util.h"

namespace treadle {

[[noreturn]] void no_derivative(const char* what) {
  fail(ErrorKind::not_implemented,
       "the derivative for '" + std::string(what) + "' is not implemented.");
}
Tensor without_derivative(const Tensor& self, const char* what) {
  if (!self.defined() || !needs_tape({&self})) return self;
  const Tensor out = alias(detach(self));
  record("NotImplemented", out, {&self},
         [what](Node&, const Gradients&) -> Gradients { no_derivative(what); });
  return out;
}

namespace {

Tensor polygamma_checked(std::int64_t n, const Tensor& self) {
  if (n < 0) fail(ErrorKind::runtime, "polygamma(n, x) does not support negative n.");
  return polygamma(self, n);
}
void polygamma_inplace(const Tensor& self, std::int64_t n) {
  check_inplace(self);
  copy_(self, polygamma_checked(n, self));
}

// log of pi^(p(p-1)/4) times gamma(x) gamma(x - 1/2) ... gamma(x - (p-1)/2)
Tensor mvlgamma(const Tensor& self, std::int64_t p) {
  if (p < 1) fail(ErrorKind::runtime, "p has to be greater than or equal to 1");
  if (p > 1 << 20) fail(ErrorKind::runtime, "mvlgamma: p is too large: " + std::to_string(p));
  const DType dtype = is_integral(self.dtype()) ? default_dtype() : self.dtype();
  const double size = static_cast<double>(p);
  const Tensor steps = arange(Scalar(0.5 - 0.5 * size), Scalar(0.25), Scalar(0.5), dtype);
  const Tensor terms = lgamma(add(unsqueeze(to(self, dtype), -1), steps));
  return add(sum(terms, {-1}), Tensor(size * (size - 1) * std::log(3.141592653589793) / 4));
}
void mvlgamma_inplace(const Tensor& self, std::int64_t p) {
  check_inplace(self);
  copy_(self, mvlgamma(self, p));
}

Tensor logit_eps(const Tensor& self, std::optional<double> eps) {
  if (!eps) return logit(self);
  const Tensor x = is_integral(self.dtype()) ? to(self, default_dtype()) : self;
  const Tensor low = full({}, Scalar(*eps), x.dtype());
  const Tensor high = full({}, Scalar(1 - *eps), x.dtype());
  return logit(where(lt(x, low), low, where(gt(x, high), high, x)));
}
void logit_inplace(const Tensor& self, std::optional<double> eps) {
  check_inplace(self);
  if (is_integral(self.dtype())) {
    fail(ErrorKind::runtime, "result type Float can't be cast to the desired output type " +
                                 std::string(info(self.dtype()).scalar));
  }
  copy_(self, logit_eps(self, eps));
}

}  // namespace

std::span<const OpDef> special_ops() {
  constexpr unsigned kAll = kFunction | kMethod | kOut;
  constexpr unsigned kPart = kSubmodule | kOut;
  static constexpr OpDef rows[] = {
      native<polygamma_checked>("polygamma(int n, Tensor self) -> Tensor",
                                "The n-th derivative of digamma, n >= 0.", kAll),
      native<polygamma_inplace, polygamma_inplace>("polygamma.inplace(Tensor self, int n) -> ()",
                                                   "The n-th derivative of digamma, n >= 0.", 0),
      native<mvlgamma, mvlgamma_inplace>(
          "mvlgamma(Tensor self, int p) -> Tensor",
          "Multivariate log-gamma function of dimension p >= 1: the sum of lgamma(x - i/2), i < p, "
          "plus p (p - 1) / 4 log(pi).",
          kAll),
      native<logit_eps, logit_inplace>(
          "logit(Tensor self, float? eps=None) -> Tensor",
          "log(x / (1 - x)), with x clamped to [eps, 1 - eps] if eps is given; NaN outside [0, 1].",
          kAll),
      native<i0>("special_modified_bessel_i0(Tensor self) -> Tensor",
                 "Modified Bessel function of the first kind, order 0.", kPart),
      native<i1>("special_modified_bessel_i1(Tensor self) -> Tensor",
                 "Modified Bessel function of the first kind, order 1.", kPart),
  };
  return rows;
}

}  // namespace treadle
