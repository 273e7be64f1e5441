#include "engine/backend/cpu/gemm.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <memory>
#include <utility>

#include "engine/backend/cpu/blas.h"
#include "engine/backend/cpu/dispatch.h"
#include "engine/backend/cpu/pool.h"
#include "engine/core/visit.h"

namespace treadle {
namespace {

using kernel::GemmArgs;

// Below this many multiplications our own kernel is faster than OpenBLAS's packing and checks.
constexpr std::int64_t kSmall = std::int64_t{16} * 16 * 16;
// Work of one piece: some hundred microseconds, so that handing it over costs little.
constexpr std::int64_t kPieceWork = std::int64_t{1} << 22;
constexpr std::int64_t kMinRows = 64;

// How BLAS sees an operand: dense along one axis, `ld` elements between lines of the other.
struct Layout {
  bool ok;
  bool transposed;  // columns are dense (row-major view)
  int ld;
};
Layout layout_of(std::int64_t rows, std::int64_t cols, std::int64_t row, std::int64_t col,
                 std::int64_t size) {
  const auto fits = [&](std::int64_t stride, std::int64_t line) {
    return stride % size == 0 && stride / size >= std::max<std::int64_t>(1, line) &&
           stride / size <= INT_MAX;
  };
  // A single line has no stride between lines; BLAS still wants one that is large enough.
  if ((col == size || cols == 1) && (rows == 1 || fits(row, cols))) {
    return {true, false,
            rows == 1 ? static_cast<int>(std::max<std::int64_t>(1, cols))
                      : static_cast<int>(row / size)};
  }
  if ((row == size || rows == 1) && (cols == 1 || fits(col, rows))) {
    return {true, true,
            cols == 1 ? static_cast<int>(std::max<std::int64_t>(1, rows))
                      : static_cast<int>(col / size)};
  }
  return {false, false, 0};
}

// A dense copy of an operand whose strides BLAS can't take.
template <class T>
std::unique_ptr<T[]> dense(const char* from, std::int64_t rows, std::int64_t cols, std::int64_t row,
                           std::int64_t col) {
  auto out = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(rows * cols));
  parallel_for(0, rows, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, cols)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   for (std::int64_t j = 0; j < cols; ++j) {
                     out[static_cast<std::size_t>(i * cols + j)] =
                         *reinterpret_cast<const T*>(from + i * row + j * col);
                   }
                 }
               });
  return out;
}

GemmArgs transposed(const GemmArgs& g) {
  GemmArgs t = g;
  t.m = g.n, t.n = g.m;
  t.a = g.b, t.a_row = g.b_col, t.a_col = g.b_row;
  t.b = g.a, t.b_row = g.a_col, t.b_col = g.a_row;
  t.c_row = g.c_col, t.c_col = g.c_row;
  return t;
}

// Calls multiply(piece) for pieces of C's longer side; their borders depend on the shape alone.
template <class Fn>
void split(const GemmArgs& g, const Fn& multiply) {
  const bool by_rows = g.m >= g.n;
  const std::int64_t lines = by_rows ? g.m : g.n, other = by_rows ? g.n : g.m;
  const std::int64_t line_work = std::max<std::int64_t>(1, other * g.k);
  std::int64_t grain = std::max(kMinRows, (kPieceWork + line_work - 1) / line_work);
  grain = (grain + 15) / 16 * 16;
  parallel_for(0, lines, grain, [&](std::int64_t begin, std::int64_t end) {
    GemmArgs piece = g;
    if (by_rows) {
      piece.m = end - begin;
      piece.a += begin * g.a_row;
      piece.c += begin * g.c_row;
    } else {
      piece.n = end - begin;
      piece.b += begin * g.b_col;
      piece.c += begin * g.c_col;
    }
    multiply(piece);
  });
}

// Row-major view of C required; false if some size is beyond BLAS's 32-bit integers.
template <class T, class F>
bool by_blas(F cblas, GemmArgs g) {
  constexpr std::int64_t size = sizeof(T);
  if (std::max({g.m, g.n, g.k}) > INT_MAX) return false;
  Layout c = layout_of(g.m, g.n, g.c_row, g.c_col, size);
  if (c.ok && c.transposed) {
    g = transposed(g);
    c = layout_of(g.m, g.n, g.c_row, g.c_col, size);
  }
  if (!c.ok || c.transposed) return false;
  std::unique_ptr<T[]> a_copy, b_copy;
  Layout a = layout_of(g.m, g.k, g.a_row, g.a_col, size);
  if (!a.ok) {
    a_copy = dense<T>(g.a, g.m, g.k, g.a_row, g.a_col);
    g.a = reinterpret_cast<const char*>(a_copy.get()), g.a_row = g.k * size, g.a_col = size;
    a = {true, false, static_cast<int>(g.k)};
  }
  Layout b = layout_of(g.k, g.n, g.b_row, g.b_col, size);
  if (!b.ok) {
    b_copy = dense<T>(g.b, g.k, g.n, g.b_row, g.b_col);
    g.b = reinterpret_cast<const char*>(b_copy.get()), g.b_row = g.n * size, g.b_col = size;
    b = {true, false, static_cast<int>(g.n)};
  }
  split(g, [&](const GemmArgs& p) {
    const int ta = a.transposed ? 112 : 111, tb = b.transposed ? 112 : 111;
    const int m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
    if constexpr (functor::is_complex<T>) {
      const T alpha(Complex128(p.alpha.f, p.alpha.im)), beta(Complex128(p.beta.f, p.beta.im));
      cblas(101, ta, tb, m, n, k, &alpha, p.a, a.ld, p.b, b.ld, &beta, p.c, c.ld);
    } else {
      cblas(101, ta, tb, m, n, k, static_cast<T>(p.alpha.f), reinterpret_cast<const T*>(p.a), a.ld,
            reinterpret_cast<const T*>(p.b), b.ld, static_cast<T>(p.beta.f),
            reinterpret_cast<T*>(p.c), c.ld);
    }
  });
  return true;
}

}  // namespace

void gemm(DType dtype, const GemmArgs& args) {
  if (args.m < 0 || args.n < 0 || args.k < 0) {
    fail(ErrorKind::value, "gemm: sizes must not be negative");
  }
  if (args.m == 0 || args.n == 0) return;
  const kernel::GemmFn own = table().gemm[static_cast<int>(dtype)];
  if (own == nullptr) no_implementation(dtype, "addmm_impl_cpu_");
  // Saturates: only its being small matters.
  const double work =
      static_cast<double>(args.m) * static_cast<double>(args.n) * static_cast<double>(args.k);
  if (work <= static_cast<double>(kSmall) || args.k == 0) return own(args);
  if (is_differentiable(dtype) && blas::library().handle != nullptr) {
    const blas::Library& lib = blas::library();
    const bool done = dtype == DType::float32      ? by_blas<float>(lib.sgemm, args)
                      : dtype == DType::float64    ? by_blas<double>(lib.dgemm, args)
                      : dtype == DType::complex64  ? by_blas<Complex64>(lib.cgemm, args)
                      : dtype == DType::complex128 ? by_blas<Complex128>(lib.zgemm, args)
                                                   : false;
    if (done) return;
  }
  split(args, own);
}

}  // namespace treadle
