// Kernels folded from functor::Unary: one loop for each op and dtype.
#include "engine/functor/unary.h"

#include "engine/backend/cpu/kernels/drive.h"
#include "engine/functor/complex_math.h"

TREADLE_KERNELS_BEGIN

template <class Op, class V, class Out>
uint32_t map(char* out, const char* const* in, int64_t n, const Params& params) {
  const Params p = params;
  auto* o = reinterpret_cast<typename Stored<Out>::type*>(out);
  const auto* a = reinterpret_cast<const typename Stored<V>::type*>(in[0]);
  if constexpr (is_periodic<Op> && functor::is_float<V>) {
    bool large = false;
    for (int64_t i = 0; i < n; ++i) large |= functor::abs(a[i]) >= V(functor::kPeriodicLimit);
    if (large) {
      for (int64_t i = 0; i < n; ++i) {
        const bool wrap = functor::abs(a[i]) >= V(functor::kPeriodicLimit);
        o[i] = functor::eval<Op>(p, wrap ? functor::wrap_turns(a[i]) : a[i]);
      }
      return kernel::kOk;
    }
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    o[i] = Stored<Out>::store(functor::eval<Op>(p, Stored<V>::load(a[i])));
  }
  return kernel::kOk;
}

template <class Op, class S>
uint32_t unary(const kernel::MapArgs& args) {
  using V = LoopType<S>;
  const Codec* c = codec_of<S>();
  if constexpr (Op::info.result == functor::Result::boolean) {
    return drive(args, map<Op, V, bool>, {1, {sizeof(V)}, c, nullptr});
  } else {
    return drive(args, map<Op, V, V>, {sizeof(V), {sizeof(V)}, c, c});
  }
}

template <class Op, class V>
void put_unary(kernel::MapFn* row) {
  if constexpr (has_kernel<Op, V>) row[DTypeOf<V>::value] = unary<Op, V>;
}
template <class Op, class... V>
void put_unary_types(kernel::MapFn* row, Types<V...>) {
  (put_unary<Op, V>(row), ...);
}
template <class... Ops>
void put_unary_list(kernel::Table& t, functor::List<Ops...>) {
  static_assert(sizeof...(Ops) <= kernel::kMaxUnary, "raise kMaxUnary");
  int id = 0;
  (put_unary_types<Ops>(t.unary[id++], AllTypes{}), ...);
}

void fill_unary(kernel::Table& table) { put_unary_list(table, functor::Unary{}); }

TREADLE_KERNELS_END
