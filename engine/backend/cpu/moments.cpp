#include "engine/backend/cpu/moments.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/backend/cpu/pool.h"
#include "engine/core/visit.h"

namespace treadle {
namespace {

struct Moments {
  double count, mean, squares;
};

constexpr std::int64_t kBlock = 4096;
constexpr int kLanes = 8;

// Sum of f(x[i]) in lanes, which the compiler can keep in registers.
template <class T, class F>
double lane_sum(const T* x, std::int64_t n, const F& f) {
  double lane[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lane[l] += f(convert<double>(x[i + l]));
  }
  for (int l = 0; i + l < n; ++l) lane[l] += f(convert<double>(x[i + l]));
  for (int w = kLanes / 2; w > 0; w /= 2) {
    for (int l = 0; l < w; ++l) lane[l] += lane[l + w];
  }
  return lane[0];
}

template <class T>
Moments of_block(const T* x, std::int64_t n) {
  const auto count = static_cast<double>(n);
  const double mean = lane_sum(x, n, [](double v) { return v; }) / count;
  return {count, mean, lane_sum(x, n, [mean](double v) { return (v - mean) * (v - mean); })};
}

// Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm" (1979).
Moments join(const Moments& a, const Moments& b) {
  const double count = a.count + b.count, delta = b.mean - a.mean;
  return {count, a.mean + delta * (b.count / count),
          a.squares + b.squares + delta * delta * (a.count * b.count / count)};
}

Moments join_all(std::vector<Moments>& part) {
  for (std::size_t n = part.size(); n > 1; n = (n + 1) / 2) {
    for (std::size_t i = 0; i < n / 2; ++i) part[i] = join(part[2 * i], part[2 * i + 1]);
    if (n % 2 != 0) part[n / 2] = part[n - 1];
  }
  return part[0];
}

template <class T>
Moments of_row(const T* x, std::int64_t count) {
  if (count == 0) return {0, std::numeric_limits<double>::quiet_NaN(), 0};
  if (count <= kBlock) return of_block(x, count);
  std::vector<Moments> part(static_cast<std::size_t>((count + kBlock - 1) / kBlock));
  parallel_for(0, static_cast<std::int64_t>(part.size()), kGrain / kBlock,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t b = begin; b < end; ++b) {
                   part[static_cast<std::size_t>(b)] =
                       of_block(x + b * kBlock, std::min(kBlock, count - b * kBlock));
                 }
               });
  return join_all(part);
}

}  // namespace

void moments(DType dtype, const char* in, std::int64_t rows, std::int64_t count, double* mean,
             double* squares) {
  visit(dtype, "var", [&](auto zero) {
    using T = decltype(zero);
    const T* x = reinterpret_cast<const T*>(in);
    const auto one = [&](std::int64_t r) {
      const Moments m = of_row(x + r * count, count);
      mean[r] = m.mean;
      squares[r] = m.squares;
    };
    if (rows == 1) return one(0);  // its blocks are shared among the threads
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, count));
    parallel_for(0, rows, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) one(r);
    });
  });
}

}  // namespace treadle
