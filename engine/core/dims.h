// A short list of sizes or strides, held inline up to 6 entries so that making a tensor allocates
// once. At most kMaxDims long.
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
  Dims() = default;
  Dims(std::initializer_list<std::int64_t> values);
  explicit Dims(std::span<const std::int64_t> values);
  Dims(std::int64_t count, std::int64_t value);
  Dims(const Dims& o) {
    if (o.size_ <= kInline) {
      size_ = o.size_;
      for (std::int64_t i = 0; i < o.size_; ++i) inline_[i] = o.data()[i];
    } else {
      *this = o;
    }
  }
  Dims(Dims&& o) noexcept;
  Dims& operator=(const Dims& o);
  Dims& operator=(Dims&& o) noexcept;

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

  // Throw Error{runtime} past kMaxDims.
  void push_back(std::int64_t value);
  void insert(std::int64_t at, std::int64_t value);
  void erase(std::int64_t at);
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
  static constexpr std::int64_t kInline = 6;
  std::int64_t size_ = 0;
  std::int64_t capacity_ = kInline;
  std::int64_t inline_[kInline] = {};
  std::unique_ptr<std::int64_t[]> heap_;
};

// "[2, 3]", as PyTorch prints a shape in its messages.
std::string to_string(const Dims& dims);
// Product of the entries; 1 for none. Throws Error{runtime} when it doesn't fit in 63 bits.
std::int64_t product(const Dims& dims);
// Strides of a contiguous tensor of this shape.
Dims contiguous_strides(const Dims& shape);
// `dim` in [-rank, rank) made non-negative (a rank of 0 counts as 1). Throws Error{index} with
// PyTorch's text.
std::int64_t wrap_dim(std::int64_t dim, std::int64_t rank);

}  // namespace treadle
#pragma GCC visibility pop
