#include "engine/backend/cpu/norm.h"

#include <algorithm>
#include <cmath>

#include "engine/backend/cpu/pool.h"
#include "engine/core/visit.h"

namespace treadle {
namespace {

// Sums of four interleaved parts: quick, and in an order that depends on n alone.
template <class T, class F>
double sum_of(const T* x, std::int64_t n, const F& f) {
  double s[4] = {0, 0, 0, 0};
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int k = 0; k < 4; ++k) s[k] += f(static_cast<double>(x[i + k]));
  }
  for (; i < n; ++i) s[0] += f(static_cast<double>(x[i]));
  return (s[0] + s[1]) + (s[2] + s[3]);
}

template <class T>
void run(std::int64_t outer, std::int64_t groups, std::int64_t inner, double eps, const T* x,
         T* out, T* mean, T* var, T* rstd) {
  const auto n = static_cast<double>(outer) * static_cast<double>(inner);
  const std::int64_t work = std::max<std::int64_t>(1, outer * inner);
  parallel_for(0, groups, std::max<std::int64_t>(1, kGrain / 4 / work),
               [&](std::int64_t from, std::int64_t to) {
                 for (std::int64_t g = from; g < to; ++g) {
                   const auto total = [&](const auto& f) {
                     double sum = 0;
                     for (std::int64_t a = 0; a < outer; ++a) {
                       sum += sum_of(x + (a * groups + g) * inner, inner, f);
                     }
                     return sum;
                   };
                   const double m = total([](double v) { return v; }) / n;
                   const double v = total([m](double u) { return (u - m) * (u - m); }) / n;
                   const double r = 1 / std::sqrt(v + eps);
                   mean[g] = static_cast<T>(m);
                   var[g] = static_cast<T>(v);
                   rstd[g] = static_cast<T>(r);
                   for (std::int64_t a = 0; a < outer; ++a) {
                     const T* in = x + (a * groups + g) * inner;
                     T* o = out + (a * groups + g) * inner;
                     for (std::int64_t i = 0; i < inner; ++i) {
                       o[i] = static_cast<T>((static_cast<double>(in[i]) - m) * r);
                     }
                   }
                 }
               });
}

}  // namespace

void normalize_groups(DType dtype, std::int64_t outer, std::int64_t groups, std::int64_t inner,
                      double eps, const char* x, char* out, char* mean, char* var, char* rstd) {
  const auto with = [&](auto zero) {
    using T = decltype(zero);
    run(outer, groups, inner, eps, reinterpret_cast<const T*>(x), reinterpret_cast<T*>(out),
        reinterpret_cast<T*>(mean), reinterpret_cast<T*>(var), reinterpret_cast<T*>(rstd));
  };
  if (dtype == DType::float32) return with(float{});
  if (dtype == DType::float64) return with(double{});
  no_implementation(dtype, "normalize");
}

}  // namespace treadle
