// What an elementwise op is: one struct with `info`, `f` and `df`, and one name in the List<> at
// the end of its file (unary.h, trig.h, binary.h, ...; Unary, Binary, ... join the lists).
// Everything else (kernels per ISA and for CUDA, dispatch, tape node, double backward, Python
// function, method, in-place and out=, stubs, docs, tests) is folded from the list. How to add one:
// docs/architecture.md, "adding an op".
//
//   struct Tanh {
//     static constexpr Info info{"tanh(Tensor self) -> Tensor", "Hyperbolic tangent.",
//                                Result::floating, Saves::out, {-4, 4}, 4, 2};
//     template <class V> TREADLE_HD static V f(V x) { return tanh(x); }
//     template <class V> TREADLE_HD static V df(V g, V x, V y) { return g * (V(1) - y * y); }
//   };
//
// `f` and `df` are generic: V is a number (bool to Complex<double>) in kernels and treadle::Tensor
// when the backward pass itself is differentiated. Of complex functions `df` is the plain
// derivative, without a conj: whoever calls it adds PyTorch's. So call math functions unqualified
// (tanh(x), select(c, a, b)): argument-dependent lookup finds the Tensor version. Binary: f(V a, V
// b), da(V g, V a, V b, V y) and db(...); ternary: f(a, b, c), da(g, a, b, c) and so on. A struct
// without df (da/db/dc) isn't differentiable: its result never requires grad. An op with scalar
// arguments takes a last parameter `const Params& p` in all its functions and reads them by
// p.get<V>(position among the Scalar arguments of the schema). Callers use eval<Op>(p, x...) and
// derive<Op>, derive_a<Op>, ... below, which hide that difference.
//
// All that PyTorch adds to the formula is said by further members, all optional, so that an op
// stays in one place:
//   aliases     other names, separated by spaces: "multiply"
//   functional  true: of torch.nn.functional (with an in-place form), not of torch and Tensor
//   inplace     false: no in-place form
//   number      which inputs may be Python numbers (Numbers below); default: none.
//               After a condition: of the two values
//   refuses     errors (Refusal below)
//   bounds      scalars that are limits (Bound below)
//   lacks_a     what PyTorch's error says that has no derivative for input 0
//   saturates   true: scalars beyond the dtype's range become its nearest number
// An optional scalar ("Scalar? min=None") that was left None: p.absent(k), for real numbers only;
// its value is then the dtype's largest finite number.
//
// In derivatives use only + - * /, comparisons, select, logical_and/or and names of ops: those
// exist for Tensor too. A comparison gives bool for numbers and a bool Tensor for Tensor.
#pragma once
#include "engine/backend/kernel.h"
#include "engine/functor/bits.h"
#include "engine/functor/hd.h"
#include "engine/functor/numbers.h"

TREADLE_FUNCTOR_BEGIN

// The dtype of the result, from the promoted dtype of the inputs.
enum class Result : uint8_t {
  same,      // as the inputs
  floating,  // integers and bool become the default float dtype
  boolean,   // comparisons, predicates
  number,    // bool becomes int64
};

// What the tape keeps for `df`.
enum class Saves : uint8_t { nothing = 0, in = 1, out = 2, in_and_out = 3 };

// The dtypes that have a kernel, as a bit set of kinds.
enum Kinds : uint8_t {
  kBool = 1,
  kInt = 2,
  kFloat = 4,
  kComplex = 8,
  kReal = kInt | kFloat,
  kOrdered = kBool | kReal,    // what has < and >
  kField = kFloat | kComplex,  // what has a division
  kNumber = kReal | kComplex,
  kAny = kBool | kNumber
};

struct Domain {
  double low, high;  // where tests draw their inputs
};

struct Info {
  const char*
      schema;       // PyTorch's: the single contract for names, defaults, kwarg-only, docs, stubs
  const char* doc;  // one line, then formula; becomes the docstring
  Result result;
  Saves saves;
  Domain domain;
  double ulp32, ulp64;     // tested bound of f against a long double reference
  Kinds kinds = kOrdered;  // dtypes of the computation
  // Of functions with zeros that no formula gets relatively right: where the result is smaller than
  // this, the bounds count ULP of this.
  double floor = 0;
};

// What PyTorch refuses beyond the dtypes without a kernel: `refuses`, an array of these; the first
// one that applies is raised.
enum class When : uint8_t {
  all_bool,
  any_bool,
  any_complex,
  dtypes_differ,
  integers_divided,         // the second and third input are integers
  scalar_floating,          // scalar 0 is floating, all inputs are integers
  scalar_complex,           // scalar 0 is complex, no input is
  scalar_boolean,           // scalar 0 is a bool, not all inputs are
  scalar_negative,          // scalar 0 is below 0
  scalar_zero,              // scalar 0 is 0
  negative_integer_number,  // integers with a Python integer below 0 as second input
};
enum class Raise : uint8_t { runtime, type, not_implemented };
struct Refusal {
  When when;
  Raise raise;
  const char* message;
};

// `bounds`, one for each scalar argument: limits that take part in promotion. A limit that the
// dtype can't hold doesn't bind, or is an error where no number could be inside of it.
enum class Bound : uint8_t { lower, upper };

// `number`: which inputs PyTorch also takes as a Python number.
enum class Numbers : uint8_t {
  none = 0,
  second = 2,
  either = 3,  // (2, x) or (x, 2)
  both = 7     // (2, 2) too
};

// Families: ops whose info differs in schema and doc alone:
//   static constexpr Info info = predicate("isnan(Tensor self) -> Tensor", "Whether x is NaN.");
constexpr Info predicate(const char* schema, const char* doc, Kinds kinds = kAny) {
  return {schema, doc, Result::boolean, Saves::nothing, {-2, 2}, 0, 0, kinds};
}
constexpr Info bitwise(const char* schema, const char* doc) {  // bits of bool and integers
  return {schema, doc, Result::same, Saves::nothing, {-100, 100}, 0, 0, Kinds(kBool | kInt)};
}

// Bases of ops that are constant between jumps: a gradient of 0, also where g is infinite or NaN.
struct Flat {
  template <class V>
  TREADLE_HD static V df(V g, V, V) {
    return zeros_like(g);
  }
};
struct FlatInBoth {
  template <class V>
  TREADLE_HD static V da(V g, V, V, V) {
    return zeros_like(g);
  }
  template <class V>
  TREADLE_HD static V db(V g, V, V, V) {
    return zeros_like(g);
  }
};

// The scalar arguments of an op, in the order of the schema. For V = Tensor they are wrapped
// numbers.
struct Params {
  kernel::Param value[kernel::kMaxParams];
  template <class V>
  TREADLE_HD V get(int k) const;
  TREADLE_HD bool absent(int k) const { return value[k].im != 0; }
};

template <class V>
struct GetParam {  // V = Tensor: ops/map.h
  static TREADLE_HD V of(const kernel::Param& p) {
    if constexpr (is_complex<V>) {
      return V(Complex<double>(p.f, p.im));
    } else if constexpr (is_float<V>) {
      return V(p.f);
    } else {
      return static_cast<V>(p.i);
    }
  }
};
template <class V>
TREADLE_HD V Params::get(int k) const {
  return GetParam<V>::of(value[k]);
}

// f of any arity, with or without Params.
template <class Op, class... V>
TREADLE_HD auto eval(const Params& p, V... x) {
  if constexpr (requires { Op::f(x..., p); }) {
    return Op::f(x..., p);
  } else {
    return Op::f(x...);
  }
}

// Whether Op has a derivative with respect to its k-th input (k = 0 for unary: df).
// One function for each: derive<Op>(p, g, x, y), derive_a<Op>(p, g, a, b, y), ...
#define TREADLE_DERIVATIVE(function, name)                        \
  template <class Op, class... V>                                 \
  constexpr bool has_##name = requires(const Params& p, V... x) { \
    Op::name(x..., p);                                            \
  }                                                               \
  || requires(V... x) { Op::name(x...); };                        \
  template <class Op, class... V>                                 \
  TREADLE_HD auto function(const Params& p, V... x) {             \
    if constexpr (requires { Op::name(x..., p); }) {              \
      return Op::name(x..., p);                                   \
    } else {                                                      \
      return Op::name(x...);                                      \
    }                                                             \
  }
TREADLE_DERIVATIVE(derive, df)
TREADLE_DERIVATIVE(derive_a, da)
TREADLE_DERIVATIVE(derive_b, db)
TREADLE_DERIVATIVE(derive_c, dc)
#undef TREADLE_DERIVATIVE

template <class Op>
constexpr bool differentiable =
    has_df<Op, double, double, double> || has_da<Op, double, double, double, double> ||
    has_db<Op, double, double, double, double>;

template <class... Ops>
struct List {
  static constexpr int size = static_cast<int>(sizeof...(Ops));
};

// Several lists as one: each header has the list of its own ops.
template <class... Lists>
struct Join;
template <class L>
struct Join<L> {
  using type = L;
};
template <class... A, class... B, class... Rest>
struct Join<List<A...>, List<B...>, Rest...> {
  using type = typename Join<List<A..., B...>, Rest...>::type;
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
