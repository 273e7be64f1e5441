// Elementwise ops of two tensors after broadcasting and promotion. To add one: a struct as op.h
// describes and its name in Binary. `static bool divides_by_zero(V a, V b)` marks ops that PyTorch
// refuses for integers: where it is true the kernel reports kDivisionByZero and leaves f uncalled.
#pragma once
#include "engine/functor/math.h"
#include "engine/functor/op.h"
#include "engine/functor/special_binary.h"

TREADLE_FUNCTOR_BEGIN

struct Add {
  static constexpr Info info{"add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
                             "self + alpha * other; `or` for bool.",
                             Result::same,
                             Saves::nothing,
                             {-10, 10},
                             1,
                             1,
                             kAny};
  template <class V>
  TREADLE_HD static V f(V a, V b, const Params& p) {
    return V(a + V(p.get<V>(0) * b));
  }
  template <class V>
  TREADLE_HD static V da(V g, V, V, V, const Params&) {
    return g;
  }
  template <class V>
  TREADLE_HD static V db(V g, V, V, V, const Params& p) {
    return g * p.get<V>(0);
  }
};
struct Sub {
  static constexpr Info info{"sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
                             "self - alpha * other.",
                             Result::same,
                             Saves::nothing,
                             {-10, 10},
                             1,
                             1,
                             kNumber};
  template <class V>
  TREADLE_HD static V f(V a, V b, const Params& p) {
    return V(a - V(p.get<V>(0) * b));
  }
  template <class V>
  TREADLE_HD static V da(V g, V, V, V, const Params&) {
    return g;
  }
  template <class V>
  TREADLE_HD static V db(V g, V, V, V, const Params& p) {
    return -(g * p.get<V>(0));
  }
};
struct Mul {
  static constexpr Info info{"mul.Tensor(Tensor self, Tensor other) -> Tensor",
                             "self * other; `and` for bool.",
                             Result::same,
                             Saves::in,
                             {-10, 10},
                             0.5,
                             0.5,
                             kAny};
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return V(a * b);
  }
  template <class V>
  TREADLE_HD static V da(V g, V, V b, V) {
    return g * b;
  }
  template <class V>
  TREADLE_HD static V db(V g, V a, V, V) {
    return g * a;
  }
};
struct Div {
  static constexpr Info info{"div.Tensor(Tensor self, Tensor other) -> Tensor",
                             "self / other.",
                             Result::floating,
                             Saves::in,
                             {0.1, 10},
                             0.5,
                             0.5,
                             kField};
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return a / b;
  }
  template <class V>
  TREADLE_HD static V da(V g, V, V b, V) {
    return g / b;
  }
  template <class V>
  TREADLE_HD static V db(V g, V a, V b, V) {
    return -g * ((a / b) / b);
  }
};

// -- integer divisions. Not differentiable where PyTorch's aren't (a derivative of 0 is a
// derivative).

// What PyTorch refuses for integers when the divisor is 0.
struct IntegerDivision {
  template <class V>
  TREADLE_HD static bool divides_by_zero(V, V b) {
    return b == V(0);
  }
};
// self - q * other with an integer q.
struct Modulo : IntegerDivision {
  template <class V>
  TREADLE_HD static V da(V g, V, V, V) {
    return g;
  }
};

struct DivTrunc : IntegerDivision, FlatInBoth {
  static constexpr Info info{"_div_trunc(Tensor self, Tensor other) -> Tensor",
                             "self / other rounded towards 0 (div with rounding_mode='trunc').",
                             Result::same,
                             Saves::nothing,
                             {0.1, 10},
                             0,
                             0,
                             kReal};
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return div_trunc(a, b);
  }
};
struct FloorDivide : IntegerDivision, FlatInBoth {
  static constexpr Info info{"floor_divide(Tensor self, Tensor other) -> Tensor",
                             "Largest integer <= self / other.",
                             Result::same,
                             Saves::nothing,
                             {0.1, 10},
                             0,
                             0,
                             kReal};
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return div_floor(a, b);
  }
};
struct Remainder : Modulo {
  static constexpr Info info{
      "remainder.Tensor(Tensor self, Tensor other) -> Tensor",
      "Python's modulo: self - floor(self / other) * other, with other's sign.",
      Result::same,
      Saves::in,
      {0.1, 10},
      0.5,
      0.5,
      kReal};
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return remainder(a, b);
  }
  template <class V>
  TREADLE_HD static V db(V g, V a, V b, V) {
    return -g * floor(a / b);
  }
};
struct Fmod : Modulo {
  static constexpr Info info{"fmod.Tensor(Tensor self, Tensor other) -> Tensor",
                             "C's modulo: self - trunc(self / other) * other, with self's sign.",
                             Result::same,
                             Saves::in,
                             {0.1, 10},
                             0,
                             0,
                             kReal};
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return fmod(a, b);
  }
  template <class V>
  TREADLE_HD static V db(V g, V a, V b, V) {
    return -g * trunc(a / b);
  }
};

struct Pow {
  static constexpr Info info{"pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
                             "self to the power exponent.",
                             Result::same,
                             Saves::in_and_out,
                             {0.1, 10},
                             1,
                             1,
                             kNumber};
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return pow(a, b);
  }
  template <class V>
  TREADLE_HD static V da(V g, V a, V b, V) {
    return select(b == V(0), V(0), g * (b * pow(a, b - V(1))));
  }
  template <class V>
  TREADLE_HD static V db(V g, V a, V b, V y) {
    return g * select(logical_and(a == V(0), nonnegative(b)), V(0), y * log(a));
  }
};
struct Atan2 {
  static constexpr Info info{"atan2(Tensor self, Tensor other) -> Tensor",
                             "Angle of the point (other, self), in radians from -pi to pi.",
                             Result::floating,
                             Saves::in,
                             {-10, 10},
                             1,
                             2,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return atan2(a, b);
  }
  template <class V>
  TREADLE_HD static V da(V g, V a, V b, V) {
    return scaled(g * b, a, b);
  }
  template <class V>
  TREADLE_HD static V db(V g, V a, V b, V) {
    return scaled(-g * a, a, b);
  }

 private:
  template <class V>
  TREADLE_HD static V scaled(V g, V a, V b) {
    const V r = a * a + b * b;
    return select(r == V(0), V(0), g / r);
  }
};

struct Hypot {
  static constexpr Info info{"hypot(Tensor self, Tensor other) -> Tensor",
                             "sqrt(self^2 + other^2), without overflow.",
                             Result::same,
                             Saves::in_and_out,
                             {-10, 10},
                             1,
                             1.5,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return hypot(a, b);
  }
  template <class V>
  TREADLE_HD static V da(V g, V a, V, V y) {
    return select(y == V(0), V(0), g * (a / y));
  }
  template <class V>
  TREADLE_HD static V db(V g, V, V b, V y) {
    return select(y == V(0), V(0), g * (b / y));
  }
};

// The part of g that belongs to a when the larger of a and b was taken. The gradient of a tie is
// shared, as in PyTorch.
template <class V>
TREADLE_HD V unless_below(V g, V a, V b) {
  return select(a < b, V(0), select(a == b, g * V(0.5), g));
}
struct Maximum {
  static constexpr Info info{"maximum(Tensor self, Tensor other) -> Tensor",
                             "The larger of both; NaN if either is NaN.",
                             Result::same,
                             Saves::in,
                             {-10, 10},
                             0,
                             0};
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return maximum(a, b);
  }
  template <class V>
  TREADLE_HD static V da(V g, V a, V b, V) {
    return unless_below(g, a, b);
  }
  template <class V>
  TREADLE_HD static V db(V g, V a, V b, V) {
    return unless_below(g, b, a);
  }
};
struct Minimum {
  static constexpr Info info{"minimum(Tensor self, Tensor other) -> Tensor",
                             "The smaller of both; NaN if either is NaN.",
                             Result::same,
                             Saves::in,
                             {-10, 10},
                             0,
                             0};
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return minimum(a, b);
  }
  template <class V>
  TREADLE_HD static V da(V g, V a, V b, V) {
    return unless_below(g, b, a);
  }
  template <class V>
  TREADLE_HD static V db(V g, V a, V b, V) {
    return unless_below(g, a, b);
  }
};

struct LerpScalar {
  static constexpr Info info{"lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
                             "self + weight * (end - self).",
                             Result::same,
                             Saves::nothing,
                             {-10, 10},
                             8,
                             8,
                             kField};
  template <class V>
  TREADLE_HD static V f(V a, V b, const Params& p) {
    return lerp(a, b, p.get<V>(0));
  }
  template <class V>
  TREADLE_HD static V da(V g, V, V, V, const Params& p) {
    return g * (V(1) - p.get<V>(0));
  }
  template <class V>
  TREADLE_HD static V db(V g, V, V, V, const Params& p) {
    return g * p.get<V>(0);
  }
};

// -- bits

struct BitwiseAnd {
  static constexpr Info info =
      bitwise("bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", "self & other.");
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return V(a & b);
  }
};
struct BitwiseOr {
  static constexpr Info info =
      bitwise("bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", "self | other.");
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return V(a | b);
  }
};
struct BitwiseXor {
  static constexpr Info info =
      bitwise("bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor", "self ^ other.");
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return V(a ^ b);
  }
};

using Binary = List<Add, Sub, Mul, Div, DivTrunc, FloorDivide, Remainder, Fmod, Pow, Atan2, Hypot,
                    Maximum, Minimum, LerpScalar, BitwiseAnd, BitwiseOr, BitwiseXor, Xlogy, Xlog1py,
                    Zeta, Igamma, Igammac, ChebyshevT, ChebyshevU, ChebyshevV, ChebyshevW, ShiftedT,
                    ShiftedU, ShiftedV, ShiftedW, HermiteH, HermiteHe, LaguerreL, LegendreP>;

TREADLE_FUNCTOR_END
