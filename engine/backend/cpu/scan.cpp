#include "engine/backend/cpu/scan.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "engine/backend/cpu/pool.h"
#include "engine/core/fractions.h"
#include "engine/functor/complex_math.h"
#include "engine/functor/math.h"

namespace treadle {
namespace {

// What a scan over T carries: integers as unsigned numbers, which wrap.
template <class T>
struct Carry {
  using type = std::conditional_t<has_fractions<T>, double, std::uint64_t>;
};
// clang-format off
template <> struct Carry<Half> { using type = float; };
template <> struct Carry<BFloat16> { using type = float; };
template <> struct Carry<Complex64> { using type = Complex128; };
template <> struct Carry<Complex128> { using type = Complex128; };
// clang-format on
template <class T>
using CarryType = typename Carry<T>::type;

// Neighbouring lines are scanned together, so that memory is read in its order.
constexpr std::int64_t kColumns = 64;

// body(first, columns) for groups of lines; `first` is the offset of their first element.
template <class Body>
void for_lines(const ScanShape& s, const Body& body) {
  const std::int64_t groups = (s.inner + kColumns - 1) / kColumns;
  const std::int64_t work = std::max<std::int64_t>(1, s.count * std::min(s.inner, kColumns));
  parallel_for(0, s.outer * groups, std::max<std::int64_t>(1, kGrain / work),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t g = begin; g < end; ++g) {
                   const std::int64_t column = g % groups * kColumns;
                   body(g / groups * s.count * s.inner + column,
                        std::min(kColumns, s.inner - column));
                 }
               });
}

template <class T, class Step>
void run(const char* in, char* out, const ScanShape& s, CarryType<T> first, const Step& step) {
  using A = CarryType<T>;
  const T* x = reinterpret_cast<const T*>(in);
  T* y = reinterpret_cast<T*>(out);
  for_lines(s, [&](std::int64_t start, std::int64_t columns) {
    if (columns == 1) {  // what is carried stays in a register
      A carried = first;
      for (std::int64_t i = 0, at = start; i < s.count; ++i, at += s.inner) {
        carried = step(carried, convert<A>(x[at]));
        y[at] = convert<T>(carried);
      }
      return;
    }
    A carried[kColumns];
    std::fill(carried, carried + columns, first);
    for (std::int64_t i = 0; i < s.count; ++i) {
      const std::int64_t at = start + i * s.inner;
      for (std::int64_t c = 0; c < columns; ++c) {
        carried[c] = step(carried[c], convert<A>(x[at + c]));
        y[at + c] = convert<T>(carried[c]);
      }
    }
  });
}

// log(exp(x0) + exp(x1) + ...) of real numbers as the largest and the sum of what the others are to
// it: no step waits for a logarithm.
template <class A>
struct LogSum {
  A top = -std::numeric_limits<A>::infinity(), others = 0;

  void add(A x) {
    const bool higher = !(x <= top) && top == top;  // a NaN stays
    const A part = functor::exp(x == top ? A(0) : higher ? top - x : x - top);
    others = higher ? (others + A(1)) * part : others + part;
    top = higher ? x : top;
  }
  A value() const { return top + functor::log1p(others); }
};
template <class T>
void run_log_sum(const char* in, char* out, const ScanShape& s) {
  using A = CarryType<T>;
  const T* x = reinterpret_cast<const T*>(in);
  T* y = reinterpret_cast<T*>(out);
  for_lines(s, [&](std::int64_t start, std::int64_t columns) {
    LogSum<A> carried[kColumns];
    for (std::int64_t i = 0; i < s.count; ++i) {
      const std::int64_t at = start + i * s.inner;
      for (std::int64_t c = 0; c < columns; ++c) {
        carried[c].add(convert<A>(x[at + c]));
        y[at + c] = convert<T>(carried[c].value());
      }
    }
  });
}
Complex128 log_add(Complex128 a, Complex128 b) {
  const Complex128 low = a.re < b.re ? a : b, high = a.re < b.re ? b : a;
  if (functor::isnan(a) || functor::isnan(b)) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan};
  }
  // Of -inf, a zero, the angle says nothing, and it adds nothing.
  if (functor::isinf(low.re) && low.re < 0) {
    return functor::isinf(high.re) && high.re < 0 ? Complex128(high.re, 0.0) : high;
  }
  if (functor::isinf(high.re)) {
    if (!functor::isinf(low.re)) return high;
    // Two infinities: what exp makes of them says the angle of their sum.
    const Complex128 turned = functor::log(functor::exp(low) + functor::exp(high));
    return {high.re, turned.im};
  }
  return high + functor::log(Complex128(1.0, 0.0) + functor::exp(low - high));
}

}  // namespace

void scan(Scan op, DType dtype, const char* in, char* out, const ScanShape& shape) {
  const char* const name = op == Scan::sum       ? "cumsum_out_cpu"
                           : op == Scan::product ? "cumprod_out_cpu"
                                                 : "logcumsumexp_out_cpu";
  visit_any(dtype, name, [&](auto zero) {
    using T = decltype(zero);
    using A = CarryType<T>;
    if constexpr (!std::is_same_v<T, bool>) {
      if (op == Scan::sum) return run<T>(in, out, shape, A(0), [](A a, A x) { return a + x; });
      if (op == Scan::product) return run<T>(in, out, shape, A(1), [](A a, A x) { return a * x; });
      if constexpr (functor::is_complex<T>) {
        constexpr double inf = std::numeric_limits<double>::infinity();
        return run<T>(in, out, shape, A(-inf, 0.0), [](A a, A x) { return log_add(a, x); });
      } else if constexpr (!functor::is_integer<T>) {
        return run_log_sum<T>(in, out, shape);
      }
    }
    no_implementation(dtype, name);
  });
}

void scan_extreme(bool maximum, DType dtype, const char* in, char* out, std::int64_t* index,
                  const ScanShape& s) {
  visit(dtype, maximum ? "cummax" : "cummin", [&](auto zero) {
    using T = decltype(zero);
    const T* x = reinterpret_cast<const T*>(in);
    T* y = reinterpret_cast<T*>(out);
    for_lines(s, [&](std::int64_t start, std::int64_t columns) {
      if (columns == 1) {
        T best = x[start];
        std::int64_t where = 0;
        for (std::int64_t i = 0, at = start; i < s.count; ++i, at += s.inner) {
          const T v = x[at];
          const bool better = v != v || (best == best && (maximum ? v >= best : v <= best));
          best = better ? v : best;
          where = better ? i : where;
          y[at] = best;
          index[at] = where;
        }
        return;
      }
      for (std::int64_t i = 0; i < s.count; ++i) {
        for (std::int64_t c = 0; c < columns; ++c) {
          const std::int64_t at = start + i * s.inner + c, before = at - s.inner;
          const bool better =
              i == 0 || x[at] != x[at] ||
              (y[before] == y[before] && (maximum ? x[at] >= y[before] : x[at] <= y[before]));
          y[at] = better ? x[at] : y[before];
          index[at] = better ? i : index[before];
        }
      }
    });
  });
}

void scan_linear(DType dtype, const char* a_data, const char* b_data, char* out, const ScanShape& s,
                 bool reverse) {
  visit_any(dtype, "scan_linear", [&](auto zero) {
    using T = decltype(zero);
    if constexpr (has_fractions<T>) {
      using A = CarryType<T>;
      const T* a = reinterpret_cast<const T*>(a_data);
      const T* b = reinterpret_cast<const T*>(b_data);
      T* y = reinterpret_cast<T*>(out);
      for_lines(s, [&](std::int64_t start, std::int64_t columns) {
        A carried[kColumns];
        std::fill(carried, carried + columns, A(0));
        for (std::int64_t i = 0; i < s.count; ++i) {
          const std::int64_t at = start + (reverse ? s.count - 1 - i : i) * s.inner;
          for (std::int64_t c = 0; c < columns; ++c) {
            // The first has no neighbour: an infinite factor must not make it NaN.
            const A moved = i == 0 ? A(0) : convert<A>(a[at + c]) * carried[c];
            carried[c] = convert<A>(b[at + c]) + moved;
            y[at + c] = convert<T>(carried[c]);
          }
        }
      });
    } else {
      no_implementation(dtype, "scan_linear");
    }
  });
}

}  // namespace treadle
