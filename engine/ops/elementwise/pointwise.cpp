// Elementwise ops with more than a formula: a choice between formulas, two results, bits of a
// format, random slopes. Tried before the structs of functor/ where they share a name with one. To
// add one: a function and a row; `composed` gives it an in-place form that copies the result.
#include "engine/ops/elementwise/pointwise.h"

#include <cmath>
#include <string>

#include "engine/autograd/node.h"
#include "engine/core/context.h"
#include "engine/core/iter.h"
#include "engine/core/random.h"
#include "engine/core/visit.h"
#include "engine/ops/elementwise/special.h"
#include "engine/ops/native.h"
#include "engine/ops/view/util.h"

namespace treadle {
namespace {

// self = result, under the rules of in-place ops.
void assign(const Tensor& self, const Tensor& result) {
  if (!can_cast(result.dtype(), self.dtype())) {
    fail(ErrorKind::runtime, "result type " + std::string(info(result.dtype()).scalar) +
                                 " can't be cast to the desired output type " +
                                 std::string(info(self.dtype()).scalar));
  }
  if (result.shape() != self.shape()) {
    fail(ErrorKind::runtime, "output with shape " + to_string(self.shape()) +
                                 " doesn't match the broadcast shape " + to_string(result.shape()));
  }
  copy_(self, result);
}
template <auto Fn>
void call_assigning(Value* args) {
  const Tensor self = std::get<Tensor>(args[0]);
  check_inplace(self);
  assign(self, detail::Caller<decltype(Fn)>::call(Fn, args));
}
template <auto Fn>
constexpr OpDef composed(const char* schema, const char* doc, unsigned variants,
                         bool differentiable = true) {
  OpDef op = native<Fn>(schema, doc, variants | kInplace, differentiable);
  op.call_inplace = &call_assigning<Fn>;
  return op;
}
// Which tensors may be Python numbers (OpDef::numbers).
constexpr OpDef with_numbers(OpDef op, int numbers) {
  op.numbers = numbers;
  return op;
}

void check_real(const char* op, const Tensor& t) {
  if (!is_complex(t.dtype())) return;
  fail(ErrorKind::not_implemented, std::string(op) + " is not supported for complex types");
}

Tensor abs_of(const Tensor& self) { return abs(self); }
void abs_into(const Tensor& self) {
  if (is_complex(self.dtype())) {
    fail(ErrorKind::runtime, "In-place abs is not supported for complex tensors.");
  }
  abs_inplace(self);
}

Tensor sgn(const Tensor& self) {
  if (!is_complex(self.dtype())) return sign(self);
  const Tensor size = abs(self);
  const Tensor none = eq(size, Tensor(0));
  return where(none, zeros_like(self), div(self, where(none, ones_like(size), size)));
}
Tensor positive(const Tensor& self) {
  if (self.dtype() == DType::boolean) {
    fail(ErrorKind::not_implemented, "The `+` operator, on a bool tensor is not supported.");
  }
  return self;
}

Tensor clamp_to(const Tensor& self, const Tensor& min, const Tensor& max) {
  if (!min.defined() && !max.defined()) {
    fail(ErrorKind::runtime, "torch.clamp: At least one of 'min' or 'max' must not be None");
  }
  check_real("clamp", self);
  if (!max.defined()) return maximum(self, min);
  if (!min.defined()) return minimum(self, max);
  return clamp_tensor(self, min, max);
}

// Without bounds, an error in PyTorch, the array API standard's: a copy.
Tensor clip_to(const Tensor& self, const Tensor& min, const Tensor& max) {
  return min.defined() || max.defined() ? clamp_to(self, min, max) : clone(self);
}

// The scaling is rounded in the dtype, as in PyTorch.
Tensor round_decimals(const Tensor& self, std::int64_t decimals) {
  if (!is_floating(self.dtype())) {
    fail(ErrorKind::not_implemented, "\"round\" with decimals not implemented for '" +
                                         std::string(info(self.dtype()).scalar) + "'");
  }
  if (decimals == 0) return mul(round(self), Tensor(1));
  const Tensor scale(std::pow(10.0, static_cast<double>(std::abs(decimals))));
  return decimals > 0 ? div(round(mul(self, scale)), scale) : mul(round(div(self, scale)), scale);
}

DType power_dtype(const Tensor& self, const Tensor& exponent) {
  const bool complex = is_complex(self.dtype()) || is_complex(exponent.dtype());
  return complex ? DType::complex128 : DType::float64;
}
Tensor float_power(const Tensor& self, const Tensor& exponent) {
  const DType dtype = power_dtype(self, exponent);
  return pow(to(self, dtype), to(exponent, dtype));
}
void float_power_into(const Tensor& self, const Tensor& exponent) {
  const DType dtype = power_dtype(self, exponent);
  if (self.dtype() != dtype) {
    fail(ErrorKind::runtime,
         "the base given to float_power_ has dtype " + std::string(info(self.dtype()).scalar) +
             " but the operation's result requires dtype " + std::string(info(dtype).scalar));
  }
  check_inplace(self);
  assign(self, float_power(self, exponent));
}

// --- two results, bits

std::tuple<Tensor, Tensor> frexp(const Tensor& self) {
  if (!is_floating(self.dtype())) {
    fail(ErrorKind::runtime, "torch.frexp() only supports floating-point dtypes");
  }
  const Tensor* in[] = {&self};
  Tensor mantissa = allocate_like(self.shape(), self.dtype(), in);
  Tensor exponent = empty_strided(mantissa.shape(), mantissa.strides(), DType::int32);
  cast_into(mantissa, self);
  const std::int64_t n = self.numel();  // both are dense, in one order
  visit(self.dtype(), "frexp", [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!functor::is_integer<T> && !std::is_same_v<T, bool>) {
      T* m = mantissa.data_as<T>();
      auto* e = exponent.data_as<std::int32_t>();
      for (std::int64_t i = 0; i < n; ++i) {
        int power = 0;
        const double part = std::frexp(static_cast<double>(m[i]), &power);
        if (std::isfinite(part)) {
          m[i] = convert<T>(part);
          e[i] = power;
        } else {
          e[i] = 0;
        }
      }
    }
  });
  if (needs_tape({&self})) {
    record("FrexpBackward0", mantissa, {&self}, [exponent](Node&, const Gradients& g) {
      if (none(g)) return Gradients(1);
      return Gradients{div(g[0], pow(Tensor(2.0), to(exponent, g[0].dtype())))};
    });
  }
  return {mantissa, exponent};
}

// The neighbour of x towards y, on the bits of a format whose sign is the highest one.
template <class Bits, class V>
Bits neighbour(Bits x, Bits y, V value_x, V value_y) {
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  if (value_x != value_x) return x;
  if (value_y != value_y || value_x == value_y) return y;
  if (value_x == 0) return static_cast<Bits>((y & sign) | 1);
  const bool away = (value_x < value_y) == (value_x > 0);
  return static_cast<Bits>(away ? x + 1 : x - 1);
}
template <class T>
struct BitsOf {
  using type = std::uint16_t;  // the 16-bit floats
};
template <>
struct BitsOf<float> {
  using type = std::uint32_t;
};
template <>
struct BitsOf<double> {
  using type = std::uint64_t;
};

Tensor nextafter(const Tensor& self, const Tensor& other) {
  const DType dtype = result_type(self, other);
  if (!is_floating(dtype)) {
    fail(ErrorKind::not_implemented,
         "\"nextafter\" not implemented for '" + std::string(info(dtype).scalar) + "'");
  }
  const Dims shape = broadcast_shapes(self.shape(), other.shape());
  const Tensor a = contiguous(expand(to(detach(self), dtype), shape));
  const Tensor b = contiguous(expand(to(detach(other), dtype), shape));
  const Tensor out = empty(shape, dtype);
  visit(dtype, "nextafter", [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!functor::is_integer<T> && !std::is_same_v<T, bool>) {
      using Bits = typename BitsOf<T>::type;
      const T *x = a.data_as<T>(), *y = b.data_as<T>();
      T* o = out.data_as<T>();
      const std::int64_t n = out.numel();
      for (std::int64_t i = 0; i < n; ++i) {
        using V = std::conditional_t<std::is_same_v<T, double>, double, float>;
        o[i] = functor::bit_cast<T>(neighbour(functor::bit_cast<Bits>(x[i]),
                                              functor::bit_cast<Bits>(y[i]), static_cast<V>(x[i]),
                                              static_cast<V>(y[i])));
      }
    }
  });
  if (needs_tape({&self, &other})) {
    record("NextafterBackward0", out, {&self, &other},
           [](Node&, const Gradients&) -> Gradients { no_derivative("nextafter"); });
  }
  return out;
}

// --- activations

Tensor glu(const Tensor& self, std::int64_t dim) {
  if (self.dim() == 0) {
    fail(ErrorKind::runtime, "glu does not support scalars because halving size must be even");
  }
  dim = wrap_dim(dim, self.dim());
  const std::int64_t size = self.shape()[dim];
  if (size % 2 != 0) {
    fail(ErrorKind::runtime, "Halving dimension must be even, but dimension " +
                                 std::to_string(dim) + " is size " + std::to_string(size));
  }
  if (!is_floating(self.dtype())) {
    fail(ErrorKind::not_implemented,
         "\"glu\" not implemented for '" + std::string(info(self.dtype()).scalar) + "'");
  }
  return mul(narrow(self, dim, 0, size / 2), sigmoid(narrow(self, dim, size / 2, size / 2)));
}

Tensor prelu(const Tensor& self, const Tensor& weight) {
  if (self.dtype() != weight.dtype()) {
    fail(ErrorKind::runtime, "prelu: Type promoting not supported. Got " +
                                 std::string(info(self.dtype()).scalar) + " and " +
                                 std::string(info(weight.dtype()).scalar));
  }
  const std::int64_t n = weight.numel();
  if (n != 1) {
    if (self.dim() == 0) fail(ErrorKind::runtime, "Not allow zero-dim input tensor.");
    const std::int64_t channels = self.dim() > 1 ? self.shape()[1] : 1;
    if (n != channels) {
      fail(ErrorKind::runtime,
           "Mismatch of parameter numbers and input channel size. Found parameter numbers = " +
               std::to_string(n) + " and channel size = " + std::to_string(channels) + ".");
    }
  }
  if (weight.dim() > 1) {
    fail(ErrorKind::runtime,
         "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = " +
             std::to_string(weight.dim()));
  }
  Dims shape(self.dim(), 1);
  if (self.dim() > 1) shape[1] = n;
  return prelu_kernel(self, reshape(weight, shape));
}

// The slopes of rrelu in training: random where self <= 0, 1 elsewhere. One draw for each of the
// former, in order of the elements, as PyTorch draws.
Tensor rrelu_slopes(const Tensor& self, double lower, double upper, Generator* generator) {
  if (!is_floating(self.dtype())) {
    fail(ErrorKind::not_implemented,
         "\"rrelu\" not implemented for '" + std::string(info(self.dtype()).scalar) + "'");
  }
  const NoGrad off;
  const Tensor x = to(contiguous(self), DType::float64);
  const Tensor slopes = empty(self.shape(), DType::float64);
  const auto* in = x.data_as<const double>();
  auto* out = slopes.data_as<double>();
  const std::int64_t n = x.numel();
  (generator ? *generator : default_generator()).draw([&](RandomState& state) {
    for (std::int64_t i = 0; i < n; ++i) {
      out[i] = 1;
      if (!(in[i] <= 0)) continue;
      fill_uniform(state, DType::float64, reinterpret_cast<char*>(out + i), 1, lower, upper);
    }
  });
  return to(slopes, self.dtype());
}

constexpr unsigned kBoth = kFunction | kMethod;
constexpr unsigned kAll = kBoth | kOut;
constexpr int kEither = 3;

}  // namespace

std::span<const OpDef> pointwise_ops() {
  static constexpr OpDef rows[] = {
      native<abs_of, abs_into>("abs(Tensor self) -> Tensor",
                               "Absolute value; of complex numbers the size, a real number.", kAll),
      native<abs_of, abs_into>("absolute(Tensor self) -> Tensor", "abs().", kAll),
      composed<sgn>("sgn(Tensor self) -> Tensor", "sign(); of complex numbers z / |z|, 0 for 0.",
                    kAll),
      native<positive>("positive(Tensor(a) self) -> Tensor(a)",
                       "self. NotImplementedError for bool.", kBoth),
      composed<clamp_to>("clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
                         "min(max(self, min), max). A bound's share of the gradient is that of the "
                         "elements it decided; a tie is shared.",
                         kAll),
      composed<clip_to>("clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
                        "clamp(); without bounds a copy.", kAll),
      composed<round_decimals>("round.decimals(Tensor self, *, int decimals) -> Tensor",
                               "To the nearest number with so many decimals (-1: tens).", kAll),
      with_numbers(native<float_power, float_power_into>(
                       "float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
                       "pow() in float64 or complex128.", kAll),
                   kEither),
      native<frexp>("frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
                    "self = mantissa * 2^exponent, 0.5 <= |mantissa| < 1; int32 exponents.", kAll),
      with_numbers(
          composed<nextafter>("nextafter(Tensor self, Tensor other) -> Tensor",
                              "The next number of the dtype from self towards other.", kAll, false),
          0),
      native<glu>("glu(Tensor self, int dim=-1) -> Tensor",
                  "a * sigmoid(b) with the halves a and b of self along dim.", kFunctional),
      native<prelu>("prelu(Tensor self, Tensor weight) -> Tensor",
                    "self where self > 0, weight * self elsewhere; one weight, or one for each "
                    "channel (dimension 1).",
                    kBoth),
      native<rrelu_slopes>(
          "_rrelu_slopes(Tensor self, float lower, float upper, *, Generator? generator=None) -> "
          "Tensor",
          "Random where self <= 0, 1 elsewhere.", kFunctional, false),
  };
  return rows;
}

}  // namespace treadle
