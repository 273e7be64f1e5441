// Signs: elementwise ops of two tensors, joined in binary.h.
#pragma once
#include "engine/functor/math.h"
#include "engine/functor/op.h"

TREADLE_FUNCTOR_BEGIN

struct Copysign {
  static constexpr Info info{"copysign.Tensor(Tensor self, Tensor other) -> Tensor",
                             "The magnitude of self with the sign of other.",
                             Result::floating,
                             Saves::in_and_out,
                             {-10, 10},
                             0,
                             0,
                             kFloat};
  static constexpr Numbers number = Numbers::second;
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return copysign(a, b);
  }
  template <class V>
  TREADLE_HD static V da(V g, V a, V, V y) {
    return select(a == V(0), V(0), g * (y / a));
  }
  template <class V>
  TREADLE_HD static V db(V g, V, V, V) {
    return zeros_like(g);
  }
};
struct Heaviside {
  static constexpr Info info{"heaviside(Tensor self, Tensor values) -> Tensor",
                             "0 where self < 0, 1 where self > 0, values where self is 0.",
                             Result::same,
                             Saves::nothing,
                             {-10, 10},
                             0,
                             0};
  static constexpr Refusal refuses[] = {
      {When::any_complex, Raise::not_implemented,
       "heaviside is not yet implemented for complex tensors."},
      {When::dtypes_differ, Raise::runtime,
       "heaviside is not yet implemented for tensors with different dtypes."}};
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return select(a == V(0), b, V(a > V(0)));
  }
};

using SignOps = List<Copysign, Heaviside>;

TREADLE_FUNCTOR_END
