// Iter and its companions: broadcasting, layout of outputs, overlap, and the loop over rectangles.
#include "engine/core/iter.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "engine/backend/cpu/pool.h"

namespace treadle {
namespace {

// Negative: a should be faster than b. Zero: no operand tells. Operands broadcast along one of the
// two have no say, as in PyTorch.
int compare_dims(std::int64_t a, std::int64_t b, const Dims& shape,
                 std::span<const Dims* const> strides) {
  for (const Dims* s : strides) {
    const std::int64_t sa = (*s)[a], sb = (*s)[b];
    if (sa == 0 || sb == 0) continue;
    if (sa != sb) return sa < sb ? -1 : 1;
    if (shape[a] > shape[b]) return 1;
  }
  return 0;
}

// Dimensions from fastest to slowest.
Dims order_dims(const Dims& shape, std::span<const Dims* const> strides) {
  const std::int64_t n = shape.size();
  Dims order(n, 0);
  for (std::int64_t i = 0; i < n; ++i) order[i] = n - 1 - i;
  for (std::int64_t i = 1; i < n; ++i) {
    std::int64_t moving = i;
    for (std::int64_t j = i - 1; j >= 0; --j) {
      const int c = compare_dims(order[j], order[moving], shape, strides);
      if (c > 0) {
        std::swap(order[j], order[moving]);
        moving = j;
      } else if (c < 0) {
        break;
      }
    }
  }
  return order;
}

// Strides of `t` as if it had `shape`: 0 where it is broadcast.
Dims broadcast_strides(const Tensor& t, const Dims& shape) {
  Dims result(shape.size(), 0);
  const std::int64_t shift = shape.size() - t.dim();
  for (std::int64_t i = 0; i < t.dim(); ++i) {
    const bool spread = t.shape()[i] == 1 && shape[i + shift] != 1;
    result[i + shift] = spread ? 0 : t.strides()[i];
  }
  return result;
}

}  // namespace

bool is_dense(const Tensor& t) {
  Dims order(t.dim(), 0);
  for (std::int64_t i = 0; i < t.dim(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    if (t.shape()[a] < 2 || t.shape()[b] < 2) return t.shape()[a] >= 2 && t.shape()[b] < 2;
    return t.strides()[a] < t.strides()[b];
  });
  std::int64_t expected = 1;
  for (const std::int64_t d : order) {
    if (t.shape()[d] < 2) return true;
    if (t.strides()[d] != expected) return false;
    expected *= t.shape()[d];
  }
  return true;
}

Dims broadcast_shapes(const Dims& a, const Dims& b) {
  const std::int64_t n = std::max(a.size(), b.size());
  Dims result(n, 1);
  for (std::int64_t i = n - 1; i >= 0; --i) {
    const std::int64_t ia = i - (n - a.size()), ib = i - (n - b.size());
    const std::int64_t sa = ia < 0 ? 1 : a[ia], sb = ib < 0 ? 1 : b[ib];
    if (sa != sb && sa != 1 && sb != 1) {
      fail(ErrorKind::runtime, "The size of tensor a (" + std::to_string(sa) +
                                   ") must match the size of tensor b (" + std::to_string(sb) +
                                   ") at non-singleton dimension " + std::to_string(i));
    }
    result[i] = sa == 1 ? sb : sa;
  }
  return result;
}

Dims broadcast_shapes(std::span<const Tensor* const> operands) {
  Dims result;
  bool first = true;
  for (const Tensor* t : operands) {
    if (!t->defined()) continue;
    if (first)
      result = t->shape();
    else if (result != t->shape())
      result = broadcast_shapes(result, t->shape());
    first = false;
  }
  return result;
}

Tensor allocate_like(const Dims& shape, DType dtype, std::span<const Tensor* const> inputs) {
  const auto plain = [&](const Tensor* t) { return t->dim() < 2 || t->is_contiguous(); };
  if (shape.size() < 2 || std::all_of(inputs.begin(), inputs.end(), plain)) {
    return Tensor::empty(shape, dtype);
  }
  Dims strides[Iter::kOperands];
  const Dims* pointers[Iter::kOperands];
  std::size_t n = 0;
  for (const Tensor* t : inputs) {
    strides[n] = broadcast_strides(*t, shape);
    pointers[n] = &strides[n];
    ++n;
  }
  const Dims order = order_dims(shape, {pointers, n});
  Tensor result = Tensor::empty(shape, dtype);
  std::int64_t step = 1;
  for (const std::int64_t d : order) {
    result.impl()->strides[d] = step;
    step *= std::max<std::int64_t>(shape[d], 1);
  }
  return result;
}

void check_internal_overlap(const Tensor& out) {
  for (std::int64_t i = 0; i < out.dim(); ++i) {
    if (out.strides()[i] == 0 && out.shape()[i] > 1 && out.numel() != 0) {
      fail(ErrorKind::runtime,
           "unsupported operation: more than one element of the written-to tensor refers to a "
           "single "
           "memory location. Please clone() the tensor before performing the operation.");
    }
  }
}

void check_overlap(const Tensor& out, std::span<const Tensor* const> inputs) {
  check_internal_overlap(out);
  for (const Tensor* t : inputs) {
    if (!t->defined() || same(*t, out) ||
        !t->impl()->storage->shares_memory(*out.impl()->storage)) {
      continue;
    }
    if (t->numel() == 0 || out.numel() == 0 || !is_dense(*t) || !is_dense(out)) continue;
    const char* a = out.data();
    const char* b = t->data();
    const char* a_end = a + out.numel() * item_size(out.dtype());
    const char* b_end = b + t->numel() * item_size(t->dtype());
    if (a == b && a_end == b_end && out.strides() == t->strides()) continue;
    if (a < b_end && b < a_end) {
      fail(ErrorKind::runtime,
           "unsupported operation: some elements of the input tensor and the written-to tensor "
           "refer to a "
           "single memory location. Please clone() the tensor before performing the operation.");
    }
  }
}

Iter::Iter(const Tensor& out, std::span<const Tensor* const> inputs)
    : operands_(1 + static_cast<int>(inputs.size())) {
  data_[0] = out.data();
  for (int k = 1; k < operands_; ++k) {
    const Tensor& t = *inputs[static_cast<std::size_t>(k - 1)];
    data_[k] = t.defined() ? t.data() : nullptr;
  }
  if (!contiguous(out, inputs)) general(out, inputs);
}

// The common case, without looking at single dimensions.
bool Iter::contiguous(const Tensor& out, std::span<const Tensor* const> inputs) {
  if (!out.is_contiguous()) return false;
  numel_ = out.numel();
  size_[0] = numel_;
  stride_[0][0] = item_size(out.dtype());
  for (int k = 1; k < operands_; ++k) {
    const Tensor& t = *inputs[static_cast<std::size_t>(k - 1)];
    if (!t.defined() || t.dim() == 0) {
      stride_[0][k] = 0;
    } else if (t.shape() == out.shape() && t.is_contiguous()) {
      stride_[0][k] = item_size(t.dtype());
    } else {
      return false;
    }
  }
  return true;
}

void Iter::general(const Tensor& out, std::span<const Tensor* const> inputs) {
  const Dims& shape = out.shape();
  Dims strides[kOperands];
  const Dims* pointers[kOperands];
  std::int64_t item[kOperands];
  for (int k = 0; k < operands_; ++k) {
    const Tensor& t = k == 0 ? out : *inputs[static_cast<std::size_t>(k - 1)];
    strides[k] = t.defined() ? broadcast_strides(t, shape) : Dims(shape.size(), 0);
    item[k] = t.defined() ? item_size(t.dtype()) : 0;
    pointers[k] = &strides[k];
  }
  const Dims order = order_dims(shape, {pointers, static_cast<std::size_t>(operands_)});
  numel_ = out.numel();
  dims_ = 0;
  for (const std::int64_t d : order) {
    if (shape[d] == 1) continue;
    bool merge = dims_ > 0;
    for (int k = 0; k < operands_ && merge; ++k) {
      merge = strides[k][d] * item[k] == stride_[dims_ - 1][k] * size_[dims_ - 1];
    }
    if (merge) {
      size_[dims_ - 1] *= shape[d];
      continue;
    }
    size_[dims_] = shape[d];
    for (int k = 0; k < operands_; ++k) stride_[dims_][k] = strides[k][d] * item[k];
    ++dims_;
  }
  if (dims_ == 0) {
    dims_ = 1;
    size_[0] = 1;
    for (int k = 0; k < operands_; ++k) stride_[0][k] = item[k];
  }
}

// Rows are counted over dimensions 1 and up; each call of `fn` gets as many rows as lie in one
// sweep of dimension 1.
std::uint32_t Iter::rows(kernel::MapFn fn, const kernel::Param* params, std::int64_t row,
                         std::int64_t row_end, std::int64_t column, std::int64_t column_end) const {
  kernel::MapArgs args;
  clear_inputs(args);
  if (params) {
    std::copy(params, params + kernel::kMaxParams, args.param);
  } else {
    std::fill(args.param, args.param + kernel::kMaxParams, kernel::Param{});
  }
  args.size[0] = column_end - column;
  args.out_stride[0] = stride_[0][0];
  for (int k = 1; k < operands_; ++k) args.in_stride[k - 1][0] = stride_[0][k];
  if (dims_ == 1) {
    args.out = data_[0] + column * stride_[0][0];
    for (int k = 1; k < operands_; ++k) {
      args.in[k - 1] = data_[k] ? data_[k] + column * stride_[0][k] : nullptr;
    }
    return fn(args);
  }
  args.out_stride[1] = stride_[1][0];
  for (int k = 1; k < operands_; ++k) args.in_stride[k - 1][1] = stride_[1][k];
  std::uint32_t status = 0;
  const std::int64_t sweep = size_[1];
  while (row < row_end) {
    std::int64_t index = row;
    std::int64_t offset[kOperands] = {};
    for (int k = 0; k < operands_; ++k) offset[k] = column * stride_[0][k];
    for (int d = 1; d < dims_; ++d) {
      const std::int64_t at = index % size_[d];
      index /= size_[d];
      for (int k = 0; k < operands_; ++k) offset[k] += at * stride_[d][k];
    }
    args.size[1] = std::min(row_end - row, sweep - row % sweep);
    args.out = data_[0] + offset[0];
    for (int k = 1; k < operands_; ++k) args.in[k - 1] = data_[k] ? data_[k] + offset[k] : nullptr;
    status |= fn(args);
    row += args.size[1];
  }
  return status;
}

std::uint32_t Iter::map(kernel::MapFn fn, const kernel::Param* params) const {
  if (numel_ == 0 || !data_[0]) return 0;  // nothing to do, or a meta tensor
  const std::int64_t count = dims_ > 1 ? numel_ / size_[0] : 1;
  if (numel_ <= kGrain) return rows(fn, params, 0, count, 0, size_[0]);
  std::atomic<std::uint32_t> status{0};
  if (count >= size_[0]) {
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / size_[0]);
    parallel_for(0, count, grain, [&](std::int64_t begin, std::int64_t end) {
      status |= rows(fn, params, begin, end, 0, size_[0]);
    });
  } else {
    const std::int64_t grain = std::max<std::int64_t>(64, kGrain / count);
    parallel_for(0, size_[0], grain, [&](std::int64_t begin, std::int64_t end) {
      status |= rows(fn, params, 0, count, begin, end);
    });
  }
  return status.load();
}

}  // namespace treadle
