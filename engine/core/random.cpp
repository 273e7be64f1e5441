// The default generator, made at its first use.
#include "engine/core/random.h"

#include <random>

namespace treadle {

Generator::Generator() { state_.reseed(kDefaultSeed); }

void Generator::manual_seed(std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  state_.reseed(seed);
}

std::uint64_t Generator::initial_seed() const {
  const std::lock_guard lock(mutex_);
  return state_.seed;
}

RandomState Generator::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Generator::set_state(const RandomState& state) {
  const std::lock_guard lock(mutex_);
  state_ = state;
}

std::uint64_t Generator::seed() {
  std::random_device entropy;
  const std::uint64_t value =
      (std::uint64_t{entropy()} << 32 | entropy()) & ((std::uint64_t{1} << 53) - 1);
  manual_seed(value);
  return value;
}

Generator& default_generator() {
  static Generator generator;
  return generator;
}

}  // namespace treadle
