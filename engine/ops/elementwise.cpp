// The fold over functor/: one MapOp, one row of the op table and one boxed call for each struct in
// its lists, and the C++ names of the ones that are used by name. Per-op lines here are only rules
// that PyTorch adds on top of the formula (validate).
#include <algorithm>
#include <limits>

#include "engine/functor/all.h"
#include "engine/functor/complex_math.h"
#include "engine/ops/map.h"
#include "engine/ops/map_facts.h"
#include "engine/ops/native.h"
#include "engine/ops/special.h"

namespace treadle {
namespace {

using functor::Params;
using functor::Result;

template <class Op, class List>
constexpr bool in_list = false;
template <class Op, class... Ops>
constexpr bool in_list<Op, functor::List<Ops...>> = (std::is_same_v<Op, Ops> || ...);

using Xs = std::array<Tensor, 3>;

// PyTorch's gradient of a complex function: derivatives are written without its conj.
template <class F>
Tensor gradient(const Tensor& g, const F& derivative) {
  return is_complex(g.dtype()) ? conj(derivative(conj(g))) : derivative(g);
}

template <class Op>
Tensor unary_df(const Params& p, const Tensor& g, const Xs& x, const Tensor& y) {
  return gradient(g, [&](const Tensor& d) { return functor::derive<Op>(p, d, x[0], y); });
}
template <class Op>
Tensor binary_da(const Params& p, const Tensor& g, const Xs& x, const Tensor& y) {
  return gradient(g, [&](const Tensor& d) { return functor::derive_a<Op>(p, d, x[0], x[1], y); });
}
template <class Op>
Tensor binary_db(const Params& p, const Tensor& g, const Xs& x, const Tensor& y) {
  return gradient(g, [&](const Tensor& d) { return functor::derive_b<Op>(p, d, x[0], x[1], y); });
}
template <class Op>
Tensor ternary_da(const Params& p, const Tensor& g, const Xs& x, const Tensor&) {
  return gradient(g,
                  [&](const Tensor& d) { return functor::derive_a<Op>(p, d, x[0], x[1], x[2]); });
}
template <class Op>
Tensor ternary_db(const Params& p, const Tensor& g, const Xs& x, const Tensor&) {
  return gradient(g,
                  [&](const Tensor& d) { return functor::derive_b<Op>(p, d, x[0], x[1], x[2]); });
}
template <class Op>
Tensor ternary_dc(const Params& p, const Tensor& g, const Xs& x, const Tensor&) {
  return gradient(g,
                  [&](const Tensor& d) { return functor::derive_c<Op>(p, d, x[0], x[1], x[2]); });
}

template <class Op>
constinit std::atomic<std::uint32_t> reads_cache{0};

template <class Op>
constexpr bool is_conditional = requires {
  requires Op::condition;
};

// Scalar arguments in a schema; not where the word is the overload's name.
constexpr std::size_t count_scalars(std::string_view schema) {
  std::size_t n = 0;
  for (std::size_t at = schema.find("Scalar"); at < schema.find("->");
       at = schema.find("Scalar", at + 1)) {
    if (at > 0 && schema[at - 1] != '.') ++n;
  }
  return n;
}

template <class Op>
constexpr MapOp make() {
  using T = Tensor;
  constexpr auto i = Op::info;
  MapOp op{i.schema,        {}, 0, 0, count_scalars(i.schema), i.result, is_conditional<Op>, {},
           &reads_cache<Op>};
  if constexpr (in_list<Op, functor::Unary>) {
    op.family = MapOp::Family::unary;
    op.id = functor::IndexOf<Op, functor::Unary>::value;
    op.inputs = 1;
    if constexpr (functor::has_df<Op, T, T, T>) op.derive[0] = &unary_df<Op>;
  } else if constexpr (in_list<Op, functor::Binary>) {
    op.family = MapOp::Family::binary;
    op.id = functor::IndexOf<Op, functor::Binary>::value;
    op.inputs = 2;
    if constexpr (functor::has_da<Op, T, T, T, T>) op.derive[0] = &binary_da<Op>;
    if constexpr (functor::has_db<Op, T, T, T, T>) op.derive[1] = &binary_db<Op>;
  } else if constexpr (in_list<Op, functor::Compare>) {
    op.family = MapOp::Family::compare;
    op.id = functor::IndexOf<Op, functor::Compare>::value;
    op.inputs = 2;
  } else {
    op.family = MapOp::Family::ternary;
    op.id = functor::IndexOf<Op, functor::Ternary>::value;
    op.inputs = 3;
    if constexpr (functor::has_da<Op, T, T, T, T>) op.derive[0] = &ternary_da<Op>;
    if constexpr (functor::has_db<Op, T, T, T, T>) op.derive[1] = &ternary_db<Op>;
    if constexpr (functor::has_dc<Op, T, T, T, T>) op.derive[2] = &ternary_dc<Op>;
  }
  return op;
}  // namespace treadle

template <class Op>
constexpr MapOp map_op = make<Op>();

using Scalars = std::array<Scalar, kernel::kMaxParams>;

bool all_bool(Inputs in) {
  return std::all_of(in.begin(), in.end(),
                     [](const Tensor* t) { return t->dtype() == DType::boolean; });
}
bool all_integral(Inputs in) {
  return std::all_of(in.begin(), in.end(), [](const Tensor* t) { return is_integral(t->dtype()); });
}

// PyTorch's rules beyond the formula.
template <class Op>
void validate(Inputs in, const Scalars& s) {
  // A missing input is reported by the call itself.
  if (std::any_of(in.begin(), in.end(), [](const Tensor* t) { return !t->defined(); })) return;
  if constexpr (std::is_same_v<Op, functor::Sub>) {
    if (all_bool(in)) {
      fail(ErrorKind::runtime,
           "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
           "`logical_xor()` operator instead.");
    }
    if (std::any_of(in.begin(), in.end(),
                    [](const Tensor* t) { return t->dtype() == DType::boolean; }) &&
        all_integral(in) && in[0]->dtype() == in[1]->dtype()) {
      fail(ErrorKind::runtime,
           "Subtraction, the `-` operator, with a bool tensor is not supported.");
    }
  }
  if constexpr (std::is_same_v<Op, functor::Add> || std::is_same_v<Op, functor::Sub>) {
    if (s[0].kind >= Scalar::Kind::floating && all_integral(in)) {
      fail(ErrorKind::runtime,
           "For integral input tensors, argument alpha must not be a floating point number.");
    }
    if (s[0].kind == Scalar::Kind::boolean && !all_bool(in)) {
      fail(ErrorKind::runtime, "Boolean alpha only supported for Boolean results.");
    }
  }
  if constexpr (std::is_same_v<Op, functor::Neg>) {
    if (all_bool(in)) {
      fail(ErrorKind::runtime,
           "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
           "invert a mask, "
           "use the `~` or `logical_not()` operator instead.");
    }
  }
  if constexpr (std::is_same_v<Op, functor::Pow>) {
    if (in[1]->impl()->wrapped_number && is_integral(in[0]->dtype()) &&
        is_integral(in[1]->dtype()) && in[1]->item_int() < 0) {
      fail(ErrorKind::runtime, "Integers to negative integer powers are not allowed.");
    }
  }
}

template <class Op>
Params params_of(const Scalars& s) {
  Params p{};
  for (std::size_t i = 0; i < map_op<Op>.scalars; ++i) p.value[i] = param(s[i]);
  return p;
}

template <class Op>
Tensor call(Inputs in, const Scalars& s = {}) {
  validate<Op>(in, s);
  return map_call(map_op<Op>, in, params_of<Op>(s));
}
template <class Op>
Tensor unary(const Tensor& a) {
  const Tensor* in[] = {&a};
  return call<Op>(in);
}
template <class Op>
Tensor binary(const Tensor& a, const Tensor& b, const Scalars& s = {}) {
  const Tensor* in[] = {&a, &b};
  return call<Op>(in, s);
}
template <class Op>
Tensor binary_inplace(const Tensor& a, const Tensor& b, const Scalars& s = {}) {
  const Tensor* in[] = {&a, &b};
  validate<Op>(in, s);
  map_inplace(map_op<Op>, in, params_of<Op>(s));
  return a;
}

// Boxed arguments: the tensors first, then the scalars (true of every schema in functor/).
template <class Op>
struct Boxed {
  static constexpr std::size_t kTensors = static_cast<std::size_t>(map_op<Op>.inputs);
  static constexpr std::size_t kScalars = map_op<Op>.scalars;
  std::array<Tensor, kTensors> made;  // of numbers
  std::array<const Tensor*, kTensors> pointers;
  Scalars scalars;

  explicit Boxed(Value* args) {
    for (std::size_t k = 0; k < kTensors; ++k) {
      pointers[k] = std::get_if<Tensor>(&args[k]);
      if (pointers[k]) continue;
      made[k] = detail::unbox_tensor(args[k]);
      pointers[k] = &made[k];
    }
    bool floating = false;
    for (std::size_t k = 0; k < kScalars; ++k) {
      const Value& v = args[kTensors + k];
      if (std::holds_alternative<std::monostate>(v)) {
        scalars[k] = missing(k);
      } else {
        scalars[k] = detail::unbox_scalar(v);
        floating |= scalars[k].kind == Scalar::Kind::floating;
      }
    }
    if constexpr (std::is_same_v<Op, functor::Clamp>) {
      if (std::holds_alternative<std::monostate>(args[1]) &&
          std::holds_alternative<std::monostate>(args[2])) {
        fail(ErrorKind::runtime, "torch.clamp: At least one of 'min' or 'max' must not be None");
      }
      if (floating && is_integral(pointers[0]->dtype())) {
        made[0] = to(*pointers[0], default_dtype());
        pointers[0] = &made[0];
      }
      clamp_bounds(pointers[0]->dtype());
    }
    validate<Op>(pointers, scalars);
  }
  // A bound that the dtype can't hold doesn't bind beyond the dtype's own. The other small integers
  // are computed in int64.
  void clamp_bounds(DType dtype) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    for (Scalar& s : scalars) {
      if (dtype == DType::uint8) s.i = std::clamp<std::int64_t>(s.i, 0, 255);
      if (dtype == DType::int32) {
        s.i = std::clamp<std::int64_t>(s.i, std::numeric_limits<std::int32_t>::min(),
                                       std::numeric_limits<std::int32_t>::max());
      }
      if (dtype == DType::uint64) s.i = s.i == most ? -1 : std::max<std::int64_t>(s.i, 0);
    }
  }
  // clamp's bounds are the only optional scalars: no lower bound, no upper bound.
  static Scalar missing(std::size_t k) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    Scalar s(0);
    s.f = k == 0 ? -inf : inf;
    s.i = k == 0 ? std::numeric_limits<std::int64_t>::min()
                 : std::numeric_limits<std::int64_t>::max();
    return s;
  }
};

// Ops whose first input has no derivative (functor/special_binary.h).
template <class Op>
constexpr bool lacks_a = requires {
  Op::lacks_a;
};

template <class Op>
void boxed_call(Value* args, Value* results) {
  const Boxed<Op> b(args);
  if constexpr (std::is_same_v<Op, functor::Abs>) {
    results[0] = abs(*b.pointers[0]);
    return;
  }
  if constexpr (lacks_a<Op>) {
    const Tensor first = without_derivative(*b.pointers[0], Op::lacks_a);
    const Tensor* in[] = {&first, b.pointers[1]};
    results[0] = map_call(map_op<Op>, in, params_of<Op>(b.scalars));
    return;
  }
  results[0] = map_call(map_op<Op>, b.pointers, params_of<Op>(b.scalars));
}
template <class Op>
void boxed_inplace(Value* args) {
  const Boxed<Op> b(args);
  if constexpr (lacks_a<Op>) {
    if (needs_tape({b.pointers[0]})) no_derivative(Op::lacks_a);
  }
  if (!same(*b.pointers[0], std::get<Tensor>(args[0]))) {
    fail(ErrorKind::runtime, "result type Float can't be cast to the desired output type " +
                                 std::string(info(std::get<Tensor>(args[0]).dtype()).scalar));
  }
  map_inplace(map_op<Op>, b.pointers, params_of<Op>(b.scalars));
}
template <class Op>
void boxed_out(Value* args, Tensor* outs) {
  const Boxed<Op> b(args);
  map_out(map_op<Op>, b.pointers, params_of<Op>(b.scalars), outs[0]);
}

// These live in torch.nn.functional only.
constexpr std::array<std::string_view, 4> kInFunctional = {"silu", "softplus", "leaky_relu", "elu"};

template <class Op>
OpDef row() {
  constexpr MapOp op = map_op<Op>;
  const std::string_view name = op.name();
  const bool functional =
      std::find(kInFunctional.begin(), kInFunctional.end(), name) != kInFunctional.end();
  OpDef def{op.schema, Op::info.doc, 0, op.differentiable(), &boxed_call<Op>, nullptr, nullptr};
  const bool special = name.starts_with("special_");
  def.variants = special          ? kSubmodule | kOut
                 : functional     ? kFunctional
                 : name[0] == '_' ? kFunction
                                  : kFunction | kMethod | kOut;
  if (name[0] != '_' && !special && !op.condition_first) {
    def.variants |= kInplace;
    def.call_inplace = &boxed_inplace<Op>;
  }
  if (def.variants & kOut) def.call_out = &boxed_out<Op>;
  return def;
}

template <class... Ops>
void rows(std::vector<OpDef>& out, functor::List<Ops...>) {
  (out.push_back(row<Ops>()), ...);
}

}  // namespace

namespace {

template <class... Ops>
const functor::Info* find_info(std::string_view schema, functor::List<Ops...>) {
  const functor::Info* found = nullptr;
  ((found = schema == Ops::info.schema ? &Ops::info : found), ...);
  return found;
}

}  // namespace

const functor::Info* map_info(std::string_view schema) {
  const functor::Info* found = find_info(schema, functor::Unary{});
  if (!found) found = find_info(schema, functor::Binary{});
  if (!found) found = find_info(schema, functor::Compare{});
  return found ? found : find_info(schema, functor::Ternary{});
}

std::span<const OpDef> elementwise_ops() {
  static const std::vector<OpDef> all = [] {
    std::vector<OpDef> out;
    rows(out, functor::Unary{});
    rows(out, functor::Binary{});
    rows(out, functor::Compare{});
    rows(out, functor::Ternary{});
    return out;
  }();
  return all;
}

Tensor add(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  return binary<functor::Add>(a, b, {alpha});
}
Tensor sub(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  return binary<functor::Sub>(a, b, {alpha});
}
Tensor mul(const Tensor& a, const Tensor& b) { return binary<functor::Mul>(a, b); }
Tensor div(const Tensor& a, const Tensor& b) { return binary<functor::Div>(a, b); }
Tensor div_trunc(const Tensor& a, const Tensor& b) { return binary<functor::DivTrunc>(a, b); }
Tensor floor_divide(const Tensor& a, const Tensor& b) { return binary<functor::FloorDivide>(a, b); }
Tensor remainder(const Tensor& a, const Tensor& b) { return binary<functor::Remainder>(a, b); }
Tensor pow(const Tensor& a, const Tensor& b) { return binary<functor::Pow>(a, b); }
Tensor maximum(const Tensor& a, const Tensor& b) { return binary<functor::Maximum>(a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) { return binary<functor::Minimum>(a, b); }
Tensor atan2(const Tensor& a, const Tensor& b) { return binary<functor::Atan2>(a, b); }
Tensor eq(const Tensor& a, const Tensor& b) { return binary<functor::Eq>(a, b); }
Tensor ne(const Tensor& a, const Tensor& b) { return binary<functor::Ne>(a, b); }
Tensor lt(const Tensor& a, const Tensor& b) { return binary<functor::Lt>(a, b); }
Tensor le(const Tensor& a, const Tensor& b) { return binary<functor::Le>(a, b); }
Tensor gt(const Tensor& a, const Tensor& b) { return binary<functor::Gt>(a, b); }
Tensor ge(const Tensor& a, const Tensor& b) { return binary<functor::Ge>(a, b); }
Tensor logical_and(const Tensor& a, const Tensor& b) { return binary<functor::LogicalAnd>(a, b); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return binary<functor::LogicalOr>(a, b); }
Tensor where(const Tensor& c, const Tensor& a, const Tensor& b) {
  const Tensor* in[] = {&c, &a, &b};
  return call<functor::Where>(in);
}
Tensor neg(const Tensor& x) { return unary<functor::Neg>(x); }
Tensor abs(const Tensor& x) {
  const bool complex = x.defined() && is_complex(x.dtype());
  return complex ? binary<functor::Hypot>(real(x), imag(x)) : unary<functor::Abs>(x);
}
Tensor sign(const Tensor& x) { return unary<functor::Sign>(x); }
Tensor square(const Tensor& x) { return unary<functor::Square>(x); }
Tensor sqrt(const Tensor& x) { return unary<functor::Sqrt>(x); }
Tensor rsqrt(const Tensor& x) { return unary<functor::Rsqrt>(x); }
Tensor exp(const Tensor& x) { return unary<functor::Exp>(x); }
Tensor expm1(const Tensor& x) { return unary<functor::Expm1>(x); }
Tensor log(const Tensor& x) { return unary<functor::Log>(x); }
Tensor log1p(const Tensor& x) { return unary<functor::Log1p>(x); }
Tensor sin(const Tensor& x) { return unary<functor::Sin>(x); }
Tensor cos(const Tensor& x) { return unary<functor::Cos>(x); }
Tensor sinh(const Tensor& x) { return unary<functor::Sinh>(x); }
Tensor cosh(const Tensor& x) { return unary<functor::Cosh>(x); }
Tensor tanh(const Tensor& x) { return unary<functor::Tanh>(x); }
Tensor erf(const Tensor& x) { return unary<functor::Erf>(x); }
Tensor sigmoid(const Tensor& x) { return unary<functor::Sigmoid>(x); }
Tensor relu(const Tensor& x) { return unary<functor::Relu>(x); }
Tensor floor(const Tensor& x) { return unary<functor::Floor>(x); }
Tensor trunc(const Tensor& x) { return unary<functor::Trunc>(x); }
Tensor logical_not(const Tensor& x) { return unary<functor::LogicalNot>(x); }
Tensor isnan(const Tensor& x) { return unary<functor::IsNan>(x); }
// Special functions (ops/special.h).
Tensor lgamma(const Tensor& x) { return unary<functor::Lgamma>(x); }
Tensor digamma(const Tensor& x) { return unary<functor::Digamma>(x); }
Tensor polygamma(const Tensor& x, std::int64_t n) {
  const Tensor* in[] = {&x};
  return call<functor::Polygamma>(in, {Scalar(n)});
}
Tensor zeta(const Tensor& s, const Tensor& q) { return binary<functor::Zeta>(s, q); }
Tensor erfcx(const Tensor& x) { return unary<functor::Erfcx>(x); }
Tensor logit(const Tensor& x) { return unary<functor::Logit>(x); }
Tensor i0(const Tensor& x) { return unary<functor::I0>(x); }
Tensor i0e(const Tensor& x) { return unary<functor::I0e>(x); }
Tensor i1(const Tensor& x) { return unary<functor::I1>(x); }
Tensor i1e(const Tensor& x) { return unary<functor::I1e>(x); }
Tensor bessel_j0(const Tensor& x) { return unary<functor::BesselJ0>(x); }
Tensor bessel_j1(const Tensor& x) { return unary<functor::BesselJ1>(x); }
Tensor bessel_y0(const Tensor& x) { return unary<functor::BesselY0>(x); }
Tensor bessel_y1(const Tensor& x) { return unary<functor::BesselY1>(x); }
Tensor bessel_k0(const Tensor& x) { return unary<functor::ModifiedK0>(x); }
Tensor bessel_k1(const Tensor& x) { return unary<functor::ModifiedK1>(x); }
Tensor gelu(const Tensor& x, const std::string& approximate) {
  if (approximate == "none") return unary<functor::GeluErf>(x);
  if (approximate == "tanh") return unary<functor::GeluTanh>(x);
  fail(ErrorKind::runtime, "approximate argument must be either none or tanh.");
}

Tensor add_(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  return binary_inplace<functor::Add>(a, b, {alpha});
}
Tensor sub_(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  return binary_inplace<functor::Sub>(a, b, {alpha});
}
Tensor mul_(const Tensor& a, const Tensor& b) { return binary_inplace<functor::Mul>(a, b); }
Tensor div_(const Tensor& a, const Tensor& b) { return binary_inplace<functor::Div>(a, b); }

}  // namespace treadle
