#include "engine/backend/cpu/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "engine/core/dtype.h"
#include "engine/core/error.h"
#include "engine/core/visit.h"
#include "engine/functor/math.h"

namespace treadle {
namespace {

template <class T>
T uniform01(Mt19937& engine) {
  if constexpr (sizeof(T) == 4) {
    return static_cast<T>(engine.random() & 0xffffffu) * 0x1p-24f;
  } else {
    return static_cast<T>(engine.random64() & ((std::uint64_t{1} << 53) - 1)) * 0x1p-53;
  }
}

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

double next_normal(RandomState& state, double mean, double deviation) {
  if (std::exchange(state.has_normal, false)) return state.normal * deviation + mean;
  const double u1 = uniform01<double>(state.engine), u2 = uniform01<double>(state.engine);
  const double radius = std::sqrt(-2.0 * std::log1p(-u2)), theta = 2 * std::numbers::pi * u1;
  state.normal = radius * std::sin(theta);
  state.has_normal = true;
  return radius * std::cos(theta) * deviation + mean;
}

[[noreturn]] void no_such(const char* op, DType dtype) {
  fail(ErrorKind::not_implemented,
       '"' + std::string(op) + "\" not implemented for '" + std::string(info(dtype).scalar) + "'");
}

// 16-bit floats: float32's numbers, rounded. In blocks, each of them is drawn when its turn comes,
// so that a last one that overlaps takes the words after the others.
template <class T>
void fill_short_normal(RandomState& state, T* data, std::int64_t n, double mean, double deviation,
                       bool blocks) {
  if (!blocks) {
    for (std::int64_t i = 0; i < n; ++i) {
      data[i] = convert<T>(static_cast<float>(next_normal(state, mean, deviation)));
    }
    return;
  }
  constexpr std::int64_t block = 16;
  for (std::int64_t done = 0; done < n; done += block) {
    float x[block];
    normal_blocks(state, x, block, static_cast<float>(mean), static_cast<float>(deviation));
    T* out = data + std::min(done, n - block);
    for (int i = 0; i < block; ++i) out[i] = convert<T>(x[i]);
  }
}

// Calls fn with a typed pointer to `data`.
template <class Fn>
void with_float(const char* op, DType dtype, char* data, const Fn& fn) {
  switch (dtype) {
    case DType::float32:
      return fn(reinterpret_cast<float*>(data));
    case DType::float64:
      return fn(reinterpret_cast<double*>(data));
    default:
      no_such(op, dtype);
  }
}
template <class Fn>
void with_any(const char* op, DType dtype, char* data, const Fn& fn) {
  switch (dtype) {
    case DType::boolean:
      return fn(reinterpret_cast<bool*>(data));
    case DType::uint8:
      return fn(reinterpret_cast<std::uint8_t*>(data));
    case DType::int64:
      return fn(reinterpret_cast<std::int64_t*>(data));
    default:
      return with_float(op, dtype, data, fn);
  }
}

template <class T>
std::int64_t first_bad(const T* p, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(p[i] >= T(0) && p[i] <= T(1))) return i;
  }
  return -1;
}

}  // namespace

void fill_uniform(RandomState& state, DType dtype, char* data, std::int64_t n, double from,
                  double to) {
  if (dtype == DType::float16 || dtype == DType::bfloat16) {  // float32's numbers, rounded
    return visit_any(dtype, "uniform_", [&](auto zero) {
      using T = decltype(zero);
      T* x = reinterpret_cast<T*>(data);
      const auto low = static_cast<float>(from), high = static_cast<float>(to);
      for (std::int64_t i = 0; i < n; ++i) {
        x[i] = convert<T>(scaled(uniform01<float>(state.engine), low, high));
      }
    });
  }
  with_float("uniform_", dtype, data, [&]<class T>(T* x) {
    const T low = static_cast<T>(from), high = static_cast<T>(to);
    for (std::int64_t i = 0; i < n; ++i) x[i] = scaled(uniform01<T>(state.engine), low, high);
  });
}

void fill_normal(RandomState& state, DType dtype, char* data, std::int64_t n, double mean,
                 double deviation, NormalStream stream) {
  if (dtype == DType::float16 || dtype == DType::bfloat16) {
    return visit_any(dtype, "normal_", [&](auto zero) {
      using T = decltype(zero);
      fill_short_normal(state, reinterpret_cast<T*>(data), n, mean, deviation,
                        n >= 16 && stream == NormalStream::by_length);
    });
  }
  with_float("normal_", dtype, data, [&]<class T>(T* x) {
    if (n >= 16 && stream == NormalStream::by_length) {
      return normal_blocks(state, x, n, static_cast<T>(mean), static_cast<T>(deviation));
    }
    for (std::int64_t i = 0; i < n; ++i) {
      x[i] = static_cast<T>(next_normal(state, mean, deviation));
    }
  });
}

void fill_randint(RandomState& state, DType dtype, char* data, std::int64_t n, std::int64_t low,
                  std::int64_t high) {
  if (low >= high) {
    fail(ErrorKind::value, "random_ expects 'from' to be less than 'to', but got from=" +
                               std::to_string(low) + " >= to=" + std::to_string(high));
  }
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  with_any("randint", dtype, data, [&]<class T>(T* x) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint64_t r =
          range >= std::uint64_t{1} << 28 ? state.engine.random64() : state.engine.random();
      x[i] = static_cast<T>(static_cast<std::int64_t>(r % range + static_cast<std::uint64_t>(low)));
    }
  });
}

void fill_random(RandomState& state, DType dtype, char* data, std::int64_t n) {
  Mt19937& e = state.engine;
  with_any("random_", dtype, data, [&]<class T>(T* x) {
    for (std::int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<T, bool>) {
        x[i] = (e.random() & 1) != 0;
      } else if constexpr (std::is_same_v<T, std::uint8_t>) {
        x[i] = static_cast<T>(e.random());
      } else if constexpr (std::is_same_v<T, std::int64_t>) {
        x[i] = static_cast<T>(e.random64() & ~(std::uint64_t{1} << 63));
      } else if constexpr (std::is_same_v<T, float>) {
        x[i] = static_cast<T>(e.random() % ((1u << 24) + 1));
      } else {
        x[i] = static_cast<T>(e.random64() % ((std::uint64_t{1} << 53) + 1));
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
      x[i] = static_cast<T>(uniform01<double>(state.engine) < p ? 1 : 0);
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
        x[i] = static_cast<T>(uniform01<P>(state.engine) < chance[i] ? 1 : 0);
      }
    });
  });
  return bad;
}

}  // namespace treadle
