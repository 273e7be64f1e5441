// Tensor: making one, geometry and reading one number. What concerns gradients is in
// autograd/meta.cpp.
#include "engine/core/tensor.h"

#include <cstring>

#include "engine/core/context.h"
#include "engine/core/visit.h"

namespace treadle {

TensorImpl::TensorImpl(Ref<Storage> s, std::int64_t o, Dims sh, Dims st, DType d)
    : storage(std::move(s)), offset(o), shape(std::move(sh)), strides(std::move(st)), dtype(d) {
  check_rank(shape);
  inference = context().inference;
}

TensorImpl::TensorImpl(Ref<Storage> s, const Dims& sh, DType d)
    : storage(std::move(s)), shape(sh), strides(contiguous_strides(sh)), dtype(d) {
  check_rank(shape);
  inference = context().inference;
}

namespace {

[[noreturn]] void no_such_size(const Dims& shape) {
  for (const std::int64_t d : shape) {
    if (d < 0) {
      fail(ErrorKind::runtime, "Trying to create tensor with negative dimension " +
                                   std::to_string(d) + ": " + to_string(shape));
    }
  }
  product(shape);  // throws if even the number of elements overflows
  fail(ErrorKind::runtime, "Storage size calculation overflowed with sizes=" + to_string(shape));
}

}  // namespace

Tensor Tensor::empty(const Dims& shape, DType dtype, Device device) {
  std::int64_t bytes = item_size(dtype);
  bool none = false, bad = false;
  for (const std::int64_t d : shape) {
    none |= d == 0;
    bad |= d < 0;
  }
  if (none) {
    // No memory, but strides as if sizes of 0 were 1.
    std::int64_t stride = 1;
    bool beyond = false;
    for (std::int64_t i = 1; i < shape.size(); ++i) {
      beyond |= __builtin_mul_overflow(stride, shape[i] ? shape[i] : 1, &stride);
    }
    if (beyond && !bad) {
      fail(ErrorKind::runtime, "Stride calculation overflowed with sizes=" + to_string(shape));
    }
    bytes = 0;
  } else {
    for (const std::int64_t d : shape) bad |= __builtin_mul_overflow(bytes, d, &bytes);
  }
  if (bad) no_such_size(shape);
  return Tensor(Ref<TensorImpl>::make(Ref<Storage>::make(static_cast<std::size_t>(bytes), device),
                                      shape, dtype));
}

namespace {
template <class T>
Tensor wrap(T value, DType dtype) {
  Tensor t = Tensor::empty({}, dtype);
  std::memcpy(t.data(), &value, sizeof value);
  t.impl()->wrapped_number = true;
  return t;
}
}  // namespace

Tensor::Tensor(double value) : Tensor(wrap(value, DType::float64)) {}
Tensor::Tensor(int value) : Tensor(wrapped(static_cast<std::int64_t>(value))) {}
Tensor Tensor::wrapped(bool value) { return wrap(value, DType::boolean); }
Tensor Tensor::wrapped(std::int64_t value) { return wrap(value, DType::int64); }
Tensor Tensor::wrapped(std::uint64_t value) { return wrap(value, DType::uint64); }
Tensor Tensor::wrapped(std::complex<double> value) { return wrap(value, DType::complex128); }

std::int64_t Tensor::size(std::int64_t d) const {
  if (dim() == 0) {
    fail(ErrorKind::index,
         "Dimension specified as " + std::to_string(d) + " but tensor has no dimensions");
  }
  return shape()[wrap_dim(d, dim())];
}

bool Tensor::is_empty() const { return numel() == 0; }

namespace {
const Tensor& single(const Tensor& t) {
  if (const std::int64_t n = t.numel(); n != 1) {
    fail(ErrorKind::runtime,
         "a Tensor with " + std::to_string(n) + " elements cannot be converted to Scalar");
  }
  if (!t.data()) fail(ErrorKind::runtime, "Tensor.item() cannot be called on meta tensors");
  return t;
}
}  // namespace

double Tensor::item() const {
  return visit(single(*this).dtype(), "item",
               [&](auto zero) { return static_cast<double>(*data_as<decltype(zero)>()); });
}

std::int64_t Tensor::item_int() const {
  return visit(single(*this).dtype(), "item", [&](auto zero) {
    const auto value = *data_as<decltype(zero)>();
    if constexpr (std::is_integral_v<decltype(zero)>) {
      return static_cast<std::int64_t>(value);
    } else {
      return truncated(static_cast<double>(value));
    }
  });
}

std::complex<double> Tensor::item_complex() const {
  return visit_stored(single(*this).dtype(), "item", [&](auto zero) -> std::complex<double> {
    using T = decltype(zero);
    const T x = *data_as<T>();
    if constexpr (functor::is_complex<T>) {
      return {static_cast<double>(x.re), static_cast<double>(x.im)};
    } else {
      return static_cast<double>(x);
    }
  });
}

}  // namespace treadle
