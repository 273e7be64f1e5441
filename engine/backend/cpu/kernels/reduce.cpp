// Kernels folded from functor::Reduce.
#include "engine/functor/reduce.h"

#include "engine/backend/cpu/kernels/tree.h"

TREADLE_KERNELS_BEGIN

// Columns at once where the outputs lie beside each other and the reduced axis is strided: the same
// tree for every column, vectorised across columns.
constexpr int kColumns = 32;

template <class Op, class A, class V>
void reduce_columns(const char* in, int64_t stride, int64_t count, int columns, A* result) {
  using S = typename Stored<V>::type;
  A stack[kLevels][kColumns];
  A lane[kLanes][kColumns];
  const A first = Op::template first<A>();
  int depth = 0;
  int64_t blocks = 0;
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t n = count - at < kBlock ? count - at : kBlock;
    // Lanes without an element would hold `first` and change nothing.
    const int used = n < kLanes ? static_cast<int>(n) : kLanes;
    for (int l = 0; l < used; ++l) {
      for (int c = 0; c < kColumns; ++c) lane[l][c] = first;
    }
    for (int64_t r = 0; r < n; ++r) {
      const S* x = reinterpret_cast<const S*>(in + (at + r) * stride);
      A* a = lane[r % kLanes];
#pragma omp simd
      for (int c = 0; c < columns; ++c) a[c] = Op::take(a[c], element<Op, A, V>(x[c]));
    }
    for (int w = kLanes / 2; w > 0; w /= 2) {
      for (int l = 0; l < w && l + w < used; ++l) {
        for (int c = 0; c < kColumns; ++c) lane[l][c] = Op::join(lane[l][c], lane[l + w][c]);
      }
    }
    ++blocks;
    for (int64_t k = blocks; (k & 1) == 0; k >>= 1) {
      --depth;
      for (int c = 0; c < kColumns; ++c) lane[0][c] = Op::join(stack[depth][c], lane[0][c]);
    }
    for (int c = 0; c < kColumns; ++c) stack[depth][c] = lane[0][c];
    ++depth;
  }
  for (int c = 0; c < columns; ++c) {
    A a = depth == 0 ? first : stack[depth - 1][c];
    for (int d = depth - 2; d >= 0; --d) a = Op::join(stack[d][c], a);
    result[c] = a;
  }
}

template <bool Truth, class A>
struct ResultOf {
  using type = A;
};
template <class A>
struct ResultOf<true, A> {
  using type = bool;
};
template <class Op, class A>
using Result = typename ResultOf<Op::info.result == functor::Result::boolean, A>::type;

template <class Op, class V>
void reduce(const kernel::ReduceArgs& args) {
  using A = typename Op::template Acc<V>;
  using R = Result<Op, A>;
  if (args.in_outer == static_cast<int64_t>(sizeof(V)) &&
      args.in_reduce != static_cast<int64_t>(sizeof(V)) && args.outer > 1) {
    for (int64_t o = 0; o < args.outer; o += kColumns) {
      const int n = static_cast<int>(args.outer - o < kColumns ? args.outer - o : kColumns);
      A result[kColumns];
      reduce_columns<Op, A, V>(args.in + o * args.in_outer, args.in_reduce, args.count, n, result);
      for (int c = 0; c < n; ++c)
        store<R>(args.out + (o + c) * args.out_stride, static_cast<R>(result[c]));
    }
    return;
  }
  for (int64_t o = 0; o < args.outer; ++o) {
    const A a = reduce_row<Op, A, V>(args.in + o * args.in_outer, args.in_reduce, args.count,
                                     Op::template first<A>());
    store<R>(args.out + o * args.out_stride, static_cast<R>(a));
  }
}

// Selecting reductions: the best value of a row by the same lanes (any order gives the same value
// up to the sign of zero), then its first position.
template <class Op>
struct Choose {
  template <class A>
  TREADLE_HD static A take(A a, A x) {
    return Op::better(a, x) ? x : a;
  }
  template <class A>
  TREADLE_HD static A join(A a, A b) {
    return Op::better(a, b) ? b : a;
  }
};

// The first position of `best` or of a NaN in a row that has one.
template <class V, class W>
int64_t position_of(W best, const char* in, int64_t stride, int64_t count) {
  constexpr int kStep = 64;
  using S = typename Stored<V>::type;
  int64_t at = 0;
  if (stride == static_cast<int64_t>(sizeof(S))) {  // whole steps without a branch inside
    const S* x = reinterpret_cast<const S*>(in);
    for (; at + kStep < count; at += kStep) {
      int hits = 0;
      for (int i = 0; i < kStep; ++i) {
        const W v = Stored<V>::load(x[at + i]);
        hits |= static_cast<int>(v == best) | static_cast<int>(v != v);
      }
      if (hits != 0) break;
    }
  }
  for (; at + 1 < count; ++at) {
    const W v = load<V>(in + at * stride);
    if (v == best || v != v) break;
  }
  return at;
}

// The best of a short row and its position in one pass.
template <class Op, class V>
int64_t best_of_few(const char* in, int64_t stride, int64_t count) {
  auto best = load<V>(in);
  int64_t at = 0;
  for (int64_t r = 1; r < count; ++r) {
    const auto v = load<V>(in + r * stride);
    const bool b = Op::better(best, v);
    best = b ? v : best;
    at = b ? r : at;
  }
  return at;
}

template <class Op, class V, bool ValueOut>
void select_row(const kernel::ReduceArgs& args, int64_t o) {
  constexpr int64_t kFew = 32;
  const char* in = args.in + o * args.in_outer;
  using W = typename Stored<V>::value;
  int64_t at;
  if (args.count <= kFew) {
    at = best_of_few<Op, V>(in, args.in_reduce, args.count);
  } else {
    const W best = reduce_row<Choose<Op>, W, V>(in, args.in_reduce, args.count, load<V>(in));
    if constexpr (ValueOut) {
      // Of zeros, whose sign may differ, and of NaNs the first is the result.
      if (args.index == nullptr && best == best && best != W(0)) {
        store<V>(args.out + o * args.out_stride, best);
        return;
      }
    }
    at = position_of<V>(best, in, args.in_reduce, args.count);
  }
  if constexpr (ValueOut) {
    store<V>(args.out + o * args.out_stride, load<V>(in + at * args.in_reduce));
    if (args.index != nullptr) {
      store<int64_t>(args.index + o * args.index_stride, at + args.index_base);
    }
  } else {
    store<int64_t>(args.out + o * args.out_stride, at + args.index_base);
  }
}

template <class Op, class V, bool ValueOut>
void select_columns(const kernel::ReduceArgs& args, int64_t o, int columns) {
  using S = typename Stored<V>::type;
  using W = typename Stored<V>::value;
  W best[kColumns];
  int64_t at[kColumns];
  const S* x = reinterpret_cast<const S*>(args.in + o * args.in_outer);
  for (int c = 0; c < columns; ++c) best[c] = Stored<V>::load(x[c]), at[c] = 0;
  for (int64_t r = 1; r < args.count; ++r) {
    x = reinterpret_cast<const S*>(args.in + o * args.in_outer + r * args.in_reduce);
#pragma omp simd
    for (int c = 0; c < columns; ++c) {
      const W v = Stored<V>::load(x[c]);
      const bool b = Op::better(best[c], v);
      best[c] = b ? v : best[c];
      at[c] = b ? r : at[c];
    }
  }
  for (int c = 0; c < columns; ++c) {
    char* out = args.out + (o + c) * args.out_stride;
    if constexpr (ValueOut) {
      store<V>(out, best[c]);
      if (args.index != nullptr) {
        store<int64_t>(args.index + (o + c) * args.index_stride, at[c] + args.index_base);
      }
    } else {
      store<int64_t>(out, at[c] + args.index_base);
    }
  }
}

template <class Op, class V, bool ValueOut>
void choose(const kernel::ReduceArgs& args) {
  if (args.in_outer == static_cast<int64_t>(sizeof(V)) &&
      args.in_reduce != static_cast<int64_t>(sizeof(V)) && args.outer > 1) {
    for (int64_t o = 0; o < args.outer; o += kColumns) {
      select_columns<Op, V, ValueOut>(
          args, o, static_cast<int>(args.outer - o < kColumns ? args.outer - o : kColumns));
    }
    return;
  }
  for (int64_t o = 0; o < args.outer; ++o) select_row<Op, V, ValueOut>(args, o);
}

// argmax and argmin derive from max and min (functor/reduce.h) and differ in what they write.
template <class Op>
constexpr bool writes_value = __is_same(Op, functor::Max) || __is_same(Op, functor::Min);

template <class Op, class V>
void put_reduce(kernel::ReduceFn* row) {
  if constexpr (has_kernel<Op, V>) {
    if constexpr (requires { Op::template first<int64_t>(); }) {
      row[DTypeOf<V>::value] = reduce<Op, V>;
    } else {
      row[DTypeOf<V>::value] = choose<Op, V, writes_value<Op>>;
    }
  }
}
template <class Op, class... V>
void put_reduce_types(kernel::ReduceFn* row, Types<V...>) {
  (put_reduce<Op, V>(row), ...);
}
template <class... Ops>
void put_reduce_list(kernel::Table& t, functor::List<Ops...>) {
  static_assert(sizeof...(Ops) <= kernel::kMaxReduce, "raise kMaxReduce");
  int id = 0;
  (put_reduce_types<Ops>(t.reduce[id++], AllTypes{}), ...);
}

void fill_reduce(kernel::Table& table) { put_reduce_list(table, functor::Reduce{}); }

TREADLE_KERNELS_END
