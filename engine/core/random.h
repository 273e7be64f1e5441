// Generator: a seeded stream of random numbers, PyTorch's for the same seed. One default generator
// for the process.
#pragma once
#include <cstdint>
#include <mutex>

#include "engine/backend/cpu/random.h"

#pragma GCC visibility push(default)
namespace treadle {

class Generator {
 public:
  Generator();
  void manual_seed(std::uint64_t seed);
  // A seed from the system's entropy; returns it.
  std::uint64_t seed();
  std::uint64_t initial_seed() const;
  // The whole stream's position, to be put back later.
  RandomState state() const;
  void set_state(const RandomState& state);
  // Draws with the generator locked: numbers of concurrent ops don't interleave.
  template <class F>
  auto draw(F&& f) {
    const std::lock_guard lock(mutex_);
    return f(state_);
  }

  static constexpr std::uint64_t kDefaultSeed = 67280421310721;  // torch.default_generator's

 private:
  mutable std::mutex mutex_;
  RandomState state_;
};

Generator& default_generator();

}  // namespace treadle
#pragma GCC visibility pop
