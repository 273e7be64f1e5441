// LAPACK over batches of matrices, from the library that also does the products (blas.h). Every
// matrix is dense and column-major, a batch is one after the other, and the matrices of a batch
// are shared out among the pool's threads. dtypes: float32, float64, complex64, complex128; others
// throw Error{not_implemented} under the name `what`, in PyTorch's words. `info` has one number for
// each matrix: 0 for success, else LAPACK's.
//
// To add a routine: its name in `kRoutines` of lapack.cpp, and a driver beside the others.
// Without a library LU, Cholesky, QR, triangular solves and what is made of them run on loops of
// our own (plain_lapack.h); eigenvalues, SVD, LDL and lstsq throw Error{runtime} with the cure.
#pragma once
#include <cstdint>

#include "engine/core/dtype.h"

namespace treadle::lapack {

// What a batch is: `count` matrices of `dtype`; `what` names the op in errors.
struct Batch {
  DType dtype;
  std::int64_t count;
  const char* what;
};

// P A = L U in place. pivots: min(m, n) for each matrix, from 1.
void lu(const Batch& batch, std::int64_t m, std::int64_t n, void* a, std::int32_t* pivots,
        std::int32_t* info);
// Solves op(A) X = B in place of b; trans is 'N', 'T' or 'C'.
void lu_solve(const Batch& batch, std::int64_t n, std::int64_t columns, char trans, const void* lu,
              const std::int32_t* pivots, void* b);
// The Cholesky factor in one triangle of a; the other one stays as it was.
void cholesky(const Batch& batch, std::int64_t n, bool upper, void* a, std::int32_t* info);
// op(A) X = B (left) or X op(A) = B for triangular A, in place of b (m x n). No check for zeros.
void triangular_solve(const Batch& batch, std::int64_t m, std::int64_t n, bool left, bool upper,
                      char trans, bool unit, const void* a, void* b);
// A = Q R in LAPACK's form: R above, Householder vectors below the diagonal, their scales in tau.
void qr(const Batch& batch, std::int64_t m, std::int64_t n, void* a, void* tau);
// The first n columns of Q (m x n, in place of the vectors) from k reflectors.
void make_q(const Batch& batch, std::int64_t m, std::int64_t n, std::int64_t k, void* a,
            const void* tau);
// C (m x n) = op(Q) C or C op(Q), Q being k reflectors in a (m or n rows).
void multiply_q(const Batch& batch, std::int64_t m, std::int64_t n, std::int64_t k, bool left,
                bool adjoint, const void* a, const void* tau, void* c);
// Eigenvalues of Hermitian matrices, ascending, in w (real); the vectors in place of a if asked.
void eigh(const Batch& batch, std::int64_t n, bool vectors, bool upper, void* a, void* w,
          std::int32_t* info);
// Eigenvalues w and right eigenvectors v (null: none), both complex. Destroys a.
void eig(const Batch& batch, std::int64_t n, void* a, void* w, void* v, std::int32_t* info);
// A (m x n, destroyed) = U diag(s) Vh. u and vh null: singular values alone; else with all columns
// (full) or min(m, n) of them.
void svd(const Batch& batch, std::int64_t m, std::int64_t n, bool full, void* a, void* s, void* u,
         void* vh, std::int32_t* info);
// Minimises |A x - b|: a (m x n) is destroyed, b (max(m, n) x columns) holds the solution in its
// first n rows. driver 'l' (gels), 'y' (gelsy), 'd' (gelsd), 's' (gelss). rank and s (real,
// min(m, n)) where the driver gives them.
void least_squares(const Batch& batch, char driver, std::int64_t m, std::int64_t n,
                   std::int64_t columns, double rcond, void* a, void* b, std::int64_t* rank,
                   void* s, std::int32_t* info);
// Bunch-Kaufman, in place, from the lower triangle.
void ldl(const Batch& batch, std::int64_t n, bool hermitian, void* a, std::int32_t* pivots,
         std::int32_t* info);
void ldl_solve(const Batch& batch, std::int64_t n, std::int64_t columns, bool hermitian,
               const void* ld, const std::int32_t* pivots, void* b);

}  // namespace treadle::lapack
