// Relatives of the error function: erfcx, its inverse, the normal distribution. In double, out of
// line (chebyshev.h says why). Errors: see the bounds in special.h.
#pragma once
#include "engine/functor/chebyshev.h"

TREADLE_FUNCTOR_BEGIN

namespace detail {

// e^(x^2) with the rounding error of x^2 made good.
TREADLE_NOINLINE double exp_square(double x) {
  if (abs(x) > 30.0) return kInf;
  const Pair s = two_prod(x, x);
  return exp_scaled(s.hi, s.lo, 0.0);
}
// e^(x^2) erfc(x) for x >= 0.5: the factor of erfc_tail (math64.h), beyond 28 the asymptotic
// series.
TREADLE_NOINLINE double erfcx_tail(double x) {
  if (x > 28.0) {  // DLMF 7.12.1
    const double z = -0.5 / x / x;
    return 0.5641895835477563 / x * poly(z, 1.0, 1.0, 3.0, 15.0, 105.0, 945.0, 10395.0, 135135.0);
  }
  const Pair f = erfc_factor(x);
  return f.hi + f.lo;
}

// The y > 0 with erfc(y) = q, for 0 < q <= 0.5: a fit of y / w in 1/w, w = sqrt(-log q), good to 5
// digits, then Halley's steps (the error's third power each).
TREADLE_NOINLINE double erfc_inverse(double q) {
  static constexpr double k_erfc_inverse[] = {
      0.7870834977944207,      -0.22184835570472272,   0.0010809389402586644,
      0.008839171133091977,    -0.0028436302987332753, 0.0006452857805065921,
      -0.00016238877662685448, 5.9306908998347416e-05, -2.659558587211391e-05,
      1.2414393798824132e-05,  -5.91595778150648e-06};
  const double l = scalar_log(q), w = sqrt(-l);
  double y = w * chebyshev(k_erfc_inverse, 1.0 / w, 1.0 / 27.4, 1.0 / 0.8325);
  for (int step = 0; step < 2; ++step) {
    // (erfc(y) - q) / erfc'(y), both times e^(y^2)
    const Pair s = two_prod(y, y);
    const double d = (erfcx_tail(y) - scalar_exp((l + s.hi) + s.lo)) * -0.886226925452758;
    y -= d / (1.0 + y * d);
  }
  return y;
}

}  // namespace detail

// e^(x^2) erfc(x)
TREADLE_NOINLINE double erfcx(double x) {
  if (x != x) return x;
  if (x > 0.45) return detail::erfcx_tail(x);
  if (x > -0.45) return detail::exp_square(x) * (1.0 - detail::erf_small(x));
  return 2.0 * detail::exp_square(x) - detail::erfcx_tail(-x);
}

// The y with erf(y) = x; infinite at -1 and 1, NaN beyond.
TREADLE_NOINLINE double erfinv(double x) {
  const double a = abs(x);
  if (!(a < 1.0)) return a == 1.0 ? copysign(kInf, x) : kNaN;
  if (a > 0.5) return copysign(detail::erfc_inverse(1.0 - a), x);
  // Series of the inverse (DLMF 7.17.2) to 3 digits, then Halley's steps.
  const double t = 0.886226925452758 * x, z = t * t;
  double y = t * poly(z, 1.0, 1.0 / 3, 7.0 / 30, 127.0 / 630);
  for (int step = 0; step < 2; ++step) {
    const double d = (detail::erf_small(y) - x) * 0.886226925452758 * detail::exp_square(y);
    y -= d / (1.0 + y * d);
  }
  return x == 0.0 ? x : y;
}

// The normal distribution's quantile: ndtr(y) = p.
TREADLE_NOINLINE double ndtri(double p) {
  if (p == 0.0) return -kInf;
  if (!(p > 0.0 && p < 1.0)) return p == 1.0 ? kInf : kNaN;
  if (p < 0.25) return -1.4142135623730951 * detail::erfc_inverse(2.0 * p);
  return 1.4142135623730951 * erfinv(2.0 * p - 1.0);
}
namespace detail {

// erfc(x / sqrt(2)), with the rounding error of the quotient made good.
TREADLE_NOINLINE double erfc_of_deviation(double x) {
  const double t = 0.7071067811865476 * x;
  if (!(abs(t) < 40.0)) return erfc(t);
  const Pair p = two_prod(0.7071067811865476, x);
  const double rest = p.lo - 4.833646656726457e-17 * x;  // 1/sqrt(2), its next bits
  return erfc(t) - 1.1283791670955126 * rest * exp(-t * t);
}

}  // namespace detail

// The normal distribution function and its logarithm.
TREADLE_NOINLINE double ndtr(double x) { return 0.5 * detail::erfc_of_deviation(-x); }
TREADLE_NOINLINE double log_ndtr(double x) {
  if (x < -1.0) {
    return detail::scalar_log(0.5 * erfcx(-0.7071067811865476 * x)) - 0.5 * x * x;
  }
  return detail::scalar_log1p(-0.5 * detail::erfc_of_deviation(x));
}

TREADLE_FLOAT1(erfcx)
TREADLE_FLOAT1(erfinv)
TREADLE_FLOAT1(ndtr)
TREADLE_FLOAT1(ndtri)
TREADLE_FLOAT1(log_ndtr)

TREADLE_FUNCTOR_END
