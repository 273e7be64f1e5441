// The BLAS library behind large float products: scipy-openblas32's shared library, opened at the
// first such product and used with one thread inside (our pool splits the work; its own threads
// wouldn't survive a fork). Where it is looked for, first hit wins:
//   1. TREADLE_OPENBLAS: a path (one that can't be opened is an error), or "none"
//   2. .libs/libscipy_openblas.so beside the file this code was linked into (where wheels put it)
//   3. the path CMake found at configure time (developers' builds only)
// Without it our own kernel does the products, several times slower; config_string() says which.
#pragma once
#include <cstdint>
#include <string>

namespace treadle::blas {

// CBLAS, 32-bit integers: order 101 = row major; transpose 111 = no, 112 = yes.
using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                       const float* a, int lda, const float* b, int ldb, float beta, float* c,
                       int ldc);
using Dgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
                       const double* a, int lda, const double* b, int ldb, double beta, double* c,
                       int ldc);

// Complex: the factors by address.
using Cgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, const void* alpha,
                       const void* a, int lda, const void* b, int ldb, const void* beta, void* c,
                       int ldc);

struct Library {
  Sgemm sgemm = nullptr;  // all null: none found
  Dgemm dgemm = nullptr;
  Cgemm cgemm = nullptr, zgemm = nullptr;
  void* handle = nullptr;
  std::string description;  // "OpenBLAS ... (path)" or why there is none
};

// Opens it on the first call. Throws Error{runtime} if TREADLE_OPENBLAS names something unusable.
const Library& library();

std::string description();

// A routine of the library, such as "scipy_dgetrf_"; null without one.
void* symbol(const char* name);

}  // namespace treadle::blas
