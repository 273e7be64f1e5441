// Kernels folded from functor::Binary and functor::Compare, and the gradients of Binary.
#include "engine/functor/binary.h"

#include "engine/backend/cpu/kernels/drive.h"
#include "engine/functor/compare.h"
#include "engine/functor/complex_math.h"

TREADLE_KERNELS_BEGIN

template <class Op, class V, class Out>
uint32_t map2(char* out, const char* const* in, int64_t n, const Params& params) {
  const Params p = params;
  auto* o = reinterpret_cast<typename Stored<Out>::type*>(out);
  const auto* a = reinterpret_cast<const typename Stored<V>::type*>(in[0]);
  const auto* b = reinterpret_cast<const typename Stored<V>::type*>(in[1]);
  if constexpr (!functor::is_float<V> && requires(V v) { Op::divides_by_zero(v, v); }) {
    bool zero = false;
    for (int64_t i = 0; i < n; ++i) zero |= Op::divides_by_zero(a[i], b[i]);
    if (zero) return kernel::kDivisionByZero;
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    o[i] = Stored<Out>::store(functor::eval<Op>(p, Stored<V>::load(a[i]), Stored<V>::load(b[i])));
  }
  return kernel::kOk;
}

template <class Op>
constexpr bool reads_inputs = (static_cast<int>(Op::info.saves) & 1) != 0;
template <class Op>
constexpr bool reads_output = (static_cast<int>(Op::info.saves) & 2) != 0;

template <class Op, class V, int Which>
uint32_t map2_grad(char* out, const char* const* in, int64_t n, const Params& params) {
  const Params p = params;
  V* o = reinterpret_cast<V*>(out);
  const V* g = reinterpret_cast<const V*>(in[0]);
  const V* a = reinterpret_cast<const V*>(in[1]);
  const V* b = reinterpret_cast<const V*>(in[2]);
  const V* y = reinterpret_cast<const V*>(in[3]);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const V av = reads_inputs<Op> ? a[i] : V(0), bv = reads_inputs<Op> ? b[i] : V(0);
    const V yv = reads_output<Op> ? y[i] : V(0);
    o[i] = gradient(
        g[i], [&](V d) __attribute__((always_inline)) {
          if constexpr (Which == 0) {
            return functor::derive_a<Op>(p, d, av, bv, yv);
          } else {
            return functor::derive_b<Op>(p, d, av, bv, yv);
          }
        });
  }
  return kernel::kOk;
}

template <class Op, class S>
uint32_t binary(const kernel::MapArgs& args) {
  using V = LoopType<S>;
  const Codec* c = codec_of<S>();
  if constexpr (Op::info.result == functor::Result::boolean) {
    return drive(args, map2<Op, V, bool>, {1, {sizeof(V), sizeof(V)}, c, nullptr});
  } else {
    return drive(args, map2<Op, V, V>, {sizeof(V), {sizeof(V), sizeof(V)}, c, c});
  }
}
template <class Op, class S, int Which>
uint32_t binary_grad(const kernel::MapArgs& args) {
  using V = LoopType<S>;
  constexpr uint8_t s = sizeof(V), x = reads_inputs<Op> ? s : 0, y = reads_output<Op> ? s : 0;
  const Codec* c = codec_of<S>();
  return drive(args, map2_grad<Op, V, Which>, {s, {s, x, x, y}, c, c});
}

template <class Op, class V>
void put_binary(kernel::MapFn* row) {
  if constexpr (has_kernel<Op, V>) row[DTypeOf<V>::value] = binary<Op, V>;
}
template <class Op, class... V>
void put_binary_types(kernel::MapFn* row, Types<V...>) {
  (put_binary<Op, V>(row), ...);
}
template <class Op, class V>
void put_binary_grad(kernel::Table& t, int id) {
  if constexpr (has_kernel<Op, V>) {
    constexpr int type = DTypeOf<V>::value;
    if constexpr (functor::has_da<Op, double, double, double, double>) {
      t.binary_grad[0][id][type] = binary_grad<Op, V, 0>;
    }
    if constexpr (functor::has_db<Op, double, double, double, double>) {
      t.binary_grad[1][id][type] = binary_grad<Op, V, 1>;
    }
  }
}
template <class Op, class... V>
void put_binary_grads(kernel::Table& t, int id, Types<V...>) {
  (put_binary_grad<Op, V>(t, id), ...);
}
template <class... Ops>
void put_binary_list(kernel::Table& t, functor::List<Ops...>) {
  static_assert(sizeof...(Ops) <= kernel::kMaxBinary, "raise kMaxBinary");
  int id = 0;
  ((put_binary_types<Ops>(t.binary[id], AllTypes{}), put_binary_grads<Ops>(t, id, FloatTypes{}),
    ++id),
   ...);
}
template <class... Ops>
void put_compare_list(kernel::Table& t, functor::List<Ops...>) {
  static_assert(sizeof...(Ops) <= kernel::kMaxCompare, "raise kMaxCompare");
  int id = 0;
  (put_binary_types<Ops>(t.compare[id++], AllTypes{}), ...);
}

void fill_binary(kernel::Table& table) {
  put_binary_list(table, functor::Binary{});
  put_compare_list(table, functor::Compare{});
}

TREADLE_KERNELS_END
