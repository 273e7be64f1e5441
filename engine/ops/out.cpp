// out= and plain copies.
#include "engine/ops/out.h"

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "engine/autograd/node.h"
#include "engine/backend/cpu/dispatch.h"
#include "engine/core/context.h"
#include "engine/core/iter.h"
#include "engine/core/visit.h"
#include "engine/ops/names.h"
#include "engine/ops/view/util.h"

namespace treadle {

void cast_into(const Tensor& out, const Tensor& src) {
  if (out.is_lazy()) {
    const NoGrad off;
    Tensor value = cast(detach(src), out.dtype());
    if (out.impl()->conj) value = conj(value);
    if (out.impl()->neg) value = neg(value);
    cast_into(raw(out), value);
    return;
  }
  if (src.is_lazy()) {
    const NoGrad off;
    cast_into(out, resolve(detach(src)));
    return;
  }
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
  const bool floating = value.kind >= Scalar::Kind::floating;
  const bool fits = visit_stored(dtype, "fill", [&](auto zero) {
    using T = decltype(zero);
    constexpr double kLargestHalf = 65504;
    if constexpr (std::is_same_v<T, bool>) {
      return true;
    } else if constexpr (functor::is_integer<T>) {
      // -1 in an unsigned type is its largest number, as in PyTorch.
      const double most = static_cast<double>(std::numeric_limits<T>::max());
      const double least = std::is_signed_v<T> ? static_cast<double>(std::numeric_limits<T>::min())
                           : floating          ? 0
                                               : -most;
      // 2^63 and 2^64 are what the largest numbers round to.
      return value.im == 0 && value.f >= least &&
             (sizeof(T) < 8 ? value.f <= most
              : floating    ? value.f < most
                            : !std::is_signed_v<T> || value.f < 0 || value.i >= 0);
    } else if constexpr (std::is_same_v<T, Half>) {
      return value.im == 0 && (!(std::abs(value.f) > kLargestHalf) || std::isinf(value.f));
    } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, BFloat16>) {
      const bool large = std::abs(value.f) > std::numeric_limits<float>::max();
      return value.im == 0 && (!large || std::isinf(value.f));
    } else {
      return functor::is_complex<T> || value.im == 0;
    }
  });
  if (!fits) {
    const std::string given = floating || (value.f > 0) != (value.i > 0) ? std::to_string(value.f)
                                                                         : std::to_string(value.i);
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
    case DType::uint64:
      return Scalar(static_cast<std::uint64_t>(wrapped.item_int()));
    case DType::complex128:
      return Scalar(wrapped.item_complex());
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
    fail(ErrorKind::runtime, "Storage size calculation overflowed with sizes=" + to_string(shape));
  }
  if (static_cast<std::size_t>(bytes) > impl.storage->bytes()) {
    if (impl.grad_meta && impl.grad_meta->view) {
      fail(ErrorKind::runtime, "cannot resize a view to " + to_string(shape) +
                                   ": its memory is that of another tensor");
    }
    if (impl.storage->shared())
      fail(ErrorKind::runtime, "Trying to resize storage that is not resizable");
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
