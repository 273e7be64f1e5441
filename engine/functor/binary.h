// Elementwise ops of two tensors after broadcasting and promotion: arithmetic here, the others in
// extrema.h, integers.h, logs.h and signs.h, and all of them joined. To add one: a struct as
// op.h describes and its name in the list of its file. `static bool divides_by_zero(V a, V b)`
// marks ops that PyTorch refuses for integers: where it is true the kernel reports kDivisionByZero
// and leaves f uncalled.
#pragma once
#include "engine/functor/extrema.h"
#include "engine/functor/integers.h"
#include "engine/functor/logs.h"
#include "engine/functor/math.h"
#include "engine/functor/op.h"
#include "engine/functor/signs.h"
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
  static constexpr Numbers number = Numbers::both;
  static constexpr Refusal refuses[] = {
      {When::scalar_floating, Raise::runtime,
       "For integral input tensors, argument alpha must not be a floating point number."},
      {When::scalar_complex, Raise::runtime,
       "For non-complex input tensors, argument alpha must not be a complex number."},
      {When::scalar_boolean, Raise::runtime, "Boolean alpha only supported for Boolean results."}};
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
  static constexpr const char* aliases = "subtract";
  static constexpr Numbers number = Numbers::both;
  static constexpr Refusal refuses[] = {
      {When::all_bool, Raise::not_implemented,
       "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
       "`logical_xor()` operator instead."},
      {When::any_bool, Raise::not_implemented,
       "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
       "invert a mask, use the `~` or `logical_not()` operator instead."},
      {When::scalar_floating, Raise::runtime,
       "For integral input tensors, argument alpha must not be a floating point number."},
      {When::scalar_complex, Raise::runtime,
       "For non-complex input tensors, argument alpha must not be a complex number."},
      {When::scalar_boolean, Raise::runtime, "Boolean alpha only supported for Boolean results."}};
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
  static constexpr const char* aliases = "multiply";
  static constexpr Numbers number = Numbers::both;
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
  static constexpr const char* aliases = "divide true_divide";
  static constexpr Numbers number = Numbers::both;
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
  static constexpr Numbers number = Numbers::both;
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
  static constexpr Numbers number = Numbers::either;
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
  static constexpr Numbers number = Numbers::second;
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
  static constexpr Numbers number = Numbers::either;
  static constexpr Refusal refuses[] = {{When::negative_integer_number, Raise::runtime,
                                         "Integers to negative integer powers are not allowed."}};
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
  static constexpr const char* aliases = "arctan2";
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

struct LerpScalar {
  static constexpr Info info{"lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
                             "self + weight * (end - self).",
                             Result::same,
                             Saves::nothing,
                             {-10, 10},
                             8,
                             8,
                             kField};
  static constexpr Refusal refuses[] = {
      {When::dtypes_differ, Raise::runtime, "expected dtype of `end` to be that of `self`"}};
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

struct Ldexp {
  static constexpr Info info{"ldexp(Tensor self, Tensor other) -> Tensor",
                             "self * 2^other.",
                             Result::floating,
                             Saves::in,
                             {-10, 10},
                             1,
                             1,
                             kField};
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    if constexpr (is_complex<V>) {
      return a * exp2(b);
    } else {  // in two steps: 2^other alone may overflow where the product doesn't
      const V half = trunc(b * V(0.5));
      return a * exp2(half) * exp2(b - half);
    }
  }
  template <class V>
  TREADLE_HD static V da(V g, V, V b, V) {
    return g * exp(b * V(0.6931471805599453));
  }
  template <class V>
  TREADLE_HD static V db(V g, V a, V b, V) {
    return g * (a * exp(b * V(0.6931471805599453)) * V(0.6931471805599453));
  }
};
// x where x > 0, weight * x elsewhere: nn.functional.prelu after its checks.
struct Prelu {
  static constexpr Info info{"_prelu(Tensor self, Tensor weight) -> Tensor",
                             "self where self > 0, weight * self elsewhere.",
                             Result::same,
                             Saves::in,
                             {-10, 10},
                             0.5,
                             0.5,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x, V w) {
    return select(x > V(0), x, w * x);
  }
  template <class V>
  TREADLE_HD static V da(V g, V x, V w, V) {
    return select(x > V(0), g, w * g);
  }
  template <class V>
  TREADLE_HD static V db(V g, V x, V, V) {
    return select(x > V(0), V(0), x * g);
  }
};

using ArithmeticPairs = List<Add, Sub, Mul, Div, DivTrunc, FloorDivide, Remainder, Fmod, Pow, Ldexp,
                             Atan2, Hypot, LerpScalar, Prelu>;

using Binary = Join<ArithmeticPairs, ExtremaOps, IntegerOps, LogOps, SignOps, SpecialPairs>::type;

TREADLE_FUNCTOR_END
