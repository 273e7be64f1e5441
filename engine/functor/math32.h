// float: the functions that machine learning runs most are computed in float throughout; the rest
// go through double (half the lanes, one polynomial to keep right) and are correct to 0.51 ULP.
// Included by math.h. Coefficients: see math64.h.
#pragma once
#include "engine/functor/math64.h"

TREADLE_FUNCTOR_BEGIN

namespace detail {

inline constexpr float kLn2HiF = 0x1.62e400p-1f, kLn2LoF = 0x1.7f7d1cp-20f;  // 15 bits + rest
inline constexpr float kShiftF = 12582912.0f;                                // 1.5 * 2^23

TREADLE_HD float pow2(float n) {  // n in [-126, 127]
  return bit_cast<float>(bits(n + (kShiftF + 127.0f)) << 23);
}

// e^x = 2^n (1 + r + q)
struct ExpF {
  float n, r, q;
};
TREADLE_HD ExpF exp_reduce(float x) {
  const float n = (x * 1.44269504f + kShiftF) - kShiftF;
  const float r = (x - n * kLn2HiF) - n * kLn2LoF;
  // (e^r - 1 - r) / r^2 on [-0.35, 0.35], error 2^-34
  return {n, r,
          r * r *
              poly(r, 0.5f, 0.166666672f, 0.0416662544f, 0.00833326206f, 0.0013947218f,
                   0.000199197588f)};
}
TREADLE_HD float exp_scaled(float n, float y) {
  const float n1 = (n * 0.5f + kShiftF) - kShiftF;
  return y * pow2(n1) * pow2(n - n1);
}

struct LogF {
  float k, m;
};
TREADLE_HD LogF log_reduce(float x) {
  const bool tiny = x < 0x1p-126f;
  const uint32_t u = bits(x * select(tiny, 0x1p24f, 1.0f)) + (0x3f800000u - 0x3f3504f3u);
  const float k = bit_cast<float>((u >> 23) | 0x4b000000u) - (8388608.0f + 127.0f);
  return {k - select(tiny, 24.0f, 0.0f), bit_cast<float>((u & 0x007fffffu) + 0x3f3504f3u)};
}
TREADLE_HD float log_sum(LogF l, float c) {
  const float f = l.m - 1.0f, s = f / (2.0f + f), z = s * s, h = 0.5f * f * f;
  // (2 atanh(s) - 2 s) / s^3 in z = s^2 on [0, 0.03], error 2^-29
  const float r = z * poly(z, 0.666666687f, 0.400001317f, 0.285498887f, 0.233552426f);
  return l.k * kLn2HiF - ((h - (s * (h + r) + (l.k * kLn2LoF + c))) - f);
}

}  // namespace detail

TREADLE_HD float exp(float x) {  // 1 ULP
  const float c = select(x > 90.0f, 90.0f, select(x < -105.0f, -105.0f, x));
  const detail::ExpF e = detail::exp_reduce(c);
  return detail::exp_scaled(e.n, 1.0f + (e.r + e.q));
}
TREADLE_HD float exp2(float x) {  // 1 ULP
  const float c = select(x > 130.0f, 130.0f, select(x < -152.0f, -152.0f, x));
  const float n = (c + detail::kShiftF) - detail::kShiftF, f = c - n;
  const detail::ExpF e = detail::exp_reduce(f * 0.693147182f);
  return detail::exp_scaled(n + e.n, 1.0f + (e.r + e.q));
}
TREADLE_HD float expm1(float x) {  // 2 ULP
  const float c = select(x > 90.0f, 90.0f, select(x < -20.0f, -20.0f, x));
  const detail::ExpF e = detail::exp_reduce(c);
  const float n = select(e.n > 128.0f, 128.0f, e.n), p = detail::pow2(n - 1.0f);
  const float y = 2.0f * (p * e.r + ((p - 0.5f) + p * e.q));
  const float z = select(e.n == 0.0f, e.r + e.q, y);
  return select(x == 0.0f, x, select(e.n > 128.0f, static_cast<float>(kInf), z));
}
TREADLE_HD float log(float x) {  // 1 ULP
  const float inf = static_cast<float>(kInf), nan = static_cast<float>(kNaN);
  const float y = detail::log_sum(detail::log_reduce(x), 0.0f);
  const float edge = select(x == 0.0f, -inf, select(x < 0.0f, nan, x));
  return select(logical_and(x > 0.0f, x < inf), y, edge);
}
TREADLE_HD float log1p(float x) {  // 2 ULP
  const float inf = static_cast<float>(kInf), nan = static_cast<float>(kNaN);
  const float u = 1.0f + x, t = u - 1.0f, lo = (1.0f - (u - t)) + (x - t);
  const float y = detail::log_sum(detail::log_reduce(u), lo / u);
  const float edge = select(x == -1.0f, -inf, select(x < -1.0f, nan, x));
  return select(logical_and(logical_and(x > -1.0f, x < inf), x != 0.0f), y, edge);
}
TREADLE_HD float tanh(float x) {  // 2 ULP
  const float a = abs(x), z = x * x;
  // (tanh(x) - x) / x^3 in z = x^2 on [0, 0.42], error 2^-27
  const float small =
      a +
      a * z * poly(z, -0.333332628f, 0.133308992f, -0.0536929704f, 0.0204833169f, -0.00552863115f);
  const float large = 1.0f - 2.0f / (exp(2.0f * select(a > 10.0f, 10.0f, a)) + 1.0f);
  return copysign(select(a < 0.625f, small, large), x);
}
TREADLE_HD float erf(float x) {  // 2 ULP
  const float a = abs(x), z = x * x;
  // erf(x)/x - 1 in z = x^2 on [0, 1], error 2^-29
  const float small = a + a * poly(z, 0.128379166f, -0.37612626f, 0.112836003f, -0.0268544443f,
                                   0.00518953474f, -0.000802083407f, 7.88909529e-05f);
  // (1+2x) e^(x^2) erfc(x) as in math64.h, x in [1, 11], error 2^-29
  const float b = select(a > 5.0f, 5.0f, a), t = (b - 3.75f) / (b + 3.75f);
  const float tail =
      exp(-b * b) / (1.0f + 2.0f * b) *
      poly(t, 1.23751259f, -0.140240625f, 0.00358528225f, 0.0822785199f, -0.108799979f,
           0.092276305f, -0.0587359071f, 0.0285337847f, -0.00955579709f, 0.00133988902f);
  return copysign(select(a < 1.0f, small, 1.0f - tail), x);
}

TREADLE_HD float log2(float x) {
  return static_cast<float>(log(static_cast<double>(x)) * detail::kInvLn2);
}
TREADLE_HD float log10(float x) {
  return static_cast<float>(log(static_cast<double>(x)) * detail::kInvLn10);
}
TREADLE_HD float sin(float x) { return static_cast<float>(sin(static_cast<double>(x))); }
TREADLE_HD float cos(float x) { return static_cast<float>(cos(static_cast<double>(x))); }
TREADLE_HD float tan(float x) { return static_cast<float>(tan(static_cast<double>(x))); }
TREADLE_HD float asin(float x) { return static_cast<float>(asin(static_cast<double>(x))); }
TREADLE_HD float acos(float x) { return static_cast<float>(acos(static_cast<double>(x))); }
TREADLE_HD float atan(float x) { return static_cast<float>(atan(static_cast<double>(x))); }
TREADLE_HD float atan2(float y, float x) {
  return static_cast<float>(atan2(static_cast<double>(y), static_cast<double>(x)));
}
TREADLE_HD float sinh(float x) { return static_cast<float>(sinh(static_cast<double>(x))); }
TREADLE_HD float cosh(float x) { return static_cast<float>(cosh(static_cast<double>(x))); }
TREADLE_HD float asinh(float x) { return static_cast<float>(asinh(static_cast<double>(x))); }
TREADLE_HD float acosh(float x) { return static_cast<float>(acosh(static_cast<double>(x))); }
TREADLE_HD float atanh(float x) { return static_cast<float>(atanh(static_cast<double>(x))); }
TREADLE_HD float hypot(float x, float y) {
  return static_cast<float>(hypot(static_cast<double>(x), static_cast<double>(y)));
}
TREADLE_HD float erfc(float x) { return static_cast<float>(erfc(static_cast<double>(x))); }
TREADLE_HD float pow(float x, float y) {
  // log in plain double: its error, times the exponent of at most 2^7, stays far below a float's.
  const double dx = x, dy = y, a = abs(dx);
  const double l = log(select(logical_and(a > 0.0, a < kInf), a, 1.0));
  const double m = exp(l * select(dy > 0x1p60, 0x1p60, select(dy < -0x1p60, -0x1p60, dy)));
  return static_cast<float>(detail::pow_specials(dx, dy, m));
}

TREADLE_FUNCTOR_END
