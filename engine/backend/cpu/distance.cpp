#include "engine/backend/cpu/distance.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/backend/cpu/pool.h"
#include "engine/core/visit.h"

namespace treadle {
namespace {

template <class F>
void visit_distance(DType dtype, const F& f) {
  if (dtype == DType::float32) return f(float{});
  if (dtype == DType::float64) return f(double{});
  no_implementation(dtype, "cdist");
}

template <class T>
double distance(const T* a, const T* b, std::int64_t n, double p) {
  double sum = 0;
  const auto each = [&](const auto& add) {
    for (std::int64_t i = 0; i < n; ++i) {
      add(std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    }
  };
  if (p == 0) {
    each([&](double d) { sum += d != 0; });
    return sum;
  }
  if (p == 1) {
    each([&](double d) { sum += d; });
    return sum;
  }
  if (p == 2) {
    each([&](double d) { sum += d * d; });
    return std::sqrt(sum);
  }
  if (std::isinf(p)) {
    each([&](double d) { sum = d > sum || d != d ? d : sum; });
    return sum;
  }
  each([&](double d) { sum += std::pow(d, p); });
  return std::pow(sum, 1 / p);
}

double slope(double diff, double dist, double p) {
  if (p == 0 || dist == 0 || diff == 0) return 0;
  const double sign = diff > 0 ? 1 : -1;
  if (p == 1) return sign;
  if (p == 2) return diff / dist;
  if (std::isinf(p)) return std::abs(diff) == dist ? sign : 0;
  return sign * std::pow(std::abs(diff) / dist, p - 1);
}

std::int64_t grain(const DistanceShape& s) {
  return std::max<std::int64_t>(
      1, kGrain / 8 / std::max<std::int64_t>(1, s.rows2 * std::max<std::int64_t>(1, s.columns)));
}

}  // namespace

void row_distances(DType dtype, const DistanceShape& s, const char* x1, const char* x2, char* out) {
  visit_distance(dtype, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(0, s.batch * s.rows1, grain(s), [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t row = from; row < to; ++row) {
        const T* a = reinterpret_cast<const T*>(x1) + row * s.columns;
        const T* b = reinterpret_cast<const T*>(x2) + row / s.rows1 * s.rows2 * s.columns;
        T* o = reinterpret_cast<T*>(out) + row * s.rows2;
        for (std::int64_t j = 0; j < s.rows2; ++j) {
          o[j] = static_cast<T>(distance(a, b + j * s.columns, s.columns, s.p));
        }
      }
    });
  });
}

void row_distances_grad(DType dtype, const DistanceShape& s, const char* g, const char* x1,
                        const char* x2, const char* dist, char* out) {
  visit_distance(dtype, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(0, s.batch * s.rows1, grain(s), [&](std::int64_t from, std::int64_t to) {
      std::vector<double> sum(static_cast<std::size_t>(s.columns));
      for (std::int64_t row = from; row < to; ++row) {
        const T* a = reinterpret_cast<const T*>(x1) + row * s.columns;
        const T* b = reinterpret_cast<const T*>(x2) + row / s.rows1 * s.rows2 * s.columns;
        const T* gr = reinterpret_cast<const T*>(g) + row * s.rows2;
        const T* d = reinterpret_cast<const T*>(dist) + row * s.rows2;
        std::fill(sum.begin(), sum.end(), 0.0);
        for (std::int64_t j = 0; j < s.rows2; ++j) {
          for (std::int64_t k = 0; k < s.columns; ++k) {
            const double diff =
                static_cast<double>(a[k]) - static_cast<double>(b[j * s.columns + k]);
            sum[static_cast<std::size_t>(k)] +=
                static_cast<double>(gr[j]) * slope(diff, static_cast<double>(d[j]), s.p);
          }
        }
        T* o = reinterpret_cast<T*>(out) + row * s.columns;
        for (std::int64_t k = 0; k < s.columns; ++k) {
          o[k] = static_cast<T>(sum[static_cast<std::size_t>(k)]);
        }
      }
    });
  });
}

}  // namespace treadle
