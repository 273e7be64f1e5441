// Rounding, complements and predicates: elementwise ops of one tensor, listed in unary.h.
#pragma once
#include "engine/functor/math.h"
#include "engine/functor/op.h"

TREADLE_FUNCTOR_BEGIN

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

TREADLE_FUNCTOR_END
