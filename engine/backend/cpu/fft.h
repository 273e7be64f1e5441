// Discrete Fourier transforms of many rows at once. The rows are shared out to threads; the bits of
// a result depend on its row alone.
//
// Mixed radix (Stockham's self-sorting form, passes of 4, 2, 3, 5 and, for other small primes, any
// p); lengths with a prime above 64 by Bluestein's chirp, which turns them into a convolution of a
// length that has none. Twiddles are computed in double. Rows are transformed several at a time,
// element by element beside each other, so that every pass is a loop over dense memory.
#pragma once
#include <complex>
#include <cstdint>

#include "engine/core/export.h"

namespace treadle::fourier {

// All rows are dense and follow each other. `backward`: e^(+2 pi i j k / n). Results are multiplied
// by `scale`. T: float or double. n >= 1; input and output must not overlap.
template <class T>
void complex_rows(std::int64_t rows, std::int64_t n, bool backward, double scale,
                  const std::complex<T>* in, std::complex<T>* out);

// Of n real numbers the first n / 2 + 1 of the transform, which determine the rest.
template <class T>
void real_rows(std::int64_t rows, std::int64_t n, double scale, const T* in, std::complex<T>* out);

// The backward transform of n numbers of which the first n / 2 + 1 are given and the others are
// their conjugates: n real numbers. The imaginary parts of number 0 and, for even n, n / 2 are not
// read.
template <class T>
void half_rows(std::int64_t rows, std::int64_t n, double scale, const std::complex<T>* in, T* out);

}  // namespace treadle::fourier
