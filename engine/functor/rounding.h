// Rounding, complements and predicates: elementwise ops of one tensor, joined in unary.h.
#pragma once
#include "engine/functor/math.h"
#include "engine/functor/op.h"

TREADLE_FUNCTOR_BEGIN

// What rounds to integers: exact, tested where fractions have digits left.
constexpr Info rounding(const char* schema, const char* doc, Kinds kinds = kReal) {
  return {schema, doc, Result::same, Saves::nothing, {-100, 100}, 0, 0, kinds};
}
struct Floor : Flat {
  static constexpr Info info = rounding("floor(Tensor self) -> Tensor", "Largest integer <= x.");
  template <class V>
  TREADLE_HD static V f(V x) {
    return floor(x);
  }
};
struct Ceil : Flat {
  static constexpr Info info = rounding("ceil(Tensor self) -> Tensor", "Smallest integer >= x.");
  template <class V>
  TREADLE_HD static V f(V x) {
    return ceil(x);
  }
};
struct Round : Flat {
  static constexpr Info info =
      rounding("round(Tensor self) -> Tensor", "Nearest integer, ties to even.");
  template <class V>
  TREADLE_HD static V f(V x) {
    return round(x);
  }
};
struct Trunc : Flat {
  static constexpr Info info = rounding("trunc(Tensor self) -> Tensor", "Integer part, towards 0.");
  static constexpr const char* aliases = "fix";
  template <class V>
  TREADLE_HD static V f(V x) {
    return trunc(x);
  }
};
struct Frac {
  static constexpr Info info =
      rounding("frac(Tensor self) -> Tensor", "Fractional part: x - trunc(x).", kFloat);
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
  static constexpr Info info = bitwise("bitwise_not(Tensor self) -> Tensor",
                                       "Complement of every bit; of the truth value for bool.");
  TREADLE_HD static bool f(bool x) { return !x; }
  template <class V>
  TREADLE_HD static V f(V x) {
    return V(~x);
  }
};
struct LogicalNot {
  static constexpr Info info = predicate("logical_not(Tensor self) -> Tensor", "Whether x is 0.");
  template <class V>
  TREADLE_HD static bool f(V x) {
    return x == V(0);
  }
};
struct IsNan {
  static constexpr Info info = predicate("isnan(Tensor self) -> Tensor", "Whether x is NaN.");
  static constexpr bool inplace = false;
  template <class V>
  TREADLE_HD static bool f(V x) {
    return isnan(x);
  }
};
struct IsInf {
  static constexpr Info info =
      predicate("isinf(Tensor self) -> Tensor", "Whether x is inf or -inf.");
  static constexpr bool inplace = false;
  template <class V>
  TREADLE_HD static bool f(V x) {
    return isinf(x);
  }
};
struct IsFinite {
  static constexpr Info info =
      predicate("isfinite(Tensor self) -> Tensor", "Whether x is neither NaN nor infinite.");
  static constexpr bool inplace = false;
  template <class V>
  TREADLE_HD static bool f(V x) {
    if constexpr (is_complex<V>) {
      return logical_and(f(x.re), f(x.im));
    } else if constexpr (is_float<V>) {
      return abs(x) < V(kInf);
    } else {
      return true;
    }
  }
};
struct IsPosInf {
  static constexpr Info info =
      predicate("isposinf(Tensor self) -> Tensor", "Whether x is inf.", kAny);
  static constexpr bool inplace = false;
  static constexpr Refusal refuses[] = {
      {When::any_complex, Raise::type, "isposinf does not support complex inputs."}};
  template <class V>
  TREADLE_HD static bool f(V x) {
    if constexpr (is_float<V>) {
      return x == V(kInf);
    } else {
      return false;
    }
  }
};
struct IsNegInf {
  static constexpr Info info =
      predicate("isneginf(Tensor self) -> Tensor", "Whether x is -inf.", kAny);
  static constexpr bool inplace = false;
  static constexpr Refusal refuses[] = {
      {When::any_complex, Raise::type, "isneginf does not support complex inputs."}};
  template <class V>
  TREADLE_HD static bool f(V x) {
    if constexpr (is_float<V>) {
      return x == V(-kInf);
    } else {
      return false;
    }
  }
};
struct Signbit {
  static constexpr Info info = predicate("signbit(Tensor self) -> Tensor",
                                         "Whether the sign is minus, also of -0.", kOrdered);
  static constexpr bool inplace = false;
  template <class V>
  TREADLE_HD static bool f(V x) {
    if constexpr (is_float<V>) {
      return copysign(V(1), x) < V(0);
    } else {
      return x < V(0);
    }
  }
};

using RoundingOps = List<Floor, Ceil, Round, Trunc, Frac, BitwiseNot, LogicalNot, IsNan, IsInf,
                         IsFinite, IsPosInf, IsNegInf, Signbit>;

TREADLE_FUNCTOR_END
