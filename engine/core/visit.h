// From a run-time dtype to a C++ type: visit(dtype, "what", [&](auto zero) { using T =
// decltype(zero); }). For host code that isn't hot (item, printing, index lists). Kernels go
// through backend tables.
#pragma once
#include <cstdint>
#include <string>

#include "engine/core/dtype.h"
#include "engine/core/error.h"

namespace treadle {

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
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    default:
      break;
  }
  fail(ErrorKind::not_implemented, std::string("\"") + what + "\" not implemented for '" +
                                       std::string(info(dtype).scalar) + "'");
}

}  // namespace treadle
