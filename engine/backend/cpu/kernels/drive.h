// What the kernel files of one ISA share. They see only functor/ and backend/kernel.h, and all they
// define lives in treadle::<isa>::kernels (the fence: tests/fence).
// To add a kernel family: a .cpp with a `void fill_<family>(kernel::Table&)`, declared here, called
// in table.cpp and named in engine/CMakeLists.txt.
#pragma once
#include "engine/backend/kernel.h"
#include "engine/functor/op.h"

namespace treadle {
inline namespace TREADLE_ISA {

void fill(kernel::Table& table);  // table.cpp

namespace kernels {

using functor::Params;

// How a value of compute type V lies in memory.
template <class V>
struct Stored {
  using type = V;
  static TREADLE_HD V load(V x) { return x; }
  static TREADLE_HD V store(V x) { return x; }
};
template <>
struct Stored<bool> {
  using type = uint8_t;
  static TREADLE_HD bool load(uint8_t x) { return x != 0; }
  static TREADLE_HD uint8_t store(bool x) { return static_cast<uint8_t>(x); }
};
template <class V>
TREADLE_HD V load(const char* p) {
  return Stored<V>::load(*reinterpret_cast<const typename Stored<V>::type*>(p));
}
template <class V>
TREADLE_HD void store(char* p, V x) {
  *reinterpret_cast<typename Stored<V>::type*>(p) = Stored<V>::store(x);
}

template <class V>
struct DTypeOf;
template <>
struct DTypeOf<bool> {
  static constexpr int value = static_cast<int>(DType::boolean), kind = functor::kBool;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr int value = static_cast<int>(DType::uint8), kind = functor::kInt;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr int value = static_cast<int>(DType::int64), kind = functor::kInt;
};
template <>
struct DTypeOf<float> {
  static constexpr int value = static_cast<int>(DType::float32), kind = functor::kFloat;
};
template <>
struct DTypeOf<double> {
  static constexpr int value = static_cast<int>(DType::float64), kind = functor::kFloat;
};

// The dtypes that have kernels.
template <class... V>
struct Types {};
using AllTypes = Types<bool, uint8_t, int64_t, float, double>;
using FloatTypes = Types<float, double>;

// Ops over sin, cos and tan (functor/math.h, kPeriodicLimit).
template <class Op>
constexpr bool is_periodic = requires {
  requires Op::periodic;
};

// An op's loop over n dense elements: each operand's elements follow each other. Returns Status
// bits.
using Loop = uint32_t (*)(char* out, const char* const* in, int64_t n, const Params& params);

// Runs a loop over the rectangle of MapArgs. Rows that aren't dense go through small buffers, so
// that every op has one loop, and the same bits whatever the strides. in_size[k] 0: operand k isn't
// read.
struct Shape {
  uint8_t out_size;
  uint8_t in_size[kernel::kMaxInputs];
};
uint32_t drive(const kernel::MapArgs& args, Loop loop, Shape shape);  // drive.cpp

// Copies n elements of `size` bytes (1, 4 or 8) between strided rows.
void copy_row(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n,
              int size);  // drive.cpp

void fill_unary(kernel::Table& table);       // unary.cpp
void fill_unary_grad(kernel::Table& table);  // unary_grad.cpp
void fill_binary(kernel::Table& table);      // binary.cpp
void fill_ternary(kernel::Table& table);     // ternary.cpp
void fill_reduce(kernel::Table& table);      // reduce.cpp
void fill_rows(kernel::Table& table);        // rows.cpp
void fill_move(kernel::Table& table);        // move.cpp
void fill_index(kernel::Table& table);       // index.cpp
void fill_gemm(kernel::Table& table);        // gemm.cpp

}  // namespace kernels
}  // namespace TREADLE_ISA
}  // namespace treadle

#define TREADLE_KERNELS_BEGIN    \
  namespace treadle {            \
  inline namespace TREADLE_ISA { \
  namespace kernels {
#define TREADLE_KERNELS_END \
  }                         \
  }                         \
  }
