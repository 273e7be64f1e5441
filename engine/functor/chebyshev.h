// Sums of Chebyshev polynomials: how the functions of bessel_math.h, gamma_math.h and airy.h are
// approximated on an interval. The coefficients there were computed for these files from the
// functions' definitions in 45-digit arithmetic (interpolation at 64 Chebyshev points); what is
// left out is below 2^-57 of the largest value on the interval.
//
// These functions have loops and branches, so nothing is gained by vectorising them: they are out
// of line, once for each ISA, in double only; float goes through double.
#pragma once
#include "engine/functor/math.h"

TREADLE_FUNCTOR_BEGIN

namespace detail {

// c[0]/1 T0(t) + c[1] T1(t) + ..., t in [-1, 1]: Clenshaw's recurrence.
TREADLE_NOINLINE double chebyshev_sum(const double* c, int n, double t) {
  double b = 0.0, before = 0.0;
  for (int k = n - 1; k > 0; --k) {
    const double next = 2.0 * t * b - before + c[k];
    before = b;
    b = next;
  }
  return t * b - before + c[0];
}
// The functions of math.h out of line, for code that isn't vectorised.
TREADLE_NOINLINE double scalar_exp(double x) { return exp(x); }
TREADLE_NOINLINE double scalar_log(double x) { return log(x); }
TREADLE_NOINLINE double scalar_log1p(double x) { return log1p(x); }
TREADLE_NOINLINE double scalar_pow(double x, double y) { return pow(x, y); }
// sin(x + quarters pi/2) of any x.
TREADLE_NOINLINE double scalar_sin(double x, double quarters) {
  Trig t = trig_reduce(abs(x) < kPeriodicLimit ? x : wrap_turns(x));
  t.n += quarters;
  return sin_of(t);
}
// sin(pi x), 0 at every integer
TREADLE_NOINLINE double sin_pi(double x) {
  const double r = x - round(x);  // exact
  const double s = scalar_sin(3.141592653589793 * r, 0.0);
  return odd(round(x)) ? -s : s;
}

}  // namespace detail

// The sum as a function of x in [low, high].
template <int N>
TREADLE_HD double chebyshev(const double (&c)[N], double x, double low, double high) {
  return detail::chebyshev_sum(c, N, (2.0 * x - (high + low)) / (high - low));
}

// An argument of float, through double.
#define TREADLE_FLOAT1(name) \
  TREADLE_HD float name(float x) { return static_cast<float>(name(static_cast<double>(x))); }
#define TREADLE_FLOAT2(name)                                                         \
  TREADLE_HD float name(float a, float b) {                                          \
    return static_cast<float>(name(static_cast<double>(a), static_cast<double>(b))); \
  }

TREADLE_FUNCTOR_END
