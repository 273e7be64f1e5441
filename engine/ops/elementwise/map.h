// Elementwise ops: what every struct in functor/ becomes. MapOp is its run-time description (folded
// from the lists in elementwise.cpp); map_call runs it: promotion, cast of inputs, Iter, kernel of
// the table, tape node. One body serves all ops, so an op costs only its kernels and its derivative
// on Tensors.
#pragma once
#include <array>
#include <atomic>
#include <span>
#include <string>

#include "engine/core/tensor.h"
#include "engine/functor/op.h"
#include "engine/ops/names.h"

TREADLE_FUNCTOR_BEGIN
template <>
struct GetParam<treadle::Tensor> {
  static treadle::Tensor of(const kernel::Param& p) {
    return p.im == 0 ? treadle::Tensor(p.f)
                     : treadle::Tensor::wrapped(std::complex<double>(p.f, p.im));
  }
};
TREADLE_FUNCTOR_END

namespace treadle {

// A scalar argument in a kernel's form.
inline kernel::Param param(const Scalar& s) { return {s.f, s.i, s.im}; }

struct MapOp {
  enum class Family : std::uint8_t { unary, binary, compare, ternary };
  const char* schema;
  Family family;
  int id;               // row of the kernel table
  int inputs;           // tensors
  std::size_t scalars;  // Scalar arguments
  functor::Result result;
  bool condition_first;  // where(): input 0 is bool and takes no part in promotion
  // d(output)/d(input k) on Tensors, for create_graph; null if not differentiable there.
  using Derive = Tensor (*)(const functor::Params& p, const Tensor& g,
                            const std::array<Tensor, 3>& x, const Tensor& y);
  std::array<Derive, 3> derive;
  // What each derivative reads, found out once (see reads() in map.cpp).
  std::atomic<std::uint32_t>* reads_cache;

  std::string_view name() const;
  constexpr bool differentiable() const { return derive[0] || derive[1] || derive[2]; }
};

using Inputs = std::span<const Tensor* const>;

Tensor map_call(const MapOp& op, Inputs in, const functor::Params& p = {});
void map_inplace(const MapOp& op, Inputs in, const functor::Params& p = {});  // writes *in[0]
void map_out(const MapOp& op, Inputs in, const functor::Params& p, Tensor& out);

}  // namespace treadle
