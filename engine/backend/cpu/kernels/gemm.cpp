// Matrix product of one thread for any strides: small sizes, integers, and where no BLAS is found.
// Panels of A and B are packed, then multiplied by a register tile of 4 rows and two vectors. Every
// element of C is the sum over k in order, per panel of kDepth: the same bits for each vector
// width.
#include "engine/backend/cpu/kernels/drive.h"

TREADLE_KERNELS_BEGIN

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

constexpr int kRows = 4;
constexpr int64_t kDepth = 256;

template <class V>
struct Vector {
  typedef V type __attribute__((vector_size(kVectorBytes), aligned(sizeof(V)), may_alias));
  static constexpr int lanes = kVectorBytes / static_cast<int>(sizeof(V));
  static constexpr int columns = 2 * lanes;
};

// What a dtype is multiplied and added in: integers wrap, so unsigned.
template <class V>
struct Field {
  using type = V;
};
template <>
struct Field<int64_t> {
  using type = uint64_t;
};

// tile[kRows][columns] = sum over k of a[k][row] * b[k][column], both packed.
template <class V>
void multiply_tile(int64_t k, const V* a, const V* b, V* tile) {
  using W = typename Vector<V>::type;
  constexpr int n = Vector<V>::lanes;
  W c00{}, c01{}, c10{}, c11{}, c20{}, c21{}, c30{}, c31{};
  for (int64_t i = 0; i < k; ++i, a += kRows, b += 2 * n) {
    const W b0 = *reinterpret_cast<const W*>(b), b1 = *reinterpret_cast<const W*>(b + n);
    c00 += a[0] * b0, c01 += a[0] * b1;
    c10 += a[1] * b0, c11 += a[1] * b1;
    c20 += a[2] * b0, c21 += a[2] * b1;
    c30 += a[3] * b0, c31 += a[3] * b1;
  }
  W* t = reinterpret_cast<W*>(tile);
  t[0] = c00, t[1] = c01, t[2] = c10, t[3] = c11;
  t[4] = c20, t[5] = c21, t[6] = c30, t[7] = c31;
}

// to[k][0..width): `width` vectors' worth of rows (or columns) side by side, zeros past `have`.
template <class V>
void pack(V* to, int width, const char* from, int64_t k, int64_t have, int64_t along,
          int64_t across) {
  for (int64_t i = 0; i < k; ++i, to += width) {
    for (int j = 0; j < width; ++j) {
      to[j] = j < have ? *reinterpret_cast<const V*>(from + i * along + j * across) : V(0);
    }
  }
}

template <class S>
void gemm(const kernel::GemmArgs& g) {
  using V = typename Field<S>::type;
  constexpr int nr = Vector<V>::columns;
  constexpr int64_t kWide = int64_t{8} * nr;  // columns of B packed at once
  Params scalars{};
  scalars.value[0] = g.alpha, scalars.value[1] = g.beta;
  const V alpha = static_cast<V>(scalars.get<S>(0)), beta = static_cast<V>(scalars.get<S>(1));
  for (int64_t i = 0; i < g.m; ++i) {
    for (int64_t j = 0; j < g.n; ++j) {
      V* c = reinterpret_cast<V*>(g.c + i * g.c_row + j * g.c_col);
      *c = beta == V(0) ? V(0) : static_cast<V>(beta * *c);
    }
  }
  alignas(64) V bp[kDepth * kWide];
  alignas(64) V ap[kDepth * kRows];
  alignas(64) V tile[kRows * nr];
  for (int64_t k0 = 0; k0 < g.k; k0 += kDepth) {
    const int64_t k = g.k - k0 < kDepth ? g.k - k0 : kDepth;
    for (int64_t j0 = 0; j0 < g.n; j0 += kWide) {
      const int64_t wide = g.n - j0 < kWide ? g.n - j0 : kWide;
      for (int64_t j = 0; j < wide; j += nr) {
        pack(bp + j * k, nr, g.b + k0 * g.b_row + (j0 + j) * g.b_col, k, wide - j, g.b_row,
             g.b_col);
      }
      for (int64_t i = 0; i < g.m; i += kRows) {
        const int64_t rows = g.m - i < kRows ? g.m - i : kRows;
        pack(ap, kRows, g.a + i * g.a_row + k0 * g.a_col, k, rows, g.a_col, g.a_row);
        for (int64_t j = 0; j < wide; j += nr) {
          multiply_tile(k, ap, bp + j * k, tile);
          const int64_t columns = wide - j < nr ? wide - j : nr;
          for (int64_t r = 0; r < rows; ++r) {
            for (int64_t c = 0; c < columns; ++c) {
              V* to = reinterpret_cast<V*>(g.c + (i + r) * g.c_row + (j0 + j + c) * g.c_col);
              *to = static_cast<V>(*to + alpha * tile[r * nr + c]);
            }
          }
        }
      }
    }
  }
}

// Complex: plain loops, for what is too small for BLAS and where there is none.
template <class V>
void gemm_complex(const kernel::GemmArgs& g) {
  Params scalars{};
  scalars.value[0] = g.alpha, scalars.value[1] = g.beta;
  const V alpha = scalars.get<V>(0), beta = scalars.get<V>(1);
  for (int64_t i = 0; i < g.m; ++i) {
    for (int64_t j = 0; j < g.n; ++j) {
      V sum(0);
      for (int64_t k = 0; k < g.k; ++k) {
        sum += *reinterpret_cast<const V*>(g.a + i * g.a_row + k * g.a_col) *
               *reinterpret_cast<const V*>(g.b + k * g.b_row + j * g.b_col);
      }
      V* c = reinterpret_cast<V*>(g.c + i * g.c_row + j * g.c_col);
      *c = beta == V(0) ? alpha * sum : alpha * sum + beta * *c;
    }
  }
}

void fill_gemm(kernel::Table& table) {
  table.gemm[DTypeOf<functor::Complex<float>>::value] = gemm_complex<functor::Complex<float>>;
  table.gemm[DTypeOf<functor::Complex<double>>::value] = gemm_complex<functor::Complex<double>>;
  table.gemm[DTypeOf<float>::value] = gemm<float>;
  table.gemm[DTypeOf<double>::value] = gemm<double>;
  table.gemm[DTypeOf<int64_t>::value] = gemm<int64_t>;
  table.gemm[DTypeOf<uint8_t>::value] = gemm<uint8_t>;
}

TREADLE_KERNELS_END
