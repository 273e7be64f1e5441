// LU, Cholesky, Householder QR and triangular solves as plain loops: for machines on which no
// library runs. Column-major, unblocked, arguments as LAPACK's; `info` as LAPACK's, too.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "engine/functor/numbers.h"

namespace treadle::lapack::plain {

using functor::Complex;
using functor::conj;

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<Complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

template <class T>
Real<T> real(T x) {
  if constexpr (functor::is_complex<T>) {
    return x.re;
  } else {
    return x;
  }
}
template <class T>
Real<T> size(T x) {  // |re| + |im|, by which LAPACK chooses pivots
  if constexpr (functor::is_complex<T>) {
    return std::abs(x.re) + std::abs(x.im);
  } else {
    return std::abs(x);
  }
}
template <class T>
Real<T> square(T x) {
  return real(x * conj(x));
}

template <class T>
std::int32_t getrf(std::int64_t m, std::int64_t n, T* a, std::int32_t* pivots) {
  std::int32_t info = 0;
  for (std::int64_t j = 0; j < std::min(m, n); ++j) {
    std::int64_t p = j;
    for (std::int64_t i = j + 1; i < m; ++i) {
      if (size(a[i + j * m]) > size(a[p + j * m])) p = i;
    }
    pivots[j] = static_cast<std::int32_t>(p + 1);
    if (a[p + j * m] == T(0)) {
      if (info == 0) info = static_cast<std::int32_t>(j + 1);
      continue;
    }
    if (p != j) {
      for (std::int64_t k = 0; k < n; ++k) std::swap(a[p + k * m], a[j + k * m]);
    }
    for (std::int64_t i = j + 1; i < m; ++i) a[i + j * m] = a[i + j * m] / a[j + j * m];
    for (std::int64_t k = j + 1; k < n; ++k) {
      const T factor = a[j + k * m];
      for (std::int64_t i = j + 1; i < m; ++i) a[i + k * m] = a[i + k * m] - a[i + j * m] * factor;
    }
  }
  return info;
}

// X in place of b (m x n): op(A) X = B or X op(A) = B.
template <class T>
void trsm(std::int64_t m, std::int64_t n, bool left, bool upper, char trans, bool unit, const T* a,
          T* b) {
  const std::int64_t order = left ? m : n, others = left ? n : m;
  const std::int64_t step = left ? 1 : m, other_step = left ? m : 1;
  // Element (i, j) of the matrix that multiplies X from the left (left), or of its transpose.
  const auto at = [&](std::int64_t i, std::int64_t j) {
    const bool swapped = (trans != 'N') == left;
    const T x = swapped ? a[j + i * order] : a[i + j * order];
    return trans == 'C' ? conj(x) : x;
  };
  const bool forward = (trans != 'N') == left ? upper : !upper;
  for (std::int64_t c = 0; c < others; ++c) {
    T* x = b + c * other_step;
    for (std::int64_t s = 0; s < order; ++s) {
      const std::int64_t i = forward ? s : order - 1 - s;
      T sum = x[i * step];
      for (std::int64_t j = forward ? 0 : i + 1; j < (forward ? i : order); ++j) {
        sum = sum - at(i, j) * x[j * step];
      }
      x[i * step] = unit ? sum : sum / at(i, i);
    }
  }
}

template <class T>
void getrs(std::int64_t n, std::int64_t columns, char trans, const T* lu,
           const std::int32_t* pivots, T* b) {
  const auto swap_rows = [&](std::int64_t i) {
    const std::int64_t p = pivots[i] - 1;
    if (p == i) return;
    for (std::int64_t c = 0; c < columns; ++c) std::swap(b[i + c * n], b[p + c * n]);
  };
  if (trans == 'N') {
    for (std::int64_t i = 0; i < n; ++i) swap_rows(i);
    trsm(n, columns, true, false, 'N', true, lu, b);
    trsm(n, columns, true, true, 'N', false, lu, b);
  } else {
    trsm(n, columns, true, true, trans, false, lu, b);
    trsm(n, columns, true, false, trans, true, lu, b);
    for (std::int64_t i = n - 1; i >= 0; --i) swap_rows(i);
  }
}

template <class T>
std::int32_t potrf(std::int64_t n, bool upper, T* a) {
  // Element (i, j), i >= j, of the lower factor; the upper one is its adjoint.
  const auto get = [&](std::int64_t i, std::int64_t j) {
    return upper ? conj(a[j + i * n]) : a[i + j * n];
  };
  const auto set = [&](std::int64_t i, std::int64_t j, T x) {
    (upper ? a[j + i * n] : a[i + j * n]) = upper ? conj(x) : x;
  };
  for (std::int64_t j = 0; j < n; ++j) {
    Real<T> d = real(get(j, j));
    for (std::int64_t k = 0; k < j; ++k) d -= square(get(j, k));
    if (!(d > 0)) return static_cast<std::int32_t>(j + 1);
    d = std::sqrt(d);
    set(j, j, T(d));
    for (std::int64_t i = j + 1; i < n; ++i) {
      T sum = get(i, j);
      for (std::int64_t k = 0; k < j; ++k) sum = sum - get(i, k) * conj(get(j, k));
      set(i, j, sum / T(d));
    }
  }
  return 0;
}

// C (m x n) -= scale v (v^H C) with v = (1, tail).
template <class T>
void reflect(std::int64_t m, std::int64_t n, const T* tail, T scale, T* c, std::int64_t row,
             std::int64_t column) {
  for (std::int64_t j = 0; j < n; ++j) {
    T* x = c + j * column;
    T sum = x[0];
    for (std::int64_t i = 1; i < m; ++i) sum += conj(tail[i - 1]) * x[i * row];
    sum = scale * sum;
    x[0] = x[0] - sum;
    for (std::int64_t i = 1; i < m; ++i) x[i * row] = x[i * row] - tail[i - 1] * sum;
  }
}

template <class T>
void geqrf(std::int64_t m, std::int64_t n, T* a, T* tau) {
  for (std::int64_t j = 0; j < std::min(m, n); ++j) {
    T* x = a + j + j * m;
    const T head = x[0];
    Real<T> rest = 0;
    for (std::int64_t i = 1; i < m - j; ++i) rest += square(x[i]);
    tau[j] = T(0);
    if (rest == 0 && head == T(real(head))) continue;
    const Real<T> norm = std::sqrt(square(head) + rest);
    const Real<T> beta = real(head) > 0 ? -norm : norm;
    tau[j] = (T(beta) - head) / T(beta);
    for (std::int64_t i = 1; i < m - j; ++i) x[i] = x[i] / (head - T(beta));
    x[0] = T(beta);
    reflect(m - j, n - j - 1, x + 1, conj(tau[j]), x + m, std::int64_t{1}, m);
  }
}

template <class T>
void ungqr(std::int64_t m, std::int64_t n, std::int64_t k, T* a, const T* tau, T* vectors) {
  for (std::int64_t i = 0; i < m * n; ++i) {
    vectors[i] = a[i];
    a[i] = T(i % m == i / m ? 1 : 0);
  }
  for (std::int64_t j = k - 1; j >= 0; --j) {
    reflect(m - j, n - j, vectors + j + 1 + j * m, tau[j], a + j + j * m, std::int64_t{1}, m);
  }
}

template <class T>
void unmqr(std::int64_t m, std::int64_t n, std::int64_t k, bool left, bool adjoint, const T* a,
           const T* tau, T* c, T* tail) {
  const std::int64_t rows = left ? m : n;
  for (std::int64_t s = 0; s < k; ++s) {
    const std::int64_t j = left == adjoint ? s : k - 1 - s;
    const T* v = a + j + 1 + j * rows;
    const T scale = adjoint ? conj(tau[j]) : tau[j];
    // C H = (H^T C^T)^T, and H^T has the conjugate vectors.
    for (std::int64_t i = 0; i < rows - j - 1; ++i) tail[i] = left ? v[i] : conj(v[i]);
    if (left) {
      reflect(m - j, n, tail, scale, c + j, std::int64_t{1}, m);
    } else {
      reflect(n - j, m, tail, scale, c + j * m, m, std::int64_t{1});
    }
  }
}

}  // namespace treadle::lapack::plain
