// What special functions are, in long double, by other means than the kernels': the C library where
// it has them, else definitions that converge fast (series of positive terms, the trapezoidal rule
// over integrals of analytic functions, Newton's method on the inverse).
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <string>

namespace special_reference {

using L = long double;
inline constexpr L kPi = 3.14159265358979323846264338327950288L;
inline constexpr L kInf = std::numeric_limits<L>::infinity();
inline constexpr L kNaN = std::numeric_limits<L>::quiet_NaN();

// sum of (q + n)^-s, s > 1, q > 0: 40 terms and the Euler-Maclaurin formula
inline L zeta(L s, L q) {
  L sum = 0;
  for (int n = 0; n < 40; ++n) sum += std::pow(q + n, -s);
  const L a = q + 40, first = std::pow(a, -s);
  sum += first * a / (s - 1) + first / 2;
  const L b[] = {1.0L / 6, -1.0L / 30, 1.0L / 42, -1.0L / 30, 5.0L / 66, -691.0L / 2730, 7.0L / 6};
  L term = first * s / a, factorial = 2;
  for (int k = 0; k < 7; ++k) {
    sum += b[k] / factorial * term;
    term *= (s + 2 * k + 1) * (s + 2 * k + 2) / (a * a);
    factorial *= (2 * k + 3) * (2 * k + 4);
  }
  return sum;
}
inline L digamma(L x) {
  if (x == 0) return std::signbit(x) ? kInf : -kInf;
  if (x < 0) {
    if (x == std::floor(x)) return kNaN;
    return digamma(1 - x) - kPi / std::tan(kPi * (x - std::round(x)));
  }
  L sum = 0;
  for (; x < 40; ++x) sum -= 1 / x;
  const L z = 1 / (x * x);
  const L series =
      z *
      (1.0L / 12 -
       z * (1.0L / 120 - z * (1.0L / 252 - z * (1.0L / 240 - z * (1.0L / 132 - z * 691 / 32760)))));
  return sum + std::log(x) - 1 / (2 * x) - series;
}
inline L trigamma(L x) {
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return x > 0 ? 0 : kNaN;
  if (x > 0) return x > 1e30L ? 1 / x : zeta(2, x);
  const L r = x - std::round(x), s = std::sin(kPi * r);
  return r == 0 ? kInf : kPi * kPi / (s * s) - trigamma(1 - x);
}

// e^(x^2), of an x with 53 bits
inline L exp_square(L x) {
  const L h = static_cast<float>(x), l = x - h;
  return std::exp(h * h) * std::exp(2 * h * l + l * l);
}
inline L erfcx(L x) {
  if (x > 100) return (1 - 1 / (2 * x * x) + 3 / (4 * x * x * x * x)) / (x * std::sqrt(kPi));
  return x < -100 ? kInf : exp_square(x) * std::erfc(x);
}
// y with erfc(y) = q, q <= 1/2
inline L erfc_inverse(L q) {
  L y = std::sqrt(-std::log(q)) * 0.8L;
  for (int i = 0; i < 60; ++i) {
    const L e = std::erfc(y);
    y += std::log(e / q) * e / (2 / std::sqrt(kPi) * std::exp(-y * y));
  }
  return y;
}
inline L erfinv(L x) {
  const L a = std::fabs(x);
  if (!(a < 1)) return a == 1 ? std::copysign(kInf, x) : kNaN;
  if (a > 0.5L) return std::copysign(erfc_inverse(1 - a), x);
  L y = x * std::sqrt(kPi) / 2;
  for (int i = 0; i < 20; ++i) y -= (std::erf(y) - x) * std::sqrt(kPi) / 2 * std::exp(y * y);
  return y;
}
inline L ndtr(L x) { return std::erfc(-x / std::sqrt(2.0L)) / 2; }
inline L ndtri(L p) {
  if (p == 0) return -kInf;
  if (!(p > 0 && p < 1)) return p == 1 ? kInf : kNaN;
  return std::sqrt(2.0L) * (p < 0.25L ? -erfc_inverse(2 * p) : erfinv(2 * p - 1));
}
inline L log_ndtr(L x) {
  if (x < -140) return -x * x / 2 - std::log(-x * std::sqrt(2 * kPi)) - 1 / (x * x);
  return x < 0 ? std::log(ndtr(x)) : std::log1p(-ndtr(-x));
}
inline L sinc(L x) {
  if (x == 0) return 1;
  if (x == std::round(x) && !std::isinf(x)) return 0;
  return std::sin(kPi * (x - 2 * std::round(x / 2))) / (kPi * x);
}

// e^-|x| times the modified Bessel function
inline L bessel_ie(int order, L x) {
  const L a = std::fabs(x), h = a / 2;
  L sum = 0;
  if (a > 300) {  // DLMF 10.40.1
    L term = 1;
    for (int k = 0; k < 20; ++k) {
      sum += term;
      const L odd = 2 * k + 1;
      term *= -(4 * order * order - odd * odd) / (8 * a * (k + 1));
    }
    sum /= std::sqrt(2 * kPi * a);
  } else {
    L term = order == 0 ? 1 : h;
    for (int k = 1; k < 600; ++k) {
      sum += term;
      term *= h * h / (k * static_cast<L>(k + order));
    }
    sum *= std::exp(-a);
  }
  return order == 1 ? std::copysign(sum, x) : sum;
}
inline L bessel_i(int order, L x) {
  return std::isinf(x) ? (order == 1 ? x : kInf) : bessel_ie(order, x) * std::exp(std::fabs(x));
}
// e^x times the modified Bessel function of the second kind: DLMF 10.32.9
inline L bessel_ke(int order, L x) {
  if (!(x > 0)) return x == 0 ? kInf : kNaN;
  if (std::isinf(x)) return 0;
  const L width = std::sqrt(1 / x) < 1 ? std::sqrt(1 / x) : 1, h = width / 12;
  L sum = 0.5L;
  for (L t = h;; t += h) {
    const L s = std::sinh(t / 2), e = 2 * x * s * s;
    if (e > 60) break;
    sum += std::exp(-e) * (order == 1 ? std::cosh(t) : 1);
  }
  return sum * h;
}
inline L bessel_k(int order, L x) {
  return std::isinf(x) && x > 0 ? 0 : bessel_ke(order, x) * (x > 0 ? std::exp(-x) : 1);
}
inline L bessel_y(int order, L x) {
  if (!(x > 0)) return x == 0 ? -kInf : kNaN;
  return order == 0 ? ::y0l(x) : ::y1l(x);
}
// Ai by its integral, along a path on which the integrand never grows beyond its value at 0.
inline L airy_ai(L z) {
  if (std::isinf(z)) return z > 0 ? 0 : kNaN;
  using C = std::complex<L>;
  const L a = std::fabs(z), root = std::sqrt(a), h = 1 / (12 + 3 * root);
  L sum = 0;  // the path's halves are mirror images
  for (int k = 0; k < 100000; ++k) {
    const L y = k * h;
    L g = 0, slope = 0;  // t = g(y) + i y
    if (z > 0) {         // of steepest descent through the saddle point sqrt(z), z >= 1
      g = std::sqrt(std::max(z, L(1)) + y * y / 3);
      slope = y / (3 * g);
    } else {
      const L r = std::sqrt(y * y + std::max(a, L(1))), w = 2 * r + 1;
      g = (y * y - a) / w;
      slope = 2 * y / w - g / w * 2 * y / r;
    }
    const C t(g, y), e = t * t * t / C(3) - z * t;
    if (e.real() < -80 && y > root) break;
    sum += (std::exp(e) * C(slope, 1)).imag() * (k == 0 ? 1 : 2);
  }
  return sum * h / (2 * kPi);
}

inline const std::map<std::string, L (*)(L)>& unary() {
  static const std::map<std::string, L (*)(L)> table = {
      {"lgamma", [](L x) { return std::lgamma(x); }},
      {"digamma", digamma},
      {"_polygamma", trigamma},  // n = 1 in kParams
      {"erfinv", erfinv},
      {"special_erfcx", erfcx},
      {"special_entr", [](L x) { return x < 0    ? -kInf
                                        : x == 0 ? 0
                                                 : -x * std::log(x); }},
      {"special_ndtr", ndtr},
      {"special_ndtri", ndtri},
      {"special_log_ndtr", log_ndtr},
      {"_logit", [](L x) { return std::log(x / (1 - x)); }},
      {"sinc", sinc},
      {"i0", [](L x) { return bessel_i(0, x); }},
      {"special_i0e", [](L x) { return bessel_ie(0, x); }},
      {"special_i1", [](L x) { return bessel_i(1, x); }},
      {"special_i1e", [](L x) { return bessel_ie(1, x); }},
      {"special_modified_bessel_k0", [](L x) { return bessel_k(0, x); }},
      {"special_modified_bessel_k1", [](L x) { return bessel_k(1, x); }},
      {"special_scaled_modified_bessel_k0", [](L x) { return bessel_ke(0, x); }},
      {"special_scaled_modified_bessel_k1", [](L x) { return bessel_ke(1, x); }},
      {"special_bessel_j0", [](L x) { return ::j0l(x); }},
      {"special_bessel_j1", [](L x) { return ::j1l(x); }},
      {"special_bessel_y0", [](L x) { return bessel_y(0, x); }},
      {"special_bessel_y1", [](L x) { return bessel_y(1, x); }},
      {"special_spherical_bessel_j0",
       [](L x) { return x == 0          ? 1
                        : std::isinf(x) ? 0
                                        : std::sin(x) / x; }},
      {"special_airy_ai", airy_ai},
  };
  return table;
}

// The regularised incomplete gamma functions by their series, or the continued fraction of the
// upper one.
inline L gamma_part(L a, L x, bool upper) {
  const L front = std::exp(a * std::log(x) - x - std::lgamma(a));
  if (x < a + 1) {
    L sum = 0, term = 1 / a;
    for (int n = 1; n < 5000 && term > sum * 1e-22L; ++n) {
      sum += term;
      term *= x / (a + n);
    }
    return upper ? 1 - front * sum : front * sum;
  }
  L tail = 0;
  for (int n = 3000; n > 0; --n) tail = n * (n - a) / (x + 2 * n + 1 - a - tail);
  const L y = front / (x + 1 - a - tail);
  return upper ? y : 1 - y;
}

// p(k) = (a x + b) p(k-1) - c p(k-2) from p(0) = 1, p(1) = first.
enum class Family { chebyshev, hermite, hermite_e, laguerre, legendre };
inline L polynomial(Family family, L x, int n, L first) {
  L before = 1, p = first;
  if (n == 0) return 1;
  for (int k = 1; k < n; ++k) {
    L next = 0;
    switch (family) {
      case Family::chebyshev:
        next = 2 * x * p - before;
        break;
      case Family::hermite:
        next = 2 * (x * p - k * before);
        break;
      case Family::hermite_e:
        next = x * p - k * before;
        break;
      case Family::laguerre:
        next = ((2 * k + 1 - x) * p - k * before) / (k + 1);
        break;
      case Family::legendre:
        next = ((2 * k + 1) * x * p - k * before) / (k + 1);
        break;
    }
    before = p;
    p = next;
  }
  return p;
}

}  // namespace special_reference
