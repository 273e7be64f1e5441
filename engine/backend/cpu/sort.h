// Sorting by keys: every element becomes an unsigned number in the order that sorting wants (NaN
// the largest, -0 equal to 0), so that one stable radix sort serves all real dtypes.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include "engine/backend/kernel.h"
#include "engine/core/visit.h"

namespace treadle {

template <class T>
using KeyType = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

template <class T>
KeyType<T> sort_key(T x) {
  using K = KeyType<T>;
  if constexpr (std::is_same_v<T, bool>) {
    return static_cast<K>(x);
  } else if constexpr (functor::is_integer<T>) {
    constexpr K kSign = std::is_signed_v<T> ? static_cast<K>(K{1} << (sizeof(T) * 8 - 1)) : K{0};
    return static_cast<K>(static_cast<K>(x) ^ kSign);
  } else {
    constexpr K kSign = static_cast<K>(K{1} << (sizeof(T) * 8 - 1));
    if (x != x) return static_cast<K>(~K{0});
    const K bits = std::bit_cast<K>(x);
    if (bits == kSign) return kSign;  // -0 is 0
    return static_cast<K>(bits & kSign ? ~bits : bits | kSign);
  }
}

// Of `lines` dense lines of n elements each the positions in sorted order; equal elements keep
// theirs. The first `top` of each line (n: all of them) go to `order`, top to a line. Real dtypes.
void sort_lines(DType dtype, const char* x, std::int64_t lines, std::int64_t n, bool descending,
                std::int64_t top, std::int64_t* order);

// The position of the element that is at rank(l) in the ascending order of line l.
void select_lines(DType dtype, const char* x, std::int64_t lines, std::int64_t n,
                  const std::int64_t* rank, std::int64_t* position);

// The most frequent element of each line, the smallest of equally frequent ones: the position of
// its last copy.
void mode_lines(DType dtype, const char* x, std::int64_t lines, std::int64_t n,
                std::int64_t* position);

}  // namespace treadle
