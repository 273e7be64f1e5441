// Random ops of more distributions: exponential_, geometric_, log_normal_, cauchy_, poisson,
// binomial, multinomial, and normal() of tensors. To add one: its draws in
// backend/cpu/distributions.cpp, and its function and row here.
#include "engine/backend/cpu/distributions.h"

#include <sstream>

#include "engine/ops/native.h"
#include "engine/ops/random/util.h"
#include "engine/ops/reduction/util.h"

namespace treadle {
namespace {

std::string plain(double x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

Tensor fill(Distribution which, const Tensor& self, double a, double b, Generator* g) {
  return fill_inplace(self, g, [&](RandomState& s, char* data, std::int64_t n) {
    fill_distribution(s, which, self.dtype(), data, n, a, b);
  });
}
void check(bool right, const std::string& why) {
  if (!right) fail(ErrorKind::runtime, why);
}
void check_continuous(const Tensor& self, const char* name) {
  check(is_floating(self.dtype()), std::string(name) +
                                       " distribution is a continuous probability distribution. "
                                       "dtype must be a floating point but you specified " +
                                       std::string(info(self.dtype()).scalar));
}

Tensor exponential_(const Tensor& self, double rate, Generator* g) {
  check_continuous(self, "Exponential");
  check(rate > 0, "exponential_ expects lambda > 0.0, but found lambda=" + plain(rate));
  return fill(Distribution::exponential, self, rate, 0, g);
}
Tensor geometric_(const Tensor& self, double p, Generator* g) {
  check(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=" + plain(p));
  return fill(Distribution::geometric, self, p, 0, g);
}
Tensor log_normal_(const Tensor& self, double mean, double std, Generator* g) {
  check(std > 0, "log_normal_ expects std > 0.0, but found std=" + plain(std));
  return fill(Distribution::log_normal, self, mean, std, g);
}
Tensor cauchy_(const Tensor& self, double median, double sigma, Generator* g) {
  check_continuous(self, "Cauchy");
  check(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=" + plain(sigma));
  return fill(Distribution::cauchy, self, median, sigma, g);
}

// The forms that don't exist as functions in PyTorch's Python but have in-place methods.
Tensor exponential(const Tensor& self, double rate, Generator* g) {
  return exponential_(random_like(self), rate, g);
}
Tensor geometric(const Tensor& self, double p, Generator* g) {
  return geometric_(random_like(self), p, g);
}
Tensor log_normal(const Tensor& self, double mean, double std, Generator* g) {
  return log_normal_(random_like(self), mean, std, g);
}
Tensor cauchy(const Tensor& self, double median, double sigma, Generator* g) {
  return cauchy_(random_like(self), median, sigma, g);
}

// --- normal -------------------------------------------------------------------------------------

Tensor moved(const Tensor& numbers, const Tensor& mean, const Tensor& std) {
  return add_(mul_(numbers, std), mean);
}
void check_deviations(const Tensor& std) {
  if (is_complex(std.dtype()))
    fail(ErrorKind::runtime, "normal expects standard deviation to be non-complex");
  const NoGrad off;
  if (std.numel() > 0 && !(amin(detach(std)).item() >= 0))
    fail(ErrorKind::runtime, "normal expects all elements of std >= 0.0");
}
Tensor normal_tensors(const Tensor& mean, const Tensor& std, Generator* g) {
  check_deviations(std);
  const NoGrad off;
  const Tensor out = empty(broadcast_shapes(mean.shape(), std.shape()), mean.dtype());
  return moved(normal_(out, 0, 1, g), detach(mean), detach(std));
}
Tensor normal_mean(const Tensor& mean, double std, Generator* g) {
  const NoGrad off;
  return add_(normal_(random_like(mean), 0, std, g), detach(mean));
}
Tensor normal_std(double mean, const Tensor& std, Generator* g) {
  check_deviations(std);
  const NoGrad off;
  return moved(normal_(random_like(std), 0, 1, g), full({}, mean, std.dtype()), detach(std));
}

// --- counts -------------------------------------------------------------------------------------

Tensor poisson(const Tensor& self, Generator* g) {
  const Tensor rate = contiguous(detach(self)), out = Tensor::empty(self.shape(), self.dtype());
  const std::int64_t bad = or_default(g).draw([&](RandomState& s) {
    return fill_poisson(s, self.dtype(), rate.data(), out.data(), out.numel());
  });
  check(bad < 0, "invalid Poisson rate, expected rate to be non-negative");
  if (needs_tape({&self})) {
    record("PoissonBackward0", out, {&self}, [](Node&, const Gradients& grad) {
      return none(grad) ? Gradients(1) : Gradients{zeros_like(grad[0])};
    });
  }
  return out;
}
Tensor binomial(const Tensor& count, const Tensor& prob, Generator* g) {
  const NoGrad off;
  if (count.dtype() != prob.dtype()) {
    fail(ErrorKind::runtime, "Found dtype " + std::string(info(prob.dtype()).scalar) +
                                 " but expected " + std::string(info(count.dtype()).scalar));
  }
  const Dims shape = broadcast_shapes(count.shape(), prob.shape());
  const Tensor n = contiguous(expand(detach(count), shape));
  const Tensor p = contiguous(expand(detach(prob), shape));
  const Tensor out = Tensor::empty(shape, count.dtype());
  or_default(g).draw([&](RandomState& s) {
    fill_binomial(s, count.dtype(), n.data(), p.data(), out.data(), out.numel());
  });
  return out;
}

// Without replacement (and for one sample) the largest of weight / Exp(1), as in PyTorch.
Tensor multinomial(const Tensor& input, std::int64_t samples, bool replacement, Generator* g) {
  const NoGrad off;
  const Tensor self = detach(input);
  check(self.dim() == 1 || self.dim() == 2, "prob_dist must be 1 or 2 dim");
  check(is_floating(self.dtype()),
        "multinomial only supports floating-point dtypes for input, got: " +
            std::string(info(self.dtype()).scalar));
  check(samples > 0, "cannot sample n_sample <= 0 samples");
  const std::int64_t classes = self.size(-1);
  check(replacement || samples <= classes,
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  check(classes <= std::int64_t{1} << 24, "number of categories cannot exceed 2^24");
  Dims shape = self.shape();
  shape[shape.size() - 1] = samples;
  if (self.numel() == 0) {
    check(product(shape) == 0, "prob_dist has no categories to sample from");
    return Tensor::empty(shape, DType::int64);
  }
  const double top = amax(self).item(), low = amin(self).item();
  const bool some_zero = any(eq(sum(self, {-1}), Tensor(0))).item_int() != 0;
  if (replacement && samples > 1) {
    check(low >= 0, "invalid multinomial distribution (encountering probability entry < 0)");
    check(top < HUGE_VAL,
          "invalid multinomial distribution (encountering probability entry = infinity or NaN)");
    check(!some_zero, "invalid multinomial distribution (sum of probabilities <= 0)");
    const Tensor weights = contiguous(self), out = Tensor::empty(shape, DType::int64);
    or_default(g).draw([&](RandomState& s) {
      fill_multinomial(s, weights.dtype(), weights.data(), weights.numel() / classes, classes,
                       samples, out.data_as<std::int64_t>());
    });
    return out;
  }
  check(top < HUGE_VAL && low >= 0,
        "probability tensor contains either `inf`, `nan` or element < 0");
  check(!some_zero, "invalid multinomial distribution (sum of probabilities <= 0)");
  Tensor q = exponential_(random_like(self), 1, g);
  q = where(eq(q, Tensor(0)), full({}, 1e-7, q.dtype()), q);  // a weight of 0 must stay 0
  q = div(self, q);
  if (samples == 1) return argmax(q, -1, true);
  const std::span<const OpDef> topk = find_op("topk");
  Value args[] = {q, samples, std::int64_t{-1}, true, true}, results[2];
  invoke(topk[0], args, results);
  return std::get<Tensor>(results[1]);
}

constexpr unsigned kBoth = kFunction | kMethod;

}  // namespace

std::span<const OpDef> distribution_ops() {
  static constexpr OpDef rows[] = {
      native<exponential, exponential_>(
          "exponential(Tensor self, float lambd=1, *, Generator? generator=None) -> Tensor",
          "exponential_: self filled with numbers of density lambd exp(-lambd x).", 0, false),
      native<geometric, geometric_>(
          "geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor",
          "geometric_: self filled with the number of trials up to the first success.", 0, false),
      native<log_normal, log_normal_>("log_normal(Tensor self, float mean=1, float std=2, *, "
                                      "Generator? generator=None) -> Tensor",
                                      "log_normal_: self filled with exp of normal numbers.", 0,
                                      false),
      native<cauchy, cauchy_>("cauchy(Tensor self, float median=0, float sigma=1, *, Generator? "
                              "generator=None) -> Tensor",
                              "cauchy_: self filled with numbers of Cauchy's distribution.", 0,
                              false),
      native<normal_tensors>("normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? "
                             "generator=None) -> Tensor",
                             "Normal with a mean and a standard deviation for each element.",
                             kFunction | kOut, false),
      native<normal_mean>("normal.Tensor_float(Tensor mean, float std=1, *, Generator? "
                          "generator=None) -> Tensor",
                          "Normal with a mean for each element.", kFunction | kOut, false),
      native<normal_std>(
          "normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
          "Normal with a standard deviation for each element.", kFunction | kOut, false),
      native<poisson>("poisson(Tensor self, Generator? generator=None) -> Tensor",
                      "Poisson numbers with a rate for each element.", kFunction | kOut),
      native<binomial>("binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor",
                       "Successes among count trials of probability prob.", kFunction | kOut,
                       false),
      native<multinomial>("multinomial(Tensor self, int num_samples, bool replacement=False, *, "
                          "Generator? generator=None) -> Tensor",
                          "num_samples positions of each row, drawn by its weights.", kBoth | kOut,
                          false),
  };
  return rows;
}

}  // namespace treadle
