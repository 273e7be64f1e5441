// Visits for code that only makes sense for numbers with fractions.
#pragma once
#include "engine/core/visit.h"

namespace treadle {

// Floating or complex.
template <class T>
inline constexpr bool has_fractions = !functor::is_integer<T> && !std::is_same_v<T, bool>;

// visit() for the floating dtypes; the others have no implementation of `what`.
template <class F>
void visit_floating(DType dtype, const char* what, F&& f) {
  visit(dtype, what, [&]<class T>(T zero) {
    if constexpr (has_fractions<T>) {
      f(zero);
    } else {
      no_implementation(dtype, what);
    }
  });
}

}  // namespace treadle
