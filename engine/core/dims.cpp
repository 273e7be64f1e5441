// Dims: inline storage up to kInline entries, one heap block beyond.
#include "engine/core/dims.h"

#include <algorithm>
#include <string>

#include "engine/core/error.h"

namespace treadle {

Dims::Dims(std::initializer_list<std::int64_t> values)
    : Dims(std::span<const std::int64_t>(values.begin(), values.size())) {}

Dims::Dims(std::span<const std::int64_t> values) {
  resize(static_cast<std::int64_t>(values.size()));
  std::copy(values.begin(), values.end(), data());
}

Dims::Dims(std::int64_t count, std::int64_t value) { resize(count, value); }

Dims::Dims(Dims&& o) noexcept
    : size_(std::exchange(o.size_, 0)),
      capacity_(std::exchange(o.capacity_, kInline)),
      heap_(std::move(o.heap_)) {
  std::copy(o.inline_, o.inline_ + kInline, inline_);
}

Dims& Dims::operator=(const Dims& o) {
  if (this != &o) {
    resize(o.size_);
    std::copy(o.begin(), o.end(), data());
  }
  return *this;
}

Dims& Dims::operator=(Dims&& o) noexcept {
  size_ = std::exchange(o.size_, 0);
  capacity_ = std::exchange(o.capacity_, kInline);
  heap_ = std::move(o.heap_);
  std::copy(o.inline_, o.inline_ + kInline, inline_);
  return *this;
}

void Dims::push_back(std::int64_t value) {
  resize(size_ + 1);
  data()[size_ - 1] = value;
}

void Dims::insert(std::int64_t at, std::int64_t value) {
  resize(size_ + 1);
  std::copy_backward(data() + at, data() + size_ - 1, data() + size_);
  data()[at] = value;
}

void Dims::erase(std::int64_t at) {
  std::copy(data() + at + 1, data() + size_, data() + at);
  --size_;
}

void Dims::resize(std::int64_t count, std::int64_t value) {
  if (count > kMaxDims || count < 0) {
    fail(ErrorKind::runtime, "a tensor can have at most " + std::to_string(kMaxDims) +
                                 " dimensions, got " + std::to_string(count));
  }
  if (count > capacity_) {
    const std::int64_t capacity = std::min(kMaxDims, std::max(count, 2 * capacity_));
    auto heap = std::make_unique<std::int64_t[]>(static_cast<std::size_t>(capacity));
    std::copy(data(), data() + size_, heap.get());
    heap_ = std::move(heap);
    capacity_ = capacity;
  }
  if (count > size_) std::fill(data() + size_, data() + count, value);
  size_ = count;
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (std::int64_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + "]";
}

std::int64_t product(const Dims& dims) {
  std::int64_t result = 1;
  bool overflow = false;
  for (const std::int64_t d : dims) {
    if (d == 0) return 0;
    overflow |= __builtin_mul_overflow(result, d, &result);
  }
  if (overflow)
    fail(ErrorKind::runtime, "the number of elements of " + to_string(dims) + " overflows");
  return result;
}

Dims contiguous_strides(const Dims& shape) {
  Dims strides(shape.size(), 1);
  std::int64_t step = 1;
  for (std::int64_t i = shape.size() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

std::int64_t wrap_dim(std::int64_t dim, std::int64_t rank) {
  const std::int64_t n = std::max<std::int64_t>(rank, 1);
  if (dim < -n || dim >= n) {
    fail(ErrorKind::index, "Dimension out of range (expected to be in range of [" +
                               std::to_string(-n) + ", " + std::to_string(n - 1) + "], but got " +
                               std::to_string(dim) + ")");
  }
  return dim < 0 ? dim + n : dim;
}

}  // namespace treadle
