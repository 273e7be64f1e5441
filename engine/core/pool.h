// Small blocks (tensors, nodes, 1-element storages) from a per-thread cache, so that making one
// costs a few nanoseconds. 64-byte aligned. Off under AddressSanitizer, which must see every free.
#pragma once
#include <cstddef>

#pragma GCC visibility push(default)
namespace treadle {

inline constexpr std::size_t kAlignment = 64;

void* pool_allocate(std::size_t bytes);  // throws Error{memory} naming the size
void pool_free(void* block, std::size_t bytes) noexcept;

// Base of classes whose objects live in the pool. Deleting through a virtual destructor passes the
// size of the most derived class.
struct Pooled {
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* p, std::size_t bytes) noexcept { pool_free(p, bytes); }
};

}  // namespace treadle
#pragma GCC visibility pop
