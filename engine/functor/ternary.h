// Elementwise ops of three tensors. To add one: a struct as op.h describes and its name in Ternary.
// An op whose first input is a bool condition says `condition = true`: it isn't promoted and has no
// da.
#pragma once
#include "engine/functor/math.h"
#include "engine/functor/op.h"

TREADLE_FUNCTOR_BEGIN

struct Where {
  static constexpr Info info{"where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
                             "self where condition is true, other elsewhere.",
                             Result::same,
                             Saves::in,
                             {-10, 10},
                             0,
                             0,
                             kAny};
  static constexpr Numbers number = Numbers::both;
  static constexpr bool condition = true;
  template <class C, class V>
  TREADLE_HD static V f(C c, V a, V b) {
    return select(c, a, b);
  }
  template <class C, class V>
  TREADLE_HD static V db(V g, C c, V, V) {
    return select(c, g, V(0));
  }
  template <class C, class V>
  TREADLE_HD static V dc(V g, C c, V, V) {
    return select(c, V(0), g);
  }
};
// clamp.Tensor (ops/pointwise.cpp) with both bounds. Gradient: to self inside (min, max), to the
// bound that was taken outside; on a bound half to each.
struct ClampTensor {
  static constexpr Info info{"_clamp_tensor(Tensor self, Tensor min, Tensor max) -> Tensor",
                             "min(max(self, min), max); NaN if any of the three is NaN.",
                             Result::same,
                             Saves::in,
                             {-10, 10},
                             0,
                             0,
                             kReal};
  template <class V>
  TREADLE_HD static V f(V x, V lo, V hi) {
    return minimum(maximum(x, lo), hi);
  }
  template <class V>
  TREADLE_HD static V da(V g, V x, V lo, V hi) {
    const auto on_bound = logical_and(lo < hi, logical_or(x == lo, x == hi));
    return select(on_bound, g * V(0.5), select(logical_or(x<lo, x> hi), V(0), g));
  }
  template <class V>
  TREADLE_HD static V db(V g, V x, V lo, V hi) {
    const V at_bound = select(logical_and(x == lo, lo < hi), g * V(0.5), V(0));
    return select(lo <= hi, select(x < lo, g, at_bound), V(0));
  }
  template <class V>
  TREADLE_HD static V dc(V g, V x, V lo, V hi) {
    const V at_bound = select(logical_and(x == hi, lo < hi), g * V(0.5), V(0));
    return select(logical_or(x > hi, hi < lo), g, at_bound);
  }
};
struct Addcmul {
  static constexpr Info info{
      "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
      "self + value * tensor1 * tensor2.",
      Result::same,
      Saves::in,
      {0.1, 10},
      3,
      3,
      kNumber};
  template <class V>
  TREADLE_HD static V f(V x, V a, V b, const Params& p) {
    return V(x + V(V(p.get<V>(0) * a) * b));
  }
  template <class V>
  TREADLE_HD static V da(V g, V, V, V, const Params&) {
    return g;
  }
  template <class V>
  TREADLE_HD static V db(V g, V, V, V b, const Params& p) {
    return g * (b * p.get<V>(0));
  }
  template <class V>
  TREADLE_HD static V dc(V g, V, V a, V, const Params& p) {
    return g * (a * p.get<V>(0));
  }
};
struct Addcdiv {
  static constexpr Info info{
      "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
      "self + value * tensor1 / tensor2; floating dtypes only.",
      Result::same,
      Saves::in,
      {0.1, 10},
      3,
      3,
      kField};
  static constexpr Refusal refuses[] = {
      {When::integers_divided, Raise::runtime,
       "Integer division with addcdiv is no longer supported, and in a future release addcdiv will "
       "perform a true division of tensor1 and tensor2: convert one of them to a float dtype."}};
  template <class V>
  TREADLE_HD static V f(V x, V a, V b, const Params& p) {
    return x + p.get<V>(0) * a / b;
  }
  template <class V>
  TREADLE_HD static V da(V g, V, V, V, const Params&) {
    return g;
  }
  template <class V>
  TREADLE_HD static V db(V g, V, V, V b, const Params& p) {
    return g * (p.get<V>(0) / b);
  }
  template <class V>
  TREADLE_HD static V dc(V g, V, V a, V b, const Params& p) {
    return -g * (p.get<V>(0) * a / (b * b));
  }
};
struct LerpTensor {
  static constexpr Info info{"lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
                             "self + weight * (end - self).",
                             Result::same,
                             Saves::in,
                             {-10, 10},
                             8,
                             8,
                             kField};
  static constexpr Refusal refuses[] = {
      {When::dtypes_differ, Raise::runtime,
       "expected dtype of `end` and `weight` to be that of `self`"}};
  template <class V>
  TREADLE_HD static V f(V a, V b, V w) {
    return lerp(a, b, w);
  }
  template <class V>
  TREADLE_HD static V da(V g, V, V, V w) {
    return g * (V(1) - w);
  }
  template <class V>
  TREADLE_HD static V db(V g, V, V, V w) {
    return g * w;
  }
  template <class V>
  TREADLE_HD static V dc(V g, V a, V b, V) {
    return g * (b - a);
  }
};

using Ternary = List<Where, ClampTensor, Addcmul, Addcdiv, LerpTensor>;

TREADLE_FUNCTOR_END
