// Kernels folded from functor::Ternary, and their gradients.
#include "engine/functor/ternary.h"

#include "engine/backend/cpu/kernels/drive.h"
#include "engine/functor/complex_math.h"

TREADLE_KERNELS_BEGIN

// The type of an op's first input: bool for conditions.
template <class Op, class V>
struct First {
  using type = V;
};
template <class Op, class V>
requires(Op::condition) struct First<Op, V> {
  using type = bool;
};

template <class Op, class V>
uint32_t map3(char* out, const char* const* in, int64_t n, const Params& params) {
  using A = typename First<Op, V>::type;
  const Params p = params;
  auto* o = reinterpret_cast<typename Stored<V>::type*>(out);
  const auto* a = reinterpret_cast<const typename Stored<A>::type*>(in[0]);
  const auto* b = reinterpret_cast<const typename Stored<V>::type*>(in[1]);
  const auto* c = reinterpret_cast<const typename Stored<V>::type*>(in[2]);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    o[i] = Stored<V>::store(
        functor::eval<Op>(p, Stored<A>::load(a[i]), Stored<V>::load(b[i]), Stored<V>::load(c[i])));
  }
  return kernel::kOk;
}

template <class Op, class V, int Which>
uint32_t map3_grad(char* out, const char* const* in, int64_t n, const Params& params) {
  using A = typename First<Op, V>::type;
  const Params p = params;
  V* o = reinterpret_cast<V*>(out);
  const V* g = reinterpret_cast<const V*>(in[0]);
  const auto* a = reinterpret_cast<const typename Stored<A>::type*>(in[1]);
  const V* b = reinterpret_cast<const V*>(in[2]);
  const V* c = reinterpret_cast<const V*>(in[3]);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const A x = Stored<A>::load(a[i]);
    o[i] = gradient(
        g[i], [&](V d) __attribute__((always_inline)) {
          if constexpr (Which == 0) {
            return functor::derive_a<Op>(p, d, x, b[i], c[i]);
          } else if constexpr (Which == 1) {
            return functor::derive_b<Op>(p, d, x, b[i], c[i]);
          } else {
            return functor::derive_c<Op>(p, d, x, b[i], c[i]);
          }
        });
  }
  return kernel::kOk;
}

template <class Op, class S>
uint32_t ternary(const kernel::MapArgs& args) {
  using V = LoopType<S>;
  constexpr uint8_t s = sizeof(V), first = sizeof(typename First<Op, V>::type);
  const Codec* c = codec_of<S>();
  return drive(args, map3<Op, V>, {s, {first, s, s}, c, c});
}
template <class Op, class S, int Which>
uint32_t ternary_grad(const kernel::MapArgs& args) {
  using V = LoopType<S>;
  constexpr uint8_t s = sizeof(V), first = sizeof(typename First<Op, V>::type);
  const Codec* c = codec_of<S>();
  return drive(args, map3_grad<Op, V, Which>, {s, {s, first, s, s}, c, c});
}

template <class Op, class V>
void put_ternary(kernel::MapFn* row) {
  if constexpr (has_kernel<Op, V>) row[DTypeOf<V>::value] = ternary<Op, V>;
}
template <class Op, class... V>
void put_ternary_types(kernel::MapFn* row, Types<V...>) {
  (put_ternary<Op, V>(row), ...);
}
template <class Op, class V>
void put_ternary_grad(kernel::Table& t, int id) {
  if constexpr (has_kernel<Op, V>) {
    constexpr int type = DTypeOf<V>::value;
    if constexpr (functor::has_da<Op, double, double, double, double>) {
      t.ternary_grad[0][id][type] = ternary_grad<Op, V, 0>;
    }
    if constexpr (functor::has_db<Op, double, double, double, double>) {
      t.ternary_grad[1][id][type] = ternary_grad<Op, V, 1>;
    }
    if constexpr (functor::has_dc<Op, double, double, double, double>) {
      t.ternary_grad[2][id][type] = ternary_grad<Op, V, 2>;
    }
  }
}
template <class Op, class... V>
void put_ternary_grads(kernel::Table& t, int id, Types<V...>) {
  (put_ternary_grad<Op, V>(t, id), ...);
}
template <class... Ops>
void put_ternary_list(kernel::Table& t, functor::List<Ops...>) {
  static_assert(sizeof...(Ops) <= kernel::kMaxTernary, "raise kMaxTernary");
  int id = 0;
  ((put_ternary_types<Ops>(t.ternary[id], AllTypes{}), put_ternary_grads<Ops>(t, id, FloatTypes{}),
    ++id),
   ...);
}

void fill_ternary(kernel::Table& table) { put_ternary_list(table, functor::Ternary{}); }

TREADLE_KERNELS_END
