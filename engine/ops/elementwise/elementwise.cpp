// The fold over functor/: one MapOp, one row of the op table and one boxed call for each struct in
// its lists, and the C++ names of the ones that are used by name. Nothing here is about one op:
// what PyTorch adds to a formula is said by members of its struct (functor/op.h).
#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "engine/core/visit.h"
#include "engine/functor/all.h"
#include "engine/functor/complex_math.h"
#include "engine/ops/elementwise/map.h"
#include "engine/ops/elementwise/map_facts.h"
#include "engine/ops/elementwise/pointwise.h"
#include "engine/ops/elementwise/special.h"
#include "engine/ops/native.h"

namespace treadle {
namespace {

using functor::Bound;
using functor::Numbers;
using functor::Params;
using functor::Raise;
using functor::Refusal;
using functor::Result;
using functor::When;

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

// Arguments of a schema that are numbers: those that aren't tensors.
constexpr std::size_t count_scalars(std::string_view schema) {
  std::size_t n = 0;
  for (std::size_t at = schema.find('('); at < schema.find(')'); at = schema.find(',', at + 1)) {
    const std::string_view rest = schema.substr(at + (schema[at] == ',' ? 2 : 1));
    if (!rest.starts_with("Tensor") && !rest.starts_with("*")) ++n;
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

bool applies(When when, Inputs in, const Scalars& s) {
  const auto any = [&](auto test) { return std::any_of(in.begin(), in.end(), test); };
  switch (when) {
    case When::all_bool:
      return all_bool(in);
    case When::any_bool:
      return any([](const Tensor* t) { return t->dtype() == DType::boolean; });
    case When::any_complex:
      return any([](const Tensor* t) { return is_complex(t->dtype()); });
    case When::dtypes_differ:
      return any([&](const Tensor* t) { return t->dtype() != in[0]->dtype(); });
    case When::integers_divided:
      return is_integral(in[1]->dtype()) && is_integral(in[2]->dtype());
    case When::scalar_floating:
      return s[0].kind >= Scalar::Kind::floating && all_integral(in);
    case When::scalar_complex:
      return s[0].kind == Scalar::Kind::complex && !applies(When::any_complex, in, s);
    case When::scalar_boolean:
      return s[0].kind == Scalar::Kind::boolean && !all_bool(in);
    case When::scalar_negative:
      return s[0].f < 0;
    case When::scalar_zero:
      return s[0].f == 0;
    case When::negative_integer_number:
      return in[1]->impl()->wrapped_number && is_integral(in[0]->dtype()) &&
             is_integral(in[1]->dtype()) && in[1]->item_int() < 0;
  }
  return false;
}

[[noreturn, gnu::noinline]] void refuse(const Refusal& r) {
  fail(r.raise == Raise::type      ? ErrorKind::type
       : r.raise == Raise::runtime ? ErrorKind::runtime
                                   : ErrorKind::not_implemented,
       r.message);
}

// PyTorch's rules beyond the formula.
template <class Op>
void validate(Inputs in, const Scalars& s) {
  if constexpr (requires { Op::refuses; }) {
    // A missing input is reported by the call itself.
    if (std::any_of(in.begin(), in.end(), [](const Tensor* t) { return !t->defined(); })) return;
    for (const Refusal& r : Op::refuses) {
      if (applies(r.when, in, s)) refuse(r);
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

// Optional members of an op (functor/op.h).
template <class Op>
constexpr bool has_bounds = requires {
  Op::bounds;
};
template <class Op>
constexpr bool is_functional = requires {
  requires Op::functional;
};
template <class Op>
constexpr bool saturates = requires {
  requires Op::saturates;
};
template <class Op>
constexpr bool no_inplace = requires {
  requires !Op::inplace;
};
template <class Op>
constexpr std::string_view aliases_of() {
  if constexpr (requires { Op::aliases; }) {
    return Op::aliases;
  } else {
    return "";
  }
}
template <class Op>
constexpr int numbers_of() {
  int bits = 0;
  if constexpr (requires { Op::number; }) bits = static_cast<int>(Op::number);
  const int inputs = (bits & 3) << (is_conditional<Op> ? 1 : 0);
  return inputs | (bits == static_cast<int>(Numbers::both) ? OpDef::kOnlyNumbers : 0);
}

// The smallest and the largest number of an integer dtype, in Scalar's form.
std::pair<Scalar, Scalar> range_of(DType dtype) {
  return visit(dtype, "range", [](auto zero) {
    using T = decltype(zero);
    std::pair<Scalar, Scalar> range;
    if constexpr (functor::is_integer<T>) {
      using Limits = std::numeric_limits<T>;
      range = {Scalar(static_cast<std::int64_t>(Limits::min())),
               Scalar(static_cast<std::int64_t>(Limits::max()))};
      range.second.f = static_cast<double>(Limits::max());
    }
    return range;
  });
}
// The largest finite number of a dtype; of an integer one 0, since nothing asks for it.
double largest(DType dtype) {
  return visit_stored(dtype, "largest", [](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, ComplexHalf>) return 65504.0;
    if constexpr (std::is_same_v<T, BFloat16>) return 0x1.fep127;
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, Complex64>) return 0x1.fffffep127;
    if constexpr (std::is_same_v<T, double> || std::is_same_v<T, Complex128>) {
      return std::numeric_limits<double>::max();
    }
    return 0.0;
  });
}

// A number beyond an integer dtype's range becomes the nearest one inside. For a limit where this
// would change the result: PyTorch's error.
void saturate(Scalar& s, DType dtype, std::optional<Bound> bound) {
  if (!is_integral(dtype) || dtype == DType::boolean) return;
  const auto [low, high] = range_of(dtype);
  // 2^63 and 2^64 are what the largest numbers of 64 bits round to.
  const bool above = item_size(dtype) < 8 ? s.f > high.f : s.f >= high.f && s.i != high.i;
  const bool below = s.f < low.f;
  if ((above && bound == Bound::lower) || (below && bound == Bound::upper)) {
    fail(ErrorKind::runtime, std::string("Clamp ") + (above ? "min" : "max") + " value " +
                                 std::to_string(s.f) + " is outside the representable range of " +
                                 std::string(info(dtype).scalar));
  }
  if (above) s = high;
  if (below) s = low;
}

// As PyTorch converts the scalar arguments that take no part in promotion.
void check_scalar(const Scalar& s, Inputs in) {
  if (s.kind <= Scalar::Kind::integer && s.f >= 0 && s.f <= 127) return;  // fits every dtype
  Promotion promotion;
  for (const Tensor* t : in) promotion.add(*t);
  const DType dtype = promotion.result();
  if (is_integral(dtype) || s.kind == Scalar::Kind::complex) check_fits(s, dtype);
}

// Boxed arguments: the tensors first, then the scalars (true of every schema in functor/).
template <class Op>
struct Boxed {
  static constexpr std::size_t kTensors = static_cast<std::size_t>(map_op<Op>.inputs);
  static constexpr std::size_t kScalars = map_op<Op>.scalars;
  std::array<Tensor, kTensors> made;  // of numbers
  std::array<const Tensor*, kTensors> pointers;
  Params params{};

  explicit Boxed(Value* args) {
    for (std::size_t k = 0; k < kTensors; ++k) {
      pointers[k] = std::get_if<Tensor>(&args[k]);
      if (pointers[k]) continue;
      made[k] = detail::unbox_tensor(args[k]);
      pointers[k] = &made[k];
    }
    if constexpr (is_conditional<Op>) {  // a mask as PyTorch had it before bool
      if (pointers[0]->defined() && pointers[0]->dtype() == DType::uint8) {
        made[0] = to(*pointers[0], DType::boolean);
        pointers[0] = &made[0];
      }
    }
    Scalars scalars;
    std::array<bool, kernel::kMaxParams> absent{};
    for (std::size_t k = 0; k < kScalars; ++k) {
      const Value& v = args[kTensors + k];
      absent[k] = std::holds_alternative<std::monostate>(v);
      if (!absent[k]) scalars[k] = detail::unbox_scalar(v);
    }
    if constexpr (kScalars > 0) prepare(scalars, absent);
    validate<Op>(pointers, scalars);
    params = params_of<Op>(scalars);
    for (std::size_t k = 0; k < kScalars; ++k) {
      if (absent[k]) params.value[k] = {largest(pointers[0]->dtype()), 0, 1};
    }
  }

 private:
  void prepare(Scalars& scalars, const std::array<bool, kernel::kMaxParams>& absent) {
    if (!pointers[0]->defined()) return;  // reported by the call
    if constexpr (has_bounds<Op>) {
      Promotion promotion;
      promotion.add(*pointers[0]);
      for (std::size_t k = 0; k < kScalars; ++k) {
        if (!absent[k]) promotion.add(scalars[k].tensor());
      }
      const DType dtype = promotion.result();
      if (dtype != pointers[0]->dtype()) {
        made[0] = to(*pointers[0], dtype);
        pointers[0] = &made[0];
      }
    }
    for (std::size_t k = 0; k < kScalars; ++k) {
      if (absent[k]) continue;
      if constexpr (has_bounds<Op>) {
        saturate(scalars[k], pointers[0]->dtype(), Op::bounds[k]);
      } else if constexpr (saturates<Op>) {
        saturate(scalars[k], pointers[0]->dtype(), std::nullopt);
      } else {
        check_scalar(scalars[k], pointers);
      }
    }
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
  if constexpr (lacks_a<Op>) {
    const Tensor first = without_derivative(*b.pointers[0], Op::lacks_a);
    const Tensor* in[] = {&first, b.pointers[1]};
    results[0] = map_call(map_op<Op>, in, b.params);
    return;
  }
  results[0] = map_call(map_op<Op>, b.pointers, b.params);
}
template <class Op>
void boxed_inplace(Value* args) {
  const Boxed<Op> b(args);
  if constexpr (lacks_a<Op>) {
    if (needs_tape({b.pointers[0]})) no_derivative(Op::lacks_a);
  }
  const Tensor& self = std::get<Tensor>(args[0]);
  if (!same(*b.pointers[0], self)) {
    fail(ErrorKind::runtime, "result type " + std::string(info(b.pointers[0]->dtype()).scalar) +
                                 " can't be cast to the desired output type " +
                                 std::string(info(self.dtype()).scalar));
  }
  map_inplace(map_op<Op>, b.pointers, b.params);
}
template <class Op>
void boxed_out(Value* args, Tensor* outs) {
  const Boxed<Op> b(args);
  if constexpr (Op::info.result == Result::boolean && no_inplace<Op>) {
    if (outs[0].dtype() != DType::boolean) {
      fail(ErrorKind::runtime,
           std::string(map_op<Op>.name()) + " does not support non-boolean outputs.");
    }
  }
  map_out(map_op<Op>, b.pointers, b.params, outs[0]);
}

template <class Op>
OpDef row() {
  constexpr MapOp op = map_op<Op>;
  const bool hidden = op.name()[0] == '_';  // reached through a native op
  const bool special = op.name().starts_with("special_");
  OpDef def{op.schema,       Op::info.doc, 0,       op.differentiable(),
            &boxed_call<Op>, nullptr,      nullptr, numbers_of<Op>()};
  def.variants = special             ? kSubmodule | kOut
                 : is_functional<Op> ? kFunctional
                 : hidden            ? kFunction
                                     : kFunction | kMethod | kOut;
  if (!hidden && !special && !op.condition_first && !no_inplace<Op>) {
    def.variants |= kInplace;
    def.call_inplace = &boxed_inplace<Op>;
  }
  if (def.variants & kOut) def.call_out = &boxed_out<Op>;
  return def;
}

// The row, and one for each alias. `names` keeps the schemas that are made here.
template <class Op>
void add_rows(std::vector<OpDef>& out, std::deque<std::string>& names) {
  const OpDef def = row<Op>();
  out.push_back(def);
  const std::string_view schema = def.schema, rest = schema.substr(schema.find_first_of(".("));
  std::string_view aliases = aliases_of<Op>();
  while (!aliases.empty()) {
    const std::size_t end = std::min(aliases.find(' '), aliases.size());
    names.push_back(std::string(aliases.substr(0, end)) + std::string(rest));
    out.push_back(def);
    out.back().schema = names.back().c_str();
    aliases.remove_prefix(std::min(end + 1, aliases.size()));
  }
}
template <class... Ops>
void rows(std::vector<OpDef>& out, std::deque<std::string>& names, functor::List<Ops...>) {
  (add_rows<Ops>(out, names), ...);
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
  static std::deque<std::string> names;
  static const std::vector<OpDef> all = [] {
    std::vector<OpDef> out;
    rows(out, names, functor::Binary{});
    rows(out, names, functor::Compare{});
    rows(out, names, functor::Ternary{});
    rows(out, names, functor::Unary{});  // last: clamp_min.Tensor is tried before clamp_min
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
Tensor div_trunc(const Tensor& a, const Tensor& b) {
  // Of 16-bit floats PyTorch rounds the quotient before it cuts it off.
  const DType dtype = result_type(a, b);
  if (is_short_float(dtype)) return trunc(div(a, b));
  return binary<functor::DivTrunc>(a, b);
}
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

Tensor round(const Tensor& x) { return unary<functor::Round>(x); }
Tensor clamp_tensor(const Tensor& x, const Tensor& min, const Tensor& max) {
  const Tensor* in[] = {&x, &min, &max};
  return call<functor::ClampTensor>(in);
}
Tensor prelu_kernel(const Tensor& x, const Tensor& weight) {
  return binary<functor::Prelu>(x, weight);
}
void abs_inplace(const Tensor& x) {
  const Tensor* in[] = {&x};
  map_inplace(map_op<functor::Abs>, in);
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
