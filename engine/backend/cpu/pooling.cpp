#include "engine/backend/cpu/pooling.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "engine/backend/cpu/pool.h"
#include "engine/core/visit.h"

namespace treadle {
namespace {

constexpr std::int64_t kBlock = 4096;  // elements of `inner` that are worked on together

template <class F>
void visit_weighted(DType dtype, const F& f) {
  switch (dtype) {
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    case DType::int64:
      return f(std::int64_t{});
    default:
      no_implementation(dtype, "resample");
  }
}

// Calls work(outer index, begin, end) for blocks of `inner`, over threads.
template <class F>
void for_blocks(const Taps& taps, std::int64_t outer, std::int64_t inner, const F& work) {
  const std::int64_t blocks = (inner + kBlock - 1) / kBlock;
  const std::int64_t cost = (static_cast<std::int64_t>(taps.weight.size()) + taps.in + taps.out()) *
                            std::min(inner, kBlock);
  parallel_for(0, outer * blocks,
               std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, cost)),
               [&](std::int64_t from, std::int64_t to) {
                 for (std::int64_t u = from; u < to; ++u) {
                   const std::int64_t begin = u % blocks * kBlock;
                   work(u / blocks, begin, std::min(inner, begin + kBlock));
                 }
               });
}

template <class T>
void add_scaled(T* to, const T* from, T scale, std::int64_t n) {
  if constexpr (std::is_integral_v<T>) {
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] =
          static_cast<T>(static_cast<std::uint64_t>(to[i]) +
                         static_cast<std::uint64_t>(scale) * static_cast<std::uint64_t>(from[i]));
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] += scale * from[i];
  }
}

template <class T>
void forward(const Taps& taps, std::int64_t outer, std::int64_t inner, const T* x, T* y) {
  for_blocks(taps, outer, inner, [&](std::int64_t a, std::int64_t begin, std::int64_t end) {
    const T* in = x + a * taps.in * inner + begin;
    T* out = y + a * taps.out() * inner + begin;
    for (std::int64_t o = 0; o < taps.out(); ++o, out += inner) {
      const auto at = static_cast<std::size_t>(o);
      std::fill(out, out + (end - begin), T{});
      const T* row = in + taps.start[at] * inner;
      for (std::int64_t t = taps.offset[at]; t < taps.offset[at + 1]; ++t, row += inner) {
        add_scaled(out, row, static_cast<T>(taps.weight[static_cast<std::size_t>(t)]), end - begin);
      }
    }
  });
}

template <class T>
void adjoint(const Taps& taps, std::int64_t outer, std::int64_t inner, const T* y, T* x) {
  for_blocks(taps, outer, inner, [&](std::int64_t a, std::int64_t begin, std::int64_t end) {
    T* out = x + a * taps.in * inner + begin;
    const T* in = y + a * taps.out() * inner + begin;
    for (std::int64_t i = 0; i < taps.in; ++i) {
      std::fill(out + i * inner, out + i * inner + (end - begin), T{});
    }
    for (std::int64_t o = 0; o < taps.out(); ++o, in += inner) {
      const auto at = static_cast<std::size_t>(o);
      T* row = out + taps.start[at] * inner;
      for (std::int64_t t = taps.offset[at]; t < taps.offset[at + 1]; ++t, row += inner) {
        add_scaled(row, in, static_cast<T>(taps.weight[static_cast<std::size_t>(t)]), end - begin);
      }
    }
  });
}

template <class T>
void maxima(const Starts dims[3], std::int64_t planes, const T* x, std::int64_t* index) {
  const std::int64_t outputs = dims[0].out * dims[1].out * dims[2].out;
  const std::int64_t inputs = dims[0].in * dims[1].in * dims[2].in;
  // bool and the 16-bit floats compare as float.
  const auto value = [](T v) {
    if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
      return v;
    } else {
      return static_cast<float>(v);
    }
  };
  const auto plane_max = [&](std::int64_t p) {
    const T* in = x + p * inputs;
    std::int64_t* out = index + p * outputs;
    const auto at = [&](int d, std::int64_t o) {
      return static_cast<std::size_t>(dims[d].per_plane ? p * dims[d].out + o : o);
    };
    for (std::int64_t o0 = 0; o0 < dims[0].out; ++o0) {
      const std::int64_t s0 = dims[0].start[at(0, o0)], n0 = dims[0].size[at(0, o0)];
      for (std::int64_t o1 = 0; o1 < dims[1].out; ++o1) {
        const std::int64_t s1 = dims[1].start[at(1, o1)], n1 = dims[1].size[at(1, o1)];
        for (std::int64_t o2 = 0; o2 < dims[2].out; ++o2) {
          const std::int64_t s2 = dims[2].start[at(2, o2)], n2 = dims[2].size[at(2, o2)];
          std::int64_t best = (s0 * dims[1].in + s1) * dims[2].in + s2;
          auto most = value(in[best]);
          for (std::int64_t i0 = 0; i0 < n0; ++i0) {
            for (std::int64_t i1 = 0; i1 < n1; ++i1) {
              std::int64_t i =
                  ((s0 + i0 * dims[0].step) * dims[1].in + s1 + i1 * dims[1].step) * dims[2].in +
                  s2;
              for (std::int64_t i2 = 0; i2 < n2; ++i2, i += dims[2].step) {
                const auto v = value(in[i]);
                if (v > most || v != v) most = v, best = i;
              }
            }
          }
          *out++ = best;
        }
      }
    }
  };
  parallel_for(
      0, planes,
      std::max<std::int64_t>(1, kGrain / 4 / std::max<std::int64_t>(1, std::max(outputs, inputs))),
      [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t p = from; p < to; ++p) plane_max(p);
      });
}

}  // namespace

void resample(DType dtype, const Taps& taps, std::int64_t outer, std::int64_t inner, const char* x,
              char* y) {
  visit_weighted(dtype, [&](auto zero) {
    using T = decltype(zero);
    forward(taps, outer, inner, reinterpret_cast<const T*>(x), reinterpret_cast<T*>(y));
  });
}
void resample_adjoint(DType dtype, const Taps& taps, std::int64_t outer, std::int64_t inner,
                      const char* y, char* x) {
  visit_weighted(dtype, [&](auto zero) {
    using T = decltype(zero);
    adjoint(taps, outer, inner, reinterpret_cast<const T*>(y), reinterpret_cast<T*>(x));
  });
}

void max_windows(DType dtype, const Starts dims[3], std::int64_t planes, const char* x,
                 std::int64_t* index) {
  visit(dtype, "max_pool", [&](auto zero) {
    using T = decltype(zero);
    maxima(dims, planes, reinterpret_cast<const T*>(x), index);
  });
}

}  // namespace treadle
