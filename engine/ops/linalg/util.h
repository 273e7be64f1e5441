// Helpers of the ops on vectors and matrices of this folder: checks in PyTorch's words, small
// differentiable pieces of derivative formulas, and the column-major copies that LAPACK works on.
// Matrices are the last two dimensions.
#pragma once
#include <string>
#include <utility>

#include "engine/backend/cpu/lapack.h"
#include "engine/ops/native.h"
#include "engine/ops/view/util.h"

namespace treadle {

// --- differentiable pieces -----------------------------------------------------------------------

inline Tensor mT(const Tensor& t) { return transpose(t, -2, -1); }
inline Tensor adjoint(const Tensor& t) { return conj(mT(t)); }
// The triangle from diagonal k on, 0 elsewhere.
Tensor upper(const Tensor& t, std::int64_t k = 0);
Tensor lower(const Tensor& t, std::int64_t k = 0);
// A view of the diagonal of two dimensions, as the last one.
Tensor diagonal_view(const Tensor& t, std::int64_t offset = 0, std::int64_t dim1 = -2,
                     std::int64_t dim2 = -1);
Tensor diag_matrix(const Tensor& v);                        // of each vector
Tensor with_diagonal(const Tensor& t, const Tensor& diag);  // t, its diagonal replaced
Tensor real_if_real(const Tensor& t, DType dtype);          // real parts if dtype is real
// a + b where either may be undefined.
Tensor sum_defined(const Tensor& a, const Tensor& b);
DType real_dtype(DType dtype);     // of complex dtypes their parts', else itself
DType complex_dtype(DType dtype);  // of float32 and float64

// --- ops that others are made of -----------------------------------------------------------------

Tensor dot(const Tensor& self, const Tensor& other);
Tensor mv(const Tensor& self, const Tensor& vec);
Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left = true,
                        bool unitriangular = false);
Tensor solve(const Tensor& a, const Tensor& b, bool left = true);
Tensor inverse(const Tensor& a);
std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& a, bool full, const char* name);
Tensor svdvals(const Tensor& a);
std::tuple<Tensor, Tensor> eigh(const Tensor& a, const std::string& uplo);
Tensor eigvalsh(const Tensor& a, const std::string& uplo);
// LU, pivots, info; the gradient is LU's.
std::tuple<Tensor, Tensor, Tensor> lu_factor(const Tensor& a, bool pivot, const char* name);
std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& lu, const Tensor& pivots, bool data,
                                             bool permutation);
Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left, bool adjoint);
Tensor vector_norm(const Tensor& self, const Scalar& ord, const Dims& dim, bool keepdim,
                   std::optional<DType> dtype);
Tensor vector_norm(const Tensor& self, double ord = 2, const Dims& dim = {}, bool keepdim = false);
// The gradient of A from that of its pseudoinverse p.
Tensor pinv_gradient(const Tensor& g, const Tensor& p, const Tensor& a);
Tensor pinv(const Tensor& a, const Tensor& atol, const Tensor& rtol, bool hermitian);

// --- checks --------------------------------------------------------------------------------------

std::string sizes(const Tensor& t);         // "2x3"
std::string matrix_sizes(const Tensor& t);  // of the last two dimensions
// "linalg.inv: The input tensor A must have at least 2 dimensions." and so on.
void check_matrix(const Tensor& t, const char* op, const char* name = "A");
void check_square(const Tensor& t, const char* op, const char* name = "A");
// Floating point or complex; 16-bit floats only if allowed.
void check_float_or_complex(const Tensor& t, const char* op, bool low_precision = true);
void check_same_scalar_type(const Tensor& a, const Tensor& b);
void check_same_dtype(const Tensor& a, const Tensor& b, const char* op, const char* a_name,
                      const char* b_name);
// For A X = B or X A = B.
void check_solvable_shapes(const Tensor& a, const Tensor& b, bool left, const char* op);

// Throws Error{linalg} for the first of LAPACK's numbers that isn't 0. The text follows from the
// name of the op, as in PyTorch: what "inv", "solve", "cholesky", "svd", "eig", "lstsq" and
// "lu_factor" in it mean.
void check_info(const Tensor& info, const char* op);

// --- LAPACK's side -------------------------------------------------------------------------------

// Numbers of LAPACK's for each matrix of t.
Tensor new_info(const Tensor& t);
// The dimensions before the last two, and how many matrices they make.
Dims batch_shape(const Tensor& t);
Dims batch_broadcast(const Tensor& a, const Tensor& b);
inline Dims matrices(Dims batch, std::int64_t rows, std::int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}
inline Dims vectors(Dims batch, std::int64_t length) {
  batch.push_back(length);
  return batch;
}
inline lapack::Batch batch_of(const Tensor& t, const char* what) {
  return {t.dtype(), product(batch_shape(t)), what};
}
// Below the tape: a new column-major tensor of that shape, and such a copy of t.
Tensor new_columns(const Dims& shape, DType dtype);
Tensor copy_columns(const Tensor& t);

// Makes several results of one op outputs of one node.
template <class F, std::size_t N>
void record_all(const char* name, const Tensor* const (&results)[N],
                std::initializer_list<const Tensor*> inputs, F f) {
  // The gradients end with the last output that has one.
  const auto all = [f = std::move(f)](Node& n, const Gradients& g) {
    Gradients grads = g;
    grads.resize(N);
    return f(n, grads);
  };
  const Ref<Node> node = make_node(name, inputs, all);
  std::uint32_t nr = 0;
  for (const Tensor* r : results) {
    if (is_differentiable(r->dtype())) set_history(*r, node, nr);
    ++nr;
  }
}
// The history of results whose op has no derivative: backward throws.
void record_not_differentiable(const char* op, std::initializer_list<const Tensor*> results,
                               const Tensor& input);

// The in-place form of an op that keeps self's shape.
void write_inplace(const Tensor& self, const Tensor& result);
template <class F>
struct InPlace;
template <class... A>
struct InPlace<Tensor (*)(const Tensor&, A...)> {
  template <Tensor (*Fn)(const Tensor&, A...)>
  static void call(const Tensor& self, A... args) {
    check_inplace(self);
    write_inplace(self, Fn(self, args...));
  }
};
template <auto Fn>
inline constexpr auto inplace = &InPlace<decltype(Fn)>::template call<Fn>;

}  // namespace treadle
