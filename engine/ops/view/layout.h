// The order in which the elements of a tensor lie in memory.
#pragma once
#include <optional>

#include "engine/core/tensor.h"

#pragma GCC visibility push(default)
namespace treadle {

// torch.memory_format. As an argument of an op it is this number.
enum class MemoryFormat : std::uint8_t { contiguous, preserve, channels_last, channels_last_3d };
MemoryFormat memory_format(std::int64_t number);
MemoryFormat memory_format(const std::optional<std::int64_t>& number, MemoryFormat otherwise);

// Dense strides of `shape`. Throws Error{runtime} for channels_last of another rank than 4, and so
// on.
Dims strides_in(MemoryFormat format, const Dims& shape);
bool is_contiguous(const Tensor& t, MemoryFormat format);
// A new tensor of t's shape. preserve: in the order of t's dimensions.
Tensor empty_like(const Tensor& t, DType dtype, MemoryFormat format = MemoryFormat::preserve);
Tensor contiguous(const Tensor& t, MemoryFormat format);
Tensor clone(const Tensor& t, MemoryFormat format);
// torch.resize_: another shape over the same memory, or over a larger copy of it.
void resize(const Tensor& t, const Dims& shape, MemoryFormat format = MemoryFormat::contiguous);

}  // namespace treadle
#pragma GCC visibility pop
