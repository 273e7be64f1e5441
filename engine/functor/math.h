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
// Integer powers by squaring; a negative exponent gives 0, except for bases 1 and -1 (as PyTorch).
TREADLE_HD int64_t pow(int64_t x, int64_t y) {
  const int64_t unit = x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0;
  if (y < 0) return unit;
  uint64_t result = 1, base = static_cast<uint64_t>(x);
  for (uint64_t n = static_cast<uint64_t>(y); n != 0; n >>= 1) {
    if (n & 1) result *= base;
    base *= base;
  }
  return static_cast<int64_t>(result);
}
TREADLE_HD uint8_t pow(uint8_t x, uint8_t y) {
  return static_cast<uint8_t>(pow(static_cast<int64_t>(x), static_cast<int64_t>(y)));
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
TREADLE_HD int64_t fmod(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
TREADLE_HD uint8_t fmod(uint8_t a, uint8_t b) { return static_cast<uint8_t>(a % b); }

// Python's modulo: a - floor(a/b) b, with the sign of b.
template <class V>
TREADLE_HD V remainder(V a, V b) {
  const V r = fmod(a, b);
  return r != V(0) && (r < V(0)) != (b < V(0)) ? V(r + b) : r;
}
// floor(a / b) without the rounding of a / b: (a - remainder) / b is near an integer.
template <class V>
TREADLE_HD V div_floor(V a, V b) {
  if constexpr (is_float<V>) {
    if (b == V(0)) return a / b;
    const V r = remainder(a, b), q = (a - r) / b;
    return q == V(0) ? copysign(q, a / b) : round(q);
  } else {
    const V q = div_trunc(a, b);
    return V(fmod(a, b)) != V(0) && (a < V(0)) != (b < V(0)) ? V(q - V(1)) : q;
  }
}

TREADLE_FUNCTOR_END
