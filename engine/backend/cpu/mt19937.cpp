#include "engine/backend/cpu/mt19937.h"

namespace treadle {

void Mt19937::reseed(std::uint64_t seed) {
  state_[0] = static_cast<std::uint32_t>(seed);
  for (std::uint32_t i = 1; i < kWords; ++i) {
    state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  }
  next_ = kWords;
}

void Mt19937::refill() {
  constexpr std::size_t n = kWords, m = 397;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t y = (state_[i] & 0x80000000u) | (state_[(i + 1) % n] & 0x7fffffffu);
    state_[i] = state_[(i + m) % n] ^ (y >> 1) ^ ((y & 1) != 0 ? 0x9908b0dfu : 0);
  }
  next_ = 0;
}

}  // namespace treadle
