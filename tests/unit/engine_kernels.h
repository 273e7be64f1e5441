// What the kernel tests share: the tables of every ISA this host can run, and dense or strided
// calls of map kernels.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend/cpu/dispatch.h"
#include "engine/backend/kernel.h"
#include "engine/functor/all.h"

namespace kernels_test {

using treadle::DType;
using treadle::kernel::MapArgs;
using treadle::kernel::MapFn;
using treadle::kernel::Param;
using treadle::kernel::Table;

inline std::vector<std::pair<std::string, const Table*>> tables() {
  std::vector<std::pair<std::string, const Table*>> out;
  for (const treadle::IsaInfo& isa : treadle::compiled_isas()) {
    if (isa.usable) out.emplace_back(isa.name, &treadle::table_of(isa.name));
  }
  return out;
}

template <class V>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<V, float>) return DType::float32;
  if constexpr (std::is_same_v<V, double>) return DType::float64;
  if constexpr (std::is_same_v<V, std::int64_t>) return DType::int64;
  if constexpr (std::is_same_v<V, std::uint8_t>) return DType::uint8;
  return DType::boolean;
}
template <class V>
constexpr int row() {
  return static_cast<int>(dtype_of<V>());
}

// The scalar arguments every op with some gets in tests (softplus: beta, threshold; clamp: min,
// max).
inline constexpr Param kParams[4] = {{1, 1, 0}, {20, 20, 0}, {1, 1, 0}, {1, 1, 0}};

template <class Out, class... In>
std::uint32_t call(MapFn fn, std::int64_t n, Out* out, const In*... in) {
  MapArgs a{};
  a.size[0] = n, a.size[1] = 1;
  a.out = reinterpret_cast<char*>(out), a.out_stride[0] = sizeof(Out);
  int k = 0;
  ((a.in[k] = reinterpret_cast<const char*>(in), a.in_stride[k++][0] = sizeof(In)), ...);
  for (int p = 0; p < 4; ++p) a.param[p] = kParams[p];
  return fn(a);
}

// Calls visit.template operator()<Op>(id) for every op of a list.
template <class Visit, class... Ops>
void for_each_op(treadle::functor::List<Ops...>, Visit&& visit) {
  int id = 0;
  (visit.template operator()<Ops>(id++), ...);
}

// A small generator with the same numbers everywhere.
struct Xorshift {
  std::uint64_t s = 88172645463325252u;
  std::uint64_t next() {
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    return s;
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
};

}  // namespace kernels_test
