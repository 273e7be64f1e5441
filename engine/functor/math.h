// Branch-free scalar math that compilers turn into vector code for any ISA: the only math functions
// kernels use (no libm: its bits differ between systems and it doesn't vectorise).
// Bounds, also tested: 4 ULP in float, 2 ULP in double, the exceptions named at the function.
//   bits.h: casts, select, rounding, min/max     math64.h, math32.h: the transcendental functions
// To add one: write it for double in math64.h; for float either on its own or through double.
#pragma once
#include "engine/functor/math32.h"
#include "engine/functor/math64.h"

TREADLE_FUNCTOR_BEGIN

template <class V>
TREADLE_HD V rsqrt(V x) {  // two roundings: 1 ULP
  return V(1) / sqrt(x);
}
// 1 / (1 + e^-x), by the exponential of a negative number so that both tails keep their digits.
template <class V>
TREADLE_HD V sigmoid(V x) {
  const V e = exp(-abs(x));
  return select(x < V(0), e, V(1)) / (V(1) + e);
}
// a + w (b - a), from the nearer end so that w = 1 gives b exactly.
template <class V>
TREADLE_HD V lerp(V a, V b, V w) {
  return select(abs(w) < V(0.5), a + w * (b - a), b - (b - a) * (V(1) - w));
}
// sin, cos and tan are exact to their bounds below 2^52. An op over them says `periodic = true`;
// its kernels then bring larger arguments near 0 by this function first, one by one.
inline constexpr double kPeriodicLimit = 0x1p52;

// x modulo 2 pi, in [-pi, pi] with an error of 2^-53, for 2^52 <= |x| < inf (Payne and Hanek,
// SIGNUM Newsletter 18, 1983): of m * 2^e / (2 pi) only the bits of 1/(2 pi) from e on matter,
// those before give whole turns. NaN and infinities give NaN.
TREADLE_HD double wrap_turns(double x) {
  // 1/(2 pi), 1280 bits after the point
  constexpr uint64_t bits_of[] = {
      0x28be60db9391054au, 0x7f09d5f47d4d3770u, 0x36d8a5664f10e410u, 0x7f9458eaf7aef158u,
      0x6dc91b8e909374b8u, 0x01924bba82746487u, 0x3f877ac72c4a69cfu, 0xba208d7d4baed121u,
      0x3a671c09ad17df90u, 0x4e64758e60d4ce7du, 0x272117e2ef7e4a0eu, 0xc7fe25fff7816603u,
      0xfbcbc462d6829b47u, 0xdb4d9fb3c9f2c26du, 0xd3d18fd9a797fa8bu, 0x5d49eeb1faf97c5eu,
      0xcf41ce7de294a4bau, 0x9afed7ec47e35742u, 0x1580cc11bf1edaeau, 0xfc33ef0826bd0d87u};
  const double a = abs(x);
  if (!(a < kInf)) return kNaN;
  const uint64_t m = (bits(a) & 0x000fffffffffffffu) | 0x0010000000000000u;
  const int e = static_cast<int>(bits(a) >> 52) - 1075;  // a = m 2^e, e >= 0
  const int word = e / 64, shift = e % 64;
  uint64_t w[3];
  for (int i = 0; i < 3; ++i) {
    const uint64_t next = shift == 0 ? 0 : bits_of[word + i + 1] >> (64 - shift);
    w[i] = bits_of[word + i] << shift | next;
  }
  __extension__ typedef unsigned __int128 Wide;
  const Wide low = static_cast<Wide>(m) * w[2];
  const Wide mid = static_cast<Wide>(m) * w[1] + static_cast<uint64_t>(low >> 64);
  const uint64_t high = m * w[0] + static_cast<uint64_t>(mid >> 64);
  // The fraction of a turn, from -1/2 to 1/2.
  const double turn = static_cast<double>(static_cast<int64_t>(high)) * 0x1p-64 +
                      static_cast<double>(static_cast<uint64_t>(mid)) * 0x1p-128;
  return copysign(1.0, x) * (turn * 6.283185307179586);
}
TREADLE_HD float wrap_turns(float x) {
  return static_cast<float>(wrap_turns(static_cast<double>(x)));
}

// Integer powers by squaring; a negative exponent gives 0, except for bases 1 and -1 (as PyTorch).
template <class V>
requires is_integer<V> TREADLE_HD V pow(V x, V y) {
  uint64_t result = 1, base = static_cast<uint64_t>(x);
  if constexpr (V(-1) < V(0)) {
    if (y < 0) return x == V(1) ? V(1) : x == V(-1) ? (y & 1 ? V(-1) : V(1)) : V(0);
  }
  for (uint64_t n = static_cast<uint64_t>(y); n != 0; n >>= 1) {
    if (n & 1) result *= base;
    base *= base;
  }
  return static_cast<V>(result);
}

// Division of integers as PyTorch defines it; b must not be 0. The most negative number divided by
// -1 wraps to itself.
template <class V>
TREADLE_HD V div_trunc(V a, V b) {
  if constexpr (is_float<V>) {
    return trunc(a / b);
  } else if constexpr (V(-1) < V(0)) {
    return b == V(-1) ? V(0 - static_cast<uint64_t>(a)) : V(a / b);
  } else {
    return V(a / b);
  }
}
// a - trunc(a/b) b, exact, with the sign of a. Long division in base 2^52: mostly one step.
TREADLE_HD double fmod(double x, double y) {
  double a = abs(x), b = abs(y);
  if (!(a < kInf) || b == 0.0 || y != y) return kNaN;
  if (a < b) return x;
  while (a >= b) {
    double part = b;  // b times the power of two that leaves a quotient below 2^52
    while (a * 0x1p-51 >= part) part *= 0x1p51;
    const double scale = part > 0x1p800 ? 0x1p-200 : 1.0;  // keeps two_prod from overflowing
    const double q = trunc(a / part);
    const Pair p = two_prod(q, part * scale);
    const double r = ((a * scale - p.hi) - p.lo) / scale;
    a = r < 0.0 ? r + part : r >= part ? r - part : r;
  }
  return copysign(a, x);
}
TREADLE_HD float fmod(float x, float y) {
  return static_cast<float>(fmod(static_cast<double>(x), static_cast<double>(y)));
}
template <class V>
requires is_integer<V> TREADLE_HD V fmod(V a, V b) {
  if constexpr (V(-1) < V(0)) return b == V(-1) ? V(0) : static_cast<V>(a % b);
  return static_cast<V>(a % b);
}

// Python's modulo: a - floor(a/b) b, with the sign of b, that of a zero too (where PyTorch keeps
// a's).
template <class V>
TREADLE_HD V remainder(V a, V b) {
  const V r = fmod(a, b);
  if constexpr (is_float<V>) {
    if (r == V(0)) return copysign(r, b);
  }
  return r != V(0) && (r < V(0)) != (b < V(0)) ? V(r + b) : r;
}
// floor(a / b) without the rounding of a / b: (a - fmod) / b is near an integer, also for infinite
// b.
template <class V>
TREADLE_HD V div_floor(V a, V b) {
  if constexpr (is_float<V>) {
    if (b == V(0)) return a / b;
    const V m = fmod(a, b);
    const V q = (a - m) / b - (m != V(0) && (m < V(0)) != (b < V(0)) ? V(1) : V(0));
    return q == V(0) ? copysign(q, a / b) : round(q);
  } else {
    const V q = div_trunc(a, b);
    return V(fmod(a, b)) != V(0) && (a < V(0)) != (b < V(0)) ? V(q - V(1)) : q;
  }
}

TREADLE_FUNCTOR_END
