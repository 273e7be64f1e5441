// The primitives under functor/math.h: bit casts, select, sign and rounding, exact sums and
// products. All branch-free, so that a loop over them vectorises with plain SSE2: no instruction of
// SSE4.1 or later is needed (roundps is not), and no 64-bit integer compare, which SSE2 lacks.
// Nothing here relies on floating-point contraction or a fused multiply-add: the same bits
// everywhere.
#pragma once
#include "engine/functor/hd.h"

TREADLE_FUNCTOR_BEGIN

template <class To, class From>
TREADLE_HD To bit_cast(From x) {
  return __builtin_bit_cast(To, x);
}
TREADLE_HD uint32_t bits(float x) { return bit_cast<uint32_t>(x); }
TREADLE_HD uint64_t bits(double x) { return bit_cast<uint64_t>(x); }

// The unsigned integer of the same width, and constants of the format.
template <class V>
struct Format;
template <>
struct Format<float> {
  using Bits = uint32_t;
  static constexpr uint32_t sign = 0x80000000u;
  static constexpr float integers = 8388608.0f;  // 2^23: from here on every value is an integer
};
template <>
struct Format<double> {
  using Bits = uint64_t;
  static constexpr uint64_t sign = 0x8000000000000000u;
  static constexpr double integers = 4503599627370496.0;  // 2^52
};

template <class V>
constexpr bool is_float = false;
template <>
inline constexpr bool is_float<float> = true;
template <>
inline constexpr bool is_float<double> = true;

template <class V>
constexpr bool is_integer = false;
// clang-format off
template <> inline constexpr bool is_integer<uint8_t> = true;
template <> inline constexpr bool is_integer<int8_t> = true;
template <> inline constexpr bool is_integer<int16_t> = true;
template <> inline constexpr bool is_integer<int32_t> = true;
template <> inline constexpr bool is_integer<int64_t> = true;
template <> inline constexpr bool is_integer<uint16_t> = true;
template <> inline constexpr bool is_integer<uint32_t> = true;
template <> inline constexpr bool is_integer<uint64_t> = true;
// clang-format on

inline constexpr double kInf = __builtin_inf();
inline constexpr double kNaN = __builtin_nan("");

template <class V>
TREADLE_HD V zeros_like(V) {  // of a Tensor: as large and of its dtype
  return V(0);
}
template <class V>
TREADLE_HD V select(bool c, V a, V b) {
  return c ? a : b;
}
TREADLE_HD bool logical_and(bool a, bool b) { return a & b; }
TREADLE_HD bool logical_or(bool a, bool b) { return a | b; }
TREADLE_HD bool logical_not(bool a) { return !a; }

template <class V>
TREADLE_HD bool isnan(V x) {
  if constexpr (is_float<V>) {
    return x != x;
  } else {
    return false;
  }
}

template <class V>
TREADLE_HD V abs(V x) {
  if constexpr (is_float<V>) {
    return bit_cast<V>(static_cast<typename Format<V>::Bits>(bits(x) & ~Format<V>::sign));
  } else {
    return x < V(0) ? V(V(0) - x) : x;
  }
}

template <class V>
TREADLE_HD bool isinf(V x) {
  if constexpr (is_float<V>) {
    return abs(x) == V(kInf);
  } else {
    return false;
  }
}

// Magnitude of x, sign of s.
template <class V>
TREADLE_HD V copysign(V x, V s) {
  using F = Format<V>;
  return bit_cast<V>(static_cast<typename F::Bits>((bits(x) & ~F::sign) | (bits(s) & F::sign)));
}

// -1, 0 or 1; NaN stays NaN.
template <class V>
TREADLE_HD V sign(V x) {
  if constexpr (is_float<V>) {
    return select(x > V(0), V(1), select(x < V(0), V(-1), x == x ? V(0) : x));
  } else {
    return V((x > V(0)) - (x < V(0)));
  }
}

// To the nearest integer, ties to even. Adding and taking off 2^23 (2^52) rounds by the hardware's
// own rule; from there on x is an integer already. Keeps -0, NaN and infinities.
template <class V>
TREADLE_HD V round(V x) {
  if constexpr (is_float<V>) {
    const V big = Format<V>::integers, a = abs(x);
    return copysign(select(a < big, (a + big) - big, a), x);
  } else {
    return x;
  }
}
template <class V>
TREADLE_HD V floor(V x) {
  if constexpr (is_float<V>) {
    const V r = round(x);
    return copysign(r - select(r > x, V(1), V(0)), x);
  } else {
    return x;
  }
}
template <class V>
TREADLE_HD V ceil(V x) {
  if constexpr (is_float<V>) {
    const V r = round(x);
    return copysign(r + select(r < x, V(1), V(0)), x);
  } else {
    return x;
  }
}
template <class V>
TREADLE_HD V trunc(V x) {
  if constexpr (is_float<V>) {
    const V a = abs(x), r = round(a);
    return copysign(r - select(r > a, V(1), V(0)), x);
  } else {
    return x;
  }
}

// A NaN in either operand is the result, as PyTorch's maximum and minimum.
template <class V>
TREADLE_HD V maximum(V a, V b) {
  if constexpr (is_float<V>) {
    return select(a > b, a, select(b == b, select(a == a, b, a), b));
  } else {
    return a > b ? a : b;
  }
}
template <class V>
TREADLE_HD V minimum(V a, V b) {
  if constexpr (is_float<V>) {
    return select(a < b, a, select(b == b, select(a == a, b, a), b));
  } else {
    return a < b ? a : b;
  }
}

// IEEE 754 square root: the hardware's instruction, correctly rounded (kernels are compiled with
// -fno-math-errno, without which this would be a call).
TREADLE_HD float sqrt(float x) { return __builtin_sqrtf(x); }
TREADLE_HD double sqrt(double x) { return __builtin_sqrt(x); }

// Sum of coefficients c0 + c1 x + c2 x^2 + ... by Horner's rule.
template <class V>
TREADLE_HD V poly(V, V c) {
  return c;
}
template <class V, class... Rest>
TREADLE_HD V poly(V x, V c, Rest... rest) {
  return c + x * poly(x, static_cast<V>(rest)...);
}

// hi + lo, |lo| <= ulp(hi) / 2: twice double's precision.
struct Pair {
  double hi, lo;
};

// a + b exactly (Knuth); the second form needs |a| >= |b| (Dekker).
TREADLE_HD Pair two_sum(double a, double b) {
  const double s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
TREADLE_HD Pair fast_two_sum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}

// a * b exactly (Dekker, with Veltkamp's split in 26 and 27 bits). Needs |a|, |b| < 2^996.
TREADLE_HD Pair two_prod(double a, double b) {
  const double k = 134217729.0;  // 2^27 + 1
  const double ca = k * a, cb = k * b;
  const double ah = ca - (ca - a), al = a - ah, bh = cb - (cb - b), bl = b - bh;
  const double p = a * b;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

TREADLE_FUNCTOR_END
