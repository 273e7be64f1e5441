#include "engine/backend/cpu/distributions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "engine/core/fractions.h"

namespace treadle {
namespace {

double draw_one(RandomState& state, Distribution which, double a, double b) {
  switch (which) {
    case Distribution::exponential:
      return -1.0 / a * std::log1p(-uniform01<double>(state.engine));
    case Distribution::geometric:
      return std::ceil(std::log(uniform01<double>(state.engine)) / std::log1p(-a));
    case Distribution::log_normal: {
      double x = 0;
      fill_normal(state, DType::float64, reinterpret_cast<char*>(&x), 1, a, b,
                  NormalStream::one_by_one);
      return std::exp(x);
    }
    case Distribution::cauchy: {
      constexpr double kEps = std::numeric_limits<double>::epsilon();
      const double u = std::clamp(uniform01<double>(state.engine), kEps, 1 - kEps);
      return a + b * std::tan(std::numbers::pi * (u - 0.5));
    }
  }
  return 0;
}

// W. Hormann, "The transformed rejection method for generating Poisson random variables" (1993),
// from a rate of 10 on; below that Knuth's products.
double poisson(Mt19937& engine, double rate) {
  if (!(rate < 10)) {
    const double root = std::sqrt(rate), log_rate = std::log(rate);
    const double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
    if (!std::isfinite(rate)) return rate;
    while (true) {
      const double u = uniform01<double>(engine) - 0.5, v = uniform01<double>(engine);
      const double us = 0.5 - std::abs(u);
      const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
      if (us >= 0.07 && v <= v_r) return k;
      if (k < 0 || (us < 0.013 && v > us)) continue;
      const double left = std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b);
      if (left <= -rate + k * log_rate - std::lgamma(k + 1)) return k;
    }
  }
  if (rate == 0) return 0;
  const double limit = std::exp(-rate);
  double product = 1;
  for (double k = 0;; ++k) {
    product *= uniform01<double>(engine);
    if (!(product > limit)) return k;
  }
}

// log(k!) less Stirling's formula.
double stirling_rest(double k) {
  static constexpr double kFirst[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                                      0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                                      0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                                      0.00833056343336287};
  if (k <= 9) return kFirst[static_cast<int>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// W. Hormann, "The generation of binomial random variates" (1993), algorithm BTRS; p <= 0.5.
double binomial_rejection(Mt19937& engine, double n, double p) {
  const double deviation = std::sqrt(n * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = n * p + 0.5, v_r = 0.92 - 4.2 / b, r = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * deviation, m = std::floor((n + 1) * p);
  while (true) {
    const double u = uniform01<double>(engine) - 0.5;
    double v = uniform01<double>(engine);
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || k > n) continue;
    v = std::log(v * alpha / (a / (us * us) + b));
    const double bound = (m + 0.5) * std::log((m + 1) / (r * (n - m + 1))) +
                         (n + 1) * std::log((n - m + 1) / (n - k + 1)) +
                         (k + 0.5) * std::log(r * (n - k + 1) / (k + 1)) + stirling_rest(m) +
                         stirling_rest(n - m) - stirling_rest(k) - stirling_rest(n - k);
    if (v <= bound) return k;
  }
}

double binomial(Mt19937& engine, double n, double p) {
  if (n != n || p != p) return std::numeric_limits<double>::quiet_NaN();
  if (n <= 0 || p <= 0) return 0;
  if (p >= 1) return n;
  if (p > 0.5) return n - binomial(engine, n, 1 - p);
  if (!std::isfinite(n)) return n;
  if (n * p >= 10) return binomial_rejection(engine, n, p);
  // The waiting times between successes, until they exceed n.
  const double log_miss = std::log1p(-p);
  double time = 0;
  for (double successes = 0;; ++successes) {
    time += std::ceil(std::log(uniform01<double>(engine)) / log_miss);
    if (!(time <= n)) return successes;
  }
}

}  // namespace

void fill_distribution(RandomState& state, Distribution which, DType dtype, char* data,
                       std::int64_t n, double a, double b) {
  static constexpr const char* kNames[] = {"exponential_cpu", "geometric_cpu", "log_normal_cpu",
                                           "cauchy_cpu"};
  const char* name = kNames[static_cast<int>(which)];
  visit(dtype, name, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, bool>) {
      no_implementation(dtype, name);
    } else {
      if (!has_fractions<T> && which != Distribution::geometric) no_implementation(dtype, name);
      T* x = reinterpret_cast<T*>(data);
      for (std::int64_t i = 0; i < n; ++i) x[i] = convert<T>(draw_one(state, which, a, b));
    }
  });
}

std::int64_t fill_poisson(RandomState& state, DType dtype, const char* rate, char* data,
                          std::int64_t n) {
  std::int64_t bad = -1;
  visit_floating(dtype, "poisson_cpu", [&]<class T>(T) {
    const T* r = reinterpret_cast<const T*>(rate);
    T* x = reinterpret_cast<T*>(data);
    for (std::int64_t i = 0; i < n && bad < 0; ++i) {
      if (!(convert<double>(r[i]) >= 0)) bad = i;
    }
    if (bad >= 0) return;
    for (std::int64_t i = 0; i < n; ++i)
      x[i] = convert<T>(poisson(state.engine, convert<double>(r[i])));
  });
  return bad;
}

void fill_binomial(RandomState& state, DType dtype, const char* count, const char* probability,
                   char* data, std::int64_t n) {
  visit_floating(dtype, "binomial_cpu", [&]<class T>(T) {
    const T* trials = reinterpret_cast<const T*>(count);
    const T* p = reinterpret_cast<const T*>(probability);
    T* x = reinterpret_cast<T*>(data);
    for (std::int64_t i = 0; i < n; ++i) {
      x[i] = convert<T>(binomial(state.engine, convert<double>(trials[i]), convert<double>(p[i])));
    }
  });
}

void fill_multinomial(RandomState& state, DType dtype, const char* weights, std::int64_t rows,
                      std::int64_t classes, std::int64_t samples, std::int64_t* out) {
  visit_floating(dtype, "multinomial", [&]<class T>(T) {
    using A = std::conditional_t<sizeof(T) == 2, float, T>;
    const T* w = reinterpret_cast<const T*>(weights);
    std::vector<A> up_to(static_cast<std::size_t>(classes));
    for (std::int64_t r = 0; r < rows; ++r, w += classes) {
      A total = 0;
      std::int64_t first = classes, last = 0;
      for (std::int64_t c = 0; c < classes; ++c) {
        const A weight = convert<A>(w[c]);
        total += weight;
        up_to[static_cast<std::size_t>(c)] = total;
        if (weight > 0) {
          first = std::min(first, c);
          last = c;
        }
      }
      for (A& v : up_to) v /= total;
      for (std::int64_t s = 0; s < samples; ++s) {
        const double u = uniform01<double>(state.engine);
        const auto at = std::lower_bound(up_to.begin(), up_to.end(), u,
                                         [](A v, double x) { return static_cast<double>(v) < x; });
        // Rounding may lead before the first or behind the last class that has a weight.
        *out++ = std::clamp<std::int64_t>(at - up_to.begin(), first, last);
      }
    }
  });
}

}  // namespace treadle
