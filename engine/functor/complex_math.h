// Functions of complex numbers, from those of real ones; complex64 is computed in double. The
// branch cuts and the results for infinities, NaNs and zeros are those of C's <complex.h> (C11
// annex G), NumPy and the array API standard. Formulas of the inverse functions: W. Kahan, "Branch
// cuts for complex elementary functions", 1987.
#pragma once
#include "engine/functor/math.h"
#include "engine/functor/numbers.h"

TREADLE_FUNCTOR_BEGIN

using Complex64 = Complex<float>;
using Complex128 = Complex<double>;

namespace detail {

inline constexpr double kHalfE = 1.3591409142295225;  // e/2

TREADLE_HD bool isfinite(double x) { return abs(x) < kInf; }
// An angle that sin, cos and tan are exact for.
TREADLE_HD double near_zero(double y) { return abs(y) < kPeriodicLimit ? y : wrap_turns(y); }
// e^x (cos y + i sin y) for any finite y, a factor at a time where e^x alone would overflow.
TREADLE_HD Complex128 exp_cis(double x, double y) {
  const double t = near_zero(y), half = x > 709.0 ? exp(0.5 * x) : 1.0;
  const double e = x > 709.0 ? half : exp(x);
  return {e * cos(t) * half, y == 0.0 ? y : e * sin(t) * half};
}

}  // namespace detail

TREADLE_HD Complex128 exp(Complex128 z) {
  if (detail::isfinite(z.im)) {
    return z.im == 0.0 ? Complex128{exp(z.re), z.im} : detail::exp_cis(z.re, z.im);
  }
  if (z.re == -kInf) return {0.0, copysign(0.0, z.im)};
  return {z.re == kInf ? kInf : kNaN, kNaN};
}
namespace detail {

// x^2 + y^2 + z, nearly exact where the terms cancel.
TREADLE_HD double squares_plus(double x, double y, double z) {
  const Pair xx = two_prod(x, x), yy = two_prod(y, y);
  const Pair first = two_sum(xx.hi, z), all = two_sum(first.hi, yy.hi);
  return all.hi + (all.lo + first.lo + xx.lo + yy.lo);
}

}  // namespace detail

// log |z|, exact near |z| = 1 too.
TREADLE_HD double log_abs(Complex128 z) {
  const double x = abs(z.re), y = abs(z.im);
  const double big = select(x > y, x, y), small = select(x > y, y, x);
  if (logical_and(x == 0.0, y == 0.0)) return -kInf;
  if (logical_or(x == kInf, y == kInf)) return kInf;
  if (logical_and(big > 0.5, big < 2.0)) {
    return 0.5 * log1p(detail::squares_plus(big, small, -1.0));
  }
  const double ratio = small / big;
  return log(big) + 0.5 * log1p(ratio * ratio);
}
TREADLE_HD Complex128 log(Complex128 z) { return {log_abs(z), atan2(z.im, z.re)}; }
TREADLE_HD Complex128 log2(Complex128 z) {
  const Complex128 l = log(z);
  return {l.re * detail::kInvLn2, l.im * detail::kInvLn2};
}
TREADLE_HD Complex128 log10(Complex128 z) {
  const Complex128 l = log(z);
  return {l.re * detail::kInvLn10, l.im * detail::kInvLn10};
}
TREADLE_HD Complex128 log1p(Complex128 z) {
  const Complex128 u{1.0 + z.re, z.im};
  const bool small = abs(z.re) < 0.5 && abs(z.im) < 0.5;
  const double re = 0.5 * log1p(detail::squares_plus(z.re, z.im, 2.0 * z.re));
  return {small ? re : log_abs(u), atan2(u.im, u.re)};
}
TREADLE_HD Complex128 exp2(Complex128 z) {
  if (z.im == 0.0) return {exp2(z.re), z.im};
  if (!detail::isfinite(z.im)) return exp(z);
  // The angle is y log(2) = hi + lo, whose cosine is cos(hi) - lo sin(hi).
  const Pair turn = two_prod(z.im, 0x1.62e42fefa39efp-1);
  const double lo = abs(turn.hi) < kPeriodicLimit ? turn.lo + z.im * 0x1.abc9e3b39803fp-56 : 0.0;
  const double t = detail::near_zero(turn.hi), c = cos(t), s = sin(t);
  const double half = z.re > 1000.0 ? exp2(0.5 * z.re) : 1.0,
               e = exp2(z.re > 1000.0 ? 0.5 * z.re : z.re);
  return {e * (c - lo * s) * half, e * (s + lo * c) * half};
}
TREADLE_HD Complex128 expm1(Complex128 z) {
  if (z.im == 0.0) return {expm1(z.re) + 0.0, z.im};  // the standard: 0 of -0, too
  if (!detail::isfinite(z.im) || abs(z.re) > 700.0) {
    const Complex128 w = exp(z);
    return {w.re - 1.0, w.im};
  }
  const double t = detail::near_zero(z.im), s = sin(0.5 * t);
  return {expm1(z.re) * cos(t) - 2.0 * s * s, exp(z.re) * sin(t)};
}
TREADLE_HD Complex128 sqrt(Complex128 z) {
  const double x = abs(z.re), y = abs(z.im), big = select(x > y, x, y);
  if (isinf(z.im)) return {kInf, z.im};
  if (z.re == kInf) return {kInf, z.im == z.im ? copysign(0.0, z.im) : z.im};
  if (z.re == -kInf) return {z.im == z.im ? 0.0 : kNaN, z.im == z.im ? copysign(kInf, z.im) : kInf};
  // Powers of four.
  const double down = select(big > 0x1p1000, 0x1p-4, select(big < 0x1p-1000, 0x1p100, 1.0));
  const double up = select(big > 0x1p1000, 0x1p2, select(big < 0x1p-1000, 0x1p-50, 1.0));
  const double t = sqrt((x * down + hypot(x * down, y * down)) * 0.5);
  const double u = select(t == 0.0, 0.0, y * down / (2.0 * t));
  const double re = select(z.re >= 0.0, t, u) * up, im = select(z.re >= 0.0, u, t) * up;
  return {select(z.re == z.re, re, z.re), copysign(im, z.im)};
}
TREADLE_HD Complex128 rsqrt(Complex128 z) { return Complex128(1.0) / sqrt(z); }
TREADLE_HD Complex128 sigmoid(Complex128 z) {
  const Complex128 one(1.0), e = exp(z.re < 0.0 ? z : -z);  // of at most 1
  return (z.re < 0.0 ? e : one) / (one + e);
}

TREADLE_HD Complex128 sinh(Complex128 z) {
  if (!detail::isfinite(z.im)) return {z.re == 0.0 || isinf(z.re) ? z.re : kNaN, kNaN};
  if (z.im == 0.0) return {sinh(z.re), z.im};
  if (abs(z.re) > 700.0) {
    const Complex128 w = detail::exp_cis(abs(z.re) - 1.0, z.im);
    return {copysign(detail::kHalfE, z.re) * w.re, detail::kHalfE * w.im};
  }
  const double t = detail::near_zero(z.im);
  return {sinh(z.re) * cos(t), cosh(z.re) * sin(t)};
}
TREADLE_HD Complex128 cosh(Complex128 z) {
  if (!detail::isfinite(z.im)) {
    return {isinf(z.re) ? kInf : kNaN, z.re == 0.0 ? z.re : kNaN};
  }
  if (z.im == 0.0) return {cosh(z.re), copysign(1.0, z.re) * z.im};
  if (abs(z.re) > 700.0) {
    const Complex128 w = detail::exp_cis(abs(z.re) - 1.0, z.im);
    return {detail::kHalfE * w.re, copysign(detail::kHalfE, z.re) * w.im};
  }
  const double t = detail::near_zero(z.im);
  return {cosh(z.re) * cos(t), sinh(z.re) * sin(t)};
}
TREADLE_HD Complex128 tanh(Complex128 z) {
  if (isinf(z.re)) return {copysign(1.0, z.re), copysign(0.0, z.im)};
  if (!detail::isfinite(z.im)) return {z.re == 0.0 ? z.re : kNaN, kNaN};
  if (z.im == 0.0) return {tanh(z.re), z.im};
  const double y = detail::near_zero(z.im);
  if (abs(z.re) > 20.0) {
    return {copysign(1.0, z.re), 4.0 * sin(y) * cos(y) * exp(-2.0 * abs(z.re))};
  }
  const double t = tan(y), beta = 1.0 + t * t, s = sinh(z.re), rho = sqrt(1.0 + s * s);
  if (isinf(t)) return {rho / s, 1.0 / t};
  const double d = 1.0 + beta * s * s;
  return {beta * rho * s / d, t / d};
}
// By the hyperbolic functions of i z: sin z = -i sinh(i z), cos z = cosh(i z), tan alike.
TREADLE_HD Complex128 sin(Complex128 z) {
  const Complex128 w = sinh(Complex128{-z.im, z.re});
  return {w.im, -w.re};
}
TREADLE_HD Complex128 cos(Complex128 z) { return cosh(Complex128{-z.im, z.re}); }
TREADLE_HD Complex128 tan(Complex128 z) {
  const Complex128 w = tanh(Complex128{-z.im, z.re});
  return {w.im, -w.re};
}

namespace detail {

// Where the formulas below would overflow, and for what isn't finite: there asinh, and acosh and
// acos by it, are log(2 z) but for signs.
TREADLE_HD bool is_far(Complex128 z) { return !(abs(z.re) < 0x1p500) || !(abs(z.im) < 0x1p500); }
// Of log(2 z), z far: the real part is infinite if z is, and then NaN in z makes the angle NaN.
TREADLE_HD double far_size(Complex128 z) { return log_abs(z) + 0.6931471805599453; }
TREADLE_HD double far_angle(double y, double x) { return x == x ? atan2(y, x) : x; }

}  // namespace detail

TREADLE_HD Complex128 acos(Complex128 z) {
  if (detail::is_far(z)) {
    if (z.re == 0.0 && z.im != z.im) return {detail::kPi2Hi, z.im};
    return {detail::far_angle(abs(z.im), z.re), copysign(detail::far_size(z), -z.im)};
  }
  const Complex128 a = sqrt(Complex128{1.0 - z.re, -z.im}), b = sqrt(Complex128{1.0 + z.re, z.im});
  return {2.0 * atan2(a.re, b.re), asinh((conj(b) * a).im)};
}
TREADLE_HD Complex128 acosh(Complex128 z) {
  if (detail::is_far(z)) {
    if (z.re == 0.0 && z.im != z.im) return {z.im, detail::kPi2Hi};
    return {detail::far_size(z), detail::far_angle(z.im, z.re)};
  }
  const Complex128 a = sqrt(Complex128{z.re - 1.0, z.im}), b = sqrt(Complex128{z.re + 1.0, z.im});
  return {asinh((conj(a) * b).re), 2.0 * atan2(a.im, b.re)};
}
TREADLE_HD Complex128 asin(Complex128 z) {
  if (detail::is_far(z)) {
    if (z.re == 0.0 && z.im != z.im) return z;
    return {detail::far_angle(z.re, abs(z.im)), copysign(detail::far_size(z), z.im)};
  }
  const Complex128 a = sqrt(Complex128{1.0 - z.re, -z.im}), b = sqrt(Complex128{1.0 + z.re, z.im});
  return {atan2(z.re, (a * b).re), asinh((conj(a) * b).im)};
}
TREADLE_HD Complex128 asinh(Complex128 z) {
  const Complex128 w = asin(Complex128{-z.im, z.re});  // asin(i z) = i asinh(z)
  return {w.im, -w.re};
}
TREADLE_HD Complex128 atanh(Complex128 z) {
  const double x = z.re, y = z.im, m = 1.0 - x;
  if (x == 0.0 && y != y) return z;
  if (isinf(x) || isinf(y)) {
    return {copysign(0.0, x), y == y ? copysign(detail::kPi2Hi, y) : y};
  }
  if (x != x || y != y) return {kNaN, kNaN};
  if (abs(x) > 0x1p200 || abs(y) > 0x1p200) {  // 1/z +- i pi/2
    return {(Complex128(1.0) / z).re, copysign(detail::kPi2Hi, y)};
  }
  // Of the positive number, near which nothing cancels.
  const double a = abs(x), n = 1.0 - a;
  const double re = n == 0.0 && abs(y) < 0x1p-100 ? 0.5 * (0.6931471805599453 - log(abs(y)))
                                                  : 0.25 * log1p(4.0 * a / (n * n + y * y));
  return {copysign(re, x), 0.5 * atan2(2.0 * y, m * (1.0 + x) - y * y)};
}
TREADLE_HD Complex128 atan(Complex128 z) {
  const Complex128 w = atanh(Complex128{-z.im, z.re});
  return {w.im, -w.re};
}

TREADLE_HD Complex128 pow(Complex128 z, Complex128 w) {
  if (w.re == 0.0 && w.im == 0.0) return {1.0, 0.0};
  if (z.re == 0.0 && z.im == 0.0) return w.re > 0.0 ? Complex128{0.0, 0.0} : Complex128{kNaN, kNaN};
  return exp(w * log(z));
}
TREADLE_HD Complex128 lerp(Complex128 a, Complex128 b, Complex128 w) {
  const bool low = hypot(w.re, w.im) < 0.5;
  return low ? a + w * (b - a) : b - (b - a) * (Complex128(1.0) - w);
}

#define TREADLE_COMPLEX64(name) \
  TREADLE_HD Complex64 name(Complex64 z) { return Complex64(name(Complex128(z))); }
TREADLE_COMPLEX64(exp)
TREADLE_COMPLEX64(exp2)
TREADLE_COMPLEX64(expm1)
TREADLE_COMPLEX64(log)
TREADLE_COMPLEX64(log2)
TREADLE_COMPLEX64(log10)
TREADLE_COMPLEX64(log1p)
TREADLE_COMPLEX64(sqrt)
TREADLE_COMPLEX64(rsqrt)
TREADLE_COMPLEX64(sigmoid)
TREADLE_COMPLEX64(sin)
TREADLE_COMPLEX64(cos)
TREADLE_COMPLEX64(tan)
TREADLE_COMPLEX64(asin)
TREADLE_COMPLEX64(acos)
TREADLE_COMPLEX64(atan)
TREADLE_COMPLEX64(sinh)
TREADLE_COMPLEX64(cosh)
TREADLE_COMPLEX64(tanh)
TREADLE_COMPLEX64(asinh)
TREADLE_COMPLEX64(acosh)
TREADLE_COMPLEX64(atanh)
#undef TREADLE_COMPLEX64
TREADLE_HD Complex64 pow(Complex64 z, Complex64 w) {
  return Complex64(pow(Complex128(z), Complex128(w)));
}
TREADLE_HD Complex64 lerp(Complex64 a, Complex64 b, Complex64 w) {
  return Complex64(lerp(Complex128(a), Complex128(b), Complex128(w)));
}

TREADLE_FUNCTOR_END
