// Random ops: all numbers come from a Generator's stream in the order that PyTorch draws them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "engine/core/warn.h"
#include "engine/ops/create/creation.h"
#include "engine/ops/native.h"
#include "engine/ops/nn/util.h"
#include "engine/ops/random/util.h"

namespace treadle {
namespace {

using OptDevice = std::optional<Device>;
using OptBool = std::optional<bool>;
using OptDType = std::optional<DType>;

// The dtype of the numbers in a tensor: complex ones are pairs of them.
std::int64_t parts(DType dtype) { return is_complex(dtype) ? 2 : 1; }

void check_numbers(const char* op, DType dtype) {
  if (!is_differentiable(dtype)) no_implementation(dtype, op);
}

// A number in C++'s default format, as PyTorch's messages have it.
std::string plain(double x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

Tensor uniform_(const Tensor& self, double from, double to, Generator* generator) {
  check_numbers("check_uniform_bounds", self.dtype());
  const DType dtype = to_real(self.dtype());
  if (!(from <= to)) {
    fail(ErrorKind::runtime, "uniform_ expects to return a [from, to) range, but found from=" +
                                 plain(from) + " > to=" + plain(to));
  }
  check_fits(Scalar(from), dtype);
  check_fits(Scalar(to), dtype);
  const double largest = dtype == DType::float64   ? std::numeric_limits<double>::max()
                         : dtype == DType::float16 ? 65504
                                                   : std::numeric_limits<float>::max();
  if (!(to - from <= largest)) {
    fail(ErrorKind::runtime,
         "uniform_ expects to-from <= std::numeric_limits<" + std::string(info(dtype).name) +
             ">::max(), but found to=" + plain(to) + " and from=" + plain(from) +
             " which result in to-from to exceed the limit");
  }
  return fill_inplace(self, generator, [&](RandomState& s, char* data, std::int64_t n) {
    fill_uniform(s, dtype, data, n * parts(self.dtype()), from, to);
  });
}

}  // namespace

Tensor in_memory_order(const Tensor& self) {
  Dims order = Dims::unset(self.dim());
  for (std::int64_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return self.strides()[a] > self.strides()[b];
  });
  return permute(detach(self), order);
}

Tensor normal_(const Tensor& self, double mean, double std, Generator* generator) {
  check_numbers("normal_kernel_cpu", self.dtype());
  if (!(std >= 0))
    fail(ErrorKind::runtime, "normal expects std >= 0.0, but found std " + plain(std));
  // Of a complex number each part has half of the variance.
  const double deviation = is_complex(self.dtype()) ? std / std::sqrt(2.0) : std;
  // PyTorch draws in blocks only into contiguous memory.
  const NormalStream stream =
      self.is_contiguous() ? NormalStream::by_length : NormalStream::one_by_one;
  return fill_inplace(self, generator, [&](RandomState& s, char* data, std::int64_t n) {
    fill_normal(s, to_real(self.dtype()), data, n * parts(self.dtype()), mean, deviation, stream);
  });
}

namespace {

// --- random_ ------------------------------------------------------------------------------------

using OptInt = std::optional<std::int64_t>;

// What PyTorch calls the element type in its messages.
const char* c_name(DType dtype) {
  static constexpr const char* kNames[] = {"bool",
                                           "unsigned char",
                                           "signed char",
                                           "short int",
                                           "int",
                                           "long int",
                                           "short unsigned int",
                                           "unsigned int",
                                           "long unsigned int",
                                           "c10::Half",
                                           "c10::BFloat16",
                                           "float",
                                           "double"};
  return kNames[static_cast<int>(dtype)];
}

// The largest integer up to which a dtype has all, as digits; integers: its largest number.
int digits_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 11;
    case DType::bfloat16:
      return 8;
    case DType::float32:
      return 24;
    default:
      return 53;
  }
}
std::int64_t largest_of(DType dtype) {
  return visit(dtype, "random_", [](auto zero) -> std::int64_t {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, std::uint64_t>) {
      return INT64_MAX;
    } else if constexpr (has_fractions<T>) {
      return 0;
    } else {
      return static_cast<std::int64_t>(std::numeric_limits<T>::max());
    }
  });
}

void check_bound(DType dtype, std::int64_t value, const char* name) {
  bool fits = true;
  if (is_floating(dtype)) {
    fits = dtype != DType::float16 || (value >= -65504 && value <= 65504);
  } else {
    const std::int64_t most = largest_of(dtype);
    const std::int64_t least = info(dtype).is_signed ? -most - 1 : 0;
    fits = value >= least && value <= most;
  }
  if (!fits) {
    fail(ErrorKind::runtime, std::string(name) + " is out of bounds for " + c_name(dtype));
  }
}

// PyTorch moves bounds that a floating dtype can't hold to the next number inside.
std::int64_t moved_in(DType dtype, std::int64_t bound, std::int64_t inner, bool lower) {
  return visit(dtype, "random_", [&](auto zero) -> std::int64_t {
    using T = decltype(zero);
    if constexpr (!has_fractions<T>) {
      return bound;
    } else {
      const auto rounded =
          convert<std::int64_t>(convert<double>(convert<T>(static_cast<double>(inner))));
      if (lower ? rounded >= bound : rounded < bound) return bound;
      int n = 0;
      for (std::uint64_t v = static_cast<std::uint64_t>(inner < 0 ? -inner : inner); v >>= 1;) ++n;
      const std::int64_t step = std::int64_t{1} << std::max(0, n - digits_of(dtype) + 1);
      return lower ? rounded + step : rounded - step;
    }
  });
}

// Of integers that large a floating dtype has only some.
void warn_of_gaps(DType dtype, std::int64_t value, const char* name) {
  const int digits = digits_of(dtype);
  const std::int64_t most = std::int64_t{1} << digits;
  if (value >= -most && value <= most) return;
  const std::string limit = "2^" + std::to_string(digits);
  warn(std::string(name) + " is out of bounds [-(" + limit + "), " + limit +
       "]. Due to precision limitations " + c_name(dtype) +
       " can support discrete uniform distribution only within this range.");
}

[[noreturn]] void empty_range(std::int64_t low, std::int64_t high) {
  fail(ErrorKind::runtime, "random_ expects 'from' to be less than 'to', but got from=" +
                               std::to_string(low) + " >= to=" + std::to_string(high));
}

Tensor random_range(const Tensor& self, std::int64_t low, OptInt high, Generator* generator) {
  const DType dtype = self.dtype();
  if (is_complex(dtype)) {
    fail(ErrorKind::runtime,
         "check_random_bounds handles only integral, floating-point and boolean types");
  }
  std::uint64_t range = 0;
  if (high) {
    if (low >= *high) empty_range(low, *high);
    std::int64_t from = low, to = *high;
    if (is_floating(dtype)) {
      from = moved_in(dtype, from, from + 1, true);
      to = moved_in(dtype, to, to - 1, false);
      if (from >= to) {
        fail(ErrorKind::runtime,
             "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but "
             "got from=" +
                 std::to_string(from) + " >= to=" + std::to_string(to));
      }
    }
    check_bound(dtype, from, "from");
    check_bound(dtype, to - 1, "to - 1");
    if (is_floating(dtype)) {
      warn_of_gaps(dtype, from, "from");
      warn_of_gaps(dtype, to - 1, "to - 1");
    }
    low = from;
    range = static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
  } else if (low != INT64_MIN) {
    const std::int64_t last =
        is_floating(dtype) ? std::int64_t{1} << digits_of(dtype) : largest_of(dtype);
    if (is_floating(dtype)) {
      low = moved_in(dtype, low, low + 1, true);
      if (low >= last) {
        fail(ErrorKind::runtime,
             "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted "
             "to dtype, but got from=" +
                 std::to_string(low) + " > to_inc=" + std::to_string(last));
      }
    }
    check_bound(dtype, low, "from");
    check_bound(dtype, last, "to - 1");
    if (is_floating(dtype)) warn_of_gaps(dtype, low, "from");
    range = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(low) + 1;
  } else {
    low = 0;  // all of int64
    if (dtype != DType::int64 && dtype != DType::float64 && dtype != DType::float32 &&
        dtype != DType::bfloat16) {
      fail(ErrorKind::runtime,
           "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16");
    }
  }
  return fill_inplace(self, generator, [&](RandomState& s, char* data, std::int64_t n) {
    fill_randint(s, dtype, data, n, low, range);
  });
}

Tensor bernoulli_p(const Tensor& self, double p, Generator* generator) {
  if (!(p >= 0 && p <= 1)) {
    fail(ErrorKind::runtime, "bernoulli_ expects p to be in [0, 1], but got p=" + plain(p));
  }
  return fill_inplace(self, generator, [&](RandomState& s, char* data, std::int64_t n) {
    fill_bernoulli(s, self.dtype(), data, n, p);
  });
}

Tensor rand(const Dims& size, Generator* g, OptDType dtype, OptDevice device, OptBool grad) {
  return finish(uniform_(empty(size, dtype), 0, 1, g), device, grad);
}
Tensor randn(const Dims& size, Generator* g, OptDType dtype, OptDevice device, OptBool grad) {
  return finish(normal_(empty(size, dtype), 0, 1, g), device, grad);
}
Tensor randint_low(std::int64_t low, std::int64_t high, const Dims& size, Generator* g,
                   OptDType dtype, OptDevice device, OptBool grad) {
  return finish(random_range(empty(size, dtype.value_or(DType::int64)), low, high, g), device,
                grad);
}
Tensor randint(std::int64_t high, const Dims& size, Generator* g, OptDType dtype, OptDevice device,
               OptBool grad) {
  return randint_low(0, high, size, g, dtype, device, grad);
}
Tensor randperm(std::int64_t n, Generator* g, OptDType dtype, OptDevice device, OptBool grad) {
  if (n < 0) fail(ErrorKind::runtime, "n must be non-negative, got" + std::to_string(n));
  const DType result = dtype.value_or(DType::int64);
  if (is_complex(result) || result == DType::boolean) no_implementation(result, "randperm");
  const std::int64_t most =
      is_floating(result) ? std::int64_t{1} << digits_of(result) : largest_of(result);
  if (n - 1 > most) {  // the numbers are below n
    fail(ErrorKind::runtime, "n is too large for result tensor type: " + repr(result));
  }
  const Tensor out = empty({n}, DType::int64);
  or_default(g).draw([&](RandomState& s) { fill_randperm(s, out.data_as<std::int64_t>(), n); });
  return finish(to(out, dtype.value_or(DType::int64)), device, grad);
}
Tensor rand_like(const Tensor& self, Generator* g, OptDType dtype, OptDevice device, OptBool grad) {
  return finish(uniform_(random_like(self, dtype), 0, 1, g), device, grad);
}
Tensor randn_like(const Tensor& self, Generator* g, OptDType dtype, OptDevice device,
                  OptBool grad) {
  return finish(normal_(random_like(self, dtype), 0, 1, g), device, grad);
}
Tensor randint_like_low(const Tensor& self, std::int64_t low, std::int64_t high, Generator* g,
                        OptDType dtype, OptDevice device, OptBool grad) {
  return finish(random_range(random_like(self, dtype), low, high, g), device, grad);
}
Tensor randint_like(const Tensor& self, std::int64_t high, Generator* g, OptDType dtype,
                    OptDevice device, OptBool grad) {
  return randint_like_low(self, 0, high, g, dtype, device, grad);
}
Tensor randint_like_tensor(const Tensor& self, const Tensor& high, Generator* g, OptDType dtype,
                           OptDevice device, OptBool grad) {
  return randint_like_low(self, 0, high.item_int(), g, dtype, device, grad);
}

Tensor uniform(const Tensor& self, double from, double to, Generator* g) {
  return uniform_(random_like(self), from, to, g);
}
Tensor normal(const Tensor& self, double mean, double std, Generator* g) {
  return normal_(random_like(self), mean, std, g);
}
Tensor normal_size(double mean, double std, const Dims& size, Generator* g, OptDType dtype,
                   OptDevice device, OptBool grad) {
  return finish(normal_(empty(size, dtype), mean, std, g), device, grad);
}
Tensor random_from(const Tensor& self, std::int64_t low, OptInt high, Generator* g) {
  return random_range(random_like(self), low, high, g);
}
Tensor random_to_(const Tensor& self, std::int64_t to, Generator* g) {
  return random_range(self, 0, to, g);
}
Tensor random_to(const Tensor& self, std::int64_t to, Generator* g) {
  return random_range(random_like(self), 0, to, g);
}
Tensor random_(const Tensor& self, Generator* g) {
  if (is_complex(self.dtype())) {
    fail(ErrorKind::runtime, "random_ handles only integral, floating-point and boolean types");
  }
  if (self.dtype() >= DType::uint16 && self.dtype() <= DType::uint64)
    no_implementation(self.dtype(), "random_kernel_cpu");
  return fill_inplace(self, g, [&](RandomState& s, char* data, std::int64_t n) {
    fill_random(s, self.dtype(), data, n);
  });
}
Tensor random(const Tensor& self, Generator* g) { return random_(random_like(self), g); }

// 1 with the probabilities `p`, into the dense elements of `out`.
void draw_bernoulli(RandomState& s, const Tensor& p, const Tensor& out, char* data) {
  if (fill_bernoulli_each(s, p.dtype(), p.data(), out.dtype(), data, out.numel()) >= 0)
    fail(ErrorKind::runtime, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
}
Tensor bernoulli(const Tensor& self, Generator* g) {
  const NoGrad off;
  const Tensor p = contiguous(detach(self));
  const Tensor out = Tensor::empty(self.shape(), self.dtype());
  or_default(g).draw([&](RandomState& s) { draw_bernoulli(s, p, out, out.data()); });
  return out;
}
Tensor bernoulli_tensor_(const Tensor& self, const Tensor& p, Generator* g) {
  Tensor chance;
  {
    const NoGrad off;
    chance = contiguous(expand(detach(p), self.shape()));
    if (!self.is_contiguous()) chance = contiguous(chance);
  }
  check_inplace(self);
  const Tensor target = Tensor::empty(self.shape(), self.dtype());
  or_default(g).draw([&](RandomState& s) { draw_bernoulli(s, chance, target, target.data()); });
  return copy_(self, target);
}
Tensor bernoulli_tensor(const Tensor& self, const Tensor& p, Generator* g) {
  return bernoulli_tensor_(random_like(self), p, g);
}
Tensor bernoulli_value(const Tensor& self, double p, Generator* g) {
  return bernoulli_p(random_like(self), p, g);
}

}  // namespace

Tensor dropout(const Tensor& input, double p, bool train) {
  if (!(p >= 0 && p <= 1)) {
    fail(ErrorKind::runtime,
         "dropout probability has to be between 0 and 1, but got " + std::to_string(p));
  }
  if (p == 0 || !train || input.numel() == 0) return input;
  if (p == 1) return mul(input, zeros({}, input.dtype()));
  Tensor noise;
  {
    const NoGrad off;
    noise = div(keep_mask_like(input, p), Tensor(1 - p));
  }
  return mul(input, noise);
}

namespace {

void dropout_inplace(const Tensor& input, double p, bool train) {
  if (!(p >= 0 && p <= 1)) {
    fail(ErrorKind::runtime,
         "dropout probability has to be between 0 and 1, but got " + std::to_string(p));
  }
  if (p == 0 || !train) return;
  Tensor noise;
  {
    const NoGrad off;
    noise = div(keep_mask_like(input, p), Tensor(p == 1 ? 1.0 : 1 - p));
  }
  mul_(input, noise);
}

#define TREADLE_KEYWORDS \
  "ScalarType? dtype=None, Device? device=None, bool? requires_grad=None) -> Tensor"

}  // namespace

std::span<const OpDef> random_ops() {
  static constexpr OpDef rows[] = {
      native<rand>("rand(int[] size, *, Generator? generator=None, " TREADLE_KEYWORDS,
                   "Uniform in [0, 1).", kFunction | kOut, false),
      native<randn>("randn(int[] size, *, Generator? generator=None, " TREADLE_KEYWORDS,
                    "Normal, mean 0 and variance 1.", kFunction | kOut, false),
      native<randint>(
          "randint(int high, int[] size, *, Generator? generator=None, " TREADLE_KEYWORDS,
          "Integers from 0 below high.", kFunction | kOut, false),
      native<randint_low>("randint.low(int low, int high, int[] size, *, Generator? "
                          "generator=None, " TREADLE_KEYWORDS,
                          "Integers from low below high.", kFunction | kOut, false),
      native<randperm>("randperm(int n, *, Generator? generator=None, " TREADLE_KEYWORDS,
                       "A permutation of 0 .. n-1.", kFunction | kOut, false),
      native<rand_like>("rand_like(Tensor self, *, Generator? generator=None, " TREADLE_KEYWORDS,
                        "rand() of self's shape and dtype.", kFunction, false),
      native<randn_like>("randn_like(Tensor self, *, Generator? generator=None, " TREADLE_KEYWORDS,
                         "randn() of self's shape and dtype.", kFunction, false),
      native<randint_like>(
          "randint_like(Tensor self, int high, *, Generator? generator=None, " TREADLE_KEYWORDS,
          "Integers from 0 below high in self's shape and dtype.", kFunction, false),
      native<randint_like_tensor>("randint_like.Tensor(Tensor self, Tensor high, *, Generator? "
                                  "generator=None, " TREADLE_KEYWORDS,
                                  "Integers from 0 below high in self's shape and dtype.",
                                  kFunction, false),
      native<randint_like_low>("randint_like.low(Tensor self, int low, int high, *, Generator? "
                               "generator=None, " TREADLE_KEYWORDS,
                               "Integers from low below high in self's shape and dtype.", kFunction,
                               false),
      native<normal_size>("normal(float mean, float std, int[] size, *, Generator? "
                          "generator=None, " TREADLE_KEYWORDS,
                          "Normal with the given mean and standard deviation.", kFunction | kOut,
                          false),
      native<uniform, uniform_>(
          "uniform(Tensor self, float from=0, float to=1, *, Generator? generator=None) -> Tensor",
          "uniform_: self filled from [from, to).", 0, false),
      native<normal, normal_>("normal.inplace(Tensor self, float mean=0, float std=1, *, "
                              "Generator? generator=None) -> Tensor",
                              "normal_: self filled with normal numbers.", 0, false),
      native<random, random_>("random(Tensor self, *, Generator? generator=None) -> Tensor",
                              "random_: self filled with all integers of its dtype.", 0, false),
      native<random_to, random_to_>(
          "random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor",
          "random_: self filled with integers from 0 below to.", 0, false),
      native<random_from, random_range>(
          "random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor",
          "random_: self filled with integers from `from` below to.", 0, false),
      native<bernoulli>("bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
                        "1 with the probability that self holds, else 0.",
                        kFunction | kMethod | kOut, false),
      native<bernoulli_tensor, bernoulli_tensor_>(
          "bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
          "1 with the probabilities p, else 0, in self's shape and dtype.", kMethod, false),
      native<bernoulli_value, bernoulli_p>(
          "bernoulli.p(Tensor self, float p=0.5, *, Generator? generator=None) -> Tensor",
          "1 with probability p, else 0, in self's shape.", kFunction | kMethod, false),
      native<dropout, dropout_inplace>(
          "dropout(Tensor input, float p=0.5, bool train=True) -> Tensor",
          "In training: elements zeroed with probability p, the others scaled by 1 / (1 - p).",
          kFunction),
  };
  return rows;
}

}  // namespace treadle
