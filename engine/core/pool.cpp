// The per-thread cache: one free list for each multiple of 64 bytes up to kMaxCached. A block may
// be freed by another thread than made it; it then joins that thread's list.
//
// Large blocks are mapped one by one: glibc's heap keeps what is freed below a block in use, so
// that a program that frees most of its tensors would keep their memory. A bounded reserve of
// mapped blocks saves the page faults of a loop that makes and frees tensors of the same sizes.
#include "engine/core/pool.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include "engine/core/error.h"
#include "engine/core/export.h"

namespace treadle {
namespace {

constexpr bool kPool = !TREADLE_ADDRESS_SANITIZER;
constexpr std::size_t kLarge = 1 << 20;  // from here on blocks are mapped

// Blocks that were freed, for the next of the same size. Whoever finds it in use (another thread,
// or forever in a child of fork()) does without.
class Reserve {
 public:
  void* take(std::size_t bytes) {
    if (!enter()) return nullptr;
    void* found = nullptr;
    for (Block& b : blocks_) {
      if (b.bytes != bytes) continue;
      found = b.start;
      held_ -= bytes;
      b = {};
      break;
    }
    leave();
    return found;
  }
  // False if the caller is to unmap the block.
  bool keep(void* start, std::size_t bytes) {
    if (bytes > kMost / 2 || !enter()) return false;
    // The oldest go until there is room.
    while (held_ + bytes > kMost || blocks_[next_].bytes != 0) {
      Block& oldest = blocks_[next_];
      if (oldest.bytes) munmap(oldest.start, oldest.bytes);
      held_ -= oldest.bytes;
      oldest = {};
      if (held_ + bytes <= kMost) break;
      next_ = (next_ + 1) % kBlocks;
    }
    blocks_[next_] = {start, bytes};
    next_ = (next_ + 1) % kBlocks;
    held_ += bytes;
    leave();
    return true;
  }

 private:
  static constexpr std::size_t kMost = std::size_t{64} << 20;
  static constexpr std::size_t kBlocks = 32;
  struct Block {
    void* start = nullptr;
    std::size_t bytes = 0;
  };
  bool enter() { return !busy_.test_and_set(std::memory_order_acquire); }
  void leave() { busy_.clear(std::memory_order_release); }

  std::atomic_flag busy_;
  Block blocks_[kBlocks];
  std::size_t next_ = 0;
  std::size_t held_ = 0;
};
constinit Reserve reserve;

// What a large block takes: whole pages, and few different sizes.
std::size_t mapped_size(std::size_t bytes) {
  constexpr std::size_t kStep = 1 << 16;
  return (bytes + kStep - 1) & ~(kStep - 1);
}

void* map_block(std::size_t bytes) {
  const std::size_t size = mapped_size(bytes);
  if (size < bytes) return nullptr;
  if (void* kept = reserve.take(size)) return kept;
  void* block = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return block == MAP_FAILED ? nullptr : block;
}

void unmap_block(void* block, std::size_t bytes) noexcept {
  const std::size_t size = mapped_size(bytes);
  if (!reserve.keep(block, size)) munmap(block, size);
}

void* system_allocate(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) & ~(kAlignment - 1);
  void* block = nullptr;
  if (!kPool) {  // to the byte, so that the first one behind is a fault
    if (posix_memalign(&block, kAlignment, bytes) != 0) block = nullptr;
  } else if (bytes >= kLarge) {
    block = map_block(bytes);
  } else if (rounded >= bytes) {
    block = std::aligned_alloc(kAlignment, rounded);
  }
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
  if (kPool && bytes <= kMaxCached && !cache && !closed) {
    open_cache();
    if (cache) return pool_free(block, bytes);
  }
  if (!block) return;
  if (kPool && bytes >= kLarge) return unmap_block(block, bytes);
  std::free(block);
}

// Which list a size belongs to; kClasses or more for none. Size 0 wraps around.
std::size_t class_of(std::size_t bytes) { return (bytes - 1) / kAlignment; }

}  // namespace

void* pool_allocate(std::size_t bytes) {
  const std::size_t c = class_of(bytes);
  Cache* mine = cache;
  if (!kPool || c >= kClasses || !mine) return allocate_outside(bytes);
  FreeBlock* block = mine->head[c];
  if (!block) return allocate_outside(bytes);
  mine->head[c] = block->next;
  --mine->count[c];
  return block;
}

void pool_free(void* block, std::size_t bytes) noexcept {
  const std::size_t c = class_of(bytes);
  Cache* mine = cache;
  if (!kPool || c >= kClasses || !mine || !block || mine->count[c] >= kBlocksPerClass) {
    return free_outside(block, bytes);
  }
  mine->head[c] = new (block) FreeBlock{mine->head[c]};
  ++mine->count[c];
}

}  // namespace treadle
