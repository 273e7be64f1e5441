// What the kernel files of one ISA share. They see only functor/ and backend/kernel.h, and all they
// define lives in treadle::<isa>::kernels (the fence: tests/fence).
// To add a kernel family: a .cpp with a `void fill_<family>(kernel::Table&)`, declared here, called
// in table.cpp and named in engine/CMakeLists.txt.
#pragma once
#include "engine/backend/kernel.h"
#include "engine/functor/numbers.h"
#include "engine/functor/op.h"

namespace treadle {
inline namespace TREADLE_ISA {

void fill(kernel::Table& table);  // table.cpp

namespace kernels {

using functor::Params;

// How a value of dtype V lies in memory (type) and what it is computed in (value).
template <class V>
struct Stored {
  using type = V;
  using value = V;
  static TREADLE_HD V load(V x) { return x; }
  static TREADLE_HD V store(V x) { return x; }
};
template <>
struct Stored<bool> {
  using type = uint8_t;
  using value = bool;
  static TREADLE_HD bool load(uint8_t x) { return x != 0; }
  static TREADLE_HD uint8_t store(bool x) { return static_cast<uint8_t>(x); }
};
template <class V>
struct StoredShort {
  using type = V;
  using value = float;
  static TREADLE_HD float load(V x) { return x; }
  static TREADLE_HD V store(float x) { return V(x); }
};
template <>
struct Stored<functor::Half> : StoredShort<functor::Half> {};
template <>
struct Stored<functor::BFloat16> : StoredShort<functor::BFloat16> {};
template <>
struct Stored<functor::Complex<functor::Half>> {
  using type = functor::Complex<functor::Half>;
  using value = functor::Complex<float>;
  static TREADLE_HD value load(type x) { return value(x); }
  static TREADLE_HD type store(value x) { return type(x); }
};

template <class V>
TREADLE_HD typename Stored<V>::value load(const char* p) {
  return Stored<V>::load(*reinterpret_cast<const typename Stored<V>::type*>(p));
}
template <class V>
TREADLE_HD void store(char* p, typename Stored<V>::value x) {
  *reinterpret_cast<typename Stored<V>::type*>(p) = Stored<V>::store(x);
}

template <DType D, int Kind>
struct DTypeIs {
  static constexpr int value = static_cast<int>(D), kind = Kind;
};
template <class V>
struct DTypeOf;
// clang-format off
template <> struct DTypeOf<bool> : DTypeIs<DType::boolean, functor::kBool> {};
template <> struct DTypeOf<uint8_t> : DTypeIs<DType::uint8, functor::kInt> {};
template <> struct DTypeOf<int8_t> : DTypeIs<DType::int8, functor::kInt> {};
template <> struct DTypeOf<int16_t> : DTypeIs<DType::int16, functor::kInt> {};
template <> struct DTypeOf<int32_t> : DTypeIs<DType::int32, functor::kInt> {};
template <> struct DTypeOf<int64_t> : DTypeIs<DType::int64, functor::kInt> {};
template <> struct DTypeOf<uint16_t> : DTypeIs<DType::uint16, functor::kInt> {};
template <> struct DTypeOf<uint32_t> : DTypeIs<DType::uint32, functor::kInt> {};
template <> struct DTypeOf<uint64_t> : DTypeIs<DType::uint64, functor::kInt> {};
template <> struct DTypeOf<functor::Half> : DTypeIs<DType::float16, functor::kFloat> {};
template <> struct DTypeOf<functor::BFloat16> : DTypeIs<DType::bfloat16, functor::kFloat> {};
template <> struct DTypeOf<float> : DTypeIs<DType::float32, functor::kFloat> {};
template <> struct DTypeOf<double> : DTypeIs<DType::float64, functor::kFloat> {};
template <> struct DTypeOf<functor::Complex<functor::Half>> : DTypeIs<DType::complex32, functor::kComplex> {};
template <> struct DTypeOf<functor::Complex<float>> : DTypeIs<DType::complex64, functor::kComplex> {};
template <> struct DTypeOf<functor::Complex<double>> : DTypeIs<DType::complex128, functor::kComplex> {};
// clang-format on

template <class... V>
struct Types {};
using AllTypes =
    Types<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t,
          functor::Half, functor::BFloat16, float, double, functor::Complex<functor::Half>,
          functor::Complex<float>, functor::Complex<double>>;
using FloatTypes =
    Types<functor::Half, functor::BFloat16, float, double, functor::Complex<functor::Half>,
          functor::Complex<float>, functor::Complex<double>>;

// The dtypes that elementwise loops are made for. The others go through one of these, a piece at a
// time, which costs no code: small integers are computed in int64 (whose low bits are their
// results), floats of 16 bits in float.
template <class V>
struct Loops {
  using type = V;
};
// clang-format off
template <> struct Loops<int8_t> { using type = int64_t; };
template <> struct Loops<int16_t> { using type = int64_t; };
template <> struct Loops<uint16_t> { using type = int64_t; };
template <> struct Loops<uint32_t> { using type = int64_t; };
template <> struct Loops<functor::Half> { using type = float; };
template <> struct Loops<functor::BFloat16> { using type = float; };
template <> struct Loops<functor::Complex<functor::Half>> { using type = functor::Complex<float>; };
// clang-format on
template <class V>
using LoopType = typename Loops<V>::type;

// From dense elements of a dtype to dense elements of its LoopType, and back.
struct Codec {
  uint8_t stored, wide;  // bytes of an element
  void (*widen)(char* to, const char* from, int64_t n);
  void (*narrow)(char* to, const char* from, int64_t n);
};
// Null for the dtypes that have loops of their own.
const Codec* codec(int dtype);  // drive.cpp
template <class V>
const Codec* codec_of() {
  if constexpr (__is_same(V, LoopType<V>)) {
    return nullptr;
  } else {
    return codec(DTypeOf<V>::value);
  }
}

// Ops over sin, cos and tan (functor/math.h, kPeriodicLimit).
template <class Op>
constexpr bool is_periodic = requires {
  requires Op::periodic;
};

template <class Op, class V>
constexpr bool has_kernel = (Op::info.kinds & DTypeOf<V>::kind) != 0;

// The gradient through a derivative that is linear in its argument. For complex numbers that is
// g * conj(f'(x)), PyTorch's convention; derivatives are written without the conj. A derivative
// that isn't inlined can't be vectorised: callers say always_inline.
template <class V, class F>
TREADLE_HD V gradient(V g, const F& derivative) {
  return functor::conj(derivative(functor::conj(g)));
}

// An op's loop over n dense elements: each operand's elements follow each other. Returns Status
// bits.
using Loop = uint32_t (*)(char* out, const char* const* in, int64_t n, const Params& params);

// Runs a loop over the rectangle of MapArgs. Rows that aren't dense go through small buffers, so
// that every op has one loop, and the same bits whatever the strides. Sizes are those that the loop
// sees; in_size[k] 0: operand k isn't read.
struct Shape {
  uint8_t out_size;
  uint8_t in_size[kernel::kMaxInputs];
  // Of the inputs, and of the output, whose size is `wide`; operands of another size (a condition,
  // a bool result) lie in memory as the loop sees them.
  const Codec* in_codec = nullptr;
  const Codec* out_codec = nullptr;
};
uint32_t drive(const kernel::MapArgs& args, Loop loop, const Shape& shape);  // drive.cpp

// Copies n elements of `size` bytes (1, 2, 4, 8 or 16) between strided rows.
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
