#include "engine/backend/cpu/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/backend/cpu/pool.h"
#include "engine/core/visit.h"

namespace treadle {
namespace {

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

template <class T>
T log_add(T a, T b) {
  const T m = std::max(a, b);
  return m == kNever<T> ? m : m + std::log1p(std::exp(std::min(a, b) - m));
}

// One sequence: labels with blanks between and around them.
template <class T>
struct Sequence {
  Sequence(const CtcShape& s, std::int64_t n, const T* logp)
      : steps(s.input_lengths[n]),
        states(2 * s.target_lengths[n] + 1),
        labels(s.targets + s.target_offsets[n]),
        blank(s.blank),
        base(logp + n * s.classes),
        row(s.batch * s.classes) {}

  std::int64_t steps, states;
  const std::int64_t* labels;
  std::int64_t blank;
  const T* base;
  std::int64_t row;

  std::int64_t label(std::int64_t s) const { return s % 2 == 0 ? blank : labels[s / 2]; }
  T log_p(std::int64_t t, std::int64_t s) const { return base[t * row + label(s)]; }
  // Whether state s may follow state s - 2.
  bool skips(std::int64_t s) const { return s % 2 == 1 && s >= 2 && label(s) != label(s - 2); }
};

template <class F>
void for_sequences(DType dtype, const CtcShape& s, const F& f) {
  const auto with = [&](auto zero) {
    parallel_for(0, s.batch, 1, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t n = from; n < to; ++n) f(zero, n);
    });
  };
  if (dtype == DType::float32) return with(float{});
  if (dtype == DType::float64) return with(double{});
  no_implementation(dtype, "ctc_loss_cpu");
}

}  // namespace

void ctc_forward(DType dtype, const CtcShape& s, const char* logp, char* loss, char* alpha) {
  for_sequences(dtype, s, [&](auto zero, std::int64_t n) {
    using T = decltype(zero);
    const Sequence<T> q(s, n, reinterpret_cast<const T*>(logp));
    const std::int64_t width = 2 * s.longest + 1;
    T* a = reinterpret_cast<T*>(alpha) + n * s.time * width;
    T& out = reinterpret_cast<T*>(loss)[n];
    std::fill(a, a + s.time * width, kNever<T>);
    if (q.steps == 0) {
      out = q.states == 1 ? T(0) : -kNever<T>;
      return;
    }
    a[0] = q.log_p(0, 0);
    if (q.states > 1) a[1] = q.log_p(0, 1);
    for (std::int64_t t = 1; t < q.steps; ++t) {
      const T* before = a + (t - 1) * width;
      T* now = a + t * width;
      for (std::int64_t i = 0; i < q.states; ++i) {
        T sum = before[i];
        if (i >= 1) sum = log_add(sum, before[i - 1]);
        if (q.skips(i)) sum = log_add(sum, before[i - 2]);
        now[i] = sum + q.log_p(t, i);
      }
    }
    const T* last = a + (q.steps - 1) * width + q.states - 1;
    out = -(q.states > 1 ? log_add(last[0], last[-1]) : last[0]);
  });
}

void ctc_backward(DType dtype, const CtcShape& s, const char* g, const char* logp, const char* loss,
                  const char* alpha, bool zero_infinity, char* grad) {
  for_sequences(dtype, s, [&](auto zero, std::int64_t n) {
    using T = decltype(zero);
    const Sequence<T> q(s, n, reinterpret_cast<const T*>(logp));
    const std::int64_t width = 2 * s.longest + 1;
    const T* a = reinterpret_cast<const T*>(alpha) + n * s.time * width;
    const T nll = reinterpret_cast<const T*>(loss)[n], gn = reinterpret_cast<const T*>(g)[n];
    T* out = reinterpret_cast<T*>(grad) + n * s.classes;
    for (std::int64_t t = 0; t < s.time; ++t)
      std::fill(out + t * q.row, out + t * q.row + s.classes, T(0));
    if (q.steps == 0 || (zero_infinity && nll == -kNever<T>)) return;
    // beta[i]: of all ways on from state i at time t, what is emitted at t included.
    std::vector<T> beta(static_cast<std::size_t>(q.states), kNever<T>), next = beta;
    std::vector<T> seen(static_cast<std::size_t>(s.classes));
    for (std::int64_t t = q.steps - 1; t >= 0; --t) {
      for (std::int64_t i = 0; i < q.states; ++i) {
        const auto at = static_cast<std::size_t>(i);
        T sum = kNever<T>;
        if (t == q.steps - 1) {
          sum = i >= q.states - 2 ? T(0) : kNever<T>;
        } else {
          sum = next[at];
          if (i + 1 < q.states) sum = log_add(sum, next[at + 1]);
          if (i + 2 < q.states && q.skips(i + 2)) sum = log_add(sum, next[at + 2]);
        }
        beta[at] = sum + q.log_p(t, i);
      }
      std::fill(seen.begin(), seen.end(), kNever<T>);
      for (std::int64_t i = 0; i < q.states; ++i) {
        T& sum = seen[static_cast<std::size_t>(q.label(i))];
        sum = log_add(sum, a[t * width + i] + beta[static_cast<std::size_t>(i)]);
      }
      for (std::int64_t c = 0; c < s.classes; ++c) {
        const T lp = q.base[t * q.row + c];
        out[t * q.row + c] =
            (std::exp(lp) - std::exp(seen[static_cast<std::size_t>(c)] + nll - lp)) * gn;
      }
      std::swap(beta, next);
    }
  });
}

}  // namespace treadle
