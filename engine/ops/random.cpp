// Random ops: all numbers come from a Generator's stream in the order that PyTorch draws them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/core/iter.h"
#include "engine/core/random.h"
#include "engine/ops/native.h"
#include "engine/ops/nn_util.h"
#include "engine/ops/view_util.h"

namespace treadle {
namespace {

using OptDevice = std::optional<Device>;
using OptBool = std::optional<bool>;
using OptDType = std::optional<DType>;

Generator& or_default(Generator* g) { return g ? *g : default_generator(); }

Tensor finish(const Tensor& t, const OptDevice& device, const OptBool& requires_grad) {
  if (device && device->kind != Device::Kind::cpu) {
    fail(ErrorKind::runtime, "this build of treadle computes on the CPU only; use device 'cpu'");
  }
  if (requires_grad.value_or(false)) t.set_requires_grad(true);
  return t;
}

void check_floating(const char* op, DType dtype) {
  if (!is_floating(dtype)) {
    fail(ErrorKind::not_implemented, '"' + std::string(op) + "\" not implemented for '" +
                                         std::string(info(dtype).scalar) + "'");
  }
}

// self with its dimensions in the order of its strides: PyTorch draws for a tensor that isn't
// contiguous in the order of its memory, not of its indices.
Tensor in_memory_order(const Tensor& self) {
  Dims order = Dims::unset(self.dim());
  for (std::int64_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return self.strides()[a] > self.strides()[b];
  });
  return permute(detach(self), order);
}

// In-place forms: `draw(state, data, n)` writes dense elements; the history of self becomes zero.
template <class F>
Tensor fill_inplace(const Tensor& self, Generator* generator, F draw) {
  check_inplace(self);
  check_overlap(self, {});
  Ref<Node> node = overwriting_node("NormalBackward0", self);
  const bool dense = self.is_contiguous();
  const Tensor place = dense ? self : in_memory_order(self);
  const Tensor target = dense ? self : Tensor::empty(place.shape(), self.dtype());
  or_default(generator).draw(
      [&](RandomState& state) { draw(state, target.data(), target.numel()); });
  if (!dense) cast_into(place, target);
  self.impl()->storage->bump();
  if (node) rebase_history(self, std::move(node));
  return self;
}

Tensor uniform_(const Tensor& self, double from, double to, Generator* generator) {
  check_floating("uniform_", self.dtype());
  if (!(from <= to)) {
    fail(ErrorKind::runtime, "uniform_ expects to return a [from, to) range, but found from=" +
                                 std::to_string(from) + " > to=" + std::to_string(to));
  }
  check_fits(Scalar(from), self.dtype());
  check_fits(Scalar(to), self.dtype());
  const double largest = self.dtype() == DType::float32 ? std::numeric_limits<float>::max()
                                                        : std::numeric_limits<double>::max();
  if (!(to - from <= largest)) {
    fail(ErrorKind::runtime, "uniform_ expects to - from to be finite in " + repr(self.dtype()) +
                                 ", but found from=" + std::to_string(from) +
                                 " and to=" + std::to_string(to));
  }
  return fill_inplace(self, generator, [&](RandomState& s, char* data, std::int64_t n) {
    fill_uniform(s, self.dtype(), data, n, from, to);
  });
}
Tensor normal_(const Tensor& self, double mean, double std, Generator* generator) {
  check_floating("normal_", self.dtype());
  if (!(std >= 0))
    fail(ErrorKind::runtime, "normal expects std >= 0.0, but found std " + std::to_string(std));
  // PyTorch draws in blocks only into contiguous memory.
  const NormalStream stream =
      self.is_contiguous() ? NormalStream::by_length : NormalStream::one_by_one;
  return fill_inplace(self, generator, [&](RandomState& s, char* data, std::int64_t n) {
    fill_normal(s, self.dtype(), data, n, mean, std, stream);
  });
}
Tensor random_range(const Tensor& self, std::int64_t low, std::int64_t high, Generator* generator) {
  if (low >= high) {
    fail(ErrorKind::runtime, "random_ expects 'from' to be less than 'to', but got from=" +
                                 std::to_string(low) + " >= to=" + std::to_string(high));
  }
  const std::int64_t most = self.dtype() == DType::boolean ? 1
                            : self.dtype() == DType::uint8
                                ? 255
                                : std::numeric_limits<std::int64_t>::max();
  const bool is_unsigned = self.dtype() == DType::boolean || self.dtype() == DType::uint8;
  if ((is_unsigned && low < 0) || high - 1 > most) {
    fail(ErrorKind::runtime, "random_: integers from " + std::to_string(low) + " to " +
                                 std::to_string(high - 1) + " don't fit in " + repr(self.dtype()));
  }
  return fill_inplace(self, generator, [&](RandomState& s, char* data, std::int64_t n) {
    fill_randint(s, self.dtype(), data, n, low, high);
  });
}
Tensor bernoulli_p(const Tensor& self, double p, Generator* generator) {
  if (!(p >= 0 && p <= 1)) {
    fail(ErrorKind::runtime,
         "bernoulli_ expects p to be in [0, 1], but got p=" + std::to_string(p));
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
  if (n < 0) fail(ErrorKind::runtime, "n must be non-negative, got " + std::to_string(n));
  const Tensor out = empty({n}, DType::int64);
  or_default(g).draw([&](RandomState& s) { fill_randperm(s, out.data_as<std::int64_t>(), n); });
  return finish(to(out, dtype.value_or(DType::int64)), device, grad);
}
Tensor like(const Tensor& self, OptDType dtype) {
  const Tensor* in[] = {&self};
  return allocate_like(self.shape(), dtype.value_or(self.dtype()), in);
}
Tensor rand_like(const Tensor& self, OptDType dtype, OptDevice device, OptBool grad) {
  return finish(uniform_(like(self, dtype), 0, 1, nullptr), device, grad);
}
Tensor randn_like(const Tensor& self, OptDType dtype, OptDevice device, OptBool grad) {
  return finish(normal_(like(self, dtype), 0, 1, nullptr), device, grad);
}
Tensor randint_like(const Tensor& self, std::int64_t low, std::int64_t high, OptDType dtype,
                    OptDevice device, OptBool grad) {
  return finish(random_range(like(self, dtype), low, high, nullptr), device, grad);
}

Tensor uniform(const Tensor& self, double from, double to, Generator* g) {
  return uniform_(like(self, {}), from, to, g);
}
Tensor normal(const Tensor& self, double mean, double std, Generator* g) {
  return normal_(like(self, {}), mean, std, g);
}
Tensor normal_size(double mean, double std, const Dims& size, Generator* g, OptDType dtype,
                   OptDevice device, OptBool grad) {
  return finish(normal_(empty(size, dtype), mean, std, g), device, grad);
}
Tensor random_from(const Tensor& self, std::int64_t low, std::int64_t high, Generator* g) {
  return random_range(like(self, {}), low, high, g);
}
Tensor random_to_(const Tensor& self, std::int64_t to, Generator* g) {
  return random_range(self, 0, to, g);
}
Tensor random_to(const Tensor& self, std::int64_t to, Generator* g) {
  return random_range(like(self, {}), 0, to, g);
}
Tensor random_(const Tensor& self, Generator* g) {
  return fill_inplace(self, g, [&](RandomState& s, char* data, std::int64_t n) {
    fill_random(s, self.dtype(), data, n);
  });
}
Tensor random(const Tensor& self, Generator* g) { return random_(like(self, {}), g); }

Tensor bernoulli(const Tensor& self, Generator* g) {
  check_floating("bernoulli", self.dtype());
  const Tensor p = contiguous(detach(self));
  const Tensor out = Tensor::empty(self.shape(), self.dtype());
  const std::int64_t bad = or_default(g).draw([&](RandomState& s) {
    return fill_bernoulli_each(s, p.dtype(), p.data(), out.dtype(), out.data(), out.numel());
  });
  if (bad >= 0)
    fail(ErrorKind::runtime, "Expected p_in >= 0 && p_in <= 1 to be true, but got false");
  return out;
}
Tensor bernoulli_value(const Tensor& self, double p, Generator* g) {
  return bernoulli_p(like(self, {}), p, g);
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
      native<rand_like>("rand_like(Tensor self, *, " TREADLE_KEYWORDS,
                        "rand() of self's shape and dtype.", kFunction, false),
      native<randn_like>("randn_like(Tensor self, *, " TREADLE_KEYWORDS,
                         "randn() of self's shape and dtype.", kFunction, false),
      native<randint_like>("randint_like(Tensor self, int low, int high, *, " TREADLE_KEYWORDS,
                           "randint() of self's shape and dtype.", kFunction, false),
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
          "random.from(Tensor self, int from, int to, *, Generator? generator=None) -> Tensor",
          "random_: self filled with integers from `from` below to.", 0, false),
      native<bernoulli>("bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
                        "1 with the probability that self holds, else 0.", kFunction | kMethod,
                        false),
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
