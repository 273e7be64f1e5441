// Writing results into given tensors: out= arguments, and the copies and casts below the tape.
#pragma once
#include <span>
#include <string_view>

#include "engine/core/tensor.h"

namespace treadle {

// No tape, no version bump: plain data movement.
Tensor cast(const Tensor& t, DType dtype);             // a new tensor in t's layout
void cast_into(const Tensor& out, const Tensor& src);  // src broadcasts to out

// PyTorch's rules for out=: no autograd, a result that can be cast, resized if the shape differs.
void check_out(std::string_view op, std::span<const Tensor* const> inputs,
               std::span<const Tensor> outs);
void check_out_dtype(DType result, const Tensor& out);
void resize_out(Tensor& out, const Dims& shape);
// All of these for a result that was computed apart.
void write_out(std::string_view op, Tensor& out, const Tensor& result);

}  // namespace treadle
