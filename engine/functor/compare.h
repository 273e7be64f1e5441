// Elementwise ops of two tensors with a bool result. To add one: a struct and its name in Compare.
#pragma once
#include "engine/functor/op.h"

TREADLE_FUNCTOR_BEGIN

struct Eq {
  static constexpr Info info =
      predicate("eq.Tensor(Tensor self, Tensor other) -> Tensor", "self == other.");
  static constexpr Numbers number = Numbers::second;
  template <class V>
  TREADLE_HD static bool f(V a, V b) {
    return a == b;
  }
};
struct Ne {
  static constexpr Info info =
      predicate("ne.Tensor(Tensor self, Tensor other) -> Tensor", "self != other.");
  static constexpr const char* aliases = "not_equal";
  static constexpr Numbers number = Numbers::second;
  template <class V>
  TREADLE_HD static bool f(V a, V b) {
    return a != b;
  }
};
struct Lt {
  static constexpr Info info =
      predicate("lt.Tensor(Tensor self, Tensor other) -> Tensor", "self < other.", kOrdered);
  static constexpr const char* aliases = "less";
  static constexpr Numbers number = Numbers::second;
  template <class V>
  TREADLE_HD static bool f(V a, V b) {
    return a < b;
  }
};
struct Le {
  static constexpr Info info =
      predicate("le.Tensor(Tensor self, Tensor other) -> Tensor", "self <= other.", kOrdered);
  static constexpr const char* aliases = "less_equal";
  static constexpr Numbers number = Numbers::second;
  template <class V>
  TREADLE_HD static bool f(V a, V b) {
    return a <= b;
  }
};
struct Gt {
  static constexpr Info info =
      predicate("gt.Tensor(Tensor self, Tensor other) -> Tensor", "self > other.", kOrdered);
  static constexpr const char* aliases = "greater";
  static constexpr Numbers number = Numbers::second;
  template <class V>
  TREADLE_HD static bool f(V a, V b) {
    return a > b;
  }
};
struct Ge {
  static constexpr Info info =
      predicate("ge.Tensor(Tensor self, Tensor other) -> Tensor", "self >= other.", kOrdered);
  static constexpr const char* aliases = "greater_equal";
  static constexpr Numbers number = Numbers::second;
  template <class V>
  TREADLE_HD static bool f(V a, V b) {
    return a >= b;
  }
};
struct LogicalAnd {
  static constexpr Info info = predicate("logical_and(Tensor self, Tensor other) -> Tensor",
                                         "Whether both are nonzero (NaN is).");
  template <class V>
  TREADLE_HD static bool f(V a, V b) {
    return logical_and(a != V(0), b != V(0));
  }
};
struct LogicalOr {
  static constexpr Info info = predicate("logical_or(Tensor self, Tensor other) -> Tensor",
                                         "Whether one or both are nonzero (NaN is).");
  template <class V>
  TREADLE_HD static bool f(V a, V b) {
    return logical_or(a != V(0), b != V(0));
  }
};
struct LogicalXor {
  static constexpr Info info = predicate("logical_xor(Tensor self, Tensor other) -> Tensor",
                                         "Whether exactly one is nonzero (NaN is).");
  template <class V>
  TREADLE_HD static bool f(V a, V b) {
    return (a != V(0)) != (b != V(0));
  }
};

using Compare = List<Eq, Ne, Lt, Le, Gt, Ge, LogicalAnd, LogicalOr, LogicalXor>;

TREADLE_FUNCTOR_END
