// Trigonometry, hyperbolics and their inverses, angles: elementwise ops of one tensor, joined in
// unary.h.
#pragma once
#include "engine/functor/math.h"
#include "engine/functor/op.h"

TREADLE_FUNCTOR_BEGIN

struct Sin {
  static constexpr Info info{"sin(Tensor self) -> Tensor",
                             "Sine of an angle in radians.",
                             Result::floating,
                             Saves::in,
                             {-1e6, 1e6},
                             1,
                             1,
                             kField};
  static constexpr bool periodic = true;
  template <class V>
  TREADLE_HD static V f(V x) {
    return sin(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * cos(x);
  }
};
struct Cos {
  static constexpr Info info{"cos(Tensor self) -> Tensor",
                             "Cosine of an angle in radians.",
                             Result::floating,
                             Saves::in,
                             {-1e6, 1e6},
                             1,
                             1,
                             kField};
  static constexpr bool periodic = true;
  template <class V>
  TREADLE_HD static V f(V x) {
    return cos(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return -g * sin(x);
  }
};
struct Tan {
  static constexpr Info info{"tan(Tensor self) -> Tensor",
                             "Tangent of an angle in radians.",
                             Result::floating,
                             Saves::out,
                             {-1e6, 1e6},
                             1,
                             2,
                             kField};
  static constexpr bool periodic = true;
  template <class V>
  TREADLE_HD static V f(V x) {
    return tan(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V y) {
    return g * (V(1) + y * y);
  }
};
struct Asin {
  static constexpr Info info{"asin(Tensor self) -> Tensor",
                             "Inverse sine, in radians.",
                             Result::floating,
                             Saves::in,
                             {-1, 1},
                             1,
                             1.5,
                             kField};
  static constexpr const char* aliases = "arcsin";
  template <class V>
  TREADLE_HD static V f(V x) {
    return asin(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * rsqrt(V(1) - x * x);
  }
};
struct Acos {
  static constexpr Info info{"acos(Tensor self) -> Tensor",
                             "Inverse cosine, in radians.",
                             Result::floating,
                             Saves::in,
                             {-1, 1},
                             1,
                             1.5,
                             kField};
  static constexpr const char* aliases = "arccos";
  template <class V>
  TREADLE_HD static V f(V x) {
    return acos(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return -g * rsqrt(V(1) - x * x);
  }
};
struct Atan {
  static constexpr Info info{"atan(Tensor self) -> Tensor",
                             "Inverse tangent, in radians.",
                             Result::floating,
                             Saves::in,
                             {-20, 20},
                             1,
                             2,
                             kField};
  static constexpr const char* aliases = "arctan";
  template <class V>
  TREADLE_HD static V f(V x) {
    return atan(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g / (x * x + V(1));
  }
};
struct Sinh {
  static constexpr Info info{"sinh(Tensor self) -> Tensor",
                             "Hyperbolic sine.",
                             Result::floating,
                             Saves::in,
                             {-80, 80},
                             1,
                             2,
                             kField};
  template <class V>
  TREADLE_HD static V f(V x) {
    return sinh(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * cosh(x);
  }
};
struct Cosh {
  static constexpr Info info{"cosh(Tensor self) -> Tensor",
                             "Hyperbolic cosine.",
                             Result::floating,
                             Saves::in,
                             {-80, 80},
                             1,
                             2,
                             kField};
  template <class V>
  TREADLE_HD static V f(V x) {
    return cosh(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * sinh(x);
  }
};
struct Tanh {
  static constexpr Info info{"tanh(Tensor self) -> Tensor",
                             "Hyperbolic tangent.",
                             Result::floating,
                             Saves::out,
                             {-12, 12},
                             2.5,
                             2,
                             kField};
  template <class V>
  TREADLE_HD static V f(V x) {
    return tanh(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V y) {
    return g * (V(1) - y * y);
  }
};
struct Asinh {
  static constexpr Info info{"asinh(Tensor self) -> Tensor",
                             "Inverse hyperbolic sine.",
                             Result::floating,
                             Saves::in,
                             {-1e6, 1e6},
                             1,
                             2,
                             kField};
  static constexpr const char* aliases = "arcsinh";
  template <class V>
  TREADLE_HD static V f(V x) {
    return asinh(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * rsqrt(x * x + V(1));
  }
};
struct Acosh {
  static constexpr Info info{"acosh(Tensor self) -> Tensor",
                             "Inverse hyperbolic cosine.",
                             Result::floating,
                             Saves::in,
                             {1, 1e6},
                             1,
                             2,
                             kField};
  static constexpr const char* aliases = "arccosh";
  template <class V>
  TREADLE_HD static V f(V x) {
    return acosh(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g * (rsqrt(x - V(1)) * rsqrt(x + V(1)));
  }
};
struct Atanh {
  static constexpr Info info{"atanh(Tensor self) -> Tensor",
                             "Inverse hyperbolic tangent.",
                             Result::floating,
                             Saves::in,
                             {-1, 1},
                             1,
                             2,
                             kField};
  static constexpr const char* aliases = "arctanh";
  template <class V>
  TREADLE_HD static V f(V x) {
    return atanh(x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return g / (V(1) - x * x);
  }
};

// -- angles

struct Deg2rad {
  static constexpr Info info{"deg2rad(Tensor self) -> Tensor",
                             "Degrees to radians: x * pi / 180.",
                             Result::floating,
                             Saves::nothing,
                             {-360, 360},
                             1,
                             1,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    return x * V(0.017453292519943295);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V) {
    return g * V(0.017453292519943295);
  }
};
struct Rad2deg {
  static constexpr Info info{"rad2deg(Tensor self) -> Tensor",
                             "Radians to degrees: x * 180 / pi.",
                             Result::floating,
                             Saves::nothing,
                             {-6, 6},
                             1,
                             1,
                             kFloat};
  template <class V>
  TREADLE_HD static V f(V x) {
    return x * V(57.29577951308232);
  }
  template <class V>
  TREADLE_HD static V df(V g, V, V) {
    return g * V(57.29577951308232);
  }
};
using TrigonometricOps =
    List<Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, Deg2rad, Rad2deg>;

TREADLE_FUNCTOR_END
