// The dtype table and promotion, after torch.promote_types and torch.result_type (the table in
// tests/unit/engine_dtype.cpp was recorded from PyTorch 2.15).
#include "engine/core/dtype.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "engine/core/error.h"
#include "engine/core/tensor.h"

namespace treadle {
namespace {

constexpr std::array<std::pair<std::string_view, DType>, 11> kAliases = {{
    {"float", DType::float32},
    {"double", DType::float64},
    {"half", DType::float16},
    {"short", DType::int16},
    {"int", DType::int32},
    {"long", DType::int64},
    {"chalf", DType::complex32},
    {"cfloat", DType::complex64},
    {"cdouble", DType::complex128},
    {"boolean", DType::boolean},
    {"byte", DType::uint8},
}};

constinit std::atomic<DType> default_dtype_{DType::float32};
constinit std::mutex name_mutex;

std::string& module_name() {
  static std::string name = "treadle";
  return name;
}

// The common dtype of two integers, as the array API standard has it: the smallest that holds both.
// For uint16, uint32 and uint64 PyTorch raises here. None: uint64 with a signed one.
std::optional<DType> promote_integers(DType a, DType b) {
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  const DTypeInfo &ia = info(a), &ib = info(b);
  if (ia.is_signed == ib.is_signed) return ia.size >= ib.size ? a : b;
  const DType with_sign = ia.is_signed ? a : b, without = ia.is_signed ? b : a;
  const std::int64_t size = std::max(item_size(with_sign), 2 * item_size(without));
  for (const DType t : {DType::int16, DType::int32, DType::int64}) {
    if (item_size(t) == size) return t;
  }
  return std::nullopt;
}

// The higher group decides unless the lower one is of a higher category.
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher) return lower;
  if (!lower) return higher;
  if (is_complex(*higher)) return higher;
  if (is_floating(*higher)) return is_complex(*lower) ? to_complex(*higher) : *higher;
  if (is_floating(*lower) || is_complex(*lower)) return lower;
  if (*higher == DType::boolean) return promote_types(*higher, *lower);
  return higher;
}

}  // namespace

std::string repr(DType dtype) {
  const std::lock_guard lock(name_mutex);
  return module_name() + "." + std::string(info(dtype).name);
}

void set_module_name(std::string name) {
  const std::lock_guard lock(name_mutex);
  module_name() = std::move(name);
}

std::optional<DType> parse_dtype(std::string_view name) {
  if (const auto dot = name.rfind('.'); dot != std::string_view::npos) name.remove_prefix(dot + 1);
  for (std::size_t i = 0; i < kDTypeTable.size(); ++i) {
    if (kDTypeTable[i].name == name) return static_cast<DType>(i);
  }
  for (const auto& [alias, dtype] : kAliases) {
    if (alias == name) return dtype;
  }
  return std::nullopt;
}

DType to_complex(DType t) {
  if (is_complex(t)) return t;
  if (t == DType::float16) return DType::complex32;
  return t == DType::float64 ? DType::complex128 : DType::complex64;
}

DType to_real(DType t) {
  if (!is_complex(t)) return t;
  if (t == DType::complex32) return DType::float16;
  return t == DType::complex128 ? DType::float64 : DType::float32;
}

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  const Category ca = info(a).category, cb = info(b).category;
  if (ca == Category::complex || cb == Category::complex) {
    const auto as_complex = [](DType t) {
      return is_integral(t) ? DType::complex32 : to_complex(t);
    };
    return std::max(as_complex(a), as_complex(b));
  }
  if (ca == Category::floating || cb == Category::floating) {
    if (ca != cb) return ca == Category::floating ? a : b;
    if (a == DType::float64 || b == DType::float64) return DType::float64;
    return DType::float32;  // float32 with a half, or float16 with bfloat16
  }
  if (const std::optional<DType> common = promote_integers(a, b)) return *common;
  fail(ErrorKind::runtime,
       "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote " +
           std::string(info(a).scalar) + " and " + std::string(info(b).scalar));
}

bool can_cast(DType from, DType to) {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating(from) && is_integral(to)) return false;
  return to != DType::boolean || from == DType::boolean;
}

DType default_dtype() { return default_dtype_.load(std::memory_order_relaxed); }

void set_default_dtype(DType dtype) {
  if (!is_floating(dtype)) {
    fail(ErrorKind::type,
         "only floating-point types are supported as the default type, not " + repr(dtype));
  }
  default_dtype_.store(dtype, std::memory_order_relaxed);
}

void Promotion::add(const Tensor& t) {
  DType dtype = t.dtype();
  std::optional<DType>* group = &with_dims_;
  if (t.impl()->wrapped_number) {
    group = &number_;
    if (is_complex(dtype)) dtype = to_complex(default_dtype());
    if (is_floating(dtype)) dtype = default_dtype();
    if (dtype == DType::uint64) dtype = DType::int64;  // a large integer is still an integer
  } else if (t.dim() == 0) {
    group = &zero_dim_;
  }
  *group = *group ? promote_types(**group, dtype) : dtype;
}

DType Promotion::result() const {
  return combine(with_dims_, combine(zero_dim_, number_)).value_or(default_dtype());
}

DType result_type(const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype() && a.impl()->wrapped_number == b.impl()->wrapped_number) {
    return a.impl()->wrapped_number && is_floating(a.dtype()) ? default_dtype() : a.dtype();
  }
  Promotion p;
  p.add(a);
  p.add(b);
  return p.result();
}

}  // namespace treadle
