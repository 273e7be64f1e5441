// Memory formats, views of another dtype, and the ops that change what a tensor lies in: resize_,
// set_, as_strided_. To add one: a function here and a row at the end.
#include "engine/ops/view/layout.h"

#include <algorithm>
#include <cstring>

#include "engine/core/iter.h"
#include "engine/ops/inplace.h"
#include "engine/ops/view/util.h"

namespace treadle {

MemoryFormat memory_format(std::int64_t number) {
  if (number < 0 || number > 3) {
    fail(ErrorKind::value, "unknown memory format " + std::to_string(number));
  }
  return static_cast<MemoryFormat>(number);
}
MemoryFormat memory_format(const std::optional<std::int64_t>& number, MemoryFormat otherwise) {
  return number ? memory_format(*number) : otherwise;
}

Dims strides_in(MemoryFormat format, const Dims& shape) {
  const bool last_3d = format == MemoryFormat::channels_last_3d;
  if (!last_3d && format != MemoryFormat::channels_last) return contiguous_strides(shape);
  if (shape.size() != (last_3d ? 5 : 4)) {
    fail(ErrorKind::runtime,
         std::string("required rank ") + (last_3d ? "5 tensor to use channels_last_3d format"
                                                  : "4 tensor to use channels_last format"));
  }
  Dims strides(shape.size(), 0);
  std::int64_t step = 1;
  const auto take = [&](std::int64_t d) {
    strides[d] = step;
    step *= std::max<std::int64_t>(shape[d], 1);
  };
  take(1);
  for (std::int64_t d = shape.size() - 1; d >= 2; --d) take(d);
  take(0);
  return strides;
}

bool is_contiguous(const Tensor& t, MemoryFormat format) {
  if (format == MemoryFormat::contiguous) return t.is_contiguous();
  if (format == MemoryFormat::preserve) {
    fail(ErrorKind::runtime, "preserve memory format is unsupported by the is_contiguous operator");
  }
  if (t.dim() != (format == MemoryFormat::channels_last ? 4 : 5)) return false;
  if (t.numel() == 0) return true;
  const Dims strides = strides_in(format, t.shape());
  for (std::int64_t d = 0; d < t.dim(); ++d) {
    if (t.shape()[d] != 1 && t.strides()[d] != strides[d]) return false;
  }
  return true;
}

Tensor empty_like(const Tensor& t, DType dtype, MemoryFormat format) {
  if (format == MemoryFormat::preserve) {
    if (t.numel() > 0 && is_dense(t)) return empty_strided(t.shape(), t.strides(), dtype);
    const Tensor* in[] = {&t};
    return allocate_like(t.shape(), dtype, in);
  }
  if (format == MemoryFormat::contiguous) return Tensor::empty(t.shape(), dtype);
  return empty_strided(t.shape(), strides_in(format, t.shape()), dtype);
}

Tensor clone(const Tensor& self, MemoryFormat format) {
  Tensor out = empty_like(self, self.dtype(), format);
  cast_into(out, self);
  if (needs_tape({&self})) {
    record("CloneBackward0", out, {&self}, [](Node&, const Gradients& g) { return g; });
  }
  return out;
}

Tensor contiguous(const Tensor& self, MemoryFormat format) {
  if (format == MemoryFormat::preserve) {
    fail(ErrorKind::runtime, "preserve memory format is unsupported by the contiguous operator");
  }
  return is_contiguous(self, format) ? self : clone(self, format);
}

void resize(const Tensor& self, const Dims& shape, MemoryFormat format) {
  TensorImpl& impl = *self.impl();
  if (self.requires_grad() && !impl.inference) {
    fail(ErrorKind::runtime, "cannot resize variables that require grad");
  }
  if (impl.storage->read_only()) {
    fail(ErrorKind::runtime, "cannot resize a tensor whose memory is read-only");
  }
  if (format == MemoryFormat::preserve) {
    fail(ErrorKind::runtime, "Unsupported memory format Preserve");
  }
  check_rank(shape);
  for (const std::int64_t s : shape) {
    if (s < 0) {
      fail(ErrorKind::runtime, "Trying to create tensor with negative dimension " +
                                   std::to_string(s) + ": " + to_string(shape));
    }
  }
  if (impl.shape == shape && format == MemoryFormat::contiguous) return;
  std::int64_t bytes = product(shape);
  if (bytes == 0) Tensor::empty(shape, impl.dtype);  // throws if the strides overflow
  if (bytes > 0 && (__builtin_add_overflow(bytes, impl.offset, &bytes) ||
                    __builtin_mul_overflow(bytes, item_size(impl.dtype), &bytes))) {
    fail(ErrorKind::runtime, "Storage size calculation overflowed with sizes=" + to_string(shape));
  }
  if (static_cast<std::size_t>(bytes) > impl.storage->bytes()) {
    if (impl.storage->shared()) {
      fail(ErrorKind::runtime, "Trying to resize storage that is not resizable");
    }
    Ref<Storage> larger =
        Ref<Storage>::make(static_cast<std::size_t>(bytes), impl.storage->device());
    if (impl.storage->bytes() > 0) {
      std::memcpy(larger->data(), impl.storage->data(), impl.storage->bytes());
    }
    larger->set_version(impl.storage->version());
    impl.storage = std::move(larger);
  }
  impl.strides = strides_in(format, shape);
  impl.shape = shape;
}

namespace {

using Format = std::optional<std::int64_t>;

Tensor contiguous_op(const Tensor& self, std::int64_t format) {
  return contiguous(self, memory_format(format));
}
Tensor clone_op(const Tensor& self, Format format) {
  return clone(self, memory_format(format, MemoryFormat::preserve));
}

// The same bytes as numbers of another dtype. Not differentiable.
Tensor view_dtype(const Tensor& self, DType dtype) {
  const std::int64_t from = item_size(self.dtype()), to = item_size(dtype);
  const std::string names = std::string(info(self.dtype()).scalar) + " as " +
                            std::string(info(dtype).scalar) + " (different element sizes)";
  if (self.is_lazy() && dtype != self.dtype()) {
    fail(ErrorKind::runtime, self.impl()->conj
                                 ? "torch.Tensor.view is not supported for conjugate view tensors "
                                   "when converting to a different dtype."
                                 : "torch.Tensor.view is not supported for tensors with negative "
                                   "bit set when converting to a different dtype.");
  }
  const TensorImpl& i = *self.impl();
  Dims shape = i.shape, strides = i.strides;
  std::int64_t offset = i.offset;
  if (from != to) {
    if (self.dim() == 0) {
      fail(ErrorKind::runtime, "self.dim() cannot be 0 to view " + names);
    }
    const std::int64_t last = self.dim() - 1;
    if (strides[last] != 1) {
      fail(ErrorKind::runtime, "self.stride(-1) must be 1 to view " + names + ", but got " +
                                   std::to_string(strides[last]));
    }
    if (from > to) {
      const std::int64_t ratio = from / to;
      for (std::int64_t d = 0; d < last; ++d) strides[d] *= ratio;
      shape[last] *= ratio;
      offset *= ratio;
    } else {
      const std::int64_t ratio = to / from;
      const auto divisible = [&](std::int64_t n, const std::string& what) {
        if (n % ratio != 0) {
          fail(ErrorKind::runtime, what + " must be divisible by " + std::to_string(ratio) +
                                       " to view " + names + ", but got " + std::to_string(n));
        }
        return n / ratio;
      };
      shape[last] = divisible(shape[last], "self.size(-1)");
      offset = divisible(offset, "self.storage_offset()");
      for (std::int64_t d = 0; d < last; ++d) {
        strides[d] = divisible(strides[d], "self.stride(" + std::to_string(d) + ")");
      }
    }
  }
  Tensor out(Ref<TensorImpl>::make(i.storage, offset, std::move(shape), std::move(strides), dtype));
  out.impl()->inference = i.inference;
  out.impl()->conj = i.conj;
  out.impl()->neg = i.neg;
  return out;
}

void resize_inplace(const Tensor& self, const Dims& size, Format format) {
  const bool changes = self.shape() != size;
  resize(self, size, memory_format(format, MemoryFormat::contiguous));
  if (changes) self.impl()->storage->bump();
}
void resize_as_inplace(const Tensor& self, const Tensor& other, Format format) {
  const MemoryFormat wanted = memory_format(format, MemoryFormat::contiguous);
  if (wanted != MemoryFormat::preserve) return resize_inplace(self, other.shape(), format);
  const bool changes = self.shape() != other.shape();
  const auto last = {MemoryFormat::channels_last, MemoryFormat::channels_last_3d};
  const auto* found = std::find_if(last.begin(), last.end(), [&](MemoryFormat f) {
    const bool images = other.dim() == (f == MemoryFormat::channels_last ? 4 : 5);
    return images && !is_contiguous(other, MemoryFormat::contiguous) && is_contiguous(other, f);
  });
  resize(self, other.shape(), found == last.end() ? MemoryFormat::contiguous : *found);
  if (changes) self.impl()->storage->bump();
}

// self becomes another window on another memory.
void become(const Tensor& self, const Tensor& source, const Dims& shape, const Dims& strides,
            std::int64_t offset) {
  check_inplace(self);
  if (self.dtype() != source.dtype()) {
    fail(ErrorKind::runtime, "Could not set tensor of type " +
                                 std::string(info(source.dtype()).name) + " to a tensor of type " +
                                 std::string(info(self.dtype()).name));
  }
  const Tensor window = as_strided(detach(source), shape, strides, offset);
  TensorImpl& impl = *self.impl();
  impl.storage = Ref<Storage>::make(source.impl()->storage, impl.storage->version());
  impl.storage->bump();
  impl.offset = offset;
  impl.shape = shape;
  impl.strides = strides;
}
void set_source(const Tensor& self, const Tensor& source) {
  become(self, source, source.shape(), source.strides(), source.impl()->offset);
}
void set_source_window(const Tensor& self, const Tensor& source, std::int64_t storage_offset,
                       const Dims& size, const Dims& stride) {
  become(self, source, size, stride.size() == size.size() ? stride : contiguous_strides(size),
         storage_offset);
}
void set_nothing(const Tensor& self) {
  const Tensor none = Tensor::empty({0}, self.dtype());
  become(self, none, {0}, {1}, 0);
}
bool is_set_to(const Tensor& self, const Tensor& tensor) {
  const TensorImpl &a = *self.impl(), &b = *tensor.impl();
  return a.storage->shares_memory(*b.storage) && a.offset == b.offset && a.shape == b.shape &&
         a.strides == b.strides;
}

}  // namespace

std::span<const OpDef> layout_ops() {
  static constexpr OpDef rows[] = {
      native<contiguous_op>("contiguous(Tensor(a) self, *, MemoryFormat "
                            "memory_format=contiguous_format) -> Tensor(a)",
                            "self if its elements lie in this order, else a copy that does.",
                            kMethod),
      native<clone_op>("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
                       "A copy, in the same order of dimensions unless another is given.",
                       kFunction | kMethod),
      native<view_dtype>("view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
                         "The same bytes as numbers of another dtype; without gradient.", kMethod,
                         false),
      inplace_only<resize_inplace>(
          "resize(Tensor(a) self, int[] size, *, MemoryFormat? memory_format=None) -> Tensor(a)",
          "resize_: another shape over the same memory, or a larger copy of it. New elements are "
          "undefined; views keep the old memory."),
      inplace_only<resize_as_inplace>("resize_as(Tensor(a) self, Tensor the_template, *, "
                                      "MemoryFormat? memory_format=None) -> Tensor(a)",
                                      "resize_ to the shape of the_template."),
      inplace_only<set_nothing>("set(Tensor(a) self) -> Tensor(a)", "set_: an empty tensor."),
      inplace_only<set_source>("set.source_Tensor(Tensor(a) self, Tensor source) -> Tensor(a)",
                               "set_: the memory and geometry of source."),
      inplace_only<set_source_window>(
          "set.source_Tensor_storage_offset(Tensor(a) self, Tensor source, int storage_offset, "
          "int[] size, int[] stride=[]) -> Tensor(a)",
          "set_: a window on the memory of source."),
      native<is_set_to>("is_set_to(Tensor(a) self, Tensor tensor) -> bool",
                        "Whether both are the same window on the same memory.", kMethod, false),
  };
  return rows;
}

}  // namespace treadle
