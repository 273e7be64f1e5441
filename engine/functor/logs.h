// Ops around logarithms: elementwise ops of two tensors, joined in binary.h.
#pragma once
#include "engine/functor/math.h"
#include "engine/functor/op.h"

TREADLE_FUNCTOR_BEGIN

// log(e^a + e^b) from the larger one, of complex numbers the one with the larger real part. Two
// equal infinities are themselves.
template <class V>
TREADLE_HD V log_sum_exp(V a, V b) {
  if constexpr (is_complex<V>) {
    const bool swap = a.re < b.re;
    const V high = swap ? b : a, low = swap ? a : b;
    return high + log1p(exp(low - high));
  } else {
    const V high = maximum(a, b), gap = select(a == b, V(0), abs(a - b));
    return high + select(high == V(-kInf), V(0), log1p(exp(-gap)));
  }
}
struct Logaddexp {
  static constexpr Info info{"logaddexp(Tensor self, Tensor other) -> Tensor",
                             "log(e^self + e^other), without overflow.",
                             Result::same,
                             Saves::in,
                             {-10, 10},
                             2,
                             2,
                             kField};
  static constexpr bool inplace = false;
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return log_sum_exp(a, b);
  }
  template <class V>
  TREADLE_HD static V da(V g, V a, V b, V) {
    return g / (V(1) + exp(b - a));
  }
  template <class V>
  TREADLE_HD static V db(V g, V a, V b, V) {
    return g / (V(1) + exp(a - b));
  }
};
struct Logaddexp2 {
  static constexpr Info info{"logaddexp2(Tensor self, Tensor other) -> Tensor",
                             "log2(2^self + 2^other), without overflow.",
                             Result::same,
                             Saves::in,
                             {-10, 10},
                             2,
                             2,
                             kFloat};
  static constexpr bool inplace = false;
  static constexpr double kLn2 = 0.6931471805599453;
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    const V high = maximum(a, b), gap = select(a == b, V(0), abs(a - b));
    return high + select(high == V(-kInf), V(0), log1p(exp2(-gap)) * V(1.4426950408889634));
  }
  template <class V>
  TREADLE_HD static V da(V g, V a, V b, V) {
    return g / (V(1) + exp((b - a) * V(kLn2)));
  }
  template <class V>
  TREADLE_HD static V db(V g, V a, V b, V) {
    return g / (V(1) + exp((a - b) * V(kLn2)));
  }
};

using LogOps = List<Logaddexp, Logaddexp2>;

TREADLE_FUNCTOR_END
