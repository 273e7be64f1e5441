// The per-thread cache: one free list for each multiple of 64 bytes up to kMaxCached. A block may
// be freed by another thread than made it; it then joins that thread's list.
#include "engine/core/pool.h"

#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include "engine/core/error.h"
#include "engine/core/export.h"

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

struct Cache {
  FreeBlock* head[kClasses];
  int count[kClasses];
};

// Null until the thread frees its first block, and again after its destructors ran: blocks that
// are freed later go to the system.
TREADLE_FAST_TLS constinit thread_local Cache* cache = nullptr;
TREADLE_FAST_TLS constinit thread_local bool closed = false;

// Gives a finished thread's blocks back.
struct Drain {
  ~Drain() {
    closed = true;
    Cache* mine = std::exchange(cache, nullptr);
    for (FreeBlock* block : mine->head) {
      while (block) std::free(std::exchange(block, block->next));
    }
    std::free(mine);
  }
};

void open_cache() {
  cache = static_cast<Cache*>(std::calloc(1, sizeof(Cache)));
  if (!cache) return;
  static thread_local Drain drain;
  (void)drain;
}

// What isn't in the cache, or doesn't go there. Apart, so that the usual way saves no registers.
[[gnu::noinline]] void* allocate_outside(std::size_t bytes) {
  return system_allocate(bytes > 0 ? bytes : 1);
}
[[gnu::noinline]] void free_outside(void* block, std::size_t bytes) noexcept {
  if (TREADLE_POOL && bytes <= kMaxCached && !cache && !closed) {
    open_cache();
    if (cache) return pool_free(block, bytes);
  }
  std::free(block);
}

// Which list a size belongs to; kClasses or more for none. Size 0 wraps around.
std::size_t class_of(std::size_t bytes) { return (bytes - 1) / kAlignment; }

}  // namespace

void* pool_allocate(std::size_t bytes) {
  const std::size_t c = class_of(bytes);
  Cache* mine = cache;
  if (!TREADLE_POOL || c >= kClasses || !mine) return allocate_outside(bytes);
  FreeBlock* block = mine->head[c];
  if (!block) return allocate_outside(bytes);
  mine->head[c] = block->next;
  --mine->count[c];
  return block;
}

void pool_free(void* block, std::size_t bytes) noexcept {
  const std::size_t c = class_of(bytes);
  Cache* mine = cache;
  if (!TREADLE_POOL || c >= kClasses || !mine || !block || mine->count[c] >= kBlocksPerClass) {
    return free_outside(block, bytes);
  }
  mine->head[c] = new (block) FreeBlock{mine->head[c]};
  ++mine->count[c];
}

}  // namespace treadle
