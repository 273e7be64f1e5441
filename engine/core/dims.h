// A list of sizes, strides or dimensions, held inline up to 6 entries so that making a tensor
// allocates once. Tensors have at most kMaxDims dimensions; other lists (the sizes of split()) may
// be longer.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>

#pragma GCC visibility push(default)
namespace treadle {

class Dims {
 public:
  static constexpr std::int64_t kMaxDims = 64;
  Dims() noexcept {}  // NOLINT: not defaulted, or Dims{} would clear the inline entries
  Dims(std::initializer_list<std::int64_t> values)
      : Dims(std::span<const std::int64_t>(values.begin(), values.size())) {}
  explicit Dims(std::span<const std::int64_t> values) {
    std::int64_t* to = reserve(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t v : values) *to++ = v;
  }
  Dims(std::int64_t count, std::int64_t value) {
    std::int64_t* to = reserve(count);
    for (std::int64_t i = 0; i < count; ++i) to[i] = value;
  }
  Dims(const Dims& o) : Dims(o.span()) {}
  Dims(Dims&& o) noexcept { take(o); }
  Dims& operator=(const Dims& o) {
    if (this != &o) {
      std::int64_t* to = reserve(o.size_);
      for (const std::int64_t v : o) *to++ = v;
    }
    return *this;
  }
  Dims& operator=(Dims&& o) noexcept {
    if (this != &o) take(o);
    return *this;
  }
  ~Dims() = default;
  // `count` entries that the caller has to set.
  static Dims unset(std::int64_t count) {
    Dims made;
    made.reserve(count);
    return made;
  }

  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t* begin() { return data(); }
  std::int64_t* end() { return data() + size_; }
  const std::int64_t* begin() const { return data(); }
  const std::int64_t* end() const { return data() + size_; }
  std::int64_t& operator[](std::int64_t i) { return data()[i]; }
  std::int64_t operator[](std::int64_t i) const { return data()[i]; }
  std::int64_t back() const { return data()[size_ - 1]; }
  std::span<const std::int64_t> span() const { return {data(), static_cast<std::size_t>(size_)}; }
  std::int64_t* data() { return heap_ ? heap_.get() : inline_; }
  const std::int64_t* data() const { return heap_ ? heap_.get() : inline_; }

  void push_back(std::int64_t value) {
    const std::int64_t n = size_;
    if (n == capacity_) grow(n + 1);
    size_ = static_cast<std::int32_t>(n + 1);
    data()[n] = value;
  }
  void insert(std::int64_t at, std::int64_t value);
  void erase(std::int64_t at) {
    std::int64_t* d = data();
    for (std::int64_t i = at + 1; i < size_; ++i) d[i - 1] = d[i];
    --size_;
  }
  void resize(std::int64_t count, std::int64_t value = 0);

  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.size_ != b.size_) return false;
    const std::int64_t *x = a.data(), *y = b.data();
    for (std::int64_t i = 0; i < a.size_; ++i) {
      if (x[i] != y[i]) return false;
    }
    return true;
  }

 private:
  static constexpr std::int32_t kInline = 6;

  // Room for `count` entries, which the caller fills; those that were there may be lost.
  std::int64_t* reserve(std::int64_t count) {
    if (count > capacity_ || count < 0) grow(count);
    size_ = static_cast<std::int32_t>(count);
    return data();
  }
  void grow(std::int64_t count);  // keeps the entries
  void take(Dims& o) noexcept {
    size_ = std::exchange(o.size_, 0);
    capacity_ = std::exchange(o.capacity_, kInline);
    heap_ = std::move(o.heap_);
    if (!heap_) {
      for (std::int32_t i = 0; i < size_; ++i) inline_[i] = o.inline_[i];
    }
  }

  std::int32_t size_ = 0;
  std::int32_t capacity_ = kInline;
  std::unique_ptr<std::int64_t[]> heap_;
  std::int64_t inline_[kInline];  // the first size_ are set, if heap_ is null
};

// Throws Error{runtime} for more than kMaxDims sizes.
void check_rank(const Dims& shape);
// "[2, 3]", as PyTorch prints a shape in its messages.
std::string to_string(const Dims& dims);
// Product of the entries; 1 for none. Throws Error{runtime} when it doesn't fit in 63 bits.
std::int64_t product(const Dims& dims);
// Strides of a contiguous tensor of this shape.
inline Dims contiguous_strides(const Dims& shape) {
  Dims strides = Dims::unset(shape.size());
  std::int64_t step = 1;
  for (std::int64_t i = shape.size() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i] > 1 ? shape[i] : 1;
  }
  return strides;
}
// `dim` in [-rank, rank) made non-negative (a rank of 0 counts as 1). Throws Error{index} with
// PyTorch's text.
std::int64_t wrap_dim(std::int64_t dim, std::int64_t rank);

}  // namespace treadle
#pragma GCC visibility pop
