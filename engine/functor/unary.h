// Elementwise ops of one tensor. To add one: a struct as op.h describes and its name in Unary.
// Ranges: Info::domain is where tests draw inputs; ulp bounds hold there.
#pragma once
#include "engine/functor/math.h"
#include "engine/functor/op.h"

TREADLE_FUNCTOR_BEGIN

// -- arithmetic

struct Abs {
  static constexpr Info info{"abs(Tensor self) -> Tensor",
                             "Absolute value: |x|.",
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
                             kReal};
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
                             Result::same,
                             Saves::in,
                             {-10, 10},
                             0.5,
                             0.5,
                             kReal};
  template <class V>
  TREADLE_HD static V f(V x) {
    return V(x * x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * (V(2) * x);
  }
};
struct Sign {
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
  template <class V>
  TREADLE_HD static V df(V g, V, V) {
    return g * V(0);
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
                             kFloat};
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
                             kFloat};
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
                             kFloat};
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
                             kFloat};
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
                             kFloat};
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
                             kFloat};
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
                             kFloat};
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
                             kFloat};
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
                             kFloat};
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
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    return log1p(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g / (x + V(1));
  }
};

// -- trigonometry and hyperbolics

struct Sin {
  static constexpr Info info{"sin(Tensor self) -> Tensor",
                             "Sine of an angle in radians.",
                             Result::floating,
                             Saves::in,
                             {-1e6, 1e6},
                             1,
                             1,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    return sin(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * cos(x);
  }
};
struct Cos {
  static constexpr Info info{"cos(Tensor self) -> Tensor",
                             "Cosine of an angle in radians.",
                             Result::floating,
                             Saves::in,
                             {-1e6, 1e6},
                             1,
                             1,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    return cos(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return -g * sin(x);
  }
};
struct Tan {
  static constexpr Info info{"tan(Tensor self) -> Tensor",
                             "Tangent of an angle in radians.",
                             Result::floating,
                             Saves::out,
                             {-1e6, 1e6},
                             1,
                             2,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    return tan(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V y) {
    return g * (V(1) + y * y);
  }
};
struct Asin {
  static constexpr Info info{"asin(Tensor self) -> Tensor",
                             "Inverse sine, in radians.",
                             Result::floating,
                             Saves::in,
                             {-1, 1},
                             1,
                             1.5,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    return asin(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * rsqrt(V(1) - x * x);
  }
};
struct Acos {
  static constexpr Info info{"acos(Tensor self) -> Tensor",
                             "Inverse cosine, in radians.",
                             Result::floating,
                             Saves::in,
                             {-1, 1},
                             1,
                             1.5,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    return acos(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return -g * rsqrt(V(1) - x * x);
  }
};
struct Atan {
  static constexpr Info info{"atan(Tensor self) -> Tensor",
                             "Inverse tangent, in radians.",
                             Result::floating,
                             Saves::in,
                             {-20, 20},
                             1,
                             2,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    return atan(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g / (x * x + V(1));
  }
};
struct Sinh {
  static constexpr Info info{"sinh(Tensor self) -> Tensor",
                             "Hyperbolic sine.",
                             Result::floating,
                             Saves::in,
                             {-80, 80},
                             1,
                             2,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    return sinh(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * cosh(x);
  }
};
struct Cosh {
  static constexpr Info info{"cosh(Tensor self) -> Tensor",
                             "Hyperbolic cosine.",
                             Result::floating,
                             Saves::in,
                             {-80, 80},
                             1,
                             2,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    return cosh(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * sinh(x);
  }
};
struct Tanh {
  static constexpr Info info{"tanh(Tensor self) -> Tensor",
                             "Hyperbolic tangent.",
                             Result::floating,
                             Saves::out,
                             {-12, 12},
                             2.5,
                             2,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    return tanh(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V y) {
    return g * (V(1) - y * y);
  }
};
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
    return g * (V(1.1283791670955126) * exp(-(x * x)));
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
    return g * (V(-1.1283791670955126) * exp(-(x * x)));
  }
};

// -- activations

struct Sigmoid {
  static constexpr Info info{"sigmoid(Tensor self) -> Tensor",
                             "Logistic function: 1 / (1 + e^-x).",
                             Result::floating,
                             Saves::out,
                             {-80, 80},
                             2.5,
                             2,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    return sigmoid(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V y) {
    return g * (y * (V(1) - y));
  }
};
struct Relu {
  static constexpr Info info{"relu(Tensor self) -> Tensor",
                             "max(x, 0).",
                             Result::same,
                             Saves::out,
                             {-10, 10},
                             0,
                             0,
                             kReal};
  template <class V>
  TREADLE_HD static V f(V x) {
    return select(x < V(0), V(0), x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V y) {
    return select(y <= V(0), V(0), g);
  }
};
struct Silu {
  static constexpr Info info{"silu(Tensor self) -> Tensor",
                             "x * sigmoid(x).",
                             Result::same,
                             Saves::in,
                             {-80, 80},
                             3.5,
                             3,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    return x * sigmoid(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    const V s = sigmoid(x);
    return g * (s * (V(1) + x * (V(1) - s)));
  }
};
// gelu(Tensor self, *, str approximate='none') chooses between these two.
struct GeluErf {
  static constexpr Info info{"_gelu_erf(Tensor self) -> Tensor",
                             "x/2 (1 + erf(x / sqrt(2))).",
                             Result::same,
                             Saves::in,
                             {-1, 6},
                             5,
                             5,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    return V(0.5) * x * (V(1) + erf(x * V(0.7071067811865476)));
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    const V cdf = V(0.5) * (V(1) + erf(x * V(0.7071067811865476)));
    return g * (cdf + x * (V(0.3989422804014327) * exp(V(-0.5) * x * x)));
  }
};
struct GeluTanh {
  static constexpr Info info{"_gelu_tanh(Tensor self) -> Tensor",
                             "x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).",
                             Result::same,
                             Saves::in,
                             {-1, 6},
                             5,
                             5,
                             kFloat};
  template <class V>
  TREADLE_HD static V inner(V x) {
    return V(0.7978845608028654) * (x + V(0.044715) * (x * x * x));
  }
  template <class V>
  TREADLE_HD static V f(V x) {
    return V(0.5) * x * (V(1) + tanh(inner(x)));
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    const V t = tanh(inner(x));
    const V slope = V(0.7978845608028654) * (V(1) + V(0.134145) * (x * x));
    return g * (V(0.5) * (V(1) + t) + V(0.5) * x * ((V(1) - t * t) * slope));
  }
};
struct Softplus {
  static constexpr Info info{"softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
                             "log(1 + e^(beta x)) / beta; x itself where beta x > threshold.",
                             Result::same,
                             Saves::in,
                             {-80, 80},
                             4,
                             3,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x, const Params& p) {
    const V b = p.get<V>(0), t = b * x, limit = p.get<V>(1);
    return select(t > limit, x, log1p(exp(select(t > limit, limit, t))) / b);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V, const Params& p) {
    const V t = p.get<V>(0) * x;
    return select(t > p.get<V>(1), g, g * sigmoid(t));
  }
};
struct LeakyRelu {
  static constexpr Info info{"leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
                             "x where x > 0, negative_slope * x elsewhere.",
                             Result::same,
                             Saves::in,
                             {-10, 10},
                             1,
                             1,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x, const Params& p) {
    return select(x > V(0), x, x * p.get<V>(0));
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V, const Params& p) {
    return select(x > V(0), g, g * p.get<V>(0));
  }
};
struct Elu {
  static constexpr Info info{
      "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
      "scale * x where x > 0, scale * alpha * (e^(input_scale x) - 1) elsewhere.",
      Result::same,
      Saves::in,
      {-20, 20},
      3,
      2.5,
      kFloat};
  template <class V>
  TREADLE_HD static V f(V x, const Params& p) {
    const V e = expm1(x * p.get<V>(2)) * p.get<V>(0);
    return select(x > V(0), x, e) * p.get<V>(1);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V, const Params& p) {
    const V e = exp(x * p.get<V>(2)) * (p.get<V>(0) * p.get<V>(2));
    return select(x > V(0), g, g * e) * p.get<V>(1);
  }
};
// An absent min is {-inf, INT64_MIN}, an absent max {inf, INT64_MAX} (uint8: 0 and 255).
struct Clamp {
  static constexpr Info info{"clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
                             "min(max(x, min), max); NaN stays NaN.",
                             Result::same,
                             Saves::in,
                             {-10, 10},
                             0,
                             0,
                             kReal};
  template <class V>
  TREADLE_HD static V f(V x, const Params& p) {
    const V lo = p.get<V>(0), hi = p.get<V>(1), a = select(x < lo, lo, x);
    return select(a > hi, hi, a);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V, const Params& p) {
    return select(logical_and(x >= p.get<V>(0), x <= p.get<V>(1)), g, V(0));
  }
};

// -- rounding

struct Floor {
  static constexpr Info info{"floor(Tensor self) -> Tensor",
                             "Largest integer <= x.",
                             Result::same,
                             Saves::nothing,
                             {-100, 100},
                             0,
                             0,
                             kReal};
  template <class V>
  TREADLE_HD static V f(V x) {
    return floor(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V) {
    return g * V(0);
  }
};
struct Ceil {
  static constexpr Info info{"ceil(Tensor self) -> Tensor",
                             "Smallest integer >= x.",
                             Result::same,
                             Saves::nothing,
                             {-100, 100},
                             0,
                             0,
                             kReal};
  template <class V>
  TREADLE_HD static V f(V x) {
    return ceil(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V) {
    return g * V(0);
  }
};
struct Round {
  static constexpr Info info{"round(Tensor self) -> Tensor",
                             "Nearest integer, ties to even.",
                             Result::same,
                             Saves::nothing,
                             {-100, 100},
                             0,
                             0,
                             kReal};
  template <class V>
  TREADLE_HD static V f(V x) {
    return round(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V) {
    return g * V(0);
  }
};
struct Trunc {
  static constexpr Info info{"trunc(Tensor self) -> Tensor",
                             "Integer part, towards 0.",
                             Result::same,
                             Saves::nothing,
                             {-100, 100},
                             0,
                             0,
                             kReal};
  template <class V>
  TREADLE_HD static V f(V x) {
    return trunc(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V) {
    return g * V(0);
  }
};
struct Frac {
  static constexpr Info info{"frac(Tensor self) -> Tensor",
                             "Fractional part: x - trunc(x).",
                             Result::same,
                             Saves::nothing,
                             {-100, 100},
                             0,
                             0,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    return x - trunc(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V) {
    return g;
  }
};

// -- bits and predicates

struct BitwiseNot {
  static constexpr Info info{"bitwise_not(Tensor self) -> Tensor",
                             "Complement of every bit; of the truth value for bool.",
                             Result::same,
                             Saves::nothing,
                             {-100, 100},
                             0,
                             0,
                             Kinds(kBool | kInt)};
  TREADLE_HD static bool f(bool x) { return !x; }
  template <class V>
  TREADLE_HD static V f(V x) {
    return V(~x);
  }
};
struct LogicalNot {
  static constexpr Info info{"logical_not(Tensor self) -> Tensor",
                             "Whether x is 0.",
                             Result::boolean,
                             Saves::nothing,
                             {-2, 2},
                             0,
                             0};
  template <class V>
  TREADLE_HD static bool f(V x) {
    return x == V(0);
  }
};
struct IsNan {
  static constexpr Info info{"isnan(Tensor self) -> Tensor",
                             "Whether x is NaN.",
                             Result::boolean,
                             Saves::nothing,
                             {-2, 2},
                             0,
                             0};
  template <class V>
  TREADLE_HD static bool f(V x) {
    return isnan(x);
  }
};
struct IsInf {
  static constexpr Info info{"isinf(Tensor self) -> Tensor",
                             "Whether x is inf or -inf.",
                             Result::boolean,
                             Saves::nothing,
                             {-2, 2},
                             0,
                             0};
  template <class V>
  TREADLE_HD static bool f(V x) {
    return isinf(x);
  }
};
struct IsFinite {
  static constexpr Info info{"isfinite(Tensor self) -> Tensor",
                             "Whether x is neither NaN nor infinite.",
                             Result::boolean,
                             Saves::nothing,
                             {-2, 2},
                             0,
                             0};
  template <class V>
  TREADLE_HD static bool f(V x) {
    if constexpr (is_float<V>) {
      return abs(x) < V(kInf);
    } else {
      return true;
    }
  }
};

using Unary = List<Abs, Neg, Square, Sign, Reciprocal, Sqrt, Rsqrt, Exp, Exp2, Expm1, Log, Log2,
                   Log10, Log1p, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Erf, Erfc,
                   Sigmoid, Relu, Silu, GeluErf, GeluTanh, Softplus, LeakyRelu, Elu, Clamp, Floor,
                   Ceil, Round, Trunc, Frac, BitwiseNot, LogicalNot, IsNan, IsInf, IsFinite>;

TREADLE_FUNCTOR_END
