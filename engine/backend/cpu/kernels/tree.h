// The fixed tree of every reduction over n values: blocks of kBlock; inside a block lane l takes
// the elements l, l + 16, l + 32, ... in order, then the 16 lanes are joined in halves; blocks are
// joined pairwise like a binary counter. It depends on n alone. A chunk of 2^k blocks is a subtree,
// which lets backend/cpu/reduce.cpp split long axes over threads without a change of bits.
#pragma once
#include "engine/backend/cpu/kernels/drive.h"

TREADLE_KERNELS_BEGIN

constexpr int kLanes = 16;
constexpr int64_t kBlock = 1024;
constexpr int kLevels = 56;  // of the counter: 2^56 blocks

// A stored number as what Op accumulates: itself, or whether it is true.
template <class Op, class A, class V>
TREADLE_HD A element(typename Stored<V>::type x) {
  if constexpr (requires { requires Op::info.result == functor::Result::boolean; }) {
    return static_cast<A>(static_cast<bool>(Stored<V>::load(x)));
  } else {
    return static_cast<A>(Stored<V>::load(x));
  }
}

template <class Op, class A>
TREADLE_HD A join_lanes(A* lane) {
  for (int w = kLanes / 2; w > 0; w /= 2) {
    for (int l = 0; l < w; ++l) lane[l] = Op::join(lane[l], lane[l + w]);
  }
  return lane[0];
}

// One block of n <= kBlock dense elements. Op as in functor/reduce.h; A its accumulator.
template <class Op, class A, class V>
TREADLE_HD A reduce_block(const typename Stored<V>::type* x, int64_t n, A first) {
  A lane[kLanes];
  for (int l = 0; l < kLanes; ++l) lane[l] = first;
  int64_t r = 0;
  for (; r + kLanes <= n; r += kLanes) {
#pragma omp simd
    for (int l = 0; l < kLanes; ++l) {
      lane[l] = Op::take(lane[l], element<Op, A, V>(x[r + l]));
    }
  }
  for (int l = 0; r + l < n; ++l) {
    lane[l] = Op::take(lane[l], element<Op, A, V>(x[r + l]));
  }
  return join_lanes<Op>(lane);
}

// Two whole blocks at the same time, each as by reduce_block: one alone would wait for its own
// additions. Written out, since compilers make of a loop over blocks vectors across them.
template <class Op, class A, class V>
TREADLE_HD void reduce_two_blocks(const typename Stored<V>::type* x, A first, A* result) {
  A lane[kLanes], other[kLanes];
  for (int l = 0; l < kLanes; ++l) lane[l] = other[l] = first;
  for (int64_t r = 0; r < kBlock; r += kLanes) {
#pragma omp simd
    for (int l = 0; l < kLanes; ++l) {
      lane[l] = Op::take(lane[l], element<Op, A, V>(x[r + l]));
    }
#pragma omp simd
    for (int l = 0; l < kLanes; ++l) {
      other[l] = Op::take(other[l], element<Op, A, V>(x[kBlock + r + l]));
    }
  }
  result[0] = join_lanes<Op>(lane);
  result[1] = join_lanes<Op>(other);
}

// A whole row, dense or strided (then through a buffer).
template <class Op, class A, class V>
A reduce_row(const char* in, int64_t stride, int64_t count, A first) {
  using S = typename Stored<V>::type;
  A stack[kLevels];
  int64_t blocks = 0;
  S buffer[kBlock];
  int depth = 0;
  const auto push = [&](A a) {
    ++blocks;
    for (int64_t k = blocks; (k & 1) == 0; k >>= 1) a = Op::join(stack[--depth], a);
    stack[depth++] = a;
  };
  int64_t at = 0;
  if (stride == static_cast<int64_t>(sizeof(S))) {
    for (; at + 2 * kBlock <= count; at += 2 * kBlock) {
      A result[2];
      reduce_two_blocks<Op, A, V>(reinterpret_cast<const S*>(in + at * stride), first, result);
      push(result[0]);
      push(result[1]);
    }
  }
  for (; at < count; at += kBlock) {
    const int64_t n = count - at < kBlock ? count - at : kBlock;
    const char* from = in + at * stride;
    const S* x = reinterpret_cast<const S*>(from);
    if (stride != static_cast<int64_t>(sizeof(S))) {
      copy_row(reinterpret_cast<char*>(buffer), sizeof(S), from, stride, n, sizeof(S));
      x = buffer;
    }
    push(reduce_block<Op, A, V>(x, n, first));
  }
  if (depth == 0) return first;
  A a = stack[--depth];
  while (depth > 0) a = Op::join(stack[--depth], a);
  return a;
}

TREADLE_KERNELS_END
