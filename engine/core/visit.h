// From a run-time dtype to a C++ type: visit(dtype, "what", [&](auto zero) { using T =
// decltype(zero); }). For host code that isn't hot (item, printing, index lists). Kernels go
// through backend tables. visit() takes the real dtypes (the 16-bit floats convert to and from
// float), visit_any() the complex ones too, visit_stored() what is only stored as well.
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>

#include "engine/core/dtype.h"
#include "engine/core/error.h"
#include "engine/functor/numbers.h"

namespace treadle {

using functor::BFloat16;
using functor::Half;
using ComplexHalf = functor::Complex<Half>;
using Complex64 = functor::Complex<float>;
using Complex128 = functor::Complex<double>;

[[noreturn]] inline void no_implementation(DType dtype, const char* what) {
  fail(ErrorKind::not_implemented, std::string("\"") + what + "\" not implemented for '" +
                                       std::string(info(dtype).scalar) + "'");
}

// A number of one C++ type in another: float to 16 bits rounds, complex to real takes the real
// part.
template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(convert<float>(x));
  } else if constexpr (std::is_same_v<To, ComplexHalf>) {
    return To(convert<Complex64>(x));
  } else if constexpr (functor::is_complex<From> && !functor::is_complex<To>) {
    return convert<To>(x.re);
  } else {
    return static_cast<To>(x);
  }
}

template <class F>
decltype(auto) visit(DType dtype, const char* what, F&& f) {
  switch (dtype) {
    case DType::boolean:
      return f(false);
    case DType::uint8:
      return f(std::uint8_t{});
    case DType::int8:
      return f(std::int8_t{});
    case DType::int16:
      return f(std::int16_t{});
    case DType::int32:
      return f(std::int32_t{});
    case DType::int64:
      return f(std::int64_t{});
    case DType::uint16:
      return f(std::uint16_t{});
    case DType::uint32:
      return f(std::uint32_t{});
    case DType::uint64:
      return f(std::uint64_t{});
    case DType::float16:
      return f(Half{});
    case DType::bfloat16:
      return f(BFloat16{});
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    case DType::complex32:
    case DType::complex64:
    case DType::complex128:
      break;
  }
  no_implementation(dtype, what);
}

template <class F>
decltype(auto) visit_any(DType dtype, const char* what, F&& f) {
  if (dtype == DType::complex64) return f(Complex64{});
  if (dtype == DType::complex128) return f(Complex128{});
  return visit(dtype, what, f);
}

// complex32, too, of which there are elements and no arithmetic: ComplexHalf converts.
template <class F>
decltype(auto) visit_stored(DType dtype, const char* what, F&& f) {
  return dtype == DType::complex32 ? f(ComplexHalf{}) : visit_any(dtype, what, f);
}

}  // namespace treadle
