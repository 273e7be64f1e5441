// The gamma function's family: lgamma, digamma, polygamma, Hurwitz zeta, incomplete gamma. In
// double, out of line (chebyshev.h says why). Errors: see the bounds in special.h.
#pragma once
#include "engine/functor/chebyshev.h"

TREADLE_FUNCTOR_BEGIN

namespace detail {

// lgamma(2 + u), |u| <= 1/2
TREADLE_NOINLINE double lgamma_near_2(double u) {
  static constexpr double k_lgamma_near_2[] = {
      0.41418612492156676,     0.16322170068760064,     -0.008658972394126285,
      0.0006727515726001485,   -6.139556963628233e-05,  6.110065797003576e-06,
      -6.410003033826223e-07,  6.962242692768951e-08,   -7.747248733788217e-09,
      8.774075140687239e-10,   -1.0070266869830198e-10, 1.1678602130652374e-11,
      -1.3656871334744932e-12, 1.6079351149711552e-13,  -1.9039501088488732e-14,
      2.2653768767833064e-15,  -2.706656814831896e-16,  3.245660731626191e-17,
      -3.904483378457447e-18};
  return u * chebyshev(k_lgamma_near_2, u, -0.5, 0.5);
}
// Stirling's series of lgamma(a) - ((a - 1/2) log a - a + log(2 pi)/2), a >= 8 (DLMF 5.11.1).
TREADLE_NOINLINE double stirling_rest(double a) {
  const double r = 1.0 / a;
  return r * poly(r * r, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360,
                  1.0 / 156, -3617.0 / 122400, 43867.0 / 244188);
}

}  // namespace detail

// log |gamma(x)|
TREADLE_NOINLINE double lgamma(double x) {
  if (x != x) return x;
  const double a = abs(x);
  if (a == kInf) return kInf;
  if (a < 0.5) {
    return detail::lgamma_near_2(x) - detail::scalar_log(a) - detail::scalar_log1p(x);
  }
  if (x < 0.0) {  // the reflection formula
    const double s = abs(detail::sin_pi(x));
    if (s == 0.0) return kInf;
    return detail::scalar_log(3.141592653589793 / (a * s)) - lgamma(a);
  }
  if (a < 1.5) return detail::lgamma_near_2(a - 1.0) - detail::scalar_log1p(a - 1.0);
  if (a >= 8.0) {
    return (a - 0.5) * (detail::scalar_log(a) - 1.0) +
           (0.4189385332046727 + detail::stirling_rest(a));
  }
  double u = a - 2.0, product = 1.0;
  while (u > 0.5) {
    u -= 1.0;
    product *= u + 2.0;
  }
  const double rest = detail::lgamma_near_2(u);
  return product == 1.0 ? rest : rest + detail::scalar_log(product);
}

// The derivative of lgamma: recurrence up to 10, then DLMF 5.11.2.
TREADLE_NOINLINE double digamma(double x) {
  if (x == 0.0) return copysign(kInf, -x);
  double sum = 0.0;
  if (x < 0.0) {
    if (x == round(x)) return kNaN;
    const double r = x - round(x), angle = 3.141592653589793 * r;
    sum = -3.141592653589793 * detail::scalar_sin(angle, 1.0) / detail::scalar_sin(angle, 0.0);
    x = 1.0 - x;
  }
  for (; x < 10.0; x += 1.0) sum -= 1.0 / x;
  const double z = 1.0 / x / x;
  const double series =
      z * poly(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12);
  return sum + (detail::scalar_log(x) - 0.5 / x - series);
}

// The derivative of digamma; infinite at 0, -1, -2, ...
TREADLE_NOINLINE double trigamma(double x) {
  if (x == kInf) return 0.0;
  double sum = 0.0, factor = 1.0;
  if (x < 0.5) {
    const double s = detail::sin_pi(x) / 3.141592653589793;
    sum = -1.0 / (s * s);
    factor = -1.0;
    x = 1.0 - x;
  }
  for (; x < 10.0; x += 1.0) sum += 1.0 / (x * x);
  const double r = 1.0 / x, z = r * r;
  const double series =
      poly(z, 1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6);
  return factor * (sum + (r + 0.5 * z + r * z * series));
}

namespace detail {

// zeta(s, q) for q > 0, s > 1: ten terms or more, then the Euler-Maclaurin formula (DLMF 25.11.5).
TREADLE_NOINLINE double zeta_positive(double s, double q) {
  double a = q, term = scalar_pow(a, -s), sum = term;
  for (int i = 0; i < 9 || a <= 9.0; ++i) {
    a += 1.0;
    term = scalar_pow(a, -s);
    sum += term;
    if (term < 0x1p-60 * sum) return sum;
  }
  sum += term * a / (s - 1.0) - 0.5 * term;
  // B_2k / (2k)!
  static constexpr double b[] = {1.0 / 12,
                                 -1.0 / 720,
                                 1.0 / 30240,
                                 -1.0 / 1209600,
                                 1.0 / 47900160,
                                 -691.0 / 1307674368000,
                                 1.0 / 74724249600,
                                 -3617.0 / 10670622842880000,
                                 43867.0 / 5109094217170944000};
  double factor = s;
  for (int k = 0; k < 9; ++k) {
    term /= a;
    const double t = b[k] * factor * term;
    sum += t;
    if (abs(t) < 0x1p-60 * sum) break;
    term /= a;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2);
  }
  return sum;
}

}  // namespace detail

// The sum of (q + n)^-s over n = 0, 1, 2, ... Infinite at s = 1 and at q = 0, -1, ...; NaN for s
// < 1 and where q < 0 and s isn't an integer.
TREADLE_NOINLINE double zeta(double s, double q) {
  if (s != s || q != q) return kNaN;
  if (s == 1.0) return kInf;
  if (s < 1.0) return kNaN;
  if (q > 0.0) return q == kInf ? 0.0 : detail::zeta_positive(s, q);
  if (q == round(q)) return kInf;
  if (s != round(s)) return kNaN;
  // The terms of negative numbers apart, by their distances to 0.
  const double m = ceil(-q), f = q + m;  // f in (0, 1)
  const double negative = detail::zeta_positive(s, 1.0 - f) - detail::zeta_positive(s, m + 1.0 - f);
  return detail::zeta_positive(s, f) + (detail::odd(s) ? -negative : negative);
}

// The n-th derivative of digamma, n >= 0.
TREADLE_NOINLINE double polygamma(double x, int64_t n) {
  if (n == 0) return digamma(x);
  if (n == 1) return trigamma(x);
  double factorial = 1.0;
  for (int64_t k = 2; k <= n && factorial < kInf; ++k) factorial *= static_cast<double>(k);
  const double y = factorial * zeta(static_cast<double>(n) + 1.0, x);
  return n % 2 == 0 ? -y : y;
}
TREADLE_HD float polygamma(float x, int64_t n) {
  return static_cast<float>(polygamma(static_cast<double>(x), n));
}

namespace detail {

// mu - log(1 + mu), where ratio = 1 + mu without its rounding.
TREADLE_NOINLINE double log1p_rest(double mu, double ratio) {
  if (abs(mu) > 0.3) return mu - scalar_log(ratio);
  // 2 atanh(s) - log1p = 0 with s = mu / (2 + mu): mu - 2 s = mu s
  const double s = mu / (2.0 + mu), z = s * s;
  const double tail = poly(z, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15,
                           1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23);
  return mu * s - 2.0 * s * z * tail;
}
// x^a e^-x / gamma(a)
TREADLE_NOINLINE double gamma_density(double a, double x) {
  if (a < 8.0) return scalar_exp(a * scalar_log(x) - x - lgamma(a));
  const double mu = (x - a) / a;
  const double e = scalar_exp(-a * log1p_rest(mu, x / a) - stirling_rest(a));
  return e * sqrt(a) * 0.3989422804014327;
}
// The lower function by its power series (DLMF 8.7.1).
TREADLE_NOINLINE double gamma_series(double a, double x) {
  double sum = 1.0, term = 1.0;
  for (int n = 1; n < 2000; ++n) {
    term *= x / (a + n);
    sum += term;
    if (term <= 0x1p-55 * sum) break;
  }
  return gamma_density(a, x) / a * sum;
}
// The upper function by its continued fraction (DLMF 8.9.2), evaluated forwards by Lentz's method.
TREADLE_NOINLINE double gamma_fraction(double a, double x) {
  double b = x + 1.0 - a, c = 0x1p1000, d = 1.0 / b, h = d;
  for (int n = 1; n < 2000; ++n) {
    const double an = n * (a - n);
    b += 2.0;
    d = an * d + b;
    c = b + an / c;
    if (d == 0.0) d = 0x1p-1000;
    if (c == 0.0) c = 0x1p-1000;
    d = 1.0 / d;
    const double step = d * c;
    h *= step;
    if (abs(step - 1.0) <= 0x1p-53) break;
  }
  return gamma_density(a, x) * h;
}
// The upper function near x = a, for large a: Temme's uniform expansion (DLMF 8.12.4, 8.12.7-11).
// Coefficients: Taylor series of c_k(eta) at 0, computed for this file in 60-digit arithmetic.
TREADLE_NOINLINE double gamma_uniform(double a, double x, bool upper) {
  static constexpr double c[8][14] = {
      {-0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073,
       0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06,
       -1.85406221071516e-06, 8.296711340953087e-07, -1.7665952736826078e-07, 6.707853543401498e-09,
       1.0261809784240309e-08, -4.382036018453353e-09},
      {-0.001851851851851852, -0.003472222222222222, 0.0026455026455026454, -0.0009902263374485596,
       0.00020576131687242798, -4.018775720164609e-07, -1.8098550334489977e-05,
       7.64916091608111e-06, -1.6120900894563446e-06, 4.647127802807434e-09, 1.378633446915721e-07,
       -5.752545603517705e-08, 1.1951628599778148e-08, -1.7543241719747647e-11},
      {0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049, 2.0093878600823047e-06,
       -0.0001073665322636516, 5.2923448829120125e-05, -1.2760635188618728e-05,
       3.423578734096138e-08, 1.3721957309062934e-06, -6.298992138380055e-07,
       1.4280614206064242e-07, -2.0477098421990866e-10, -1.409252991086752e-08,
       6.228974084922022e-09},
      {0.0006494341563786008, 0.00022947209362139917, -0.0004691894943952557,
       0.00026772063206283885, -7.561801671883977e-05, -2.396505113867297e-07,
       1.1082654115347302e-05, -5.6749528269915965e-06, 1.4230900732435883e-06,
       -2.7861080291528143e-11, -1.6958404091930278e-07, 8.099464905388083e-08,
       -1.9111168485973655e-08, 2.3928620439808118e-12},
      {-0.0008618882909167117, 0.0007840392217200666, -0.0002990724803031902,
       -1.4638452578843418e-06, 6.641498215465122e-05, -3.968365047179435e-05,
       1.1375726970678419e-05, 2.507497226237533e-10, -1.6954149536558305e-06,
       8.907507532205309e-07, -2.292934834000805e-07, 2.956794137544049e-11, 2.8865829742708783e-08,
       -1.4189739437803219e-08},
      {-0.00033679855336635813, -6.972813758365857e-05, 0.0002772753244959392,
       -0.00019932570516188847, 6.797780477937208e-05, 1.419062920643967e-07,
       -1.3594048189768693e-05, 8.018470256334202e-06, -2.291481176508095e-06,
       -3.252473551298454e-10, 3.4652846491085265e-07, -1.8447187191171344e-07,
       4.8240967037894184e-08, -1.7989466721743514e-14},
      {0.0005313079364639922, -0.0005921664373536939, 0.0002708782096718045, 7.902353232660328e-07,
       -8.153969367561969e-05, 5.61168275310625e-05, -1.8329116582843375e-05,
       -3.0796134506033047e-09, 3.465155368803609e-06, -2.0291327396058603e-06,
       5.788792863149004e-07, 2.338630673826657e-13, -8.828600746330484e-08,
       4.7435958880408125e-08},
      {0.00034436760689237765, 5.171790908260592e-05, -0.00033493161081142234,
       0.0002812695154763237, -0.00010976582244684731, -1.2741009095484485e-07,
       2.7744451511563645e-05, -1.8263488805711332e-05, 5.7876949497350525e-06,
       4.93875893393627e-10, -1.0595367014026043e-06, 6.166714376110408e-07,
       -1.7562973359060463e-07, -1.297447328701544e-12},
  };
  const double mu = (x - a) / a, phi = log1p_rest(mu, x / a);
  const double eta = copysign(sqrt(2.0 * phi), mu);
  double sum = 0.0;
  for (int k = 7; k >= 0; --k) {
    double ck = 0.0;
    for (int n = 13; n >= 0; --n) ck = ck * eta + c[k][n];
    sum = sum / a + ck;
  }
  const double rest = scalar_exp(-a * phi) * 0.3989422804014327 / sqrt(a) * sum;
  const double z = eta * sqrt(0.5 * a);
  return upper ? 0.5 * erfc(z) + rest : 0.5 * erfc(-z) - rest;
}

}  // namespace detail

// The regularised incomplete gamma functions: upper, or lower.
TREADLE_NOINLINE double gamma_part(double a, double x, bool upper) {
  const double all = upper ? 0.0 : 1.0, none = 1.0 - all;  // of x = inf, of x = 0
  if (a != a || x != x || a < 0.0 || x < 0.0) return kNaN;
  if (a == 0.0) return x > 0.0 ? all : kNaN;
  if (x == 0.0) return none;
  if (a == kInf) return x == kInf ? kNaN : none;
  if (x == kInf) return all;
  if (a >= 40.0 && abs(x - a) < 0.3 * a) return detail::gamma_uniform(a, x, upper);
  if (x < 1.0 || x < a) {
    const double y = detail::gamma_series(a, x);
    return upper ? 1.0 - y : y;
  }
  const double y = detail::gamma_fraction(a, x);
  return upper ? y : 1.0 - y;
}
TREADLE_HD double igamma(double a, double x) { return gamma_part(a, x, false); }
TREADLE_HD double igammac(double a, double x) { return gamma_part(a, x, true); }

TREADLE_FLOAT1(lgamma)
TREADLE_FLOAT1(digamma)
TREADLE_FLOAT1(trigamma)
TREADLE_FLOAT2(zeta)
TREADLE_FLOAT2(igamma)
TREADLE_FLOAT2(igammac)

TREADLE_FUNCTOR_END
