// The values of one call: its arguments, or its results. A few fit without a heap block, and
// tensors among the arguments are borrowed from Python, since counting a reference from C++ takes
// the GIL each time.
#pragma once
#include <algorithm>
#include <bit>
#include <memory>
#include <span>

#include "engine/python/bind/bind.h"

namespace treadle::bind {

class Values {
 public:
  static constexpr std::size_t kMost = 64;  // bits of borrowed_

  explicit Values(std::size_t count) : count_(count) {
    if (count > kInline) heap_ = std::make_unique<Value[]>(count);
    values_ = heap_ ? heap_.get() : reinterpret_cast<Value*>(inline_);
    for (std::size_t i = 0; i < constructed(); ++i) std::construct_at(values_ + i);
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  ~Values() {
    for (std::uint64_t left = borrowed_; left; left &= left - 1) {
      std::get_if<Tensor>(&values_[std::countr_zero(left)])->release();
    }
    for (std::size_t i = 0; i < constructed(); ++i) {
      if (values_[i].index() != 0) std::destroy_at(values_ + i);
    }
  }

  // Makes value i the tensor `o`, which the caller keeps alive.
  void borrow(std::size_t i, PyObject* o) {
    TensorImpl* impl = impl_of(o);
    std::memcpy(static_cast<void*>(&values_[i].emplace<Tensor>()), &impl, sizeof(void*));
    borrowed_ |= std::uint64_t{1} << i;
  }
  Value& operator[](std::size_t i) { return values_[i]; }
  std::size_t size() const { return count_; }
  std::span<Value> span() { return {values_, count_}; }
  std::span<const Value> span() const { return {values_, count_}; }

 private:
  static constexpr std::size_t kInline = 6;
  // How many values live in inline_.
  std::size_t constructed() const { return heap_ ? 0 : std::min(count_, kInline); }

  std::size_t count_;
  std::uint64_t borrowed_ = 0;
  Value* values_;
  std::unique_ptr<Value[]> heap_;
  alignas(Value) std::byte inline_[kInline * sizeof(Value)];
};

}  // namespace treadle::bind
