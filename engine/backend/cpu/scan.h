// Scans along one axis: running sums, products, extremes and log-sums, and linear recurrences. To
// add one: a value of Scan and its step in scan.cpp.
#pragma once
#include <cstdint>

#include "engine/backend/kernel.h"

namespace treadle {

// Dense operands seen as [outer][count][inner]; the scan goes along `count`.
struct ScanShape {
  std::int64_t outer, count, inner;
};

// Sums and products are carried in a wider type (float32 in float64, 16-bit floats in float32) and
// wrap for integers; log_sum is log(exp(x0) + exp(x1) + ...), for floating and complex dtypes.
// Throws Error{not_implemented} for bool.
enum class Scan : std::uint8_t { sum, product, log_sum };
void scan(Scan op, DType dtype, const char* in, char* out, const ScanShape& shape);

// Running maximum (or minimum) and its position, the last of equals; a NaN stays.
void scan_extreme(bool maximum, DType dtype, const char* in, char* out, std::int64_t* index,
                  const ScanShape& shape);

// s[k] = b[k] + a[k] * s[k - 1], or with `reverse` b[k] + a[k] * s[k + 1]; 0 beyond the end.
// Floating and complex dtypes.
void scan_linear(DType dtype, const char* a, const char* b, char* out, const ScanShape& shape,
                 bool reverse);

}  // namespace treadle
