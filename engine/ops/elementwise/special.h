// The C++ names of special functions, as names.h has those of the other ops. Derivative formulas in
// functor/ find them here when V is Tensor.
#pragma once
#include "engine/ops/names.h"

#pragma GCC visibility push(default)
namespace treadle {

Tensor lgamma(const Tensor& self);
Tensor digamma(const Tensor& self);
// The n-th derivative of digamma, n >= 0.
Tensor polygamma(const Tensor& self, std::int64_t n);
Tensor zeta(const Tensor& s, const Tensor& q);
Tensor erfcx(const Tensor& self);
Tensor logit(const Tensor& self);
Tensor i0(const Tensor& self);
Tensor i0e(const Tensor& self);
Tensor i1(const Tensor& self);
Tensor i1e(const Tensor& self);
Tensor bessel_j0(const Tensor& self);
Tensor bessel_j1(const Tensor& self);
Tensor bessel_y0(const Tensor& self);
Tensor bessel_y1(const Tensor& self);
Tensor bessel_k0(const Tensor& self);  // modified, second kind
Tensor bessel_k1(const Tensor& self);

// `self`, through which a backward pass throws Error{not_implemented} naming `what`, as PyTorch's
// "the derivative for '...' is not implemented".
Tensor without_derivative(const Tensor& self, const char* what);
[[noreturn]] void no_derivative(const char* what);

}  // namespace treadle
#pragma GCC visibility pop
