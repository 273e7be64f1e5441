// Activation functions and clamp: elementwise ops of one tensor, listed in unary.h.
#pragma once
#include "engine/functor/math.h"
#include "engine/functor/op.h"

TREADLE_FUNCTOR_BEGIN

struct Sigmoid {
  static constexpr Info info{"sigmoid(Tensor self) -> Tensor",
                             "Logistic function: 1 / (1 + e^-x).",
                             Result::floating,
                             Saves::out,
                             {-80, 80},
                             2.5,
                             2,
                             kField};
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
                             kField};
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
  static constexpr Info info{
      "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
      "min(max(x, min), max); NaN if x or a bound is. No gradient at the bounds.",
      Result::same,
      Saves::in,
      {-10, 10},
      0,
      0,
      kReal};
  template <class V>
  TREADLE_HD static V f(V x, const Params& p) {
    return minimum(maximum(x, p.get<V>(0)), p.get<V>(1));
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V, const Params& p) {
    return select(logical_and(x > p.get<V>(0), x < p.get<V>(1)), g, V(0));
  }
};

TREADLE_FUNCTOR_END
