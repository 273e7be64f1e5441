// What host code and kernels say to each other: plain data and function pointers, nothing inline.
// This is the only header besides functor/ that a per-ISA kernel file may include (the ISA fence:
// an inline function here would be compiled with AVX flags in one object and picked by the linker
// for all). All strides are in bytes.
#pragma once
#include <stdint.h>

namespace treadle {

// The dtypes of PyTorch's lattice, in the order of promotion inside each kind. A null table entry
// means: no kernel for this dtype, which the caller turns into a clear error.
enum class DType : uint8_t {
  boolean, uint8, int8, int16, int32, int64, uint16, uint32, uint64,
  float16, bfloat16, float32, float64, complex64, complex128,
};

namespace kernel {

inline constexpr int kDTypes = 15;
inline constexpr int kMaxInputs = 4;   // g, a, b, y of a binary gradient
inline constexpr int kMaxParams = 4;   // scalar arguments of an op (alpha, min, max, ...)

// A scalar argument in both readings; the kernel takes the one of its compute type.
struct Param {
  double f;
  int64_t i;
};

// A rectangle of elements: size[0] is the inner loop. Element (i, j) of operand k is at
// in[k] + i * in_stride[k][0] + j * in_stride[k][1].
struct MapArgs {
  int64_t size[2];
  char* out;
  int64_t out_stride[2];
  const char* in[kMaxInputs];
  int64_t in_stride[kMaxInputs][2];
  Param param[kMaxParams];
};
using MapFn = void (*)(const MapArgs&);

// Reduction of a strided block: for each of `outer` outputs, `count` elements along one strided axis.
// out[o] at out + o * out_stride; element (o, r) at in + o * in_outer + r * in_reduce. `index` is the
// arg-variant's int64 output (argmax, max with dim), else null. The order of summation is a fixed
// tree over r that depends on `count` alone: not on strides, threads or ISA width.
struct ReduceArgs {
  int64_t outer, count;
  char* out;
  int64_t out_stride;
  char* index;
  int64_t index_stride;
  const char* in;
  int64_t in_outer, in_reduce;
  Param param[kMaxParams];
};
using ReduceFn = void (*)(const ReduceArgs&);

}  // namespace kernel
}  // namespace treadle
