// DTypes: names, sizes and PyTorch's promotion rules. To add a dtype: backend/kernel.h, then the
// table here.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "engine/backend/kernel.h"

#pragma GCC visibility push(default)
namespace treadle {

class Tensor;

enum class Category : std::uint8_t { boolean, integer, floating, complex };

struct DTypeInfo {
  std::string_view name;    // "float32"
  std::string_view scalar;  // "Float", as in PyTorch's messages
  std::string_view cpp;     // "float", "long int": as in others, which name C++ types as gcc does
  std::int64_t size;        // bytes of one element
  Category category;
  bool is_signed;
};
inline constexpr std::array<DTypeInfo, kernel::kDTypes> kDTypeTable = {{
    {"bool", "Bool", "bool", 1, Category::boolean, false},
    {"uint8", "Byte", "unsigned char", 1, Category::integer, false},
    {"int8", "Char", "signed char", 1, Category::integer, true},
    {"int16", "Short", "short int", 2, Category::integer, true},
    {"int32", "Int", "int", 4, Category::integer, true},
    {"int64", "Long", "long int", 8, Category::integer, true},
    {"uint16", "UInt16", "short unsigned int", 2, Category::integer, false},
    {"uint32", "UInt32", "unsigned int", 4, Category::integer, false},
    {"uint64", "UInt64", "long unsigned int", 8, Category::integer, false},
    {"float16", "Half", "c10::Half", 2, Category::floating, true},
    {"bfloat16", "BFloat16", "c10::BFloat16", 2, Category::floating, true},
    {"float32", "Float", "float", 4, Category::floating, true},
    {"float64", "Double", "double", 8, Category::floating, true},
    {"complex32", "ComplexHalf", "c10::complex<c10::Half>", 4, Category::complex, true},
    {"complex64", "ComplexFloat", "c10::complex<float>", 8, Category::complex, true},
    {"complex128", "ComplexDouble", "c10::complex<double>", 16, Category::complex, true},
}};
inline const DTypeInfo& info(DType dtype) { return kDTypeTable[static_cast<std::size_t>(dtype)]; }

inline std::string cpp_name(DType dtype) { return std::string(info(dtype).cpp); }

// The sizes of the table close together: they are read several times in every op.
inline constexpr auto kItemSizes = [] {
  std::array<std::uint8_t, kernel::kDTypes> sizes{};
  for (std::size_t i = 0; i < sizes.size(); ++i)
    sizes[i] = static_cast<std::uint8_t>(kDTypeTable[i].size);
  return sizes;
}();
inline std::int64_t item_size(DType dtype) { return kItemSizes[static_cast<std::size_t>(dtype)]; }
inline bool is_floating(DType dtype) { return info(dtype).category == Category::floating; }
inline bool is_complex(DType dtype) { return info(dtype).category == Category::complex; }
// Bool counts as integral here, as in torch's isIntegralType(t, includeBool=true).
inline bool is_integral(DType dtype) { return info(dtype).category <= Category::integer; }
inline bool is_short_float(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16;
}
// The dtype that 16-bit floats are computed in.
inline DType compute_dtype(DType dtype) { return is_short_float(dtype) ? DType::float32 : dtype; }
// The complex dtype of a floating one, and of a complex one itself: that with such parts; complex64
// of bfloat16.
DType to_complex(DType dtype);
// The dtype of the parts of a complex dtype; of others itself.
DType to_real(DType dtype);
// Towards 0; the most negative number for what doesn't fit.
inline std::int64_t truncated(double value) {
  const bool fits = value >= -9223372036854775808.0 && value < 9223372036854775808.0;
  return fits ? static_cast<std::int64_t>(value) : INT64_MIN;
}
// Only these can require grad.
inline bool is_differentiable(DType dtype) { return info(dtype).category >= Category::floating; }

// "treadle.float32"; the first part is what the Python module calls itself.
std::string repr(DType dtype);
void set_module_name(std::string name);
std::optional<DType> parse_dtype(std::string_view name);  // "float32", "double", "torch.int64", ...

// torch.promote_types; for uint16, uint32 and uint64 with other integers, which PyTorch refuses,
// the array API standard's. Throws Error{runtime} where that has none either (uint64 with a signed
// integer).
DType promote_types(DType a, DType b);
// torch.can_cast
bool can_cast(DType from, DType to);

// torch.get_default_dtype; process-wide, float32 at start. Setting a dtype that isn't floating
// throws Error{type}.
DType default_dtype();
void set_default_dtype(DType dtype);

// torch.result_type over any number of operands: tensors with dimensions decide before 0-d tensors,
// these before Python numbers (wrapped_number), within the same category.
class Promotion {
 public:
  void add(const Tensor& t);
  DType result() const;

 private:
  std::optional<DType> with_dims_, zero_dim_, number_;
};
DType result_type(const Tensor& a, const Tensor& b);

}  // namespace treadle
#pragma GCC visibility pop
