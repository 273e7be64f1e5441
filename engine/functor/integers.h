// Bits, shifts and divisors of integers: elementwise ops of two tensors, joined in binary.h.
#pragma once
#include "engine/functor/math.h"
#include "engine/functor/op.h"

TREADLE_FUNCTOR_BEGIN

struct BitwiseAnd {
  static constexpr Info info =
      bitwise("bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", "self & other.");
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return V(a & b);
  }
};
struct BitwiseOr {
  static constexpr Info info =
      bitwise("bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", "self | other.");
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return V(a | b);
  }
};
struct BitwiseXor {
  static constexpr Info info =
      bitwise("bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor", "self ^ other.");
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return V(a ^ b);
  }
};

// -- what bool has none of

constexpr Info integer(const char* schema, const char* doc) {
  return {schema, doc, Result::same, Saves::nothing, {-100, 100}, 0, 0, kInt};
}
// A shift by a negative number or by all bits of the dtype leaves nothing but the sign. (Small
// integers are computed in 64 bits, whose low ones are the result.)
template <class V>
TREADLE_HD bool shifts_out(V b) {
  return (b < V(0)) | (b >= V(8 * sizeof(V)));
}
struct ShiftLeft {
  static constexpr Info info =
      integer("bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor",
              "self * 2^other in the integers of the dtype; 0 if other is negative.");
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    const uint64_t n = shifts_out(b) ? 0 : static_cast<uint64_t>(b);
    return shifts_out(b) ? V(0) : V(static_cast<uint64_t>(a) << n);
  }
};
struct ShiftRight {
  static constexpr Info info =
      integer("bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor",
              "self / 2^other rounded down; the sign alone if other is negative.");
  static constexpr Numbers number = Numbers::either;
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    const V all = V(8 * sizeof(V) - 1);
    if constexpr (V(-1) < V(0)) {
      return V(a >> (shifts_out(b) ? all : b));
    } else {
      return shifts_out(b) ? V(0) : V(a >> b);
    }
  }
};

// Euclid's algorithm on the absolute values. The most negative number's wraps, as in PyTorch.
TREADLE_HD uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    const uint64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}
template <class V>
TREADLE_HD uint64_t magnitude(V x) {
  if constexpr (V(-1) < V(0)) {
    return x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  } else {
    return x;
  }
}
struct Gcd {
  static constexpr Info info = integer("gcd(Tensor self, Tensor other) -> Tensor",
                                       "Greatest common divisor, >= 0; gcd(0, 0) = 0.");
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    return static_cast<V>(common_divisor(magnitude(a), magnitude(b)));
  }
};
struct Lcm {
  static constexpr Info info = integer("lcm(Tensor self, Tensor other) -> Tensor",
                                       "Least common multiple, >= 0; 0 if one is 0.");
  template <class V>
  TREADLE_HD static V f(V a, V b) {
    const uint64_t x = magnitude(a), y = magnitude(b), d = common_divisor(x, y);
    return static_cast<V>(d == 0 ? 0 : x / d * y);
  }
};

using IntegerOps = List<BitwiseAnd, BitwiseOr, BitwiseXor, ShiftLeft, ShiftRight, Gcd, Lcm>;

TREADLE_FUNCTOR_END
