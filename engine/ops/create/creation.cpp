// Ops that make tensors from sizes and numbers.
#include <cmath>
#include <functional>

#include "engine/backend/cpu/dispatch.h"
#include "engine/core/iter.h"
#include "engine/core/visit.h"
#include "engine/core/warn.h"
#include "engine/ops/create/creation.h"
#include "engine/ops/elementwise/map.h"
#include "engine/ops/native.h"
#include "engine/ops/view/layout.h"
#include "engine/ops/view/util.h"

namespace treadle {
namespace {

DType or_default(std::optional<DType> dtype) { return dtype.value_or(default_dtype()); }

}  // namespace

void check_device(const std::optional<Device>& device) {
  if (device && device->kind != Device::Kind::cpu) {
    fail(ErrorKind::runtime, "this build of treadle computes on the CPU only; use device 'cpu'");
  }
}

Tensor finish(const Tensor& t, const std::optional<Device>& device,
              std::optional<bool> requires_grad) {
  check_device(device);
  t.impl()->storage->set_version(0);  // filling it was no change of it
  if (requires_grad.value_or(false)) {
    if (!is_differentiable(t.dtype())) {
      fail(ErrorKind::runtime,
           "Only Tensors of floating point and complex dtype can require gradients");
    }
    t.set_requires_grad(true);
  }
  return t;
}

void write_range(const char* op, Value& dtype, const std::function<Tensor()>& make, Tensor& out) {
  if (const DType* given = std::get_if<DType>(&dtype); given && *given != out.dtype()) {
    fail(ErrorKind::runtime, "dtype " + std::string(info(*given).scalar) +
                                 " does not match dtype of out parameter (" +
                                 std::string(info(out.dtype()).scalar) + ")");
  }
  dtype = out.dtype();
  const Tensor made = make();
  if (made.numel() != out.numel()) {
    if (out.numel() > 0) {
      warn("The number of elements in the out tensor of shape " + to_string(out.shape()) + " is " +
           std::to_string(out.numel()) + " which does not match the computed number of elements " +
           std::to_string(made.numel()) +
           ". Note that this may occur as a result of rounding error. The out tensor will be "
           "resized to a tensor of shape (" +
           std::to_string(made.numel()) + ",).");
    }
    return write_out(op, out, made);
  }
  write_out(op, out, view(made, out.shape()));
}

namespace {

DType dtype_of(const Scalar& s) {
  switch (s.kind) {
    case Scalar::Kind::boolean:
      return DType::boolean;
    case Scalar::Kind::integer:
      return DType::int64;
    case Scalar::Kind::complex:
      return to_complex(default_dtype());
    case Scalar::Kind::floating:
      break;
  }
  return default_dtype();
}

using Format = std::optional<std::int64_t>;

// A tensor of self's shape, in the order of its dimensions unless a format is given.
Tensor like(const Tensor& self, std::optional<DType> dtype, Format format = std::nullopt) {
  return empty_like(self, dtype.value_or(self.dtype()),
                    memory_format(format, MemoryFormat::preserve));
}

}  // namespace

Tensor empty(const Dims& size, std::optional<DType> dtype) {
  return Tensor::empty(size, or_default(dtype));
}

Tensor empty_strided(const Dims& size, const Dims& stride, DType dtype) {
  if (size.size() != stride.size()) {
    fail(ErrorKind::runtime, "dimensionality of sizes (" + std::to_string(size.size()) +
                                 ") must match dimensionality of strides (" +
                                 std::to_string(stride.size()) + ")");
  }
  std::int64_t last = 0;
  bool none = false, bad = false;
  for (std::int64_t i = 0; i < size.size(); ++i) {
    if (size[i] < 0 || stride[i] < 0)
      fail(ErrorKind::runtime, "empty_strided: negative size or stride");
    none |= size[i] == 0;
    std::int64_t reach = 0;
    bad |= size[i] > 0 && (__builtin_mul_overflow(size[i] - 1, stride[i], &reach) ||
                           __builtin_add_overflow(last, reach, &last));
  }
  if (bad)
    fail(ErrorKind::runtime, "Storage size calculation overflowed with sizes=" + to_string(size) +
                                 " and strides=" + to_string(stride));
  product(size);  // throws if it overflows: strides of 0 need no memory
  check_rank(size);
  const Tensor flat = Tensor::empty({none ? 0 : last + 1}, dtype);
  flat.impl()->shape = size;
  flat.impl()->strides = stride;
  return flat;
}

Tensor full(const Dims& size, const Scalar& value, std::optional<DType> dtype) {
  const Tensor t = Tensor::empty(size, dtype ? *dtype : dtype_of(value));
  return fill_(t, value);
}
Tensor zeros(const Dims& size, std::optional<DType> dtype) {
  return full(size, 0, or_default(dtype));
}
Tensor ones(const Dims& size, std::optional<DType> dtype) {
  return full(size, 1, or_default(dtype));
}
Tensor zeros_like(const Tensor& self, std::optional<DType> dtype) {
  return zero_(like(self, dtype));
}
Tensor ones_like(const Tensor& self, std::optional<DType> dtype) {
  return fill_(like(self, dtype), 1);
}

namespace {

// out[i] = start + i * step
void fill_range(const Tensor& out, const Scalar& start, const Scalar& step) {
  const kernel::MapFn fn = table().arange[static_cast<std::size_t>(out.dtype())];
  if (!fn) fail(ErrorKind::not_implemented, "no arange for dtype " + repr(out.dtype()));
  kernel::MapArgs args{};
  args.size[0] = out.numel();
  args.size[1] = 1;
  args.out = out.data();
  args.out_stride[0] = item_size(out.dtype());
  args.param[0] = param(start);
  args.param[1] = param(step);
  if (out.numel() > 0) fn(args);
}

}  // namespace

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step,
              std::optional<DType> dtype) {
  const auto whole = [](const Scalar& s) { return s.kind < Scalar::Kind::floating; };
  const bool integral = whole(start) && whole(end) && whole(step);
  const DType type = dtype.value_or(integral ? DType::int64 : default_dtype());
  if (step.f == 0) fail(ErrorKind::runtime, "step must be nonzero");
  if (!std::isfinite(start.f) || !std::isfinite(end.f)) {
    fail(ErrorKind::runtime,
         "unsupported range: " + std::to_string(start.f) + " -> " + std::to_string(end.f));
  }
  if ((step.f > 0 && end.f < start.f) || (step.f < 0 && end.f > start.f)) {
    fail(ErrorKind::runtime, "upper bound and lower bound inconsistent with step sign");
  }
  double count = std::ceil((end.f - start.f) / step.f);
  if (integral) {
    // Unsigned: the distance of two int64 may not be one.
    const auto low = static_cast<std::uint64_t>(step.i > 0 ? start.i : end.i);
    const auto high = static_cast<std::uint64_t>(step.i > 0 ? end.i : start.i);
    const auto by = static_cast<std::uint64_t>(step.i);
    const std::uint64_t stride = step.i > 0 ? by : 0 - by;
    const std::uint64_t steps = (high - low) / stride + ((high - low) % stride != 0 ? 1 : 0);
    count = static_cast<double>(steps);
  }
  if (!(count < 9e15)) fail(ErrorKind::runtime, "invalid size, possible overflow?");
  const Tensor out = Tensor::empty({static_cast<std::int64_t>(count)}, type);
  fill_range(out, start, step);
  return out;
}

Tensor linspace(const Scalar& start, const Scalar& end, std::int64_t steps,
                std::optional<DType> dtype) {
  if (steps < 0) fail(ErrorKind::runtime, "number of steps must be non-negative");
  const DType type = or_default(dtype);
  const Tensor out = Tensor::empty({steps}, type);
  // From both ends towards the middle, so that the last element is exactly `end`.
  visit(type, "linspace", [&](auto zero) {
    using T = decltype(zero);
    constexpr bool small =
        std::is_same_v<T, float> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
    using C = std::conditional_t<small, float, double>;
    const C a = static_cast<C>(start.f), b = static_cast<C>(end.f);
    const C step = steps > 1 ? (b - a) / static_cast<C>(steps - 1) : C(0);
    T* data = out.data_as<T>();
    for (std::int64_t i = 0; i < steps; ++i) {
      data[i] = convert<T>(i < (steps + 1) / 2 ? a + step * static_cast<C>(i)
                                               : b - step * static_cast<C>(steps - 1 - i));
    }
    if (steps == 1) data[0] = convert<T>(a);
  });
  return out;
}

Tensor eye(std::int64_t n, std::optional<std::int64_t> m, std::optional<DType> dtype) {
  const std::int64_t columns = m.value_or(n);
  if (n < 0) fail(ErrorKind::runtime, "n must be greater or equal to 0, got " + std::to_string(n));
  if (columns < 0)
    fail(ErrorKind::runtime, "m must be greater or equal to 0, got " + std::to_string(columns));
  const Tensor out = zeros({n, columns}, dtype);
  const std::int64_t k = std::min(n, columns);
  if (k > 0) fill_(as_strided(detach(out), {k}, {columns + 1}, 0), 1);
  return out;
}

template <class T>
Tensor from_values(std::span<const T> values, const Dims& shape, DType dtype) {
  if (product(shape) != static_cast<std::int64_t>(values.size())) {
    fail(ErrorKind::runtime, "shape " + to_string(shape) + " doesn't hold " +
                                 std::to_string(values.size()) + " values");
  }
  const Tensor out = Tensor::empty(shape, dtype);
  visit_stored(dtype, "tensor", [&](auto zero) {
    using D = decltype(zero);
    D* data = out.data_as<D>();
    for (std::size_t i = 0; i < values.size(); ++i) data[i] = convert<D>(values[i]);
  });
  return out;
}
template Tensor from_values(std::span<const double>, const Dims&, DType);
template Tensor from_values(std::span<const float>, const Dims&, DType);
template Tensor from_values(std::span<const std::int64_t>, const Dims&, DType);

Tensor tensor(std::initializer_list<double> values, DType dtype) {
  return from_values(std::span<const double>(values.begin(), values.size()),
                     {static_cast<std::int64_t>(values.size())}, dtype);
}

namespace {

using OptDevice = std::optional<Device>;
using OptBool = std::optional<bool>;
using OptDType = std::optional<DType>;

Tensor empty_op(const Dims& size, OptDType dtype, OptDevice device, OptBool grad, Format format) {
  const MemoryFormat order = memory_format(format, MemoryFormat::contiguous);
  if (order == MemoryFormat::preserve) {
    fail(ErrorKind::runtime, "unsupported memory format Preserve");
  }
  if (order == MemoryFormat::contiguous) return finish(empty(size, dtype), device, grad);
  return finish(empty_strided(size, strides_in(order, size), or_default(dtype)), device, grad);
}
Tensor zeros_op(const Dims& size, OptDType dtype, OptDevice device, OptBool grad) {
  return finish(zeros(size, dtype), device, grad);
}
Tensor ones_op(const Dims& size, OptDType dtype, OptDevice device, OptBool grad) {
  return finish(ones(size, dtype), device, grad);
}
Tensor full_op(const Dims& size, const Scalar& value, OptDType dtype, OptDevice device,
               OptBool grad) {
  return finish(full(size, value, dtype), device, grad);
}
Tensor empty_strided_op(const Dims& size, const Dims& stride, OptDType dtype, OptDevice device,
                        OptBool grad) {
  return finish(empty_strided(size, stride, or_default(dtype)), device, grad);
}
Tensor empty_like_op(const Tensor& self, OptDType dtype, OptDevice device, OptBool grad,
                     Format format) {
  return finish(like(self, dtype, format), device, grad);
}
Tensor zeros_like_op(const Tensor& self, OptDType dtype, OptDevice device, OptBool grad,
                     Format format) {
  return finish(zero_(like(self, dtype, format)), device, grad);
}
Tensor ones_like_op(const Tensor& self, OptDType dtype, OptDevice device, OptBool grad,
                    Format format) {
  return finish(fill_(like(self, dtype, format), 1), device, grad);
}
Tensor full_like_op(const Tensor& self, const Scalar& value, OptDType dtype, OptDevice device,
                    OptBool grad, Format format) {
  return finish(fill_(like(self, dtype, format), value), device, grad);
}
Tensor new_empty(const Tensor& self, const Dims& size, OptDType dtype, OptDevice device,
                 OptBool grad) {
  return finish(empty(size, dtype.value_or(self.dtype())), device, grad);
}
Tensor new_zeros(const Tensor& self, const Dims& size, OptDType dtype, OptDevice device,
                 OptBool grad) {
  return finish(zeros(size, dtype.value_or(self.dtype())), device, grad);
}
Tensor new_ones(const Tensor& self, const Dims& size, OptDType dtype, OptDevice device,
                OptBool grad) {
  return finish(ones(size, dtype.value_or(self.dtype())), device, grad);
}
Tensor new_full(const Tensor& self, const Dims& size, const Scalar& value, OptDType dtype,
                OptDevice device, OptBool grad) {
  return finish(full(size, value, dtype.value_or(self.dtype())), device, grad);
}
Tensor arange_end(const Scalar& end, OptDType dtype, OptDevice device, OptBool grad) {
  return finish(arange(0, end, 1, dtype), device, grad);
}
Tensor arange_start(const Scalar& start, const Scalar& end, OptDType dtype, OptDevice device,
                    OptBool grad) {
  return finish(arange(start, end, 1, dtype), device, grad);
}
Tensor arange_step(const Scalar& start, const Scalar& end, const Scalar& step, OptDType dtype,
                   OptDevice device, OptBool grad) {
  return finish(arange(start, end, step, dtype), device, grad);
}
Tensor eye_op(std::int64_t n, OptDType dtype, OptDevice device, OptBool grad) {
  return finish(eye(n, std::nullopt, dtype), device, grad);
}
Tensor eye_m(std::int64_t n, std::int64_t m, OptDType dtype, OptDevice device, OptBool grad) {
  return finish(eye(n, m, dtype), device, grad);
}
Tensor scalar_tensor(const Scalar& s, OptDType dtype, OptDevice device, OptBool grad) {
  return finish(full({}, s, or_default(dtype)), device, grad);
}

// The keyword arguments that all factories share.
#define TREADLE_KEYWORDS \
  "*, ScalarType? dtype=None, Device? device=None, bool? requires_grad=None) -> Tensor"
#define TREADLE_FORMAT_KEYWORDS                                                \
  "*, ScalarType? dtype=None, Device? device=None, bool? requires_grad=None, " \
  "MemoryFormat? memory_format=None) -> Tensor"

}  // namespace

std::span<const OpDef> creation_ops() {
  static constexpr OpDef rows[] = {
      native<empty_op>("empty(int[] size, " TREADLE_FORMAT_KEYWORDS,
                       "A tensor of undefined content.", kFunction | kOut, false),
      native<zeros_op>("zeros(int[] size, " TREADLE_KEYWORDS, "Filled with 0.", kFunction | kOut,
                       false),
      native<ones_op>("ones(int[] size, " TREADLE_KEYWORDS, "Filled with 1.", kFunction | kOut,
                      false),
      native<full_op>("full(int[] size, Scalar fill_value, " TREADLE_KEYWORDS,
                      "Filled with fill_value, whose kind decides the dtype.", kFunction | kOut,
                      false),
      native<empty_strided_op>("empty_strided(int[] size, int[] stride, " TREADLE_KEYWORDS,
                               "Undefined content in the given layout.", kFunction, false),
      native<empty_like_op>("empty_like(Tensor self, " TREADLE_FORMAT_KEYWORDS,
                            "empty() of self's shape and dtype.", kFunction, false),
      native<zeros_like_op>("zeros_like(Tensor self, " TREADLE_FORMAT_KEYWORDS,
                            "zeros() of self's shape and dtype.", kFunction, false),
      native<ones_like_op>("ones_like(Tensor self, " TREADLE_FORMAT_KEYWORDS,
                           "ones() of self's shape and dtype.", kFunction, false),
      native<full_like_op>("full_like(Tensor self, Scalar fill_value, " TREADLE_FORMAT_KEYWORDS,
                           "full() of self's shape and dtype.", kFunction, false),
      native<new_empty>("new_empty(Tensor self, int[] size, " TREADLE_KEYWORDS,
                        "empty() of self's dtype.", kMethod, false),
      native<new_zeros>("new_zeros(Tensor self, int[] size, " TREADLE_KEYWORDS,
                        "zeros() of self's dtype.", kMethod, false),
      native<new_ones>("new_ones(Tensor self, int[] size, " TREADLE_KEYWORDS,
                       "ones() of self's dtype.", kMethod, false),
      native<new_full>("new_full(Tensor self, int[] size, Scalar fill_value, " TREADLE_KEYWORDS,
                       "full() of self's dtype.", kMethod, false),
      range_op<arange_end>("arange(Scalar end, " TREADLE_KEYWORDS, "0, 1, ... below end."),
      range_op<arange_start>("arange.start(Scalar start, Scalar end, " TREADLE_KEYWORDS,
                             "start, start + 1, ... below end."),
      range_op<arange_step>(
          "arange.start_step(Scalar start, Scalar end, Scalar step=1, " TREADLE_KEYWORDS,
          "start, start + step, ... below end."),
      native<eye_op>("eye(int n, " TREADLE_KEYWORDS, "Identity matrix.", kFunction | kOut, false),
      native<eye_m>("eye.m(int n, int m, " TREADLE_KEYWORDS,
                    "n x m matrix with ones on the diagonal.", kFunction | kOut, false),
      native<scalar_tensor>("scalar_tensor(Scalar s, " TREADLE_KEYWORDS, "A 0-d tensor.", kFunction,
                            false),
  };
  return rows;
}

}  // namespace treadle
