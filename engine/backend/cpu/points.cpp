#include "engine/backend/cpu/points.h"

#include <algorithm>

#include "engine/backend/cpu/pool.h"
#include "engine/core/visit.h"

namespace treadle {
namespace {

template <class F>
void visit_points(DType dtype, const F& f) {
  if (dtype == DType::float32) return f(float{});
  if (dtype == DType::float64) return f(double{});
  no_implementation(dtype, "grid_sampler");
}

std::int64_t grain(const PointShape& s) {
  return std::max<std::int64_t>(1, kGrain / 4 / std::max<std::int64_t>(1, s.taps * s.points));
}

}  // namespace

void points_output(DType dtype, const PointShape& s, const std::int64_t* index, const char* x,
                   const char* w, char* y) {
  visit_points(dtype, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(0, s.batch * s.channels, grain(s), [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t u = from; u < to; ++u) {
        const T* in = reinterpret_cast<const T*>(x) + u * s.inputs;
        T* out = reinterpret_cast<T*>(y) + u * s.points;
        std::fill(out, out + s.points, T(0));
        for (std::int64_t t = 0; t < s.taps; ++t) {
          const std::int64_t line = (u / s.channels * s.taps + t) * s.points;
          const std::int64_t* at = index + line;
          const T* weight = reinterpret_cast<const T*>(w) + line;
          for (std::int64_t p = 0; p < s.points; ++p) {
            if (at[p] >= 0) out[p] += weight[p] * in[at[p]];
          }
        }
      }
    });
  });
}

void points_input(DType dtype, const PointShape& s, const std::int64_t* index, const char* y,
                  const char* w, char* x) {
  visit_points(dtype, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(0, s.batch * s.channels, grain(s), [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t u = from; u < to; ++u) {
        T* out = reinterpret_cast<T*>(x) + u * s.inputs;
        const T* in = reinterpret_cast<const T*>(y) + u * s.points;
        std::fill(out, out + s.inputs, T(0));
        for (std::int64_t t = 0; t < s.taps; ++t) {
          const std::int64_t line = (u / s.channels * s.taps + t) * s.points;
          const std::int64_t* at = index + line;
          const T* weight = reinterpret_cast<const T*>(w) + line;
          for (std::int64_t p = 0; p < s.points; ++p) {
            if (at[p] >= 0) out[at[p]] += weight[p] * in[p];
          }
        }
      }
    });
  });
}

void points_weight(DType dtype, const PointShape& s, const std::int64_t* index, const char* y,
                   const char* x, char* w) {
  visit_points(dtype, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(0, s.batch * s.taps, grain(s), [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t u = from; u < to; ++u) {
        const std::int64_t n = u / s.taps;
        const std::int64_t* at = index + u * s.points;
        T* out = reinterpret_cast<T*>(w) + u * s.points;
        std::fill(out, out + s.points, T(0));
        for (std::int64_t c = 0; c < s.channels; ++c) {
          const T* g = reinterpret_cast<const T*>(y) + (n * s.channels + c) * s.points;
          const T* in = reinterpret_cast<const T*>(x) + (n * s.channels + c) * s.inputs;
          for (std::int64_t p = 0; p < s.points; ++p) {
            if (at[p] >= 0) out[p] += g[p] * in[at[p]];
          }
        }
      }
    });
  });
}

}  // namespace treadle
