// Piecewise linear functions: clamp, the activations that are cheap, nan_to_num. Elementwise ops of
// one tensor, joined in unary.h. NaN stays NaN in all but nan_to_num.
#pragma once
#include "engine/functor/math.h"
#include "engine/functor/op.h"

TREADLE_FUNCTOR_BEGIN

// Their common row: exact results.
constexpr Info piecewise(const char* schema, const char* doc, Kinds kinds = kReal) {
  return {schema, doc, Result::same, Saves::in, {-10, 10}, 0, 0, kinds};
}

struct Clamp {
  static constexpr Info info = piecewise(
      "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
      "min(max(x, min), max); NaN if x or a bound is. No gradient at the bounds.", kOrdered);
  static constexpr const char* aliases = "clip";
  static constexpr Bound bounds[] = {Bound::lower, Bound::upper};
  template <class V>
  TREADLE_HD static V f(V x, const Params& p) {
    V y = x;
    if (!p.absent(0)) y = maximum(y, p.get<V>(0));
    if (!p.absent(1)) y = minimum(y, p.get<V>(1));
    return y;
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V, const Params& p) {
    if (p.absent(0)) return select(x < p.get<V>(1), g, V(0));
    if (p.absent(1)) return select(x > p.get<V>(0), g, V(0));
    return select(logical_and(x > p.get<V>(0), x < p.get<V>(1)), g, V(0));
  }
};
struct ClampMin {
  static constexpr Info info =
      piecewise("clamp_min(Tensor self, Scalar min) -> Tensor", "max(x, min).", kOrdered);
  static constexpr Bound bounds[] = {Bound::lower};
  template <class V>
  TREADLE_HD static V f(V x, const Params& p) {
    return maximum(x, p.get<V>(0));
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V, const Params& p) {
    return select(x > p.get<V>(0), g, V(0));
  }
};
struct ClampMax {
  static constexpr Info info =
      piecewise("clamp_max(Tensor self, Scalar max) -> Tensor", "min(x, max).", kOrdered);
  static constexpr Bound bounds[] = {Bound::upper};
  template <class V>
  TREADLE_HD static V f(V x, const Params& p) {
    return minimum(x, p.get<V>(0));
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V, const Params& p) {
    return select(x < p.get<V>(0), g, V(0));
  }
};

struct Hardtanh {
  static constexpr Info info =
      piecewise("hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
                "x cut to [min_val, max_val]. No gradient at the bounds.");
  static constexpr bool functional = true, saturates = true;
  template <class V>
  TREADLE_HD static V f(V x, const Params& p) {
    return minimum(maximum(x, p.get<V>(0)), p.get<V>(1));
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V, const Params& p) {
    return select(logical_or(x <= p.get<V>(0), x >= p.get<V>(1)), V(0), g);
  }
};
// x + 3 cut to [0, 6].
template <class V>
TREADLE_HD V hard_ramp(V x) {
  return minimum(maximum(x + V(3), V(0)), V(6));
}
struct Hardsigmoid {
  static constexpr Info info{"hardsigmoid(Tensor self) -> Tensor",
                             "min(max(x + 3, 0), 6) / 6.",
                             Result::same,
                             Saves::in,
                             {0, 10},
                             1,
                             1,
                             kFloat};
  static constexpr bool functional = true;
  template <class V>
  TREADLE_HD static V f(V x) {
    return hard_ramp(x) / V(6);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    return select(logical_and(x > V(-3), x < V(3)), g / V(6), V(0));
  }
};
struct Hardswish {
  static constexpr Info info{"hardswish(Tensor self) -> Tensor",
                             "x * min(max(x + 3, 0), 6) / 6.",
                             Result::same,
                             Saves::in,
                             {0, 10},
                             2,
                             2,
                             kFloat};
  static constexpr bool functional = true;
  template <class V>
  TREADLE_HD static V f(V x) {
    return x * (hard_ramp(x) / V(6));  // in this order, no overflow
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V) {
    const V inside = g * (x / V(3) + V(0.5));
    return select(x <= V(-3), V(0), select(x < V(3), inside, g));
  }
};
struct Hardshrink {
  static constexpr Info info = piecewise("hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
                                         "0 in [-lambd, lambd], x elsewhere.", kFloat);
  static constexpr bool inplace = false;
  template <class V>
  TREADLE_HD static V f(V x, const Params& p) {
    const V l = p.get<V>(0);
    return select(logical_and(x >= -l, x <= l), V(0), x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V, const Params& p) {
    const V l = p.get<V>(0);
    return select(logical_and(x >= -l, x <= l), V(0), g);
  }
};
struct Softshrink {
  static constexpr Info info{"softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
                             "x - lambd above lambd, x + lambd below -lambd, 0 between.",
                             Result::same,
                             Saves::in,
                             {-10, 10},
                             0.5,
                             0.5,
                             kFloat};
  static constexpr bool functional = true;
  static constexpr Refusal refuses[] = {{When::scalar_negative, Raise::runtime,
                                         "lambda must be greater or equal to 0, but found a "
                                         "negative number."}};
  template <class V>
  TREADLE_HD static V f(V x, const Params& p) {
    const V l = p.get<V>(0);
    return select(x > l, x - l, select(x < -l, x + l, x * V(0)));
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V, const Params& p) {
    const V l = p.get<V>(0);
    return select(logical_and(x >= -l, x <= l), V(0), g);
  }
};
struct Threshold {
  static constexpr Info info =
      piecewise("threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
                "value where x <= threshold, x elsewhere.");
  template <class V>
  TREADLE_HD static V f(V x, const Params& p) {
    return select(x <= p.get<V>(0), p.get<V>(1), x);
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V, const Params& p) {
    return select(x <= p.get<V>(0), V(0), g);
  }
};
struct NanToNum {
  static constexpr Info info = piecewise(
      "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
      "NaN becomes nan (0), inf posinf and -inf neginf (the dtype's extremes); of complex numbers "
      "in both parts.",
      kAny);
  template <class V>
  TREADLE_HD static V f(V x, const Params& p) {
    if constexpr (is_complex<V>) {
      return {f(x.re, p), f(x.im, p)};
    } else if constexpr (is_float<V>) {
      const V nan = V(p.absent(0) ? 0.0 : p.value[0].f);
      const V high = V(p.value[1].f), low = V(p.absent(2) ? -p.value[2].f : p.value[2].f);
      const V infinite = select(x == V(kInf), high, select(x == V(-kInf), low, x));
      return select(x != x, nan, infinite);
    } else {
      return x;
    }
  }
  template <class V>
  TREADLE_HD static V df(V g, V x, V, const Params&) {
    return select(x - x == V(0), g, V(0));
  }
};

using PiecewiseOps = List<Clamp, ClampMin, ClampMax, Hardtanh, Hardsigmoid, Hardswish, Hardshrink,
                          Softshrink, Threshold, NanToNum>;

TREADLE_FUNCTOR_END
