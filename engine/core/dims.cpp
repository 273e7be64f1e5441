// Dims: inline storage up to kInline entries, one heap block beyond.
#include "engine/core/dims.h"

#include <algorithm>
#include <limits>
#include <string>

#include "engine/core/error.h"

namespace treadle {

void Dims::insert(std::int64_t at, std::int64_t value) {
  push_back(value);
  std::copy_backward(data() + at, data() + size_ - 1, data() + size_);
  data()[at] = value;
}

void Dims::resize(std::int64_t count, std::int64_t value) {
  const std::int64_t before = size_;
  std::int64_t* d = reserve(count);
  for (std::int64_t i = before; i < count; ++i) d[i] = value;
}

void Dims::grow(std::int64_t count) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (count > kMost || count < 0) {
    fail(ErrorKind::runtime, "a list of ints can have at most " + std::to_string(kMost) +
                                 " entries, got " + std::to_string(count));
  }
  const std::int64_t capacity =
      std::min(kMost, std::max<std::int64_t>(count, std::int64_t{2} * capacity_));
  auto heap = std::make_unique<std::int64_t[]>(static_cast<std::size_t>(capacity));
  std::copy(data(), data() + size_, heap.get());
  heap_ = std::move(heap);
  capacity_ = static_cast<std::int32_t>(capacity);
}

void check_rank(const Dims& shape) {
  if (shape.size() > Dims::kMaxDims) {
    fail(ErrorKind::runtime, "a tensor can have at most " + std::to_string(Dims::kMaxDims) +
                                 " dimensions, got " + std::to_string(shape.size()));
  }
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
    fail(ErrorKind::runtime, "Storage size calculation overflowed with sizes=" + to_string(dims));
  return result;
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
