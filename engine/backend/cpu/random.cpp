#include "engine/backend/cpu/random.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>
#include <utility>

#include "engine/core/fractions.h"
#include "engine/functor/math.h"

namespace treadle {
namespace {

// x * (to - from) + from with one rounding: PyTorch's builds for current CPUs fuse it.
float scaled(float x, float from, float to) {
  return static_cast<float>(double{x} * double{to - from} + double{from});
}
double scaled(double x, double from, double to) { return std::fma(x, to - from, from); }

// One Box-Muller pair in place. Double uses libm, whose bits PyTorch's have; float our own
// functions.
template <class T>
void box_muller(T& a, T& b, T mean, T deviation) {
  using std::cos, std::log, std::sin, std::sqrt;
  if constexpr (sizeof(T) == 4) {
    const T radius = functor::sqrt(T(-2) * functor::log(T(1) - a));
    const T theta = T(2 * std::numbers::pi) * b;
    a = radius * functor::cos(theta) * deviation + mean;
    b = radius * functor::sin(theta) * deviation + mean;
  } else {
    const T radius = sqrt(T(-2) * log(T(1) - a));
    const T theta = T(2 * std::numbers::pi) * b;
    a = radius * cos(theta) * deviation + mean;
    b = radius * sin(theta) * deviation + mean;
  }
}

template <class T>
void normal_blocks(RandomState& state, T* data, std::int64_t n, T mean, T deviation) {
  constexpr std::int64_t block = 16;
  const auto transform = [&](T* x) {
    for (int j = 0; j < block / 2; ++j) box_muller(x[j], x[j + block / 2], mean, deviation);
  };
  for (std::int64_t i = 0; i < n; ++i) data[i] = uniform01<T>(state.engine);
  for (std::int64_t i = 0; i + block <= n; i += block) transform(data + i);
  if (n % block != 0) {
    T* last = data + n - block;
    for (int i = 0; i < block; ++i) last[i] = uniform01<T>(state.engine);
    transform(last);
  }
}

// The same for 16-bit numbers, which are drawn block by block, with a last block for what is left.
template <class T>
void normal_short(RandomState& state, T* data, std::int64_t n, float mean, float deviation) {
  constexpr std::int64_t block = 16;
  for (std::int64_t i = 0; i < n; i += block) {
    float x[block];
    for (float& v : x) v = uniform01<float>(state.engine);
    for (int j = 0; j < block / 2; ++j) box_muller(x[j], x[j + block / 2], mean, deviation);
    T* to = data + (i + block <= n ? i : n - block);
    for (int j = 0; j < block; ++j) to[j] = T(x[j]);
  }
}

double next_normal(RandomState& state, double mean, double deviation) {
  if (std::exchange(state.has_normal, false)) return state.normal * deviation + mean;
  const double u1 = uniform01<double>(state.engine), u2 = uniform01<double>(state.engine);
  const double radius = std::sqrt(-2.0 * std::log1p(-u2)), theta = 2 * std::numbers::pi * u1;
  state.normal = radius * std::sin(theta);
  state.has_normal = true;
  return radius * std::cos(theta) * deviation + mean;
}

// Calls fn with a typed pointer to `data`.
template <class Fn>
void with_float(const char* op, DType dtype, char* data, const Fn& fn) {
  visit_floating(dtype, op, [&]<class T>(T) { fn(reinterpret_cast<T*>(data)); });
}
template <class Fn>
void with_any(const char* op, DType dtype, char* data, const Fn& fn) {
  visit(dtype, op, [&]<class T>(T) { fn(reinterpret_cast<T*>(data)); });
}

template <class T>
constexpr bool is_short = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
// What random numbers of a type are computed in.
template <class T>
using Compute = std::conditional_t<is_short<T>, float, T>;

template <class T>
std::int64_t first_bad(const T* p, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(convert<double>(p[i]) >= 0 && convert<double>(p[i]) <= 1)) return i;
  }
  return -1;
}

}  // namespace

void fill_uniform(RandomState& state, DType dtype, char* data, std::int64_t n, double from,
                  double to) {
  with_float("uniform_", dtype, data, [&]<class T>(T* x) {
    using C = Compute<T>;
    const C low = static_cast<C>(from), high = static_cast<C>(to);
    for (std::int64_t i = 0; i < n; ++i) {
      x[i] = convert<T>(scaled(uniform01<C>(state.engine), low, high));
      // Rounding to 16 bits must not reach the end of the range.
      if constexpr (is_short<T>) {
        if (x[i] == T(high)) x[i] = T(low);
      }
    }
  });
}

void fill_normal(RandomState& state, DType dtype, char* data, std::int64_t n, double mean,
                 double deviation, NormalStream stream) {
  with_float("normal_", dtype, data, [&]<class T>(T* x) {
    if (n >= 16 && stream == NormalStream::by_length) {
      if constexpr (is_short<T>) {
        return normal_short(state, x, n, static_cast<float>(mean), static_cast<float>(deviation));
      } else {
        return normal_blocks(state, x, n, static_cast<T>(mean), static_cast<T>(deviation));
      }
    }
    for (std::int64_t i = 0; i < n; ++i) {
      x[i] = convert<T>(next_normal(state, mean, deviation));
    }
  });
}

void fill_randint(RandomState& state, DType dtype, char* data, std::int64_t n, std::int64_t low,
                  std::uint64_t range) {
  const bool wide = range == 0 || range >= std::uint64_t{1} << 28;
  with_any("randint", dtype, data, [&]<class T>(T* x) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint64_t r = wide ? state.engine.random64() : state.engine.random();
      // A range of 0 stands for 2^64.
      const std::uint64_t offset = range == 0 ? r : r % range;
      x[i] = convert<T>(static_cast<std::int64_t>(offset + static_cast<std::uint64_t>(low)));
    }
  });
}

void fill_random(RandomState& state, DType dtype, char* data, std::int64_t n) {
  Mt19937& e = state.engine;
  with_any("random_", dtype, data, [&]<class T>(T* x) {
    for (std::int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<T, bool>) {
        x[i] = (e.random() & 1) != 0;
      } else if constexpr (std::is_same_v<T, std::int64_t>) {
        x[i] = static_cast<T>(e.random64() & ~(std::uint64_t{1} << 63));
      } else if constexpr (std::is_same_v<T, double>) {
        x[i] = static_cast<T>(e.random64() % ((std::uint64_t{1} << 53) + 1));
      } else if constexpr (!has_fractions<T>) {
        // (Not of uint64: PyTorch has no random_() of it.)
        constexpr std::uint64_t kRange = std::uint64_t{std::numeric_limits<T>::max()} + 1;
        x[i] = static_cast<T>(kRange == 0 ? e.random64() : e.random() % kRange);
      } else {
        constexpr int kDigits = std::is_same_v<T, Half> ? 11 : is_short<T> ? 8 : 24;
        x[i] = convert<T>(static_cast<float>(e.random() % ((1u << kDigits) + 1)));
      }
    }
  });
}

void fill_randperm(RandomState& state, std::int64_t* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = i;
  const bool wide = n >= 0xffffffff / 20;  // PyTorch's border: the modulo's bias stays below 5 %
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    const std::uint64_t r = wide ? state.engine.random64() : state.engine.random();
    std::swap(out[i], out[i + static_cast<std::int64_t>(r % static_cast<std::uint64_t>(n - i))]);
  }
}

void fill_bernoulli(RandomState& state, DType dtype, char* data, std::int64_t n, double p) {
  with_any("bernoulli_", dtype, data, [&]<class T>(T* x) {
    for (std::int64_t i = 0; i < n; ++i) {
      x[i] = convert<T>(uniform01<double>(state.engine) < p ? 1 : 0);
    }
  });
}

std::int64_t fill_bernoulli_each(RandomState& state, DType p_dtype, const char* p, DType dtype,
                                 char* data, std::int64_t n) {
  std::int64_t bad = -1;
  with_float("bernoulli", p_dtype, const_cast<char*>(p), [&]<class P>(const P* chance) {
    bad = first_bad(chance, n);
    if (bad >= 0) return;
    with_any("bernoulli", dtype, data, [&]<class T>(T* x) {
      for (std::int64_t i = 0; i < n; ++i) {
        using C = Compute<P>;
        x[i] = convert<T>(uniform01<C>(state.engine) < convert<C>(chance[i]) ? 1 : 0);
      }
    });
  });
  return bad;
}

}  // namespace treadle
