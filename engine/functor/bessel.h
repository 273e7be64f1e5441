// Bessel functions of one number, and Airy's. Listed in unary.h. The math is in bessel_math.h. To
// add one: op.h.
#pragma once
#include "engine/functor/bessel_math.h"
#include "engine/functor/op.h"

TREADLE_FUNCTOR_BEGIN

constexpr Info bessel(const char* schema, const char* doc, Saves saves, Domain domain, double ulp64,
                      double floor = 0) {
  return {schema, doc, Result::floating, saves, domain, 1, ulp64, kFloat, floor};
}

// -- modified, first kind

struct I0 {
  static constexpr Info info =
      bessel("i0(Tensor self) -> Tensor", "Modified Bessel function of the first kind, order 0.",
             Saves::in, {-100, 100}, 8);
  template <class V>
  TREADLE_HD static V f(V x) {
    return i0(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * i1(x);
  }
};
struct I0e {
  static constexpr Info info = bessel("special_i0e(Tensor self) -> Tensor", "e^-|x| i0(x).",
                                      Saves::in_and_out, {-100, 100}, 8);
  template <class V>
  TREADLE_HD static V f(V x) {
    return i0e(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V y) {
    return g * (i1e(x) - sign(x) * y);
  }
};
struct I1 {
  static constexpr Info info = bessel("special_i1(Tensor self) -> Tensor",
                                      "Modified Bessel function of the first kind, order 1.",
                                      Saves::in_and_out, {-100, 100}, 16);
  template <class V>
  TREADLE_HD static V f(V x) {
    return i1(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V y) {
    return g * select(x == V(0), V(0.5), i0(x) - y / x);
  }
};
struct I1e {
  static constexpr Info info = bessel("special_i1e(Tensor self) -> Tensor", "e^-|x| i1(x).",
                                      Saves::in_and_out, {-100, 100}, 16);
  template <class V>
  TREADLE_HD static V f(V x) {
    return i1e(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V y) {
    return g * select(x == V(0), V(0.5), i0e(x) - y * (sign(x) + V(1) / x));
  }
};

// -- modified, second kind

struct ModifiedK0 {
  static constexpr Info info =
      bessel("special_modified_bessel_k0(Tensor self) -> Tensor",
             "Modified Bessel function of the second kind, order 0; inf at 0, NaN below.",
             Saves::in, {0, 100}, 8);
  template <class V>
  TREADLE_HD static V f(V x) {
    return bessel_k0(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return -g * bessel_k1(x);
  }
};
struct ModifiedK1 {
  static constexpr Info info =
      bessel("special_modified_bessel_k1(Tensor self) -> Tensor",
             "Modified Bessel function of the second kind, order 1; inf at 0, NaN below.",
             Saves::in_and_out, {0, 100}, 8);
  template <class V>
  TREADLE_HD static V f(V x) {
    return bessel_k1(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V y) {
    return -g * (bessel_k0(x) + y / x);
  }
};
struct ScaledK0 {
  static constexpr Info info = bessel("special_scaled_modified_bessel_k0(Tensor x) -> Tensor",
                                      "e^x modified_bessel_k0(x).", Saves::nothing, {0, 100}, 8);
  template <class V>
  TREADLE_HD static V f(V x) {
    return bessel_k0e(x);
  }
};
struct ScaledK1 {
  static constexpr Info info = bessel("special_scaled_modified_bessel_k1(Tensor x) -> Tensor",
                                      "e^x modified_bessel_k1(x).", Saves::nothing, {0, 100}, 8);
  template <class V>
  TREADLE_HD static V f(V x) {
    return bessel_k1e(x);
  }
};

// -- oscillating

struct BesselJ0 {
  static constexpr Info info =
      bessel("special_bessel_j0(Tensor self) -> Tensor",
             "Bessel function of the first kind, order 0.", Saves::in, {-100, 100}, 8, 1);
  template <class V>
  TREADLE_HD static V f(V x) {
    return bessel_j0(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return -g * bessel_j1(x);
  }
};
struct BesselJ1 {
  static constexpr Info info =
      bessel("special_bessel_j1(Tensor self) -> Tensor",
             "Bessel function of the first kind, order 1.", Saves::in_and_out, {-100, 100}, 8, 1);
  template <class V>
  TREADLE_HD static V f(V x) {
    return bessel_j1(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V y) {
    return g * select(x == V(0), V(0.5), bessel_j0(x) - y / x);
  }
};
struct BesselY0 {
  static constexpr Info info =
      bessel("special_bessel_y0(Tensor self) -> Tensor",
             "Bessel function of the second kind, order 0; -inf at 0, NaN below.", Saves::in,
             {0, 100}, 12, 1);
  template <class V>
  TREADLE_HD static V f(V x) {
    return bessel_y0(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return -g * bessel_y1(x);
  }
};
struct BesselY1 {
  static constexpr Info info =
      bessel("special_bessel_y1(Tensor self) -> Tensor",
             "Bessel function of the second kind, order 1; -inf at 0, NaN below.",
             Saves::in_and_out, {0, 100}, 8, 1);
  template <class V>
  TREADLE_HD static V f(V x) {
    return bessel_y1(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V y) {
    return g * (bessel_y0(x) - y / x);
  }
};
struct SphericalJ0 {
  static constexpr Info info =
      bessel("special_spherical_bessel_j0(Tensor x) -> Tensor",
             "Spherical Bessel function of order 0: sin(x) / x.", Saves::nothing, {-100, 100}, 2);
  template <class V>
  TREADLE_HD static V f(V x) {
    return spherical_bessel_j0(x);
  }
};
struct AiryAi {
  static constexpr Info info = bessel("special_airy_ai(Tensor x) -> Tensor", "Airy's function Ai.",
                                      Saves::nothing, {-30, 20}, 24, 1);
  template <class V>
  TREADLE_HD static V f(V x) {
    return airy_ai(x);
  }
};

using BesselOps = List<I0, I0e, I1, I1e, ModifiedK0, ModifiedK1, ScaledK0, ScaledK1, BesselJ0,
                       BesselJ1, BesselY0, BesselY1, SphericalJ0, AiryAi>;

TREADLE_FUNCTOR_END
