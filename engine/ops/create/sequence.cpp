// Creation of regular tensors: ranges between tensors and on a logarithmic scale, positions of
// triangles, powers of a vector, and given layouts.
#include <cmath>

#include "engine/core/iter.h"
#include "engine/core/visit.h"
#include "engine/functor/complex_math.h"
#include "engine/ops/create/creation.h"
#include "engine/ops/names.h"
#include "engine/ops/native.h"
#include "engine/ops/reduction/scans.h"
#include "engine/ops/view/layout.h"
#include "engine/ops/view/util.h"

namespace treadle {
namespace {

using OptDevice = std::optional<Device>;
using OptBool = std::optional<bool>;
using OptDType = std::optional<DType>;

DType range_dtype(const char* op, const Scalar& start, const Scalar& end, OptDType dtype) {
  const bool complex = start.kind == Scalar::Kind::complex || end.kind == Scalar::Kind::complex;
  const DType made = complex ? to_complex(default_dtype()) : default_dtype();
  if (complex && dtype && !is_complex(*dtype)) {
    fail(ErrorKind::runtime, std::string("torch.") + op + "(): inferred dtype " + repr(made) +
                                 " can't be safely cast to passed dtype " + repr(*dtype));
  }
  return dtype.value_or(made);
}

void check_steps(std::int64_t steps) {
  if (steps < 0) fail(ErrorKind::runtime, "number of steps must be non-negative");
}

// start + i * step from the left, end - (n - 1 - i) * step from the right, so that the last element
// is exactly `end`; then `map`.
template <class C, class T, class F>
void fill_between(T* data, std::int64_t steps, C start, C end, F map) {
  const C step = steps > 1 ? C((end - start) / C(static_cast<double>(steps - 1))) : C(0.0);
  for (std::int64_t i = 0; i < steps; ++i) {
    const bool left = steps == 1 || i < steps / 2;
    const C x = left ? C(start + step * C(static_cast<double>(i)))
                     : C(end - step * C(static_cast<double>(steps - 1 - i)));
    data[i] = convert<T>(map(x));
  }
}

template <class T>
using Wide =
    std::conditional_t<functor::is_complex<T>, T,
                       std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, Half> ||
                                              std::is_same_v<T, BFloat16>,
                                          float, double>>;

template <class C>
C number(const Scalar& s) {
  if constexpr (functor::is_complex<C>) {
    return convert<C>(Complex128(s.f, s.im));
  } else {
    return static_cast<C>(s.f);
  }
}

Tensor linspace_between(const Scalar& start, const Scalar& end, std::int64_t steps,
                        OptDType dtype) {
  check_steps(steps);
  const DType type = range_dtype("linspace", start, end, dtype);
  const Tensor out = Tensor::empty({steps}, type);
  if (!is_complex(type)) return linspace(start, end, steps, type);
  visit_any(type, "linspace", [&](auto zero) {
    using T = decltype(zero);
    fill_between(out.data_as<T>(), steps, number<Wide<T>>(start), number<Wide<T>>(end),
                 [](auto x) { return x; });
  });
  return out;
}

Tensor logspace(const Scalar& start, const Scalar& end, std::int64_t steps, double base,
                OptDType dtype) {
  check_steps(steps);
  const DType type = range_dtype("logspace", start, end, dtype);
  const Tensor out = Tensor::empty({steps}, type);
  visit_any(type, "logspace", [&](auto zero) {
    using T = decltype(zero);
    using C = Wide<T>;
    C a = number<C>(start), b = number<C>(end);
    if constexpr (functor::is_integer<T>) {
      a = std::trunc(a);
      b = std::trunc(b);
    }
    fill_between(out.data_as<T>(), steps, a, b, [&](C x) -> C {
      if constexpr (functor::is_complex<C>) {
        const C log_base = log(C(base));
        return base == 1 ? C(1.0) : C(exp(x * log_base));
      } else {
        // PyTorch's numbers to the last bit: the C library's.
        return std::pow(C(base), x);
      }
    });
  });
  return out;
}

// A bound given as a 0-d tensor.
Scalar bound(const char* op, const Tensor& start, const Tensor& end, const Tensor& which) {
  if (start.dim() != 0 || end.dim() != 0) {
    fail(ErrorKind::runtime,
         std::string(op) +
             " only supports 0-dimensional start and end tensors, but got start "
             "with " +
             std::to_string(start.dim()) + " dimension(s) and end with " +
             std::to_string(end.dim()) + " dimension(s).");
  }
  if (is_complex(which.dtype())) return which.item_complex();
  return is_integral(which.dtype()) ? Scalar(which.item_int()) : Scalar(which.item());
}
Tensor scalar(const Scalar& s) { return s.tensor(); }

Tensor linspace_numbers(const Scalar& start, const Scalar& end, std::int64_t steps, OptDType dtype,
                        OptDevice device, OptBool grad) {
  return finish(linspace_between(start, end, steps, dtype), device, grad);
}
Tensor linspace_tensors(const Tensor& start, const Tensor& end, std::int64_t steps, OptDType dtype,
                        OptDevice device, OptBool grad) {
  return finish(linspace_between(bound("linspace", start, end, start),
                                 bound("linspace", start, end, end), steps, dtype),
                device, grad);
}
Tensor linspace_to_number(const Tensor& start, const Scalar& end, std::int64_t steps,
                          OptDType dtype, OptDevice device, OptBool grad) {
  return linspace_tensors(start, scalar(end), steps, dtype, device, grad);
}
Tensor linspace_to_tensor(const Scalar& start, const Tensor& end, std::int64_t steps,
                          OptDType dtype, OptDevice device, OptBool grad) {
  return linspace_tensors(scalar(start), end, steps, dtype, device, grad);
}
Tensor logspace_numbers(const Scalar& start, const Scalar& end, std::int64_t steps, double base,
                        OptDType dtype, OptDevice device, OptBool grad) {
  return finish(logspace(start, end, steps, base, dtype), device, grad);
}
Tensor logspace_tensors(const Tensor& start, const Tensor& end, std::int64_t steps, double base,
                        OptDType dtype, OptDevice device, OptBool grad) {
  return finish(logspace(bound("logspace", start, end, start), bound("logspace", start, end, end),
                         steps, base, dtype),
                device, grad);
}
Tensor logspace_to_number(const Tensor& start, const Scalar& end, std::int64_t steps, double base,
                          OptDType dtype, OptDevice device, OptBool grad) {
  return logspace_tensors(start, scalar(end), steps, base, dtype, device, grad);
}
Tensor logspace_to_tensor(const Scalar& start, const Tensor& end, std::int64_t steps, double base,
                          OptDType dtype, OptDevice device, OptBool grad) {
  return logspace_tensors(scalar(start), end, steps, base, dtype, device, grad);
}

// How many elements of a (rows, columns) matrix lie on or below (above) a diagonal, whose offset
// lies between -rows and columns.
template <bool Upper>
std::int64_t triangle_size(std::int64_t rows, std::int64_t columns, std::int64_t offset) {
  if constexpr (Upper) {
    return offset == -rows ? rows * columns
                           : rows * columns - triangle_size<false>(rows, columns, offset - 1);
  } else {
    const std::int64_t first = std::max<std::int64_t>(0, -offset);
    // Rows that grow by one element each, then rows that are full.
    const std::int64_t growing =
        std::max<std::int64_t>(0, std::min(rows, columns - offset) - first);
    const std::int64_t start = first + offset + 1;
    const std::int64_t pairs =
        growing % 2 == 0 ? growing / 2 * (growing - 1) : (growing - 1) / 2 * growing;
    return growing * start + pairs + std::max<std::int64_t>(0, rows - first - growing) * columns;
  }
}

// Rows and columns of the elements of a triangle, row by row.
template <bool Upper>
Tensor triangle_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset,
                        OptDType dtype, OptDevice device, OptBool grad) {
  if (rows < 0) {
    fail(ErrorKind::runtime, "row must be non-negative, got" + std::to_string(rows));
  }
  if (columns < 0) {
    fail(ErrorKind::runtime, "col must be non-negative, got" + std::to_string(columns));
  }
  const DType type = dtype.value_or(DType::int64);
  if (type != DType::int64 && type != DType::int32) {
    no_implementation(type, Upper ? "triu_indices" : "tril_indices");
  }
  product({rows, columns});  // throws if it overflows
  offset = std::clamp(offset, -rows, columns);
  const Tensor indices =
      Tensor::empty({2, triangle_size<Upper>(rows, columns, offset)}, DType::int64);
  auto* row = indices.data_as<std::int64_t>();
  auto* column = row + indices.size(1);
  // Of the rows only those that have elements: there may be more than anyone can count.
  const std::int64_t first = Upper ? 0 : std::max<std::int64_t>(0, -offset);
  const std::int64_t last = columns == 0 ? first : Upper ? std::min(rows, columns - offset) : rows;
  for (std::int64_t r = first; r < last; ++r) {
    const std::int64_t diagonal =
        std::clamp<std::int64_t>(r + offset + (Upper ? 0 : 1), 0, columns);
    for (std::int64_t c = Upper ? diagonal : 0; c < (Upper ? columns : diagonal); ++c) {
      *row++ = r;
      *column++ = c;
    }
  }
  return finish(to(indices, type), device, grad);
}

Tensor vander(const Tensor& x, std::optional<std::int64_t> columns, bool increasing) {
  if (x.dim() != 1) fail(ErrorKind::runtime, "x must be a one-dimensional tensor.");
  const std::int64_t n = columns.value_or(x.size(0));
  if (n < 0) fail(ErrorKind::runtime, "N must be non-negative.");
  if (n == 0) return empty({x.size(0), 0}, is_integral(x.dtype()) ? DType::int64 : x.dtype());
  const Tensor rising = rising_powers(x, n);
  return increasing ? rising : flip(rising, {1});
}

Tensor empty_permuted(const Dims& size, const Dims& physical_layout, OptDType dtype,
                      OptDevice device, OptBool grad) {
  if (size.size() != physical_layout.size()) {
    fail(ErrorKind::runtime,
         "Number of dimensions in size does not match the length of the "
         "physical_layout; i.e. len(size) = " +
             std::to_string(size.size()) +
             " is not equal to len(physical_layout) = " + std::to_string(physical_layout.size()));
  }
  check_rank(size);
  Dims strides(size.size(), 0);
  std::uint64_t seen = 0;
  std::int64_t step = 1;
  for (std::int64_t i = size.size(); i-- > 0;) {
    const std::int64_t d = physical_layout[i];
    if (d < 0 || d >= size.size()) {
      fail(ErrorKind::runtime,
           "Dimension out of range (expected to be between 0 and " +
               std::to_string(size.size() - 1) + ", but got " + std::to_string(d) + " at index " +
               std::to_string(i) +
               ").  NB: negative dims not currently supported; file an issue if you want it.");
    }
    if (seen >> d & 1) {
      fail(ErrorKind::runtime, "Duplicate dim not allowed");
    }
    seen |= std::uint64_t{1} << d;
    strides[d] = step;
    if (__builtin_mul_overflow(step, std::max<std::int64_t>(size[d], 1), &step)) {
      fail(ErrorKind::memory, "empty_permuted(): the size of the result overflows");
    }
  }
  return finish(empty_strided(size, strides, dtype.value_or(default_dtype())), device, grad);
}

Tensor new_empty_strided(const Tensor& self, const Dims& size, const Dims& stride, OptDType dtype,
                         OptDevice device, OptBool grad) {
  return finish(empty_strided(size, stride, dtype.value_or(self.dtype())), device, grad);
}

#define TREADLE_KEYWORDS \
  "*, ScalarType? dtype=None, Device? device=None, bool? requires_grad=None) -> Tensor"

}  // namespace

std::span<const OpDef> sequence_ops() {
  static constexpr const char* kLinear = "steps values from start to end, both included.";
  static constexpr const char* kLogarithmic =
      "steps values from base ** start to base ** end, evenly spaced in the exponent.";
  static constexpr OpDef rows[] = {
      range_op<linspace_numbers>("linspace(Scalar start, Scalar end, int steps, " TREADLE_KEYWORDS,
                                 kLinear),
      range_op<linspace_tensors>(
          "linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, " TREADLE_KEYWORDS, kLinear),
      range_op<linspace_to_number>(
          "linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, " TREADLE_KEYWORDS, kLinear),
      range_op<linspace_to_tensor>(
          "linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, " TREADLE_KEYWORDS, kLinear),
      range_op<logspace_numbers>(
          "logspace(Scalar start, Scalar end, int steps, float base=10.0, " TREADLE_KEYWORDS,
          kLogarithmic),
      range_op<logspace_tensors>(
          "logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float "
          "base=10.0, " TREADLE_KEYWORDS,
          kLogarithmic),
      range_op<logspace_to_number>("logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, "
                                   "float base=10.0, " TREADLE_KEYWORDS,
                                   kLogarithmic),
      range_op<logspace_to_tensor>("logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, "
                                   "float base=10.0, " TREADLE_KEYWORDS,
                                   kLogarithmic),
      native<triangle_indices<false>>(
          "tril_indices(int row, int col, int offset=0, " TREADLE_KEYWORDS,
          "Rows and columns of the lower triangle.", kFunction, false),
      native<triangle_indices<true>>(
          "triu_indices(int row, int col, int offset=0, " TREADLE_KEYWORDS,
          "Rows and columns of the upper triangle.", kFunction, false),
      native<vander>("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
                     "The powers of each element, as rows.", kFunction),
      native<empty_permuted>("empty_permuted(int[] size, int[] physical_layout, " TREADLE_KEYWORDS,
                             "Undefined content, dimensions in the given order in memory.",
                             kFunction, false),
      native<new_empty_strided>(
          "new_empty_strided(Tensor self, int[] size, int[] stride, " TREADLE_KEYWORDS,
          "empty_strided() of self's dtype.", kMethod, false),
  };
  return rows;
}

}  // namespace treadle
