// Softmax and log_softmax over dense rows, forward and backward. Maximum and sums use the fixed
// tree.
#include "engine/backend/cpu/kernels/tree.h"
#include "engine/functor/math.h"
#include "engine/functor/reduce.h"

TREADLE_KERNELS_BEGIN

struct TakeMax {
  template <class A>
  TREADLE_HD static A take(A a, A x) {
    return functor::maximum(a, x);
  }
  template <class A>
  TREADLE_HD static A join(A a, A b) {
    return functor::maximum(a, b);
  }
};

template <class V>
V row_max(const V* x, int64_t n) {
  return reduce_row<TakeMax, V, V>(reinterpret_cast<const char*>(x), sizeof(V), n, x[0]);
}
template <class V>
V row_sum(const V* x, int64_t n) {
  return reduce_row<functor::Sum, V, V>(reinterpret_cast<const char*>(x), sizeof(V), n, V(0));
}

template <class V>
V* row(char* base, int64_t i, int64_t stride) {
  return reinterpret_cast<V*>(base + i * stride);
}
template <class V>
const V* row(const char* base, int64_t i, int64_t stride) {
  return reinterpret_cast<const V*>(base + i * stride);
}

template <class V>
void softmax(const kernel::RowArgs& a) {
  if (a.count == 0) return;
  for (int64_t r = 0; r < a.rows; ++r) {
    const V* x = row<V>(a.in[0], r, a.in_stride[0]);
    V* y = row<V>(a.out, r, a.out_stride);
    const V m = row_max(x, a.count);
#pragma omp simd
    for (int64_t i = 0; i < a.count; ++i) y[i] = functor::exp(x[i] - m);
    const V s = row_sum(y, a.count);
#pragma omp simd
    for (int64_t i = 0; i < a.count; ++i) y[i] = y[i] / s;
  }
}

template <class V>
void softmax_grad(const kernel::RowArgs& a) {
  for (int64_t r = 0; r < a.rows; ++r) {
    const V* g = row<V>(a.in[0], r, a.in_stride[0]);
    const V* y = row<V>(a.in[1], r, a.in_stride[1]);
    V* o = row<V>(a.out, r, a.out_stride);
#pragma omp simd
    for (int64_t i = 0; i < a.count; ++i) o[i] = g[i] * y[i];
    const V s = row_sum(o, a.count);
#pragma omp simd
    for (int64_t i = 0; i < a.count; ++i) o[i] = o[i] - y[i] * s;
  }
}

template <class V>
void log_softmax(const kernel::RowArgs& a) {
  if (a.count <= 0) return;
  for (int64_t r = 0; r < a.rows; ++r) {
    const V* x = row<V>(a.in[0], r, a.in_stride[0]);
    V* y = row<V>(a.out, r, a.out_stride);
    const V m = row_max(x, a.count);
    // The exponentials go through a buffer: y may be x.
    V buffer[kBlock];
    V stack[kLevels];
    int depth = 0;
    int64_t blocks = 0;
    for (int64_t at = 0; at < a.count; at += kBlock) {
      const int64_t n = a.count - at < kBlock ? a.count - at : kBlock;
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) buffer[i] = functor::exp(x[at + i] - m);
      V s = reduce_block<functor::Sum, V, V>(buffer, n, V(0));
      ++blocks;
      for (int64_t k = blocks; (k & 1) == 0; k >>= 1) s = stack[--depth] + s;
      stack[depth++] = s;
    }
    V s = stack[--depth];
    while (depth > 0) s = stack[--depth] + s;
    const V l = functor::log(s);
#pragma omp simd
    for (int64_t i = 0; i < a.count; ++i) y[i] = (x[i] - m) - l;
  }
}

template <class V>
void log_softmax_grad(const kernel::RowArgs& a) {
  for (int64_t r = 0; r < a.rows; ++r) {
    const V* g = row<V>(a.in[0], r, a.in_stride[0]);
    const V* y = row<V>(a.in[1], r, a.in_stride[1]);
    V* o = row<V>(a.out, r, a.out_stride);
    const V s = row_sum(g, a.count);
#pragma omp simd
    for (int64_t i = 0; i < a.count; ++i) o[i] = g[i] - functor::exp(y[i]) * s;
  }
}

template <class V>
void put_rows(kernel::Table& t) {
  constexpr int d = DTypeOf<V>::value;
  t.softmax[d] = softmax<V>;
  t.softmax_grad[d] = softmax_grad<V>;
  t.log_softmax[d] = log_softmax<V>;
  t.log_softmax_grad[d] = log_softmax_grad<V>;
}

void fill_rows(kernel::Table& table) {
  put_rows<float>(table);
  put_rows<double>(table);
}

TREADLE_KERNELS_END
