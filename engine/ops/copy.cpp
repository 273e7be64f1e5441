// Copies: clone, contiguous, conversions, copy_, fill_, and sum_to, the gradient of broadcasting.
#include <algorithm>

#include "engine/backend/cpu/dispatch.h"
#include "engine/core/iter.h"
#include "engine/ops/create/creation.h"
#include "engine/ops/elementwise/map.h"
#include "engine/ops/native.h"
#include "engine/ops/view/layout.h"
#include "engine/ops/view/util.h"

namespace treadle {

namespace {

void identity_history(const Tensor& out, const Tensor& self, const char* name) {
  if (!needs_tape({&self}) || !is_differentiable(out.dtype())) return;
  record(name, out, {&self}, [dtype = self.dtype()](Node&, const Gradients& g) {
    if (none(g)) return Gradients(1);
    return Gradients{g[0].dtype() == dtype ? g[0] : to(g[0], dtype)};
  });
}

}  // namespace

Tensor clone(const Tensor& self) { return clone(self, MemoryFormat::preserve); }

Tensor contiguous(const Tensor& self) {
  if (self.is_contiguous()) return self;
  const Tensor out = Tensor::empty(self.shape(), self.dtype());
  cast_into(out, self);
  identity_history(out, self, "CloneBackward0");
  return out;
}

Tensor to(const Tensor& self, DType dtype, bool copy) {
  if (self.dtype() == dtype) return copy ? clone(self) : self;
  const Tensor out = cast(self, dtype);
  identity_history(out, self, "ToCopyBackward0");
  return out;
}

Tensor sum_to(const Tensor& grad, const Dims& shape) {
  if (grad.shape() == shape) return grad;
  const std::int64_t lead = grad.dim() - shape.size();
  Dims dims;
  for (std::int64_t i = 0; i < grad.dim(); ++i) {
    if (i < lead || (shape[i - lead] == 1 && grad.shape()[i] != 1)) dims.push_back(i);
  }
  if (dims.empty()) return reshape(grad, shape);
  const Tensor summed = sum(grad, dims, true);
  return summed.shape() == shape ? summed : reshape(summed, shape);
}

Tensor copy_(const Tensor& self, const Tensor& src) {
  if (same(self, src)) return self;
  const Tensor* in[] = {&src};
  check_inplace(self, in);
  if (broadcast_shapes(self.shape(), src.shape()) != self.shape()) {
    fail(ErrorKind::runtime, "The size of tensor a " + to_string(self.shape()) +
                                 " must match that of b " + to_string(src.shape()) +
                                 " after broadcasting b");
  }
  check_overlap(self, in);
  Ref<Node> node;
  if (is_differentiable(self.dtype()) && needs_tape({&self, &src})) {
    node = make_node("CopyBackwards", {&self, &src},
                     [shape = src.shape(), dtype = src.dtype()](Node& n, const Gradients& g) {
                       Gradients r(2);
                       if (none(g)) return r;
                       if (n.needs(0)) r[0] = zeros_like(g[0]);
                       if (n.needs(1)) r[1] = to(sum_to(g[0], shape), dtype);
                       return r;
                     });
  }
  cast_into(self, src);
  self.impl()->storage->bump();
  if (node) rebase_history(self, std::move(node));
  return self;
}

Tensor fill_(const Tensor& self, const Scalar& value) {
  // One place may be written several times: always the same number.
  check_inplace(self);
  const kernel::MapFn fn = table().fill[static_cast<std::size_t>(self.dtype())];
  if (!fn) fail(ErrorKind::not_implemented, "no fill for dtype " + repr(self.dtype()));
  check_fits(value, self.dtype());
  if (self.is_lazy()) return copy_(self, full({}, value, self.dtype()));
  Ref<Node> node = overwriting_node("FillBackward0", self);
  kernel::Param p[kernel::kMaxParams] = {param(value)};
  if (self.dtype() == DType::boolean) p[0].i = value.f != 0 || value.i != 0 || value.im != 0;
  Iter(self, {}).map(fn, p);
  self.impl()->storage->bump();
  if (node) rebase_history(self, std::move(node));
  return self;
}

Tensor zero_(const Tensor& self) { return fill_(self, 0); }

namespace {

void copy_inplace(const Tensor& self, const Tensor& src, bool) { copy_(self, src); }
Tensor copy(const Tensor& self, const Tensor& src, bool) {
  const Tensor out = clone(self);
  return copy_(out, src);
}
void fill_inplace(const Tensor& self, const Tensor& value) {
  if (value.dim() != 0) {
    fail(ErrorKind::runtime, "fill_ only supports 0-dimension value tensor but got tensor with " +
                                 std::to_string(value.dim()) + " dimensions.");
  }
  if (value.impl()->wrapped_number) {
    fill_(self, number_of(value));
  } else {
    copy_(self, value);
  }
}
Tensor fill(const Tensor& self, const Tensor& value) {
  const Tensor out = clone(self);
  fill_inplace(out, value);
  return out;
}
void zero_inplace(const Tensor& self) { zero_(self); }
Tensor zero(const Tensor& self) { return zeros_like(self); }

using Format = std::optional<std::int64_t>;
Tensor in_format(const Tensor& self, DType dtype, bool copy, Format format) {
  const MemoryFormat wanted = memory_format(format, MemoryFormat::preserve);
  if (wanted == MemoryFormat::preserve) return to(self, dtype, copy);
  if (self.dtype() == dtype && !copy) return contiguous(self, wanted);
  return contiguous(to(self, dtype, copy), wanted);
}
Tensor to_dtype(const Tensor& self, DType dtype, bool, bool copy, Format format) {
  return in_format(self, dtype, copy, format);
}
Tensor to_device(const Tensor& self, std::optional<Device> device, std::optional<DType> dtype, bool,
                 bool copy, Format format) {
  check_device(device);
  return in_format(self, dtype.value_or(self.dtype()), copy, format);
}
Tensor to_other(const Tensor& self, const Tensor& other, bool, bool copy, Format format) {
  return in_format(self, other.dtype(), copy, format);
}
Tensor type_as(const Tensor& self, const Tensor& other) { return to(self, other.dtype()); }
template <DType T>
Tensor to_fixed(const Tensor& self, Format format) {
  return in_format(self, T, false, format);
}
Tensor cpu(const Tensor& self) { return self; }
Tensor sum_to_size(const Tensor& self, const Dims& size) {
  if (broadcast_shapes(size, self.shape()) != self.shape()) {
    fail(ErrorKind::runtime, "size {" + to_string(size) + "} is not expandable to size {" +
                                 to_string(self.shape()) + "}.");
  }
  return sum_to(self, size);
}

}  // namespace

std::span<const OpDef> copy_ops() {
  static constexpr OpDef rows[] = {
      native<copy, copy_inplace>("copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
                                 "copy_: writes src, broadcast and converted, into self.", 0),
      native<fill, fill_inplace>("fill(Tensor self, Tensor value) -> Tensor",
                                 "Every element replaced by value.", kFunction),
      native<zero, zero_inplace>("zero(Tensor self) -> Tensor",
                                 "zero_: every element replaced by 0.", 0),
      native<to_dtype>("to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool "
                       "copy=False, *, MemoryFormat? memory_format=None) -> Tensor(a)",
                       "self in another dtype; self itself if nothing changes and copy is false.",
                       kMethod),
      native<to_device>("to.device(Tensor(a) self, Device? device=None, ScalarType? dtype=None, "
                        "bool non_blocking=False, bool copy=False, *, MemoryFormat? "
                        "memory_format=None) -> Tensor(a)",
                        "self on a device and in a dtype.", kMethod),
      native<to_other>("to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool "
                       "copy=False, *, MemoryFormat? memory_format=None) -> Tensor(a)",
                       "self in other's dtype.", kMethod),
      native<type_as>("type_as(Tensor self, Tensor other) -> Tensor", "self in other's dtype.",
                      kMethod),
      native<to_fixed<DType::float32>>(
          "float(Tensor(a) self, *, MemoryFormat? memory_format=None) -> Tensor(a)",
          "self as float32.", kMethod),
      native<to_fixed<DType::float64>>(
          "double(Tensor(a) self, *, MemoryFormat? memory_format=None) -> Tensor(a)",
          "self as float64.", kMethod),
      native<to_fixed<DType::int64>>(
          "long(Tensor(a) self, *, MemoryFormat? memory_format=None) -> Tensor(a)",
          "self as int64.", kMethod, false),
      native<to_fixed<DType::boolean>>(
          "bool(Tensor(a) self, *, MemoryFormat? memory_format=None) -> Tensor(a)",
          "self as bool: nonzero.", kMethod, false),
      native<to_fixed<DType::float16>>(
          "half(Tensor(a) self, *, MemoryFormat? memory_format=None) -> Tensor(a)",
          "self as float16.", kMethod),
      native<to_fixed<DType::bfloat16>>(
          "bfloat16(Tensor(a) self, *, MemoryFormat? memory_format=None) -> Tensor(a)",
          "self as bfloat16.", kMethod),
      native<to_fixed<DType::complex32>>(
          "chalf(Tensor(a) self, *, MemoryFormat? memory_format=None) -> Tensor(a)",
          "self as complex32.", kMethod),
      native<to_fixed<DType::complex64>>(
          "cfloat(Tensor(a) self, *, MemoryFormat? memory_format=None) -> Tensor(a)",
          "self as complex64.", kMethod),
      native<to_fixed<DType::complex128>>(
          "cdouble(Tensor(a) self, *, MemoryFormat? memory_format=None) -> Tensor(a)",
          "self as complex128.", kMethod),
      native<to_fixed<DType::int32>>(
          "int(Tensor(a) self, *, MemoryFormat? memory_format=None) -> Tensor(a)", "self as int32.",
          kMethod, false),
      native<to_fixed<DType::int16>>(
          "short(Tensor(a) self, *, MemoryFormat? memory_format=None) -> Tensor(a)",
          "self as int16.", kMethod, false),
      native<to_fixed<DType::int8>>(
          "char(Tensor(a) self, *, MemoryFormat? memory_format=None) -> Tensor(a)", "self as int8.",
          kMethod, false),
      native<to_fixed<DType::uint8>>(
          "byte(Tensor(a) self, *, MemoryFormat? memory_format=None) -> Tensor(a)",
          "self as uint8.", kMethod, false),
      native<cpu>("cpu(Tensor(a) self) -> Tensor(a)", "self on the CPU.", kMethod),
      native<sum_to_size>("sum_to_size(Tensor self, int[] size) -> Tensor",
                          "The inverse of expand: sums down to size.", kMethod),
  };
  return rows;
}

}  // namespace treadle
