// Fused gradients folded from functor::Unary: g * f'(x), read from what the op saves.
#include "engine/backend/cpu/kernels/drive.h"
#include "engine/functor/complex_math.h"
#include "engine/functor/unary.h"

TREADLE_KERNELS_BEGIN

template <class Op>
constexpr bool reads_x = (static_cast<int>(Op::info.saves) & 1) != 0;
template <class Op>
constexpr bool reads_y = (static_cast<int>(Op::info.saves) & 2) != 0;

template <class Op, class V>
uint32_t map_grad(char* out, const char* const* in, int64_t n, const Params& params) {
  const Params p = params;
  V* o = reinterpret_cast<V*>(out);
  const V* g = reinterpret_cast<const V*>(in[0]);
  const V* x = reinterpret_cast<const V*>(in[1]);
  const V* y = reinterpret_cast<const V*>(in[2]);
  if constexpr (is_periodic<Op> && reads_x<Op> && functor::is_float<V>) {
    bool large = false;
    for (int64_t i = 0; i < n; ++i) large |= functor::abs(x[i]) >= V(functor::kPeriodicLimit);
    if (large) {
      for (int64_t i = 0; i < n; ++i) {
        const bool wrap = functor::abs(x[i]) >= V(functor::kPeriodicLimit);
        o[i] = functor::derive<Op>(p, g[i], wrap ? functor::wrap_turns(x[i]) : x[i], V(0));
      }
      return kernel::kOk;
    }
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    o[i] = gradient(
        g[i], [&](V d) __attribute__((always_inline)) {
          return functor::derive<Op>(p, d, reads_x<Op> ? x[i] : V(0), reads_y<Op> ? y[i] : V(0));
        });
  }
  return kernel::kOk;
}

template <class Op, class S>
uint32_t unary_grad(const kernel::MapArgs& args) {
  using V = LoopType<S>;
  constexpr uint8_t s = sizeof(V);
  const Codec* c = codec_of<S>();
  return drive(args, map_grad<Op, V>,
               {s, {s, reads_x<Op> ? s : uint8_t{0}, reads_y<Op> ? s : uint8_t{0}}, c, c});
}

template <class Op, class V>
void put_unary_grad(kernel::MapFn* row) {
  if constexpr (functor::has_df<Op, double, double, double> && has_kernel<Op, V>) {
    row[DTypeOf<V>::value] = unary_grad<Op, V>;
  }
}
template <class Op, class... V>
void put_unary_grad_types(kernel::MapFn* row, Types<V...>) {
  (put_unary_grad<Op, V>(row), ...);
}
template <class... Ops>
void put_unary_grad_list(kernel::Table& t, functor::List<Ops...>) {
  int id = 0;
  (put_unary_grad_types<Ops>(t.unary_grad[id++], FloatTypes{}), ...);
}

void fill_unary_grad(kernel::Table& table) { put_unary_grad_list(table, functor::Unary{}); }

TREADLE_KERNELS_END
