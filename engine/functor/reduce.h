// Reductions along axes. A struct says what is accumulated; the tree of additions is the kernel's.
// To add one: a struct and its name in Reduce.
//   Acc<V>      the type accumulated (and the result's, unless Result::boolean, where it has 0 or
//   1) first       the identity take, join  one element into an accumulator; two accumulators. Both
//   associative up to rounding.
// Selecting reductions (max, argmax, ...) have `better(a, b)` instead: whether b replaces a; equal
// elements keep the earlier one.
#pragma once
#include "engine/functor/bits.h"
#include "engine/functor/op.h"

TREADLE_FUNCTOR_BEGIN

template <class V>
struct SumType {
  using type = int64_t;
};
// clang-format off
template <> struct SumType<Half> { using type = float; };
template <> struct SumType<BFloat16> { using type = float; };
template <> struct SumType<float> { using type = float; };
template <> struct SumType<double> { using type = double; };
template <class T> struct SumType<Complex<T>> { using type = Complex<T>; };
template <> struct SumType<Complex<Half>> { using type = Complex<float>; };
// clang-format on

// Truth values while they are joined: 0 or 1, in integers as wide as the numbers that they come of,
// which vectors like.
template <class V, int Size = sizeof(V)>
struct TruthType {
  using type = int64_t;
};
// clang-format off
template <class V> struct TruthType<V, 1> { using type = uint8_t; };
template <class V> struct TruthType<V, 2> { using type = int16_t; };
template <class V> struct TruthType<V, 4> { using type = int32_t; };
template <> struct TruthType<Half> { using type = int32_t; };
template <> struct TruthType<BFloat16> { using type = int32_t; };
// clang-format on

struct Sum {
  static constexpr Info info{
      "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> "
      "Tensor",
      "Sum of the elements; int64 for bool and integers.",
      Result::same,
      Saves::nothing,
      {-10, 10},
      0,
      0,
      kAny};
  template <class V>
  using Acc = typename SumType<V>::type;
  template <class A>
  TREADLE_HD static A first() {
    return A(0);
  }
  template <class A>
  TREADLE_HD static A take(A a, A x) {
    return a + x;
  }
  template <class A>
  TREADLE_HD static A join(A a, A b) {
    return a + b;
  }
};
struct Prod {
  static constexpr Info info{
      "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
      "Product of the elements; int64 for bool and integers.",
      Result::same,
      Saves::in_and_out,
      {-10, 10},
      0,
      0,
      kAny};
  template <class V>
  using Acc = typename SumType<V>::type;
  template <class A>
  TREADLE_HD static A first() {
    return A(1);
  }
  template <class A>
  TREADLE_HD static A take(A a, A x) {
    return a * x;
  }
  template <class A>
  TREADLE_HD static A join(A a, A b) {
    return a * b;
  }
};
struct Any {
  static constexpr Info info{"any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
                             "Whether some element is nonzero.",
                             Result::boolean,
                             Saves::nothing,
                             {-2, 2},
                             0,
                             0,
                             kAny};
  template <class V>
  using Acc = typename TruthType<V>::type;
  template <class A>
  TREADLE_HD static A first() {
    return A(0);
  }
  template <class A>
  TREADLE_HD static A take(A a, A x) {
    return A(a | x);
  }
  template <class A>
  TREADLE_HD static A join(A a, A b) {
    return A(a | b);
  }
};
struct All {
  static constexpr Info info{"all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
                             "Whether every element is nonzero.",
                             Result::boolean,
                             Saves::nothing,
                             {-2, 2},
                             0,
                             0,
                             kAny};
  template <class V>
  using Acc = typename TruthType<V>::type;
  template <class A>
  TREADLE_HD static A first() {
    return A(1);
  }
  template <class A>
  TREADLE_HD static A take(A a, A x) {
    return A(a & x);
  }
  template <class A>
  TREADLE_HD static A join(A a, A b) {
    return A(a & b);
  }
};

// NaN beats everything, the first NaN wins.
struct Max {
  static constexpr Info info{
      "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)",
      "Largest element and its position.",
      Result::same,
      Saves::nothing,
      {-10, 10},
      0,
      0};
  template <class V>
  TREADLE_HD static bool better(V a, V b) {
    return logical_and(a == a, logical_or(b > a, b != b));
  }
};
struct Min {
  static constexpr Info info{
      "min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)",
      "Smallest element and its position.",
      Result::same,
      Saves::nothing,
      {-10, 10},
      0,
      0};
  template <class V>
  TREADLE_HD static bool better(V a, V b) {
    return logical_and(a == a, logical_or(b < a, b != b));
  }
};
struct ArgMax : Max {
  static constexpr Info info{"argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
                             "Position of the largest element, as int64.",
                             Result::same,
                             Saves::nothing,
                             {-10, 10},
                             0,
                             0};
};
struct ArgMin : Min {
  static constexpr Info info{"argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
                             "Position of the smallest element, as int64.",
                             Result::same,
                             Saves::nothing,
                             {-10, 10},
                             0,
                             0};
};

using Reduce = List<Sum, Prod, Any, All, Max, Min, ArgMax, ArgMin>;

TREADLE_FUNCTOR_END
