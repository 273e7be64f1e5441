// out= and plain copies.
#include "engine/ops/out.h"

#include <cmath>
#include <limits>
#include <string>

#include "engine/autograd/node.h"
#include "engine/backend/cpu/dispatch.h"
#include "engine/core/context.h"
#include "engine/core/iter.h"
#include "engine/ops/names.h"

namespace treadle {

void cast_into(const Tensor& out, const Tensor& src) {
  const kernel::MapFn fn =
      table().cast[static_cast<std::size_t>(src.dtype())][static_cast<std::size_t>(out.dtype())];
  if (!fn) {
    fail(ErrorKind::not_implemented,
         "no conversion from " + repr(src.dtype()) + " to " + repr(out.dtype()));
  }
  const Tensor* in[] = {&src};
  Iter(out, in).map(fn);
}

Tensor cast(const Tensor& t, DType dtype) {
  const Tensor* in[] = {&t};
  const Tensor out = allocate_like(t.shape(), dtype, in);
  cast_into(out, t);
  return out;
}

void check_fits(const Scalar& value, DType dtype) {
  bool fits = true;
  const bool floating = value.kind == Scalar::Kind::floating;
  constexpr double kTwo63 = 9223372036854775808.0;
  switch (dtype) {
    case DType::uint8:
      fits = floating ? value.f >= 0 && value.f <= 255 : value.i >= -255 && value.i <= 255;
      break;
    case DType::int64:
      fits = !floating || (value.f >= -kTwo63 && value.f < kTwo63);
      break;
    case DType::float32:
      fits = !(std::abs(value.f) > std::numeric_limits<float>::max()) || std::isinf(value.f);
      break;
    default:  // bool and float64 hold all; the others have no kernels yet
      break;
  }
  if (!fits) {
    const std::string given = floating ? std::to_string(value.f) : std::to_string(value.i);
    fail(ErrorKind::runtime,
         "value cannot be converted to type " + repr(dtype) + " without overflow: " + given);
  }
}

Scalar number_of(const Tensor& wrapped) {
  switch (wrapped.dtype()) {
    case DType::boolean:
      return Scalar(wrapped.item_int() != 0);
    case DType::int64:
      return Scalar(wrapped.item_int());
    default:
      return Scalar(wrapped.item());
  }
}

Ref<Node> overwriting_node(const char* name, const Tensor& self) {
  if (!needs_tape({&self})) return {};
  return make_node(name, {&self}, [](Node&, const Gradients& g) {
    return g[0].defined() ? Gradients{zeros_like(g[0])} : Gradients(1);
  });
}

void check_out(std::string_view op, std::span<const Tensor* const> inputs,
               std::span<const Tensor> outs) {
  const auto refuse = [&] {
    fail(ErrorKind::runtime,
         std::string(op) +
             "(): functions with out=... arguments don't support automatic differentiation, "
             "but one of the arguments requires grad.");
  };
  if (!context().grad_enabled) return;
  for (const Tensor* t : inputs) {
    if (t->defined() && t->requires_grad()) refuse();
  }
  for (const Tensor& t : outs) {
    if (t.requires_grad()) refuse();
  }
}

void check_out_dtype(DType result, const Tensor& out) {
  if (!can_cast(result, out.dtype())) {
    fail(ErrorKind::runtime, "result type " + std::string(info(result).scalar) +
                                 " can't be cast to the desired output type " +
                                 std::string(info(out.dtype()).scalar));
  }
  check_internal_overlap(out);
}

void resize_out(Tensor& out, const Dims& shape) {
  TensorImpl& impl = *out.impl();
  if (impl.shape == shape) return;
  std::int64_t bytes = product(shape);
  if (__builtin_add_overflow(bytes, impl.offset, &bytes) ||
      __builtin_mul_overflow(bytes, item_size(impl.dtype), &bytes)) {
    fail(ErrorKind::memory,
         "the size in bytes of a result of shape " + to_string(shape) + " overflows");
  }
  if (static_cast<std::size_t>(bytes) > impl.storage->bytes()) {
    if (impl.grad_meta && impl.grad_meta->view) {
      fail(ErrorKind::runtime, "cannot resize a view to " + to_string(shape) +
                                   ": its memory is that of another tensor");
    }
    impl.storage =
        Ref<Storage>(new Storage(static_cast<std::size_t>(bytes), impl.storage->device()));
  }
  impl.shape = shape;
  impl.strides = contiguous_strides(shape);
}

void write_out(std::string_view op, Tensor& out, const Tensor& result) {
  const Tensor* in[] = {&result};
  check_out(op, in, {&out, 1});
  check_out_dtype(result.dtype(), out);
  resize_out(out, result.shape());
  cast_into(out, result);
  out.impl()->storage->bump();
}

}  // namespace treadle
