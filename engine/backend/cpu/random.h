// Random numbers with PyTorch's CPU streams: the same seed, sizes and dtypes give the same numbers.
// All fill `n` dense elements. PyTorch fills a dense tensor in the order of memory, whatever its
// strides, and others (views with gaps) in the order of indices through the scalar paths: callers
// with such a tensor fill a dense one and copy. All real dtypes unless said otherwise; others throw
// Error{not_implemented}. The other distributions are in distributions.h.
#pragma once
#include <cstdint>

#include "engine/backend/cpu/mt19937.h"
#include "engine/backend/kernel.h"

namespace treadle {

// What a generator remembers. Not synchronised: callers hold the generator's lock.
struct RandomState {
  std::uint64_t seed = 5489;
  Mt19937 engine;
  bool has_normal = false;  // the second number of the last pair of fill_normal's scalar path
  double normal = 0;

  void reseed(std::uint64_t value) { *this = RandomState{value, Mt19937(value), false, 0}; }
};

// In [0, 1): float from 24 bits of one word, double from 53 bits of two.
template <class T>
T uniform01(Mt19937& engine) {
  if constexpr (sizeof(T) == 4) {
    return static_cast<T>(engine.random() & 0xffffffu) * 0x1p-24f;
  } else {
    return static_cast<T>(engine.random64() & ((std::uint64_t{1} << 53) - 1)) * 0x1p-53;
  }
}

// rand, uniform_: [from, to). The 16-bit floats are those of float32, rounded.
// Floating dtypes only.
void fill_uniform(RandomState& state, DType dtype, char* data, std::int64_t n, double from,
                  double to);

// Whether fill_normal may use its blocks for 16 elements and more.
enum class NormalStream : std::uint8_t { by_length, one_by_one };

// randn, normal_. Floating dtypes only. Box-Muller; from 16 elements on in blocks of 16 (8 pairs),
// the last block drawn anew when n isn't a multiple; below that pair by pair in double. float64
// agrees with PyTorch bit for bit where libm does; float32 blocks to 1e-6 (PyTorch's differ between
// CPUs).
void fill_normal(RandomState& state, DType dtype, char* data, std::int64_t n, double mean,
                 double standard_deviation, NormalStream stream = NormalStream::by_length);

// randint, random_(from, to): integers in [low, low + range); a range of 0 stands for 2^64.
void fill_randint(RandomState& state, DType dtype, char* data, std::int64_t n, std::int64_t low,
                  std::uint64_t range);

// random_(): all of a dtype's nonnegative integers; for floats 0 to 2^24 (float16
// 2^11, bfloat16 2^8, float64 2^53), both included.
void fill_random(RandomState& state, DType dtype, char* data, std::int64_t n);

// randperm: a permutation of 0..n-1.
void fill_randperm(RandomState& state, std::int64_t* out, std::int64_t n);

// bernoulli_(p): 1 with probability p.
void fill_bernoulli(RandomState& state, DType dtype, char* data, std::int64_t n, double p);

// bernoulli(p): one probability for each element, of a floating dtype; the result has dtype
// `dtype`. The first probability outside of [0, 1], or -1 if there is none, before anything is
// drawn.
std::int64_t fill_bernoulli_each(RandomState& state, DType p_dtype, const char* p, DType dtype,
                                 char* data, std::int64_t n);

}  // namespace treadle
