// Writing results into given tensors: out= arguments, and the copies and casts below the tape.
#pragma once
#include <span>
#include <string_view>

#include "engine/autograd/node.h"
#include "engine/core/tensor.h"
#include "engine/ops/schema.h"

namespace treadle {

// No tape, no version bump: plain data movement.
Tensor cast(const Tensor& t, DType dtype);             // a new tensor in t's layout
void cast_into(const Tensor& out, const Tensor& src);  // src broadcasts to out

// Throws Error{runtime} for a number that a tensor of `dtype` can't hold: one outside of its range,
// or NaN for an integer. As in PyTorch, -1 counts as 255 for uint8, and bool holds any number as
// "true".
void check_fits(const Scalar& value, DType dtype);
Scalar number_of(const Tensor& wrapped);  // the number that a wrapped number stands for

// The node of an op that overwrites self in place with what has no derivative: its gradient is
// zero. Null if nothing has to be recorded.
Ref<Node> overwriting_node(const char* name, const Tensor& self);

// PyTorch's rules for out=: no autograd, a result that can be cast, resized if the shape differs.
void check_out(std::string_view op, std::span<const Tensor* const> inputs,
               std::span<const Tensor> outs);
void check_out_dtype(DType result, const Tensor& out);
void resize_out(Tensor& out, const Dims& shape);
// All of these for a result that was computed apart.
void write_out(std::string_view op, Tensor& out, const Tensor& result);

}  // namespace treadle
