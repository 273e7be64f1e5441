#include "engine/backend/cpu/lapack.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/backend/cpu/blas.h"
#include "engine/backend/cpu/plain_lapack.h"
#include "engine/backend/cpu/pool.h"
#include "engine/core/visit.h"

namespace treadle::lapack {
namespace {

using plain::Real;

// --- the library's routines ----------------------------------------------------------------------

enum Routine {
  kGetrf,
  kGetrs,
  kPotrf,
  kTrsm,
  kGeqrf,
  kOrgqr,
  kOrmqr,
  kSyevd,
  kGeev,
  kGesdd,
  kGesvd,
  kGels,
  kGelsy,
  kGelsd,
  kGelss,
  kSytrf,
  kSytrs,
  kHetrf,
  kHetrs,
  kRoutineCount
};
struct Names {
  const char* real;
  const char* complex;
};
constexpr Names kRoutines[kRoutineCount] = {
    {"getrf", "getrf"}, {"getrs", "getrs"}, {"potrf", "potrf"}, {"trsm", "trsm"},
    {"geqrf", "geqrf"}, {"orgqr", "ungqr"}, {"ormqr", "unmqr"}, {"syevd", "heevd"},
    {"geev", "geev"},   {"gesdd", "gesdd"}, {"gesvd", "gesvd"}, {"gels", "gels"},
    {"gelsy", "gelsy"}, {"gelsd", "gelsd"}, {"gelss", "gelss"}, {"sytrf", "sytrf"},
    {"sytrs", "sytrs"}, {"sytrf", "hetrf"}, {"sytrs", "hetrs"},
};

using Symbols = std::array<std::array<void*, 4>, kRoutineCount>;

const Symbols& symbols() {
  static const Symbols found = [] {
    Symbols s{};
    for (std::size_t r = 0; r < kRoutineCount; ++r) {
      for (std::size_t k = 0; k < 4; ++k) {
        const Names& names = kRoutines[r];
        const std::string name =
            std::string("scipy_") + "sdcz"[k] + (k < 2 ? names.real : names.complex) + "_";
        s[r][k] = blas::symbol(name.c_str());
      }
    }
    return s;
  }();
  return found;
}

template <class T>
constexpr std::size_t kKind = std::is_same_v<T, float>       ? 0
                              : std::is_same_v<T, double>    ? 1
                              : std::is_same_v<T, Complex64> ? 2
                                                             : 3;

template <class T>
bool have(Routine r) {
  return symbols()[r][kKind<T>] != nullptr;
}
template <class T>
void require(Routine r, const char* what) {
  if (have<T>(r)) return;
  // "linalg_svd_cpu", as PyTorch names it where a dtype is missing, is linalg.svd.
  std::string op = what;
  for (const std::string_view end : {"_cpu", "_out", "_kernel"}) {
    if (op.ends_with(end)) op.resize(op.size() - end.size());
  }
  if (op.starts_with("linalg_")) op[6] = '.';
  fail(ErrorKind::runtime,
       op + " needs LAPACK, which this process lacks: " + blas::description() +
           ". Let TREADLE_OPENBLAS name the libscipy_openblas.so of the package scipy-openblas32");
}

// Fortran calls: everything by address, the lengths of strings by value at the end.
using Int = std::int32_t;
template <class... A>
void call(Routine r, std::size_t kind, A... args) {
  reinterpret_cast<void (*)(A...)>(symbols()[r][kind])(args...);
}
constexpr std::size_t kOne = 1;

// Runs f(work, size) twice: with size -1 to learn the best size, then with so much memory.
template <class T, class F>
void with_work(const F& f) {
  T best[1] = {};
  f(best, Int{-1});
  const auto size = std::max<std::int64_t>(1, static_cast<std::int64_t>(plain::real(best[0])));
  std::vector<T> work(static_cast<std::size_t>(size));
  f(work.data(), static_cast<Int>(std::min<std::int64_t>(size, INT_MAX)));
}

// --- batches -------------------------------------------------------------------------------------

// Calls f(T{}) with the batch's element type.
template <class F>
void visit_field(const Batch& batch, F&& f) {
  switch (batch.dtype) {
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    case DType::complex64:
      return f(Complex64{});
    case DType::complex128:
      return f(Complex128{});
    default:
      no_implementation(batch.dtype, batch.what);
  }
}

Int narrow(std::int64_t n, const char* what) {
  if (n > INT_MAX) {
    fail(ErrorKind::runtime, std::string(what) + ": a matrix has " + std::to_string(n) +
                                 " rows or columns, LAPACK counts to " + std::to_string(INT_MAX));
  }
  return static_cast<Int>(n);
}

// Shares out the matrices; `work` is about the multiplications that one takes.
template <class F>
void each(const Batch& batch, double work, const F& f) {
  constexpr double kPiece = 1 << 16;
  const double grain = std::clamp(kPiece / std::max(work, 1.0), 1.0, 1e9);
  parallel_for(0, batch.count, static_cast<std::int64_t>(grain),
               [&](std::int64_t from, std::int64_t to) {
                 for (std::int64_t i = from; i < to; ++i) f(i);
               });
}
double cube(std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

}  // namespace

void lu(const Batch& batch, std::int64_t m, std::int64_t n, void* a, std::int32_t* pivots,
        std::int32_t* info) {
  const Int rows = narrow(m, batch.what), columns = narrow(n, batch.what);
  const std::int64_t k = std::min(m, n);
  visit_field(batch, [&](auto zero) {
    using T = decltype(zero);
    const bool library = have<T>(kGetrf);
    each(batch, cube(m, n, k), [&](std::int64_t i) {
      T* x = static_cast<T*>(a) + i * m * n;
      info[i] = 0;
      if (k == 0) return;
      if (library) {
        call(kGetrf, kKind<T>, &rows, &columns, x, &rows, pivots + i * k, info + i);
      } else {
        info[i] = plain::getrf(m, n, x, pivots + i * k);
      }
    });
  });
}

void lu_solve(const Batch& batch, std::int64_t n, std::int64_t columns, char trans, const void* lu,
              const std::int32_t* pivots, void* b) {
  const Int order = narrow(n, batch.what), width = narrow(columns, batch.what);
  if (n == 0 || columns == 0) return;
  visit_field(batch, [&](auto zero) {
    using T = decltype(zero);
    const bool library = have<T>(kGetrs);
    each(batch, cube(n, n, columns), [&](std::int64_t i) {
      const T* x = static_cast<const T*>(lu) + i * n * n;
      T* y = static_cast<T*>(b) + i * n * columns;
      if (library) {
        Int info = 0;
        call(kGetrs, kKind<T>, &trans, &order, &width, x, &order, pivots + i * n, y, &order, &info,
             kOne);
      } else {
        plain::getrs(n, columns, trans, x, pivots + i * n, y);
      }
    });
  });
}

void cholesky(const Batch& batch, std::int64_t n, bool upper, void* a, std::int32_t* info) {
  const Int order = narrow(n, batch.what);
  const char triangle = upper ? 'U' : 'L';
  visit_field(batch, [&](auto zero) {
    using T = decltype(zero);
    const bool library = have<T>(kPotrf);
    each(batch, cube(n, n, n), [&](std::int64_t i) {
      T* x = static_cast<T*>(a) + i * n * n;
      info[i] = 0;
      if (n == 0) return;
      if (library) {
        call(kPotrf, kKind<T>, &triangle, &order, x, &order, info + i, kOne);
      } else {
        info[i] = plain::potrf(n, upper, x);
      }
    });
  });
}

void triangular_solve(const Batch& batch, std::int64_t m, std::int64_t n, bool left, bool upper,
                      char trans, bool unit, const void* a, void* b) {
  const Int rows = narrow(m, batch.what), columns = narrow(n, batch.what);
  const Int order = left ? rows : columns;
  const char side = left ? 'L' : 'R', triangle = upper ? 'U' : 'L', diagonal = unit ? 'U' : 'N';
  if (m == 0 || n == 0) return;
  visit_field(batch, [&](auto zero) {
    using T = decltype(zero);
    const bool library = have<T>(kTrsm);
    each(batch, cube(m, n, order), [&](std::int64_t i) {
      const T* x = static_cast<const T*>(a) + i * order * order;
      T* y = static_cast<T*>(b) + i * m * n;
      if (library) {
        const T one(1);
        call(kTrsm, kKind<T>, &side, &triangle, &trans, &diagonal, &rows, &columns, &one, x, &order,
             y, &rows, kOne, kOne, kOne, kOne);
      } else {
        plain::trsm(m, n, left, upper, trans, unit, x, y);
      }
    });
  });
}

void qr(const Batch& batch, std::int64_t m, std::int64_t n, void* a, void* tau) {
  const Int rows = narrow(m, batch.what), columns = narrow(n, batch.what);
  const std::int64_t k = std::min(m, n);
  if (k == 0) return;
  visit_field(batch, [&](auto zero) {
    using T = decltype(zero);
    const bool library = have<T>(kGeqrf);
    each(batch, cube(m, n, k), [&](std::int64_t i) {
      T* x = static_cast<T*>(a) + i * m * n;
      T* t = static_cast<T*>(tau) + i * k;
      if (!library) return plain::geqrf(m, n, x, t);
      with_work<T>([&](T* work, Int size) {
        Int info = 0;
        call(kGeqrf, kKind<T>, &rows, &columns, x, &rows, t, work, &size, &info);
      });
    });
  });
}

void make_q(const Batch& batch, std::int64_t m, std::int64_t n, std::int64_t k, void* a,
            const void* tau) {
  const Int rows = narrow(m, batch.what), columns = narrow(n, batch.what),
            reflectors = narrow(k, batch.what);
  if (m == 0 || n == 0) return;
  visit_field(batch, [&](auto zero) {
    using T = decltype(zero);
    const bool library = have<T>(kOrgqr);
    each(batch, cube(m, n, n), [&](std::int64_t i) {
      T* x = static_cast<T*>(a) + i * m * n;
      const T* t = static_cast<const T*>(tau) + i * k;
      if (!library) {
        std::vector<T> vectors(static_cast<std::size_t>(m * n));
        return plain::ungqr(m, n, k, x, t, vectors.data());
      }
      with_work<T>([&](T* work, Int size) {
        Int info = 0;
        call(kOrgqr, kKind<T>, &rows, &columns, &reflectors, x, &rows, t, work, &size, &info);
      });
    });
  });
}

void multiply_q(const Batch& batch, std::int64_t m, std::int64_t n, std::int64_t k, bool left,
                bool adjoint, const void* a, const void* tau, void* c) {
  const Int rows = narrow(m, batch.what), columns = narrow(n, batch.what),
            reflectors = narrow(k, batch.what);
  const Int order = left ? rows : columns;
  if (m == 0 || n == 0 || k == 0) return;
  visit_field(batch, [&](auto zero) {
    using T = decltype(zero);
    const bool library = have<T>(kOrmqr);
    const char side = left ? 'L' : 'R';
    const char trans = !adjoint ? 'N' : functor::is_complex<T> ? 'C' : 'T';
    each(batch, cube(m, n, k), [&](std::int64_t i) {
      const T* x = static_cast<const T*>(a) + i * order * k;
      const T* t = static_cast<const T*>(tau) + i * k;
      T* y = static_cast<T*>(c) + i * m * n;
      if (!library) {
        std::vector<T> tail(static_cast<std::size_t>(order));
        return plain::unmqr(m, n, k, left, adjoint, x, t, y, tail.data());
      }
      with_work<T>([&](T* work, Int size) {
        Int info = 0;
        call(kOrmqr, kKind<T>, &side, &trans, &rows, &columns, &reflectors, x, &order, t, y, &rows,
             work, &size, &info, kOne, kOne);
      });
    });
  });
}

void eigh(const Batch& batch, std::int64_t n, bool vectors, bool upper, void* a, void* w,
          std::int32_t* info) {
  const Int order = narrow(n, batch.what);
  const char job = vectors ? 'V' : 'N', triangle = upper ? 'U' : 'L';
  std::fill(info, info + batch.count, 0);
  if (n == 0) return visit_field(batch, [](auto) {});
  visit_field(batch, [&](auto zero) {
    using T = decltype(zero);
    using R = Real<T>;
    require<T>(kSyevd, batch.what);
    each(batch, cube(n, n, n), [&](std::int64_t i) {
      T* x = static_cast<T*>(a) + i * n * n;
      R* values = static_cast<R*>(w) + i * n;
      T best[1] = {};
      R best_real[1] = {};
      Int best_int = 0, size = -1, real_size = -1, int_size = -1;
      const auto run = [&](T* work, R* real_work, Int* int_work) {
        if constexpr (functor::is_complex<T>) {
          call(kSyevd, kKind<T>, &job, &triangle, &order, x, &order, values, work, &size, real_work,
               &real_size, int_work, &int_size, info + i, kOne, kOne);
        } else {
          call(kSyevd, kKind<T>, &job, &triangle, &order, x, &order, values, work, &size, int_work,
               &int_size, info + i, kOne, kOne);
        }
      };
      run(best, best_real, &best_int);
      size = std::max(1, static_cast<Int>(plain::real(best[0])));
      real_size = std::max(1, static_cast<Int>(best_real[0]));
      int_size = std::max(1, best_int);
      std::vector<T> work(static_cast<std::size_t>(size));
      std::vector<R> real_work(static_cast<std::size_t>(real_size));
      std::vector<Int> int_work(static_cast<std::size_t>(int_size));
      run(work.data(), real_work.data(), int_work.data());
    });
  });
}

namespace {

// geev of a real matrix gives pairs of columns (re, im) for a pair of conjugate eigenvalues.
template <class R>
void unpack_eig(std::int64_t n, const R* re, const R* im, const R* packed, functor::Complex<R>* w,
                functor::Complex<R>* v) {
  for (std::int64_t j = 0; j < n; ++j) w[j] = {re[j], im[j]};
  if (!v) return;
  for (std::int64_t j = 0; j < n; ++j) {
    const bool pair = im[j] != 0 && j + 1 < n;
    for (std::int64_t r = 0; r < n; ++r) {
      const R x = packed[r + j * n];
      if (!pair) {
        v[r + j * n] = {x, R(0)};
        continue;
      }
      const R y = packed[r + (j + 1) * n];
      v[r + j * n] = {x, y};
      v[r + (j + 1) * n] = {x, -y};
    }
    if (pair) ++j;
  }
}

}  // namespace

void eig(const Batch& batch, std::int64_t n, void* a, void* w, void* v, std::int32_t* info) {
  const Int order = narrow(n, batch.what);
  const char none = 'N', right = v ? 'V' : 'N';
  std::fill(info, info + batch.count, 0);
  if (n == 0) return visit_field(batch, [](auto) {});
  visit_field(batch, [&](auto zero) {
    using T = decltype(zero);
    using R = Real<T>;
    using C = functor::Complex<R>;
    require<T>(kGeev, batch.what);
    each(batch, cube(n, n, n) * 10, [&](std::int64_t i) {
      T* x = static_cast<T*>(a) + i * n * n;
      C* values = static_cast<C*>(w) + i * n;
      C* vectors = v ? static_cast<C*>(v) + i * n * n : nullptr;
      const auto length = static_cast<std::size_t>(n);
      if constexpr (functor::is_complex<T>) {
        std::vector<R> real_work(2 * length);
        T unused{};
        with_work<T>([&](T* work, Int size) {
          call(kGeev, kKind<T>, &none, &right, &order, x, &order, values, &unused, &order,
               vectors ? vectors : &unused, &order, work, &size, real_work.data(), info + i, kOne,
               kOne);
        });
      } else {
        std::vector<R> re(length), im(length), packed(v ? length * length : 1);
        R unused{};
        with_work<T>([&](T* work, Int size) {
          call(kGeev, kKind<T>, &none, &right, &order, x, &order, re.data(), im.data(), &unused,
               &order, packed.data(), &order, work, &size, info + i, kOne, kOne);
        });
        unpack_eig(n, re.data(), im.data(), packed.data(), values, vectors);
      }
    });
  });
}

void svd(const Batch& batch, std::int64_t m, std::int64_t n, bool full, void* a, void* s, void* u,
         void* vh, std::int32_t* info) {
  const Int rows = narrow(m, batch.what), columns = narrow(n, batch.what);
  const std::int64_t k = std::min(m, n);
  const std::int64_t u_columns = full ? m : k, v_rows = full ? n : k;
  const Int v_lead = static_cast<Int>(std::max<std::int64_t>(1, v_rows));
  const char job = !u ? 'N' : full ? 'A' : 'S';
  std::fill(info, info + batch.count, 0);
  if (k == 0) return visit_field(batch, [](auto) {});
  visit_field(batch, [&](auto zero) {
    using T = decltype(zero);
    using R = Real<T>;
    require<T>(kGesdd, batch.what);
    each(batch, cube(m, n, k) * 4, [&](std::int64_t i) {
      T* x = static_cast<T*>(a) + i * m * n;
      R* values = static_cast<R*>(s) + i * k;
      T unused{};
      T* left = u ? static_cast<T*>(u) + i * m * u_columns : &unused;
      T* right = vh ? static_cast<T*>(vh) + i * v_rows * n : &unused;
      std::vector<T> again;  // gesdd destroys what gesvd needs
      const auto finite = [&] {
        for (std::int64_t j = 0; j < m * n; ++j) {
          if (!std::isfinite(static_cast<double>(plain::size(x[j])))) return false;
        }
        return true;
      };
      if (!finite()) {
        info[i] = -4;
        return;
      }
      again.assign(x, x + m * n);
      std::vector<Int> int_work(static_cast<std::size_t>(8 * k));
      const auto large = static_cast<std::size_t>(
          std::max(5 * k * k + 5 * k, 2 * std::max(m, n) * k + 2 * k * k + k));
      std::vector<R> real_work(functor::is_complex<T> ? large : 1);
      with_work<T>([&](T* work, Int size) {
        if constexpr (functor::is_complex<T>) {
          call(kGesdd, kKind<T>, &job, &rows, &columns, x, &rows, values, left, &rows, right,
               &v_lead, work, &size, real_work.data(), int_work.data(), info + i, kOne);
        } else {
          call(kGesdd, kKind<T>, &job, &rows, &columns, x, &rows, values, left, &rows, right,
               &v_lead, work, &size, int_work.data(), info + i, kOne);
        }
      });
      if (info[i] <= 0) return;
      // Divide and conquer didn't converge; QR iteration is slower and surer.
      with_work<T>([&](T* work, Int size) {
        std::copy(again.begin(), again.end(), x);
        if constexpr (functor::is_complex<T>) {
          call(kGesvd, kKind<T>, &job, &job, &rows, &columns, x, &rows, values, left, &rows, right,
               &v_lead, work, &size, real_work.data(), info + i, kOne, kOne);
        } else {
          call(kGesvd, kKind<T>, &job, &job, &rows, &columns, x, &rows, values, left, &rows, right,
               &v_lead, work, &size, info + i, kOne, kOne);
        }
      });
    });
  });
}

void least_squares(const Batch& batch, char driver, std::int64_t m, std::int64_t n,
                   std::int64_t columns, double rcond, void* a, void* b, std::int64_t* rank,
                   void* s, std::int32_t* info) {
  const Int rows = narrow(m, batch.what), width = narrow(n, batch.what),
            right = narrow(columns, batch.what);
  const std::int64_t k = std::min(m, n), tall = std::max(m, n);
  const Int lead = static_cast<Int>(std::max<std::int64_t>(1, tall));
  std::fill(info, info + batch.count, 0);
  visit_field(batch, [&](auto zero) {
    using T = decltype(zero);
    using R = Real<T>;
    const Routine routine = driver == 'l'   ? kGels
                            : driver == 'y' ? kGelsy
                            : driver == 'd' ? kGelsd
                                            : kGelss;
    require<T>(routine, batch.what);
    const R tolerance = static_cast<R>(rcond);
    each(batch, cube(m, n, k) * 4, [&](std::int64_t i) {
      T* x = static_cast<T*>(a) + i * m * n;
      T* y = static_cast<T*>(b) + i * tall * columns;
      if (k == 0) {
        std::fill(y, y + tall * columns, T(0));
        if (rank) rank[i] = 0;
        return;
      }
      Int found = 0;
      std::vector<R> unused(static_cast<std::size_t>(k));
      R* values = s ? static_cast<R*>(s) + i * k : unused.data();
      std::vector<Int> int_work(static_cast<std::size_t>(n) + 1, 0);
      std::vector<R> real_work(functor::is_complex<T> ? static_cast<std::size_t>(5 * k + 2 * n) + 1
                                                      : 1);
      const char no = 'N';
      if (driver == 'd') {
        // The query also tells the sizes of the other two work arrays.
        T best[1] = {};
        R best_real[1] = {};
        Int best_int[1] = {}, query = -1;
        const auto run = [&](T* work, const Int* size, R* reals, Int* ints) {
          if constexpr (functor::is_complex<T>) {
            call(routine, kKind<T>, &rows, &width, &right, x, &rows, y, &lead, values, &tolerance,
                 &found, work, size, reals, ints, info + i);
          } else {
            call(routine, kKind<T>, &rows, &width, &right, x, &rows, y, &lead, values, &tolerance,
                 &found, work, size, ints, info + i);
          }
        };
        run(best, &query, best_real, best_int);
        const Int size = std::max(1, static_cast<Int>(plain::real(best[0])));
        std::vector<T> work(static_cast<std::size_t>(size));
        std::vector<R> reals(static_cast<std::size_t>(std::max(R(1), best_real[0])));
        std::vector<Int> ints(static_cast<std::size_t>(std::max(1, best_int[0])));
        run(work.data(), &size, reals.data(), ints.data());
      } else {
        with_work<T>([&](T* work, Int size) {
          if (driver == 'l') {
            call(routine, kKind<T>, &no, &rows, &width, &right, x, &rows, y, &lead, work, &size,
                 info + i, kOne);
          } else if (driver == 'y') {
            if constexpr (functor::is_complex<T>) {
              call(routine, kKind<T>, &rows, &width, &right, x, &rows, y, &lead, int_work.data(),
                   &tolerance, &found, work, &size, real_work.data(), info + i);
            } else {
              call(routine, kKind<T>, &rows, &width, &right, x, &rows, y, &lead, int_work.data(),
                   &tolerance, &found, work, &size, info + i);
            }
          } else {
            if constexpr (functor::is_complex<T>) {
              call(routine, kKind<T>, &rows, &width, &right, x, &rows, y, &lead, values, &tolerance,
                   &found, work, &size, real_work.data(), info + i);
            } else {
              call(routine, kKind<T>, &rows, &width, &right, x, &rows, y, &lead, values, &tolerance,
                   &found, work, &size, info + i);
            }
          }
        });
      }
      if (rank) rank[i] = found;
    });
  });
}

void ldl(const Batch& batch, std::int64_t n, bool hermitian, void* a, std::int32_t* pivots,
         std::int32_t* info) {
  const Int order = narrow(n, batch.what);
  const char lower = 'L';
  std::fill(info, info + batch.count, 0);
  if (n == 0) return visit_field(batch, [](auto) {});
  const Routine routine = hermitian ? kHetrf : kSytrf;
  visit_field(batch, [&](auto zero) {
    using T = decltype(zero);
    require<T>(routine, batch.what);
    each(batch, cube(n, n, n), [&](std::int64_t i) {
      T* x = static_cast<T*>(a) + i * n * n;
      with_work<T>([&](T* work, Int size) {
        call(routine, kKind<T>, &lower, &order, x, &order, pivots + i * n, work, &size, info + i,
             kOne);
      });
    });
  });
}

void ldl_solve(const Batch& batch, std::int64_t n, std::int64_t columns, bool hermitian,
               const void* ld, const std::int32_t* pivots, void* b) {
  const Int order = narrow(n, batch.what), width = narrow(columns, batch.what);
  const char lower = 'L';
  if (n == 0 || columns == 0) return visit_field(batch, [](auto) {});
  const Routine routine = hermitian ? kHetrs : kSytrs;
  visit_field(batch, [&](auto zero) {
    using T = decltype(zero);
    require<T>(routine, batch.what);
    each(batch, cube(n, n, columns), [&](std::int64_t i) {
      const T* x = static_cast<const T*>(ld) + i * n * n;
      Int info = 0;
      call(routine, kKind<T>, &lower, &order, &width, x, &order, pivots + i * n,
           static_cast<T*>(b) + i * n * columns, &order, &info, kOne);
    });
  });
}

}  // namespace treadle::lapack
