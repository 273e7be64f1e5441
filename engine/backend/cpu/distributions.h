// Random numbers of more distributions, with PyTorch's CPU streams (see random.h). All draw in
// float64 and round to the dtype of the result.
#pragma once
#include "engine/backend/cpu/random.h"

namespace treadle {

enum class Distribution : std::uint8_t { exponential, geometric, log_normal, cauchy };

// exponential_(rate a), cauchy_(median a, sigma b), log_normal_(mean a, deviation b): floating
// dtypes; geometric_(p = a): bool apart.
void fill_distribution(RandomState& state, Distribution which, DType dtype, char* data,
                       std::int64_t n, double a, double b);

// One rate for each element; floating dtypes. Returns the first negative or NaN rate, before
// anything is drawn, or -1.
std::int64_t fill_poisson(RandomState& state, DType dtype, const char* rate, char* data,
                          std::int64_t n);
// A number of trials and a probability for each element.
void fill_binomial(RandomState& state, DType dtype, const char* count, const char* probability,
                   char* data, std::int64_t n);

// Rows of `classes` weights, none negative or infinite and not all zero: `samples` draws with
// replacement from each.
void fill_multinomial(RandomState& state, DType dtype, const char* weights, std::int64_t rows,
                      std::int64_t classes, std::int64_t samples, std::int64_t* out);

}  // namespace treadle
