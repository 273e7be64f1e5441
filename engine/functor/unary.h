// Elementwise ops of one tensor: arithmetic, exponentials and erf here, the others in trig.h,
// activation.h, piecewise.h, rounding.h, special.h and bessel.h, and all of them joined. To add
// one: a struct as op.h describes and its name in the list of its file. Ranges: Info::domain is
// where tests draw inputs; ulp bounds hold there.
#pragma once
#include "engine/functor/activation.h"
#include "engine/functor/bessel.h"
#include "engine/functor/math.h"
#include "engine/functor/op.h"
#include "engine/functor/piecewise.h"
#include "engine/functor/rounding.h"
#include "engine/functor/special.h"
#include "engine/functor/trig.h"

TREADLE_FUNCTOR_BEGIN

// -- arithmetic

// abs(Tensor self) (ops/pointwise.cpp) chooses between this and hypot.
struct Abs {
  static constexpr Info info{"_abs(Tensor self) -> Tensor",
                             "Absolute value of real numbers: |x|.",
                             Result::same,
                             Saves::in,
                             {-10, 10},
                             0,
                             0,
                             kReal};
  template <class V>
  TREADLE_HD static V f(V x) {
    return abs(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * sign(x);
  }
};
struct Neg {
  static constexpr Info info{"neg(Tensor self) -> Tensor",
                             "Negation: -x.",
                             Result::same,
                             Saves::nothing,
                             {-10, 10},
                             0,
                             0,
                             kNumber};
  static constexpr const char* aliases = "negative";
  static constexpr Refusal refuses[] = {
      {When::all_bool, Raise::not_implemented,
       "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
       "invert a mask, use the `~` or `logical_not()` operator instead."}};
  template <class V>
  TREADLE_HD static V f(V x) {
    return V(-x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V) {
    return -g;
  }
};
struct Square {
  static constexpr Info info{"square(Tensor self) -> Tensor",
                             "Square: x * x.",
                             Result::number,
                             Saves::in,
                             {-10, 10},
                             0.5,
                             0.5,
                             kNumber};
  template <class V>
  TREADLE_HD static V f(V x) {
    return V(x * x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * (V(2) * x);
  }
};
struct Sign : Flat {
  static constexpr Info info{"sign(Tensor self) -> Tensor",
                             "Sign: -1, 0 or 1; NaN stays NaN.",
                             Result::same,
                             Saves::nothing,
                             {-10, 10},
                             0,
                             0};
  template <class V>
  TREADLE_HD static V f(V x) {
    return sign(x);
  }
};
struct Reciprocal {
  static constexpr Info info{"reciprocal(Tensor self) -> Tensor",
                             "Reciprocal: 1 / x.",
                             Result::floating,
                             Saves::out,
                             {0.1, 10},
                             0.5,
                             0.5,
                             kField};
  template <class V>
  TREADLE_HD static V f(V x) {
    return V(1) / x;
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V y) {
    return -g * (y * y);
  }
};
struct Sqrt {
  static constexpr Info info{"sqrt(Tensor self) -> Tensor",
                             "Square root.",
                             Result::floating,
                             Saves::out,
                             {0, 100},
                             0.5,
                             0.5,
                             kField};
  template <class V>
  TREADLE_HD static V f(V x) {
    return sqrt(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V y) {
    return g / (V(2) * y);
  }
};
struct Rsqrt {
  static constexpr Info info{"rsqrt(Tensor self) -> Tensor",
                             "Reciprocal square root: 1 / sqrt(x).",
                             Result::floating,
                             Saves::out,
                             {0.01, 100},
                             1.5,
                             1.5,
                             kField};
  template <class V>
  TREADLE_HD static V f(V x) {
    return rsqrt(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V y) {
    return V(-0.5) * g * (y * y * y);
  }
};

// -- exponentials and logarithms

struct Exp {
  static constexpr Info info{"exp(Tensor self) -> Tensor",
                             "Exponential: e^x.",
                             Result::floating,
                             Saves::out,
                             {-80, 80},
                             1.5,
                             1,
                             kField};
  template <class V>
  TREADLE_HD static V f(V x) {
    return exp(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V y) {
    return g * y;
  }
};
struct Exp2 {
  static constexpr Info info{"exp2(Tensor self) -> Tensor",
                             "Power of two: 2^x.",
                             Result::floating,
                             Saves::out,
                             {-120, 120},
                             1.5,
                             1,
                             kField};
  template <class V>
  TREADLE_HD static V f(V x) {
    return exp2(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V y) {
    return g * (y * V(0.6931471805599453));
  }
};
struct Expm1 {
  static constexpr Info info{"expm1(Tensor self) -> Tensor",
                             "e^x - 1, exact near 0.",
                             Result::floating,
                             Saves::out,
                             {-20, 80},
                             2.5,
                             1.5,
                             kField};
  template <class V>
  TREADLE_HD static V f(V x) {
    return expm1(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V y) {
    return g * (y + V(1));
  }
};
struct Log {
  static constexpr Info info{"log(Tensor self) -> Tensor",
                             "Natural logarithm.",
                             Result::floating,
                             Saves::in,
                             {1e-30, 1e30},
                             1.5,
                             1,
                             kField};
  template <class V>
  TREADLE_HD static V f(V x) {
    return log(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g / x;
  }
};
struct Log2 {
  static constexpr Info info{"log2(Tensor self) -> Tensor",
                             "Logarithm to base 2.",
                             Result::floating,
                             Saves::in,
                             {1e-30, 1e30},
                             1,
                             1,
                             kField};
  template <class V>
  TREADLE_HD static V f(V x) {
    return log2(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g / (x * V(0.6931471805599453));
  }
};
struct Log10 {
  static constexpr Info info{"log10(Tensor self) -> Tensor",
                             "Logarithm to base 10.",
                             Result::floating,
                             Saves::in,
                             {1e-30, 1e30},
                             1,
                             1,
                             kField};
  template <class V>
  TREADLE_HD static V f(V x) {
    return log10(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g / (x * V(2.302585092994046));
  }
};
struct Log1p {
  static constexpr Info info{"log1p(Tensor self) -> Tensor",
                             "log(1 + x), exact near 0.",
                             Result::floating,
                             Saves::in,
                             {-0.99, 1e10},
                             2,
                             2,
                             kField};
  template <class V>
  TREADLE_HD static V f(V x) {
    return log1p(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g / (x + V(1));
  }
};

// -- error function

// The slope of erf: 2/sqrt(pi) e^(-x^2).
template <class V>
TREADLE_HD V erf_slope(V x) {
  return V(1.1283791670955126) * exp(-(x * x));
}
struct Erf {
  static constexpr Info info{
      "erf(Tensor self) -> Tensor",
      "Error function: 2/sqrt(pi) times the integral of e^(-t^2) from 0 to x.",
      Result::floating,
      Saves::in,
      {-6, 6},
      2,
      2,
      kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    return erf(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * erf_slope(x);
  }
};
struct Erfc {
  static constexpr Info info{"erfc(Tensor self) -> Tensor",
                             "1 - erf(x), exact for large x.",
                             Result::floating,
                             Saves::in,
                             {-6, 9},
                             1,
                             2.5,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    return erfc(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return -g * erf_slope(x);
  }
};

using ArithmeticOps = List<Abs, Neg, Square, Sign, Reciprocal, Sqrt, Rsqrt, Exp, Exp2, Expm1, Log,
                           Log2, Log10, Log1p, Erf, Erfc>;

using Unary = Join<ArithmeticOps, TrigonometricOps, ActivationOps, PiecewiseOps, RoundingOps,
                   SpecialOps, BesselOps>::type;

TREADLE_FUNCTOR_END
