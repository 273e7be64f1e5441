// The per-thread cache: one free list for each multiple of 64 bytes up to kMaxCached. A block may
// be freed by another thread than made it; it then joins that thread's list.
#include "engine/core/pool.h"

#include <cstdlib>
#include <new>
#include <string>

#include "engine/core/error.h"

#if defined(__SANITIZE_ADDRESS__)
#define TREADLE_POOL 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TREADLE_POOL 0
#endif
#endif
#ifndef TREADLE_POOL
#define TREADLE_POOL 1
#endif

namespace treadle {
namespace {

void* system_allocate(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) & ~(kAlignment - 1);
  void* block = rounded < bytes ? nullptr : std::aligned_alloc(kAlignment, rounded);
  if (!block)
    fail(ErrorKind::memory,
         "not enough memory: tried to allocate " + std::to_string(bytes) + " bytes");
  return block;
}

constexpr std::size_t kMaxCached = 1024;
constexpr std::size_t kClasses = kMaxCached / kAlignment;
constexpr int kBlocksPerClass = 256;

struct FreeBlock {
  FreeBlock* next;
};

// Trivially destructible, so that blocks freed after the thread's destructors ran still find it.
struct Cache {
  FreeBlock* head[kClasses];
  int count[kClasses];
  enum State : unsigned char { fresh, in_use, closed } state;
};
constinit thread_local Cache cache{};

// Gives a finished thread's blocks back.
struct Drain {
  ~Drain() {
    cache.state = Cache::closed;
    for (std::size_t c = 0; c < kClasses; ++c) {
      while (FreeBlock* block = cache.head[c]) {
        cache.head[c] = block->next;
        std::free(block);
      }
      cache.count[c] = 0;
    }
  }
};

void open_cache() {
  static thread_local Drain drain;
  (void)drain;
  cache.state = Cache::in_use;
}

}  // namespace

void* pool_allocate(std::size_t bytes) {
  if (bytes == 0) bytes = 1;
  if (TREADLE_POOL && bytes <= kMaxCached) {
    const std::size_t c = (bytes - 1) / kAlignment;
    Cache& mine = cache;
    if (FreeBlock* block = mine.head[c]) {
      mine.head[c] = block->next;
      --mine.count[c];
      return block;
    }
    return system_allocate((c + 1) * kAlignment);
  }
  return system_allocate(bytes);
}

void pool_free(void* block, std::size_t bytes) noexcept {
  if (!block) return;
  if (bytes == 0) bytes = 1;
  if (TREADLE_POOL && bytes <= kMaxCached) {
    const std::size_t c = (bytes - 1) / kAlignment;
    Cache& mine = cache;
    if (mine.state == Cache::fresh) open_cache();
    if (mine.state == Cache::in_use && mine.count[c] < kBlocksPerClass) {
      mine.head[c] = new (block) FreeBlock{mine.head[c]};
      ++mine.count[c];
      return;
    }
  }
  std::free(block);
}

}  // namespace treadle
