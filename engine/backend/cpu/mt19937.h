// The Mersenne Twister MT19937 (Matsumoto and Nishimura, ACM TOMACS 8, 1998) seeded and read as
// PyTorch's CPU generator does, so that a seed gives the same stream.
#pragma once
#include <array>
#include <cstdint>

#include "engine/core/export.h"

namespace treadle {

class TREADLE_API Mt19937 {
 public:
  static constexpr int kWords = 624;
  explicit Mt19937(std::uint64_t seed = 5489) { reseed(seed); }

  // Only the low 32 bits count, as in PyTorch.
  void reseed(std::uint64_t seed);

  std::uint32_t random() {
    if (next_ == kWords) refill();
    std::uint32_t y = state_[static_cast<std::size_t>(next_++)];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }
  std::uint64_t random64() {
    const std::uint64_t high = random();
    return high << 32 | random();
  }

  // To save and restore a stream. `next` is the position in `words`, 0 to 624.
  const std::array<std::uint32_t, kWords>& words() const { return state_; }
  int next() const { return next_; }
  void restore(const std::array<std::uint32_t, kWords>& words, int next) {
    state_ = words;
    next_ = next;
  }

 private:
  void refill();
  std::array<std::uint32_t, kWords> state_;
  int next_ = kWords;
};

}  // namespace treadle
