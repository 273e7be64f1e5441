// Elementwise ops of two tensors with a bool result. To add one: a struct and its name in Compare.
#pragma once
#include "engine/functor/op.h"

TREADLE_FUNCTOR_BEGIN

struct Eq {
  static constexpr Info info{"eq.Tensor(Tensor self, Tensor other) -> Tensor",
                             "self == other.",
                             Result::boolean,
                             Saves::nothing,
                             {-2, 2},
                             0,
                             0};
  template <class V>
  TREADLE_HD static bool f(V a, V b) {
    return a == b;
  }
};
struct Ne {
  static constexpr Info info{"ne.Tensor(Tensor self, Tensor other) -> Tensor",
                             "self != other.",
                             Result::boolean,
                             Saves::nothing,
                             {-2, 2},
                             0,
                             0};
  template <class V>
  TREADLE_HD static bool f(V a, V b) {
    return a != b;
  }
};
struct Lt {
  static constexpr Info info{"lt.Tensor(Tensor self, Tensor other) -> Tensor",
                             "self < other.",
                             Result::boolean,
                             Saves::nothing,
                             {-2, 2},
                             0,
                             0};
  template <class V>
  TREADLE_HD static bool f(V a, V b) {
    return a < b;
  }
};
struct Le {
  static constexpr Info info{"le.Tensor(Tensor self, Tensor other) -> Tensor",
                             "self <= other.",
                             Result::boolean,
                             Saves::nothing,
                             {-2, 2},
                             0,
                             0};
  template <class V>
  TREADLE_HD static bool f(V a, V b) {
    return a <= b;
  }
};
struct Gt {
  static constexpr Info info{"gt.Tensor(Tensor self, Tensor other) -> Tensor",
                             "self > other.",
                             Result::boolean,
                             Saves::nothing,
                             {-2, 2},
                             0,
                             0};
  template <class V>
  TREADLE_HD static bool f(V a, V b) {
    return a > b;
  }
};
struct Ge {
  static constexpr Info info{"ge.Tensor(Tensor self, Tensor other) -> Tensor",
                             "self >= other.",
                             Result::boolean,
                             Saves::nothing,
                             {-2, 2},
                             0,
                             0};
  template <class V>
  TREADLE_HD static bool f(V a, V b) {
    return a >= b;
  }
};
struct LogicalAnd {
  static constexpr Info info{"logical_and(Tensor self, Tensor other) -> Tensor",
                             "Whether both are nonzero (NaN is).",
                             Result::boolean,
                             Saves::nothing,
                             {-2, 2},
                             0,
                             0};
  template <class V>
  TREADLE_HD static bool f(V a, V b) {
    return (a != V(0)) & (b != V(0));
  }
};
struct LogicalOr {
  static constexpr Info info{"logical_or(Tensor self, Tensor other) -> Tensor",
                             "Whether one or both are nonzero (NaN is).",
                             Result::boolean,
                             Saves::nothing,
                             {-2, 2},
                             0,
                             0};
  template <class V>
  TREADLE_HD static bool f(V a, V b) {
    return (a != V(0)) | (b != V(0));
  }
};
struct LogicalXor {
  static constexpr Info info{"logical_xor(Tensor self, Tensor other) -> Tensor",
                             "Whether exactly one is nonzero (NaN is).",
                             Result::boolean,
                             Saves::nothing,
                             {-2, 2},
                             0,
                             0};
  template <class V>
  TREADLE_HD static bool f(V a, V b) {
    return (a != V(0)) != (b != V(0));
  }
};

using Compare = List<Eq, Ne, Lt, Le, Gt, Ge, LogicalAnd, LogicalOr, LogicalXor>;

TREADLE_FUNCTOR_END
