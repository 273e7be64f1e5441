// The larger and the smaller of two numbers: elementwise ops of two tensors, joined in binary.h.
#pragma once
#include "engine/functor/math.h"
#include "engine/functor/op.h"

TREADLE_FUNCTOR_BEGIN

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
  static constexpr bool inplace = false;
  static constexpr Refusal refuses[] = {
      {When::any_complex, Raise::type, "maximum not implemented for complex tensors."}};
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
  static constexpr bool inplace = false;
  static constexpr Refusal refuses[] = {
      {When::any_complex, Raise::type, "minimum not implemented for complex tensors."}};
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

// -- of two numbers, of which NaN is the lesser evil: the other one is the result

// The part of g that belongs to a when a was taken (`ahead`); a tie is shared.
template <class B, class V>
TREADLE_HD V where_taken(V g, B ahead, B tie) {
  return select(ahead, g, select(tie, g * V(0.5), V(0)));
}
struct Fmax {
  static constexpr Info info{"fmax(Tensor self, Tensor other) -> Tensor",
                             "The larger of both; where one is NaN, the other.",
                             Result::same,
                             Saves::in,
                             {-10, 10},
                             0,
                             0};
  static constexpr bool inplace = false;
  static constexpr Refusal refuses[] = {
      {When::any_complex, Raise::type, "fmax not implemented for complex tensors."}};
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return select(isnan(b), a, select(isnan(a), b, maximum(a, b)));
  }
  template <class V>
  TREADLE_HD static V da(V g, V a, V b, V) {
    return where_taken(g, logical_or(a > b, isnan(b)), a == b);
  }
  template <class V>
  TREADLE_HD static V db(V g, V a, V b, V) {
    const auto other = logical_and(isnan(a), logical_not(isnan(b)));
    return where_taken(g, logical_or(b > a, other), a == b);
  }
};
struct Fmin {
  static constexpr Info info{"fmin(Tensor self, Tensor other) -> Tensor",
                             "The smaller of both; where one is NaN, the other.",
                             Result::same,
                             Saves::in,
                             {-10, 10},
                             0,
                             0};
  static constexpr bool inplace = false;
  static constexpr Refusal refuses[] = {
      {When::any_complex, Raise::type, "fmin not implemented for complex tensors."}};
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return select(isnan(b), a, select(isnan(a), b, minimum(a, b)));
  }
  template <class V>
  TREADLE_HD static V da(V g, V a, V b, V) {
    return where_taken(g, logical_or(a < b, isnan(b)), a == b);
  }
  template <class V>
  TREADLE_HD static V db(V g, V a, V b, V) {
    const auto other = logical_and(isnan(a), logical_not(isnan(b)));
    return where_taken(g, logical_or(b < a, other), a == b);
  }
};

// -- clamp with one tensor as bound: maximum and minimum by another name

struct ClampMinTensor : Maximum {
  static constexpr Info info{"clamp_min.Tensor(Tensor self, Tensor min) -> Tensor",
                             "max(self, min).",
                             Result::same,
                             Saves::in,
                             {-10, 10},
                             0,
                             0};
  static constexpr bool inplace = true;
  static constexpr Refusal refuses[] = {
      {When::any_complex, Raise::not_implemented, "clamp is not supported for complex types"}};
};
struct ClampMaxTensor : Minimum {
  static constexpr Info info{"clamp_max.Tensor(Tensor self, Tensor max) -> Tensor",
                             "min(self, max).",
                             Result::same,
                             Saves::in,
                             {-10, 10},
                             0,
                             0};
  static constexpr bool inplace = true;
  static constexpr Refusal refuses[] = {
      {When::any_complex, Raise::not_implemented, "clamp is not supported for complex types"}};
};

using ExtremaOps = List<Maximum, Minimum, Fmax, Fmin, ClampMinTensor, ClampMaxTensor>;

TREADLE_FUNCTOR_END
