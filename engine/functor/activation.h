// Smooth activation functions and relu: elementwise ops of one tensor, joined in unary.h. The
// piecewise linear ones: piecewise.h.
#pragma once
#include "engine/functor/math.h"
#include "engine/functor/op.h"

TREADLE_FUNCTOR_BEGIN

// Below it silu and mish are x e^x to their last bit. They multiply by e^(x/2) twice there, since
// e^x has fewer digits once it is subnormal.
inline constexpr double kOnlyExp = -80.0;

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
  static constexpr bool functional = true;
  template <class V>
  TREADLE_HD static V f(V x) {
    if constexpr (is_complex<V>) {
      return x * sigmoid(x);
    } else {
      const bool far = x < V(kOnlyExp);
      const V e = exp(select(far, V(0.5) * x, -abs(x)));
      return select(far, (x * e) * e, x * (select(x < V(0), e, V(1)) / (V(1) + e)));
    }
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
  static constexpr bool functional = true;
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
  static constexpr bool functional = true;
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
  static constexpr bool functional = true;
  template <class V>
  TREADLE_HD static V f(V x, const Params& p) {
    const V e = expm1(x * p.get<V>(2)) * p.get<V>(0);
    return select(x <= V(0), e, x) * p.get<V>(1);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V, const Params& p) {
    const V e = exp(x * p.get<V>(2)) * (p.get<V>(0) * p.get<V>(2));
    return select(x <= V(0), g * e, g) * p.get<V>(1);
  }
};
struct Celu {
  static constexpr Info info{"celu(Tensor self, Scalar alpha=1.0) -> Tensor",
                             "x where x > 0, alpha * (e^(x / alpha) - 1) elsewhere.",
                             Result::same,
                             Saves::in,
                             {-20, 20},
                             3,
                             2.5,
                             kFloat};
  static constexpr Refusal refuses[] = {
      {When::scalar_zero, Raise::runtime, "ZeroDivisionError: alpha cannot be 0 for CELU"}};
  template <class V>
  TREADLE_HD static V f(V x, const Params& p) {
    const V alpha = p.get<V>(0);
    return select(x <= V(0), expm1(x / alpha) * alpha, x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V, const Params& p) {
    return select(x <= V(0), g * exp(x / p.get<V>(0)), g);
  }
};
// Klambauer et al., "Self-normalizing neural networks", 2017: elu with the constants that keep mean
// 0 and variance 1.
struct Selu {
  static constexpr Info info{"selu(Tensor self) -> Tensor",
                             "scale * elu(x, alpha) with alpha = 1.6733, scale = 1.0507.",
                             Result::same,
                             Saves::in,
                             {-20, 20},
                             4,
                             3,
                             kFloat};
  static constexpr double kAlphaScale = 1.7580993408473766, kScale = 1.0507009873554805;
  template <class V>
  TREADLE_HD static V f(V x) {
    return select(x <= V(0), V(kAlphaScale) * expm1(x), V(kScale) * x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * select(x <= V(0), V(kAlphaScale) * exp(x), V(kScale));
  }
};
struct Mish {
  static constexpr Info info{"mish(Tensor self) -> Tensor",
                             "x * tanh(softplus(x)).",
                             Result::same,
                             Saves::in,
                             {-80, 80},
                             6,
                             5,
                             kFloat};
  static constexpr bool functional = true;
  template <class V>
  TREADLE_HD static V f(V x) {
    const bool far = x < V(kOnlyExp);
    const V e = exp(select(far, V(0.5) * x, x));
    return select(far, (x * e) * e, x * tanh(log1p(e)));
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    const V t = tanh(log1p(exp(x)));
    return g * (t + x * sigmoid(x) * (V(1) - t * t));
  }
};
struct LogSigmoid {
  static constexpr Info info{"logsigmoid(Tensor self) -> Tensor",
                             "log(sigmoid(x)), without overflow.",
                             Result::same,
                             Saves::in,
                             {-80, 80},
                             3,
                             3,
                             kFloat};
  static constexpr bool functional = true;
  template <class V>
  TREADLE_HD static V f(V x) {
    return select(x > V(0), V(0), x) - log1p(exp(-abs(x)));
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * sigmoid(-x);
  }
};
using ActivationOps = List<Sigmoid, Relu, Silu, GeluErf, GeluTanh, Softplus, LeakyRelu, Elu, Celu,
                           Selu, Mish, LogSigmoid>;

TREADLE_FUNCTOR_END
