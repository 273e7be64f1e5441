// Special functions of one number: gamma's family, relatives of erf, sinc. Listed in unary.h. The
// math is in gamma_math.h and erf_math.h; bounds hold with Info::floor. To add one: op.h.
#pragma once
#include "engine/functor/erf_math.h"
#include "engine/functor/gamma_math.h"
#include "engine/functor/op.h"

TREADLE_FUNCTOR_BEGIN

// Functions that are computed in double, from 16-bit floats to double.
constexpr Info special(const char* schema, const char* doc, Saves saves, Domain domain,
                       double ulp64, double floor = 0) {
  return {schema, doc, Result::floating, saves, domain, 1, ulp64, kFloat, floor};
}

struct Lgamma {
  static constexpr Info info =
      special("lgamma(Tensor self) -> Tensor", "log |gamma(x)|.", Saves::in, {-30, 60}, 8, 1);
  template <class V>
  TREADLE_HD static V f(V x) {
    return lgamma(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * digamma(x);
  }
};
struct Digamma {
  static constexpr Info info =
      special("digamma(Tensor self) -> Tensor", "The derivative of lgamma: gamma'(x) / gamma(x).",
              Saves::in, {0.1, 60}, 10, 1);
  template <class V>
  TREADLE_HD static V f(V x) {
    return digamma(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * polygamma(x, int64_t{1});
  }
};
struct Polygamma {
  static constexpr Info info = special("_polygamma(Tensor self, Scalar n) -> Tensor",
                                       "The n-th derivative of digamma.", Saves::in, {0.1, 60}, 8);
  template <class V>
  TREADLE_HD static V f(V x, const Params& p) {
    return polygamma(x, p.value[0].i);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V, const Params& p) {
    return g * polygamma(x, p.value[0].i + 1);
  }
};
struct Erfinv {
  static constexpr Info info =
      special("erfinv(Tensor self) -> Tensor",
              "The inverse of erf; infinite at -1 and 1, NaN beyond.", Saves::out, {-1, 1}, 4);
  template <class V>
  TREADLE_HD static V f(V x) {
    return erfinv(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V y) {
    return g * (V(0.886226925452758) * exp(y * y));
  }
};
struct Erfcx {
  static constexpr Info info =
      special("special_erfcx(Tensor self) -> Tensor", "e^(x^2) erfc(x), exact for large x.",
              Saves::in_and_out, {-20, 100}, 4);
  template <class V>
  TREADLE_HD static V f(V x) {
    return erfcx(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V y) {
    return g * (V(2) * x * y - V(1.1283791670955126));
  }
};
struct Entr {
  static constexpr Info info{"special_entr(Tensor self) -> Tensor",
                             "-x log(x); 0 at 0, -inf below.",
                             Result::floating,
                             Saves::in,
                             {0, 10},
                             2,
                             2,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    const V y = select(x == V(0), V(0), -x * log(x));
    return select(x < V(0), V(-kInf), y);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return -g * (V(1) + log(x));
  }
};
struct Ndtr {
  static constexpr Info info =
      special("special_ndtr(Tensor self) -> Tensor",
              "The normal distribution function: (1 + erf(x / sqrt(2))) / 2.", Saves::in, {-30, 9},
              3, 0.01);
  template <class V>
  TREADLE_HD static V f(V x) {
    return ndtr(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * (V(0.3989422804014327) * exp(V(-0.5) * (x * x)));
  }
};
struct Ndtri {
  static constexpr Info info =
      special("special_ndtri(Tensor self) -> Tensor", "The inverse of ndtr; NaN outside [0, 1].",
              Saves::out, {0, 1}, 4);
  template <class V>
  TREADLE_HD static V f(V x) {
    return ndtri(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V y) {
    return g * (V(2.5066282746310002) * exp(V(0.5) * (y * y)));
  }
};
struct LogNdtr {
  static constexpr Info info =
      special("special_log_ndtr(Tensor self) -> Tensor", "log(ndtr(x)), exact in both tails.",
              Saves::in, {-100, 9}, 4);
  template <class V>
  TREADLE_HD static V f(V x) {
    return log_ndtr(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * V(0.7978845608028654) / erfcx(V(-0.7071067811865476) * x);
  }
};
struct Logit {  // logit() adds eps
  static constexpr Info info{"_logit(Tensor self) -> Tensor",
                             "log(x / (1 - x)); NaN outside [0, 1].",
                             Result::floating,
                             Saves::in,
                             {0, 1},
                             3,
                             3,
                             kFloat,
                             1};
  template <class V>
  TREADLE_HD static V f(V x) {
    return log(x / (V(1) - x));
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return select(logical_and(x >= V(0), x <= V(1)), g / (x * (V(1) - x)), V(kNaN));
  }
};

// sin(pi x) / (pi x)
TREADLE_NOINLINE double sinc(double x) {
  return x == 0.0 ? 1.0 : detail::sin_pi(x) / (3.141592653589793 * x);
}
TREADLE_FLOAT1(sinc)
template <class T>
TREADLE_HD Complex<T> sinc(Complex<T> x) {
  const Complex<T> z = Complex<T>(3.141592653589793) * x;
  return x == Complex<T>(0) ? Complex<T>(1) : sin(z) / z;
}
struct Sinc {
  static constexpr Info info{"sinc(Tensor self) -> Tensor",
                             "sin(pi x) / (pi x); 1 at 0.",
                             Result::floating,
                             Saves::in_and_out,
                             {-100, 100},
                             1,
                             4,
                             kField};
  template <class V>
  TREADLE_HD static V f(V x) {
    return sinc(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V y) {
    return select(x == V(0), V(0), g * ((cos(V(3.141592653589793) * x) - y) / x));
  }
};

using SpecialOps =
    List<Lgamma, Digamma, Polygamma, Erfinv, Erfcx, Entr, Ndtr, Ndtri, LogNdtr, Logit, Sinc>;

TREADLE_FUNCTOR_END
