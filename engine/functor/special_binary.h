// Special functions of two numbers: x log y and its kin, incomplete gamma, Hurwitz zeta, orthogonal
// polynomials. Listed in binary.h. The math is in gamma_math.h and polynomial_math.h. To add one:
// op.h.
#pragma once
#include "engine/functor/gamma_math.h"
#include "engine/functor/op.h"
#include "engine/functor/polynomial_math.h"

TREADLE_FUNCTOR_BEGIN

// A derivative that isn't there: `lacks_a` in an op is what PyTorch's error of a backward pass
// through input 0 says. What the kernel would give must not pass for a derivative.
struct LacksA {
  template <class V>
  TREADLE_HD static V da(V g, V, V, V) {
    return g * V(kNaN);
  }
};

struct Xlogy {
  static constexpr Info info{"xlogy.Tensor(Tensor self, Tensor other) -> Tensor",
                             "self * log(other); 0 where self is 0, unless other is NaN.",
                             Result::floating,
                             Saves::in,
                             {0.1, 10},
                             2,
                             2,
                             kFloat};
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return select(isnan(b), b, select(a == V(0), V(0), a * log(b)));
  }
  template <class V>
  TREADLE_HD static V da(V g, V a, V b, V) {
    return select(logical_and(a == V(0), b <= V(0)), V(0), g * log(b));
  }
  template <class V>
  TREADLE_HD static V db(V g, V a, V b, V) {
    return g * (a / b);
  }
};
struct Xlog1py {
  static constexpr Info info{"special_xlog1py(Tensor self, Tensor other) -> Tensor",
                             "self * log1p(other); 0 where self is 0, unless other is NaN.",
                             Result::floating,
                             Saves::in,
                             {0.1, 10},
                             3,
                             3,
                             kFloat};
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return select(isnan(b), b, select(a == V(0), V(0), a * log1p(b)));
  }
  template <class V>
  TREADLE_HD static V da(V g, V a, V b, V) {
    return select(logical_and(a == V(0), b <= V(-1)), V(0), g * log1p(b));
  }
  template <class V>
  TREADLE_HD static V db(V g, V a, V b, V) {
    return g * (a / (b + V(1)));
  }
};

// -- gamma's family

struct Zeta : LacksA {
  static constexpr Info info{"special_zeta(Tensor self, Tensor other) -> Tensor",
                             "Hurwitz zeta function: the sum of (other + n)^-self, n = 0, 1, ...",
                             Result::floating,
                             Saves::in,
                             {1.1, 10},
                             1,
                             16,
                             kFloat};
  static constexpr Numbers number = Numbers::either;
  static constexpr const char* lacks_a = "zeta";
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return zeta(a, b);
  }
  template <class V>
  TREADLE_HD static V db(V g, V a, V b, V) {
    return -g * (a * zeta(a + V(1), b));
  }
};
// The density of the gamma distribution: the slope of igamma in its second argument.
template <class V>
TREADLE_HD V gamma_slope(V a, V x) {
  const V power = select(a == V(1), V(0), (a - V(1)) * log(x));  // of x = 0 and infinity, too
  return select(x == V(kInf), V(0), exp(power - x - lgamma(a)));
}
struct Igamma : LacksA {
  static constexpr Info info{"igamma(Tensor self, Tensor other) -> Tensor",
                             "Regularised lower incomplete gamma function P(self, other).",
                             Result::floating,
                             Saves::in,
                             {0.1, 10},
                             1,
                             64,
                             kFloat,
                             0.1};
  static constexpr Numbers number = Numbers::either;
  static constexpr const char* lacks_a = "igamma: input";
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return igamma(a, b);
  }
  template <class V>
  TREADLE_HD static V db(V g, V a, V b, V) {
    return g * gamma_slope(a, b);
  }
};
struct Igammac : LacksA {
  static constexpr Info info{"igammac(Tensor self, Tensor other) -> Tensor",
                             "Regularised upper incomplete gamma function Q(self, other).",
                             Result::floating,
                             Saves::in,
                             {0.1, 10},
                             1,
                             128,
                             kFloat,
                             0.1};
  static constexpr Numbers number = Numbers::either;
  static constexpr const char* lacks_a = "igammac: input";
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return igammac(a, b);
  }
  template <class V>
  TREADLE_HD static V db(V g, V a, V b, V) {
    return -g * gamma_slope(a, b);
  }
};

// -- orthogonal polynomials: not differentiable, as PyTorch's

constexpr Info polynomial(const char* schema, const char* doc) {
  return {schema, doc, Result::floating, Saves::nothing, {-1, 1}, 1, 256, kFloat, 1};
}
struct ChebyshevT {
  static constexpr Info info =
      polynomial("special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor",
                 "Chebyshev polynomial of the first kind of degree n at x.");
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V x, V n) {
    return chebyshev_t(x, n);
  }
};
struct ChebyshevU {
  static constexpr Info info =
      polynomial("special_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor",
                 "Chebyshev polynomial of the second kind of degree n at x.");
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V x, V n) {
    return chebyshev_u(x, n);
  }
};
struct ChebyshevV {
  static constexpr Info info =
      polynomial("special_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor",
                 "Chebyshev polynomial of the third kind of degree n at x.");
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V x, V n) {
    return chebyshev_v(x, n);
  }
};
struct ChebyshevW {
  static constexpr Info info =
      polynomial("special_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor",
                 "Chebyshev polynomial of the fourth kind of degree n at x.");
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V x, V n) {
    return chebyshev_w(x, n);
  }
};
struct ShiftedT {
  static constexpr Info info =
      polynomial("special_shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor",
                 "Chebyshev polynomial of the first kind of degree n at 2 x - 1.");
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V x, V n) {
    return shifted_t(x, n);
  }
};
struct ShiftedU {
  static constexpr Info info =
      polynomial("special_shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor",
                 "Chebyshev polynomial of the second kind of degree n at 2 x - 1.");
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V x, V n) {
    return shifted_u(x, n);
  }
};
struct ShiftedV {
  static constexpr Info info =
      polynomial("special_shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor",
                 "Chebyshev polynomial of the third kind of degree n at 2 x - 1.");
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V x, V n) {
    return shifted_v(x, n);
  }
};
struct ShiftedW {
  static constexpr Info info =
      polynomial("special_shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor",
                 "Chebyshev polynomial of the fourth kind of degree n at 2 x - 1.");
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V x, V n) {
    return shifted_w(x, n);
  }
};
struct HermiteH {
  static constexpr Info info =
      polynomial("special_hermite_polynomial_h(Tensor x, Tensor n) -> Tensor",
                 "Physicists' Hermite polynomial of degree n at x; NaN for n > 512.");
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V x, V n) {
    return hermite_h(x, n);
  }
};
struct HermiteHe {
  static constexpr Info info =
      polynomial("special_hermite_polynomial_he(Tensor x, Tensor n) -> Tensor",
                 "Probabilists' Hermite polynomial of degree n at x; NaN for n > 512.");
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V x, V n) {
    return hermite_he(x, n);
  }
};
struct LaguerreL {
  static constexpr Info info =
      polynomial("special_laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor",
                 "Laguerre polynomial of degree n at x; NaN for n > 65536.");
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V x, V n) {
    return laguerre(x, n);
  }
};
struct LegendreP {
  static constexpr Info info =
      polynomial("special_legendre_polynomial_p(Tensor x, Tensor n) -> Tensor",
                 "Legendre polynomial of degree n at x; NaN for n > 65536.");
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V x, V n) {
    return legendre(x, n);
  }
};

using SpecialPairs =
    List<Xlogy, Xlog1py, Zeta, Igamma, Igammac, ChebyshevT, ChebyshevU, ChebyshevV, ChebyshevW,
         ShiftedT, ShiftedU, ShiftedV, ShiftedW, HermiteH, HermiteHe, LaguerreL, LegendreP>;

TREADLE_FUNCTOR_END
