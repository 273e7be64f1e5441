// What host code and kernels say to each other: plain data and function pointers, nothing inline.
// This is the only header besides functor/ that a per-ISA kernel file may include (the ISA fence:
// an inline function here would be compiled with AVX flags in one object and picked by the linker
// for all). All strides are in bytes. Bool is one byte; any nonzero byte is true, results are 0
// or 1.
#pragma once
#include <stdint.h>

namespace treadle {

// The dtypes of PyTorch's lattice, in the order of promotion inside each kind. A null table entry
// means: no kernel for this dtype, which the caller turns into a clear error.
enum class DType : uint8_t {
  boolean,
  uint8,
  int8,
  int16,
  int32,
  int64,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  complex32,  // two float16; computed as complex64
  complex64,
  complex128,
};

namespace kernel {

inline constexpr int kDTypes = 16;
inline constexpr int kMaxInputs = 4;   // g, a, b, y of a binary gradient
inline constexpr int kMaxParams = 4;   // scalar arguments of an op (alpha, min, max, ...)
inline constexpr int kMaxIndices = 8;  // index tensors of one advanced-indexing expression

// Rows of the table. Larger than the lists in functor/ (checked where the table is filled).
inline constexpr int kMaxUnary = 128;
inline constexpr int kMaxBinary = 64;
inline constexpr int kMaxCompare = 16;
inline constexpr int kMaxTernary = 16;
inline constexpr int kMaxReduce = 16;

// A scalar argument in all readings; the kernel takes the one of its compute type.
struct Param {
  double f;
  int64_t i;  // of uint64: its bits
  double im;  // beside f, the real part
};

// What a kernel can refuse while it runs. Several bits may be set; the result is then unspecified.
enum Status : uint32_t {
  kOk = 0,
  kDivisionByZero = 1,  // PyTorch: RuntimeError "ZeroDivisionError"
};

// A rectangle of elements: size[0] is the inner loop. Element (i, j) of operand k is at
// in[k] + i * in_stride[k][0] + j * in_stride[k][1]. `out` may be one of the inputs (same strides);
// any other overlap is the caller's to avoid. Inputs a kernel doesn't read may be null.
struct MapArgs {
  int64_t size[2];
  char* out;
  int64_t out_stride[2];
  const char* in[kMaxInputs];
  int64_t in_stride[kMaxInputs][2];
  Param param[kMaxParams];
};
using MapFn = uint32_t (*)(const MapArgs&);  // returns Status bits

// Reduction of a strided block: for each of `outer` outputs, `count` elements along one strided
// axis. out[o] at out + o * out_stride; element (o, r) at in + o * in_outer + r * in_reduce.
// `index` is the int64 output of arg-variants, else null. The order of summation is a fixed tree
// over r that depends on `count` alone: not on strides, threads or ISA width.
struct ReduceArgs {
  int64_t outer, count;
  char* out;
  int64_t out_stride;
  char* index;
  int64_t index_stride;
  const char* in;
  int64_t in_outer, in_reduce;
  int64_t index_base;  // added to every index written: where this block starts in the whole axis
};
using ReduceFn = void (*)(const ReduceArgs&);

// Softmax and its kin over rows of `count` dense elements; row i of each operand starts at
// base + i * stride. Forward: in[0] = x. Backward: in[0] = g, in[1] = y (the forward result).
struct RowArgs {
  int64_t rows, count;
  char* out;
  int64_t out_stride;
  const char* in[2];
  int64_t in_stride[2];
};
using RowFn = void (*)(const RowArgs&);

// Indexing by `indices` int64 arrays at once. Position p in [0, count) names the element
//   data + p * data_stride + sum_k wrap(index_k[p]) * step[k],     wrap: -size..-1 counts from the
//   end
// and from there `inner` elements, data_inner apart. `values` is the other side. With data_stride 0
// this is x[i, j, ...]; with data_stride = row bytes and one index it is gather/scatter along a
// row.
struct IndexArgs {
  int64_t count;
  int64_t indices;
  const char* index[kMaxIndices];
  int64_t index_stride[kMaxIndices];
  int64_t size[kMaxIndices];
  int64_t step[kMaxIndices];
  char* data;
  int64_t data_stride;
  char* values;
  int64_t values_stride;
  int64_t inner, data_inner, values_inner;
};
// Returns -1, or p * kMaxIndices + k of the first index out of range (nothing at or after p is
// touched).
using IndexFn = int64_t (*)(const IndexArgs&);

// C (m x n) = alpha * A (m x k) * B (k x n) + beta * C; beta == 0 doesn't read C. Strides in bytes.
struct GemmArgs {
  int64_t m, n, k;
  const char* a;
  int64_t a_row, a_col;
  const char* b;
  int64_t b_row, b_col;
  char* c;
  int64_t c_row, c_col;
  Param alpha, beta;
};
using GemmFn = void (*)(const GemmArgs&);

// Everything one ISA offers. `fill` sets every member; null = no kernel for that dtype.
// Order of the inputs in MapArgs (a slot that Info::saves leaves out isn't read):
//   unary       x                  unary_grad      g, x, y
//   binary      a, b               binary_grad     g, a, b, y     [0]: d/da, [1]: d/db
//   compare     a, b -> bool
//   ternary     a, b, c            ternary_grad    g, a, b, c     [0]: d/da, [1]: d/db, [2]: d/dc
// The dtype index is that of the computation (for Where: of the two values; a is bool). The result
// has the same dtype, or bool for Result::boolean.
struct Table {
  MapFn unary[kMaxUnary][kDTypes];
  MapFn unary_grad[kMaxUnary][kDTypes];
  MapFn binary[kMaxBinary][kDTypes];
  MapFn binary_grad[2][kMaxBinary][kDTypes];
  MapFn compare[kMaxCompare][kDTypes];
  MapFn ternary[kMaxTernary][kDTypes];
  MapFn ternary_grad[3][kMaxTernary][kDTypes];

  // [op][dtype of the input]. Result: sum and prod of bool and integers are int64, of the 16-bit
  // floats float32; any and all are bool; argmax and argmin write int64 to `out` and don't use
  // `index`; max and min write the value to `out` and, if `index` isn't null, its position. count
  // == 0 gives the identity (0, 1, false, true); max, min and the arg-variants need count > 0.
  ReduceFn reduce[kMaxReduce][kDTypes];

  MapFn cast[kDTypes][kDTypes];  // [from][to]; [t][t] copies. Float to integer: truncates to int64
                                 // (out of range and NaN: INT64_MIN), then keeps the low bits
  MapFn fill[kDTypes];           // out = param[0]
  // out(i) = param[0] + (param[2].i + i) * param[1] over size[0] (start, step, index of element 0).
  MapFn arange[kDTypes];

  RowFn softmax[kDTypes], softmax_grad[kDTypes];
  RowFn log_softmax[kDTypes], log_softmax_grad[kDTypes];

  IndexFn index_get[kDTypes];  // values = data[index]
  IndexFn index_put[kDTypes];  // data[index] = values, in order of p: the last of equals wins
  IndexFn index_add[kDTypes];  // data[index] += values, in order of p
  // Number of true bytes among n, stride apart; and their positions, which `out` has room for.
  int64_t (*count_true)(const char* mask, int64_t n, int64_t stride);
  void (*true_positions)(const char* mask, int64_t n, int64_t stride, int64_t* out, int64_t base);

  GemmFn
      gemm[kDTypes];  // single thread, for small sizes and where no BLAS is found; f32 f64 i64 u8
};

}  // namespace kernel
}  // namespace treadle
