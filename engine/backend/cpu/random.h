// Random numbers with PyTorch's CPU streams: the same seed, sizes and dtypes give the same numbers.
// All fill `n` dense elements. PyTorch fills a dense tensor in the order of memory, whatever its
// strides, and others (views with gaps) in the order of indices through the scalar paths: callers
// with such a tensor fill a dense one and copy. Dtypes: bool, uint8, int64, float32, float64 unless
// said otherwise; others throw Error{not_implemented}.
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

// rand, uniform_: [from, to). float32 from 24 bits of one word, float64 from 53 bits of two.
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

// randint, random_(from, to): integers in [low, high). Throws Error{value} if low >= high.
void fill_randint(RandomState& state, DType dtype, char* data, std::int64_t n, std::int64_t low,
                  std::int64_t high);

// random_(): all of a dtype's nonnegative integers; for floats 0 to 2^24 or 2^53, both included.
void fill_random(RandomState& state, DType dtype, char* data, std::int64_t n);

// randperm: a permutation of 0..n-1.
void fill_randperm(RandomState& state, std::int64_t* out, std::int64_t n);

// bernoulli_(p): 1 with probability p.
void fill_bernoulli(RandomState& state, DType dtype, char* data, std::int64_t n, double p);

// bernoulli(p): one probability for each element, float32 or float64; the result has dtype `dtype`.
// The first probability outside of [0, 1], or -1 if there is none, before anything is drawn.
std::int64_t fill_bernoulli_each(RandomState& state, DType p_dtype, const char* p, DType dtype,
                                 char* data, std::int64_t n);

}  // namespace treadle
