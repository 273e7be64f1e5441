// out= and plain copies.
#include "engine/ops/out.h"

#include <string>

#include "engine/autograd/node.h"
#include "engine/backend/cpu/dispatch.h"
#include "engine/core/context.h"
#include "engine/core/iter.h"

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
  const std::int64_t bytes = (impl.offset + product(shape)) * item_size(impl.dtype);
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
