// What an elementwise op is: one struct with `info`, `f` and `df`, and one name in a List<> at the end
// of its file (unary.h, binary.h, ...). Everything else (kernels per ISA and for CUDA, dispatch, tape
// node, double backward, Python function, method, in-place and out=, stubs, docs, tests) is folded
// from the list. How to add one: docs/architecture.md, "adding an op".
//
//   struct Tanh {
//     static constexpr Info info{"tanh(Tensor self) -> Tensor", "Hyperbolic tangent.",
//                                Result::floating, Saves::out, {-4, 4}, 4, 2};
//     template <class V> TREADLE_HD static V f(V x) { return tanh(x); }
//     template <class V> TREADLE_HD static V df(V g, V x, V y) { return g * (V(1) - y * y); }
//   };
//
// `f` and `df` are generic: V is float or double in kernels and treadle::Tensor when the backward
// pass itself is differentiated. So call math functions unqualified (tanh(x), select(c, a, b)):
// argument-dependent lookup finds the Tensor version.
// Binary: f(V a, V b, Params p); da(V g, V a, V b, V y, Params p) and db(...). A struct without df
// (da/db) isn't differentiable: its result never requires grad.
#pragma once
#include "engine/functor/hd.h"

TREADLE_FUNCTOR_BEGIN

// The dtype of the result, from the promoted dtype of the inputs.
enum class Result : uint8_t {
  same,      // as the inputs
  floating,  // integers and bool become the default float dtype
  boolean,   // comparisons, predicates
};

// What the tape keeps for `df`.
enum class Saves : uint8_t { nothing = 0, in = 1, out = 2, in_and_out = 3 };

// The dtypes that have a kernel, as a bit set of kinds.
enum Kinds : uint8_t { kBool = 1, kInt = 2, kFloat = 4, kComplex = 8, kReal = kInt | kFloat, kAny = 7 };

struct Domain {
  double low, high;  // where tests draw their inputs
};

struct Info {
  const char* schema;  // PyTorch's: the single contract for names, defaults, kwarg-only, docs, stubs
  const char* doc;     // one line, then formula; becomes the docstring
  Result result;
  Saves saves;
  Domain domain;
  double ulp32, ulp64;  // tested bound of f against a long double reference
  Kinds kinds = kAny;   // dtypes of the computation
};

template <class... Ops>
struct List {
  static constexpr int size = static_cast<int>(sizeof...(Ops));
};

// Position of Op in the list: its id. Fails to compile if Op isn't in it.
template <class Op, class L>
struct IndexOf;
template <class Op, class... Rest>
struct IndexOf<Op, List<Op, Rest...>> {
  static constexpr int value = 0;
};
template <class Op, class First, class... Rest>
struct IndexOf<Op, List<First, Rest...>> {
  static constexpr int value = 1 + IndexOf<Op, List<Rest...>>::value;
};

TREADLE_FUNCTOR_END
