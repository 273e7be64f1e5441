// Orthogonal polynomials of degree n at x; n is truncated to an integer, a negative one gives 0. In
// double, out of line (chebyshev.h says why). Chebyshev's beyond small degrees by their closed
// forms, the others by their three-term recurrences, up to a degree that bounds the time of a call.
#pragma once
#include "engine/functor/chebyshev.h"

TREADLE_FUNCTOR_BEGIN

namespace detail {

inline constexpr double kMostDegree = 65536.0;  // Legendre, Laguerre; more gives NaN
inline constexpr double kMostHermite = 512.0;   // more gives NaN, as PyTorch's

// The kinds of Chebyshev polynomials, as cos, sin of multiples of the angle acos(x).
enum class Cheb { t, u, v, w };

// p0 = 1, p1 = the kind's, p(k) = 2x p(k-1) - p(k-2).
TREADLE_NOINLINE double cheb_recurrence(Cheb kind, double x, double n) {
  const double first[] = {x, 2.0 * x, 2.0 * x - 1.0, 2.0 * x + 1.0};
  double before = 1.0, p = first[static_cast<int>(kind)];
  if (n == 0.0) return 1.0;
  for (double k = 2.0; k <= n; k += 1.0) {
    const double next = 2.0 * x * p - before;
    before = p;
    p = next;
  }
  return p;
}
// cosh(x) / cosh(y), sinh(x) / sinh(y) for 0 < y < x, without overflow before the quotient's.
TREADLE_NOINLINE double cosh_quotient(double x, double y) {
  const double e = scalar_exp(-2.0 * x), f = scalar_exp(-2.0 * y);
  return scalar_exp(x - y) * (1.0 + e) / (1.0 + f);
}
TREADLE_NOINLINE double sinh_quotient(double x, double y) {
  const double e = expm1(-2.0 * x), f = expm1(-2.0 * y);
  return scalar_exp(x - y) * (e / f);
}
// x >= 0 here.
TREADLE_NOINLINE double cheb_closed(Cheb kind, double x, double n) {
  if (x == 1.0) {
    return kind == Cheb::u ? n + 1.0 : kind == Cheb::w ? 2.0 * n + 1.0 : 1.0;
  }
  if (x < 1.0) {
    const double a = acos(x);
    switch (kind) {
      case Cheb::t:
        return scalar_sin(n * a, 1.0);
      case Cheb::u:
        return scalar_sin((n + 1.0) * a, 0.0) / scalar_sin(a, 0.0);
      case Cheb::v:
        return scalar_sin((n + 0.5) * a, 1.0) / scalar_sin(0.5 * a, 1.0);
      case Cheb::w:
        return scalar_sin((n + 0.5) * a, 0.0) / scalar_sin(0.5 * a, 0.0);
    }
  }
  const double a = acosh(x);
  switch (kind) {
    case Cheb::t:
      return cosh_quotient(n * a, 0.0);
    case Cheb::u:
      return sinh_quotient((n + 1.0) * a, a);
    case Cheb::v:
      return cosh_quotient((n + 0.5) * a, 0.5 * a);
    case Cheb::w:
      return sinh_quotient((n + 0.5) * a, 0.5 * a);
  }
  return kNaN;
}
TREADLE_NOINLINE double cheb(Cheb kind, double x, double degree) {
  const double n = trunc(degree);
  if (x != x || n != n) return kNaN;
  if (n < 0.0) return 0.0;
  if (n <= 8.0) return cheb_recurrence(kind, x, n);
  if (n == kInf || abs(x) == kInf) return x > 1.0 ? kInf : kNaN;
  if (x >= 0.0) return cheb_closed(kind, x, n);
  // p(-x) = (-1)^n p(x), where V and W change places.
  const Cheb mirrored = kind == Cheb::v ? Cheb::w : kind == Cheb::w ? Cheb::v : kind;
  const double y = cheb_closed(mirrored, -x, n);
  return odd(n) ? -y : y;
}

}  // namespace detail

TREADLE_HD double chebyshev_t(double x, double n) { return detail::cheb(detail::Cheb::t, x, n); }
TREADLE_HD double chebyshev_u(double x, double n) { return detail::cheb(detail::Cheb::u, x, n); }
TREADLE_HD double chebyshev_v(double x, double n) { return detail::cheb(detail::Cheb::v, x, n); }
TREADLE_HD double chebyshev_w(double x, double n) { return detail::cheb(detail::Cheb::w, x, n); }
// On [0, 1].
TREADLE_HD double shifted_t(double x, double n) { return chebyshev_t(2.0 * x - 1.0, n); }
TREADLE_HD double shifted_u(double x, double n) { return chebyshev_u(2.0 * x - 1.0, n); }
TREADLE_HD double shifted_v(double x, double n) { return chebyshev_v(2.0 * x - 1.0, n); }
TREADLE_HD double shifted_w(double x, double n) { return chebyshev_w(2.0 * x - 1.0, n); }

// The physicists' Hermite polynomials (`twice` = 2) and the probabilists' (1).
TREADLE_NOINLINE double hermite(double x, double degree, double twice) {
  const double n = trunc(degree);
  if (n < 0.0) return 0.0;
  if (!(n <= detail::kMostHermite)) return kNaN;
  double before = 1.0, p = twice * x;
  if (n == 0.0) return 1.0;
  for (double k = 1.0; k < n; k += 1.0) {
    const double next = twice * (x * p - k * before);
    before = p;
    p = next;
  }
  return p;
}
TREADLE_HD double hermite_h(double x, double n) { return hermite(x, n, 2.0); }
TREADLE_HD double hermite_he(double x, double n) { return hermite(x, n, 1.0); }

TREADLE_NOINLINE double laguerre(double x, double degree) {
  const double n = trunc(degree);
  if (n < 0.0) return 0.0;
  if (!(n <= detail::kMostDegree)) return kNaN;
  double before = 1.0, p = 1.0 - x;
  if (n == 0.0) return 1.0;
  for (double k = 1.0; k < n; k += 1.0) {
    const double next = ((2.0 * k + 1.0 - x) * p - k * before) / (k + 1.0);
    before = p;
    p = next;
  }
  return p;
}
TREADLE_NOINLINE double legendre(double x, double degree) {
  const double n = trunc(degree);
  if (n < 0.0) return 0.0;
  if (!(n <= detail::kMostDegree)) return kNaN;
  double before = 1.0, p = x;
  if (n == 0.0) return 1.0;
  for (double k = 1.0; k < n; k += 1.0) {
    const double next = ((2.0 * k + 1.0) * x * p - k * before) / (k + 1.0);
    before = p;
    p = next;
  }
  return p;
}

TREADLE_FLOAT2(chebyshev_t)
TREADLE_FLOAT2(chebyshev_u)
TREADLE_FLOAT2(chebyshev_v)
TREADLE_FLOAT2(chebyshev_w)
TREADLE_FLOAT2(shifted_t)
TREADLE_FLOAT2(shifted_u)
TREADLE_FLOAT2(shifted_v)
TREADLE_FLOAT2(shifted_w)
TREADLE_FLOAT2(hermite_h)
TREADLE_FLOAT2(hermite_he)
TREADLE_FLOAT2(laguerre)
TREADLE_FLOAT2(legendre)

TREADLE_FUNCTOR_END
