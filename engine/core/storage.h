// Storage: reference-counted bytes of one device with the version counter that all views share.
// In-place ops bump it; a saved tensor whose version has moved on makes backward() raise.
// Up to kInline bytes live inside the object, so that a small tensor needs no block for them.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/core/pool.h"
#include "engine/core/ref.h"

#pragma GCC visibility push(default)
namespace treadle {

struct Device {
  enum class Kind : std::uint8_t { cpu, cuda, meta } kind = Kind::cpu;
  std::int8_t index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

class Storage final : public RefCounted, public Pooled {
 public:
  using Deleter = void (*)(void* context);
  // Makes `bytes` (64-byte aligned, uninitialised). Throws Error{memory} naming the size.
  Storage(std::size_t bytes, Device device);
  // Wraps foreign memory (NumPy, DLPack); `deleter(context)`, which must be given, runs when the
  // last view is gone.
  Storage(void* data, std::size_t bytes, Device device, Deleter deleter, void* context,
          bool read_only = false);
  // The memory of `of` under a version counter of its own: what t.data is.
  Storage(Ref<Storage> of, std::uint32_t version);
  // The memory of `of` under the version counter of another storage: what t has after t.data = s.
  Storage(Ref<Storage> of, Ref<Storage> counter);
  ~Storage() override;

  char* data() const { return static_cast<char*>(data_); }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  bool read_only() const { return read_only_; }
  bool shares_memory(const Storage& other) const { return owner() == other.owner(); }
  // Whether others know the address (NumPy, DLPack, a buffer), so that a tensor can't leave the
  // memory behind without surprising them.
  bool shared() const {
    return of_ ? of_->shared() : deleter_ || shared_.load(std::memory_order_relaxed);
  }
  void share() { of_ ? of_->share() : shared_.store(true, std::memory_order_relaxed); }
  std::uint32_t version() const { return counter().load(std::memory_order_relaxed); }
  void set_version(std::uint32_t version) { counter().store(version, std::memory_order_relaxed); }
  void bump() { counter().store(version() + 1, std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kInline = kAlignment;
  const Storage* owner() const { return of_ ? of_.get() : this; }
  std::atomic<std::uint32_t>& counter() { return counter_ ? counter_->version_ : version_; }
  const std::atomic<std::uint32_t>& counter() const {
    return counter_ ? counter_->version_ : version_;
  }

  void* data_;
  std::size_t bytes_;
  Device device_;
  Deleter deleter_ = nullptr;
  void* context_ = nullptr;
  bool read_only_ = false;
  Ref<Storage> of_;
  Ref<Storage> counter_;  // whose version counts; null: this one's
  std::atomic<bool> shared_{false};
  // Relaxed: a race between an in-place op and a reader of the same tensor is the caller's; the
  // counter itself stays whole.
  std::atomic<std::uint32_t> version_{0};
  alignas(kAlignment) char inline_[kInline];
};

}  // namespace treadle
#pragma GCC visibility pop
