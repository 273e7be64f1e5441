// Numbers that C++ has no type for: the 16-bit floats, which are stored so and computed in float,
// and complex numbers. Branch-free, so that a loop of conversions vectorises with plain SSE2.
#pragma once
#include "engine/functor/bits.h"

TREADLE_FUNCTOR_BEGIN

// IEEE 754 binary16 of a float and back: to nearest, ties to even; what is too large is infinite.
TREADLE_HD float half_to_float(uint16_t h) {
  const uint32_t magnitude = static_cast<uint32_t>(h & 0x7fffu) << 13;
  // The exponent's bias goes from 15 to 127 by a product, which makes subnormal numbers right too.
  const float value = bit_cast<float>(magnitude) * 0x1p112f;
  const uint32_t special = magnitude >= 0x0f800000u ? 0x7f800000u : 0u;  // infinity and NaN
  return bit_cast<float>(bits(value) | special | static_cast<uint32_t>(h & 0x8000u) << 16);
}
TREADLE_HD uint16_t float_to_half(float x) {
  const uint32_t u = bits(x), a = u & 0x7fffffffu;
  const uint32_t normal = ((a + 0x0fffu + (a >> 13 & 1u)) >> 13) - (112u << 10);
  // Below 2^-14: adding 1/2 leaves the units of 2^-24 in the low bits, rounded by the hardware.
  const uint32_t tiny = bits(bit_cast<float>(a) + 0.5f) - bits(0.5f);
  uint32_t r = a < 0x38800000u ? tiny : normal;
  r = a >= 0x477ff000u ? 0x7c00u : r;
  r = a > 0x7f800000u ? 0x7e00u : r;
  return static_cast<uint16_t>(r | (u >> 16 & 0x8000u));
}
// bfloat16: the upper half of a float.
TREADLE_HD float bfloat_to_float(uint16_t b) {
  return bit_cast<float>(static_cast<uint32_t>(b) << 16);
}
TREADLE_HD uint16_t float_to_bfloat(float x) {
  const uint32_t u = bits(x);
  const uint32_t r = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
  return static_cast<uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : r);
}

struct Half {
  uint16_t stored;
  Half() = default;
  TREADLE_HD explicit Half(float x) : stored(float_to_half(x)) {}
  TREADLE_HD operator float() const { return half_to_float(stored); }
};
struct BFloat16 {
  uint16_t stored;
  BFloat16() = default;
  TREADLE_HD explicit BFloat16(float x) : stored(float_to_bfloat(x)) {}
  TREADLE_HD operator float() const { return bfloat_to_float(stored); }
};

template <class T>
struct Complex {
  T re, im;
  Complex() = default;
  TREADLE_HD constexpr Complex(T real, T imaginary) : re(real), im(imaginary) {}
  // From any real number.
  template <class N>
  TREADLE_HD explicit constexpr Complex(N real) : re(static_cast<T>(real)), im(T(0)) {}
  template <class U>
  TREADLE_HD explicit constexpr Complex(Complex<U> z)
      : re(static_cast<T>(z.re)), im(static_cast<T>(z.im)) {}

  TREADLE_HD explicit operator bool() const { return (re != T(0)) | (im != T(0)); }
  TREADLE_HD Complex operator-() const { return {-re, -im}; }
  TREADLE_HD friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  TREADLE_HD friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  TREADLE_HD friend Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  // Smith's method (Communications of the ACM 5, 1962): no overflow where the result has none.
  TREADLE_HD friend Complex operator/(Complex a, Complex b) {
    const bool wide = abs(b.re) >= abs(b.im);
    const T big = wide ? b.re : b.im, small = wide ? b.im : b.re;
    const T ratio = big == T(0) ? T(0) : small / big, d = big + small * ratio;
    const T re = wide ? a.re + a.im * ratio : a.re * ratio + a.im;
    const T im = wide ? a.im - a.re * ratio : a.im * ratio - a.re;
    return {re / d, im / d};
  }
  TREADLE_HD Complex& operator+=(Complex b) { return *this = *this + b; }
  TREADLE_HD friend bool operator==(Complex a, Complex b) {
    return (a.re == b.re) & (a.im == b.im);
  }
  TREADLE_HD friend bool operator!=(Complex a, Complex b) { return !(a == b); }
};

template <class V>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<Complex<T>> = true;

// The conjugate; a real number itself.
template <class V>
TREADLE_HD V conj(V x) {
  if constexpr (is_complex<V>) {
    return {x.re, -x.im};
  } else {
    return x;
  }
}
// Whether x is a real number >= 0.
template <class V>
TREADLE_HD bool nonnegative(V x) {
  if constexpr (is_complex<V>) {
    return (x.im == 0) & (x.re >= 0);
  } else {
    return x >= V(0);
  }
}
template <class T>
TREADLE_HD bool isnan(Complex<T> z) {
  return (z.re != z.re) | (z.im != z.im);
}
template <class T>
TREADLE_HD bool isinf(Complex<T> z) {
  return logical_or(isinf(z.re), isinf(z.im));
}

TREADLE_FUNCTOR_END
