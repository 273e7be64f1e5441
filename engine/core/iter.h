// Iter: the only code that knows layouts. It takes operands of any strides, broadcasts them to the
// shape of the output, orders and merges dimensions, and hands kernels plain rectangles, over
// several threads where that pays. Also where an output is laid out, and which overlaps are
// refused.
#pragma once
#include <cstdint>
#include <span>

#include "engine/backend/kernel.h"
#include "engine/core/tensor.h"

namespace treadle {

// The shape that all operands broadcast to. Throws Error{runtime} with PyTorch's text naming both
// sizes and the dimension. Undefined operands are skipped.
Dims broadcast_shapes(const Dims& a, const Dims& b);
Dims broadcast_shapes(std::span<const Tensor* const> operands);

// A new tensor of `shape` whose dimensions lie in memory in the order of the inputs' strides, as
// PyTorch's TensorIterator does: the result of an elementwise op on a transposed matrix is
// transposed too.
Tensor allocate_like(const Dims& shape, DType dtype, std::span<const Tensor* const> inputs);

// Are all elements distinct and without holes, in some order of dimensions?
bool is_dense(const Tensor& t);

// Throws if writing `out` would write one place twice, or read an input where it was already
// overwritten.
void check_internal_overlap(const Tensor& out);
void check_overlap(const Tensor& out, std::span<const Tensor* const> inputs);

// Arguments of an elementwise kernel that reads nothing yet, for one row. Member by member: the
// compilers clear a whole struct of this size with `rep stos`, which takes longer than a small
// kernel. `size[0]`, `out` and `param` are left to the caller.
inline void clear_inputs(kernel::MapArgs& args) {
  args.size[1] = 1;
  args.out_stride[1] = 0;
  for (int k = 0; k < kernel::kMaxInputs; ++k) {
    args.in[k] = nullptr;
    args.in_stride[k][0] = args.in_stride[k][1] = 0;
  }
}

class Iter {
 public:
  static constexpr int kOperands = 1 + kernel::kMaxInputs;
  // Inputs must broadcast to the shape of `out`. An undefined input stands for one the kernel
  // doesn't read.
  Iter(const Tensor& out, std::span<const Tensor* const> inputs);

  // Runs an elementwise kernel over everything; returns its Status bits. `params` has kMaxParams
  // entries or is null.
  std::uint32_t map(kernel::MapFn fn, const kernel::Param* params = nullptr) const;
  std::int64_t numel() const { return numel_; }

 private:
  bool contiguous(const Tensor& out, std::span<const Tensor* const> inputs);
  void general(const Tensor& out, std::span<const Tensor* const> inputs);
  std::uint32_t rows(kernel::MapFn fn, const kernel::Param* params, std::int64_t row,
                     std::int64_t row_end, std::int64_t column, std::int64_t column_end) const;

  int operands_;  // operand 0 is the output
  int dims_ = 1;  // after merging, at least 1; dimension 0 is the fastest
  std::int64_t numel_ = 1;
  char* data_[kOperands];
  std::int64_t size_[Dims::kMaxDims];
  std::int64_t stride_[Dims::kMaxDims][kOperands];  // bytes
};

}  // namespace treadle
