// Systems of equations and what goes with them: solve, inverses, triangular systems, determinants.
#include <algorithm>
#include <cmath>

#include "engine/core/visit.h"
#include "engine/ops/linalg/util.h"

namespace treadle {

Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper_triangle, bool left,
                        bool unitriangular) {
  constexpr const char* kName = "linalg.solve_triangular";
  check_square(a, kName);
  check_matrix(b, kName, "B");
  check_solvable_shapes(a, b, left, kName);
  if (a.dtype() != b.dtype()) {  // the result has A's dtype, as in PyTorch
    return solve_triangular(a, to(b, a.dtype()), upper_triangle, left, unitriangular);
  }
  Tensor x;
  {
    const NoGrad off;
    const Dims batch = batch_broadcast(a, b);
    const Tensor factor = copy_columns(expand(detach(a), matrices(batch, a.size(-2), a.size(-1))));
    x = copy_columns(expand(detach(b), matrices(batch, b.size(-2), b.size(-1))));
    lapack::triangular_solve(batch_of(x, "triangular_solve_cpu"), x.size(-2), x.size(-1), left,
                             upper_triangle, 'N', unitriangular, factor.data(), x.data());
  }
  if (needs_tape({&a, &b})) {
    record("LinalgSolveTriangularBackward0", x, {&a, &b},
           [sa = Saved(a), sx = Saved::output(x), upper_triangle, left, unitriangular,
            shape = b.shape()](Node& n, const Gradients& g) {
             Gradients r(2);
             if (none(g)) return r;
             const Tensor f = sa.get(&n);
             const Tensor gb =
                 solve_triangular(adjoint(f), g[0], !upper_triangle, left, unitriangular);
             if (n.needs(1)) r[1] = sum_to(gb, shape);
             if (n.needs(0)) {
               const Tensor x = sx.get(&n);
               const Tensor ga = neg(left ? matmul(gb, adjoint(x)) : matmul(adjoint(x), gb));
               const std::int64_t k = unitriangular ? 1 : 0;
               r[0] = sum_to(upper_triangle ? upper(ga, k) : lower(ga, -k), f.shape());
             }
             return r;
           });
  }
  return x;
}

namespace {

Tensor linalg_solve_triangular(const Tensor& self, const Tensor& b, bool upper_triangle, bool left,
                               bool unitriangular) {
  return solve_triangular(self, b, upper_triangle, left, unitriangular);
}

std::tuple<Tensor, Tensor> triangular_solve(const Tensor& self, const Tensor& a,
                                            bool upper_triangle, bool transposed,
                                            bool unitriangular) {
  const auto check_rank = [](const Tensor& t, const char* name) {
    if (t.dim() >= 2) return;
    fail(ErrorKind::runtime, std::string("torch.triangular_solve: Expected ") + name +
                                 " to have at least 2 dimensions, but it has " +
                                 std::to_string(t.dim()) + " dimensions instead");
  };
  check_rank(self, "b");
  check_rank(a, "A");
  check_square(a, "triangular_solve");
  if (a.size(-1) != self.size(-2)) {
    fail(ErrorKind::runtime, "Incompatible matrix sizes for triangular_solve: each A matrix is " +
                                 std::to_string(a.size(-1)) + " by " + std::to_string(a.size(-1)) +
                                 " but each b matrix is " + std::to_string(self.size(-2)) + " by " +
                                 std::to_string(self.size(-1)));
  }
  const Dims batch = batch_broadcast(a, self);
  return {solve_triangular(transposed ? mT(a) : a, self, upper_triangle != transposed, true,
                           unitriangular),
          clone(expand(a, matrices(batch, a.size(-2), a.size(-1))))};
}

// --- solve and inverses --------------------------------------------------------------------------

// B as vectors: A (..., n, n) with B (n) or (..., n).
bool is_vector_case(const Tensor& a, const Tensor& b) {
  if (b.dim() == 1) return true;
  return b.dim() == a.dim() - 1 &&
         std::equal(b.shape().begin(), b.shape().end(), a.shape().begin());
}

// Below the tape: X and info. a and b have the same batch.
std::tuple<Tensor, Tensor> solve_raw(const Tensor& a, const Tensor& b, bool left) {
  const Tensor info = new_info(a);
  const std::int64_t n = a.size(-1);
  // X A = B is A^T X^T = B^T.
  const Tensor lu = copy_columns(left ? a : mT(a));
  const Tensor x = copy_columns(left ? b : mT(b));
  const Tensor pivots = Tensor::empty(vectors(batch_shape(a), n), DType::int32);
  lapack::lu(batch_of(a, "linalg_solve_cpu"), n, n, lu.data(), pivots.data_as<std::int32_t>(),
             info.data_as<std::int32_t>());
  lapack::lu_solve(batch_of(a, "linalg_solve_cpu"), n, x.size(-1), 'N', lu.data(),
                   pivots.data_as<std::int32_t>(), x.data());
  return {left ? x : mT(x), info};
}

std::tuple<Tensor, Tensor> solve_ex(const Tensor& a, const Tensor& b, bool left,
                                    bool check_errors) {
  constexpr const char* kName = "linalg.solve";
  check_float_or_complex(a, kName);
  check_same_dtype(a, b, kName, "A", "B");
  check_square(a, kName);
  const bool vector = is_vector_case(a, b);
  if (vector && !left) {
    fail(ErrorKind::runtime,
         "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. "
         "In this case linalg.solve is equivalent to B / A.squeeze(-1)");
  }
  Tensor x, info;
  {
    const NoGrad off;
    const Tensor right = vector ? unsqueeze(detach(b), -1) : detach(b);
    check_matrix(right, kName, "B");
    check_solvable_shapes(a, right, left, kName);
    const Dims batch = batch_broadcast(right, a);
    std::tie(x, info) =
        solve_raw(expand(detach(a), matrices(batch, a.size(-2), a.size(-1))),
                  expand(right, matrices(batch, right.size(-2), right.size(-1))), left);
    // One number for each of A's matrices: the batch of B may be larger.
    if (info.shape() != batch_shape(a)) {
      const Tensor alone = new_info(a), lu = copy_columns(detach(a));
      const Tensor pivots = Tensor::empty(vectors(batch_shape(a), a.size(-1)), DType::int32);
      lapack::lu(batch_of(a, "linalg_solve_cpu"), a.size(-1), a.size(-1), lu.data(),
                 pivots.data_as<std::int32_t>(), alone.data_as<std::int32_t>());
      info = alone;
    }
    if (vector) x = squeeze(x, Dims{-1});
  }
  if (check_errors) check_info(info, "torch.linalg.solve_ex");
  if (needs_tape({&a, &b})) {
    record_all("LinalgSolveExBackward0", {&x, &info}, {&a, &b},
               [sa = Saved(a), sx = Saved::output(x), left, vector, shape = b.shape()](
                   Node& n, const Gradients& g) {
                 Gradients r(2);
                 if (none(g)) return r;
                 const auto matrix = [&](const Tensor& t) { return vector ? unsqueeze(t, -1) : t; };
                 const Tensor f = sa.get(&n);
                 const Tensor gb = solve(adjoint(f), matrix(g[0]), left);
                 if (n.needs(1)) r[1] = sum_to(vector ? squeeze(gb, Dims{-1}) : gb, shape);
                 if (n.needs(0)) {
                   const Tensor xh = adjoint(matrix(sx.get(&n)));
                   r[0] = neg(sum_to(left ? matmul(gb, xh) : matmul(xh, gb), f.shape()));
                 }
                 return r;
               });
  }
  return {x, info};
}

std::tuple<Tensor, Tensor> inverse_ex(const Tensor& a, const char* name, bool check_errors) {
  check_square(a, "linalg.inv");
  check_float_or_complex(a, "linalg.inv", false);
  Tensor out, info;
  {
    const NoGrad off;
    std::tie(out, info) =
        solve_raw(detach(a), expand(eye(a.size(-1), std::nullopt, a.dtype()), a.shape()), true);
  }
  if (check_errors) check_info(info, name);
  if (needs_tape({&a})) {
    record_all("LinalgInvExBackward0", {&out, &info}, {&a},
               [saved = Saved::output(out)](Node& n, const Gradients& g) {
                 if (none(g)) return Gradients(1);
                 const Tensor h = adjoint(saved.get(&n));
                 return Gradients{neg(matmul(h, matmul(g[0], h)))};
               });
  }
  return {out, info};
}
std::tuple<Tensor, Tensor> inv_ex(const Tensor& a, bool check_errors) {
  return inverse_ex(a, "linalg.inv_ex", check_errors);
}

}  // namespace

Tensor solve(const Tensor& a, const Tensor& b, bool left) {
  const auto [x, info] = solve_ex(a, b, left, false);
  check_info(info, "torch.linalg.solve");
  return x;
}
Tensor inverse(const Tensor& a) { return std::get<0>(inverse_ex(a, "linalg.inv", true)); }

namespace {

Tensor linalg_solve(const Tensor& a, const Tensor& b, bool left) { return solve(a, b, left); }

Tensor tensorinv(const Tensor& self, std::int64_t ind) {
  if (ind <= 0) {
    fail(ErrorKind::runtime,
         "Expected a strictly positive integer for 'ind', but got " + std::to_string(ind));
  }
  Dims first, last;
  for (std::int64_t d = 0; d < self.dim(); ++d) (d < ind ? first : last).push_back(self.size(d));
  const std::int64_t rows = product(first), columns = product(last);
  if (rows != columns) {
    fail(ErrorKind::runtime,
         "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
         "prod(self.shape[:ind]), but got " +
             std::to_string(columns) + " != " + std::to_string(rows));
  }
  const Tensor flat = std::get<0>(inverse_ex(reshape(self, {columns, rows}), "inv", true));
  Dims shape = last;
  for (const std::int64_t d : first) shape.push_back(d);
  return reshape(flat, shape);
}

Tensor tensorsolve(const Tensor& self, const Tensor& other, const std::optional<Dims>& dims) {
  Tensor a = self;
  if (dims) {
    Dims to_end;
    for (std::int64_t i = 0; i < dims->size(); ++i) to_end.push_back(i - dims->size());
    a = movedim(self, *dims, to_end);
  }
  Dims rest, first;
  for (std::int64_t d = 0; d < a.dim(); ++d) {
    (d < other.dim() ? first : rest).push_back(a.size(d));
  }
  const std::int64_t columns = product(rest), rows = product(first);
  if (columns != rows || columns != other.numel()) {
    fail(ErrorKind::runtime,
         "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
         "prod(self.shape[:other.ndim]), but got " +
             std::to_string(columns) +
             " != " + std::to_string(columns != rows ? rows : other.numel()));
  }
  return reshape(solve(reshape(a, {rows, columns}), reshape(other, {rows})), rest);
}

// --- determinants --------------------------------------------------------------------------------

// Below the tape: the determinant as sign and logarithm, and as a number.
struct Determinant {
  Tensor value, sign, log;
};
Determinant determinant(const Tensor& a, const char* what) {
  const NoGrad off;
  const std::int64_t n = a.size(-1), count = product(batch_shape(a));
  const Tensor lu = copy_columns(detach(a)), info = new_info(a);
  const Tensor pivots = Tensor::empty(vectors(batch_shape(a), n), DType::int32);
  lapack::lu(batch_of(a, what), n, n, lu.data(), pivots.data_as<std::int32_t>(),
             info.data_as<std::int32_t>());
  Determinant out{Tensor::empty(batch_shape(a), a.dtype()),
                  Tensor::empty(batch_shape(a), a.dtype()),
                  Tensor::empty(batch_shape(a), real_dtype(a.dtype()))};
  visit_any(a.dtype(), what, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (functor::is_float<T> || functor::is_complex<T>) {
      for (std::int64_t b = 0; b < count; ++b) {
        const T* x = lu.data_as<T>() + b * n * n;
        const std::int32_t* p = pivots.data_as<std::int32_t>() + b * n;
        T value(1), sign(1);
        double log = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          const T d = x[i * n + i];
          value = value * d;
          double size = 0;
          if constexpr (functor::is_complex<T>) {
            size = std::hypot(static_cast<double>(d.re), static_cast<double>(d.im));
          } else {
            size = std::abs(static_cast<double>(d));
          }
          sign = size == 0 ? T(0) : sign * (d / T(size));
          log += std::log(size);
          if (p[i] != i + 1) value = T(0) - value, sign = T(0) - sign;
        }
        out.value.data_as<T>()[b] = value;
        out.sign.data_as<T>()[b] = sign;
        if (real_dtype(a.dtype()) == DType::float32) {
          out.log.data_as<float>()[b] = static_cast<float>(log);
        } else {
          out.log.data_as<double>()[b] = log;
        }
      }
    }
  });
  return out;
}

Tensor identity_times(const Tensor& numbers, std::int64_t n) {
  return mul(unsqueeze(unsqueeze(numbers, -1), -1), eye(n, std::nullopt, numbers.dtype()));
}

// The matrix of cofactors from the SVD, for singular matrices: prod of the other singular values.
Tensor cofactors(const Tensor& a) {
  const auto [u, s, vh] = svd(a, false, "linalg.det");
  const std::int64_t n = a.size(-1);
  std::vector<Tensor> others;
  for (std::int64_t i = 0; i < n; ++i) {
    Tensor product = ones_like(select(s, -1, 0));
    for (std::int64_t j = 0; j < n; ++j) {
      if (j != i) product = mul(product, select(s, -1, j));
    }
    others.push_back(product);
  }
  const Tensor phase = conj(mul(determinant(u, "lu_cpu").value, determinant(vh, "lu_cpu").value));
  const Tensor scale = mul(stack(others, -1), unsqueeze(phase, -1));
  return matmul(mul(u, unsqueeze(scale, -2)), vh);
}

// Whether the inverse of one of the matrices would lose all digits: U has pivots of very different
// sizes.
bool nearly_singular(const Tensor& a) {
  const NoGrad off;
  const Tensor size = abs(diagonal_view(std::get<0>(lu_factor(detach(a), true, "linalg.det"))));
  const double lost = real_dtype(a.dtype()) == DType::float32 ? 1e-5 : 1e-13;
  const Tensor least = mul(amax(size, {-1}), Tensor(lost));
  return any(logical_not(gt(amin(size, {-1}), least))).item_int() != 0;
}

Tensor det_named(const Tensor& a, const char* name) {
  check_square(a, name);
  check_float_or_complex(a, name);
  const Tensor out = determinant(a, "lu_cpu").value;
  if (needs_tape({&a})) {
    record("LinalgDetBackward0", out, {&a},
           [sa = Saved(a), saved = Saved::output(out)](Node& n, const Gradients& g) {
             if (none(g)) return Gradients(1);
             const Tensor x = sa.get(&n), d = saved.get(&n);
             if (x.numel() == 0) return Gradients{zeros_like(x)};
             if (nearly_singular(x)) {
               const Tensor scale = unsqueeze(unsqueeze(g[0], -1), -1);
               return Gradients{mul(scale, cofactors(x))};
             }
             const Tensor scale = mul(g[0], conj(d));
             return Gradients{solve(adjoint(x), identity_times(scale, x.size(-1)))};
           });
  }
  return out;
}
Tensor det(const Tensor& a) { return det_named(a, "linalg.det"); }

std::tuple<Tensor, Tensor> slogdet_named(const Tensor& a, const char* name) {
  check_square(a, name);
  check_float_or_complex(a, name, false);
  const Determinant d = determinant(a, "lu_cpu");
  if (needs_tape({&a})) {
    record_all("LinalgSlogdetBackward0", {&d.sign, &d.log}, {&a},
               [sa = Saved(a), sign = Saved::output(d.sign)](Node& n, const Gradients& g) {
                 if (!g[0].defined() && !g[1].defined()) return Gradients(1);
                 const Tensor x = sa.get(&n);
                 Tensor scale = g[1].defined() ? to(g[1], x.dtype()) : Tensor();
                 if (g[0].defined() && is_complex(x.dtype())) {
                   const Tensor turn = imag(mul(conj(g[0]), sign.get(&n)));
                   const Tensor i = Tensor::wrapped(std::complex<double>(0, -1));
                   scale = sum_defined(scale, mul(turn, i));
                 }
                 if (!scale.defined()) return Gradients{zeros_like(x)};
                 return Gradients{solve(adjoint(x), identity_times(scale, x.size(-1)))};
               });
  }
  return {d.sign, d.log};
}
std::tuple<Tensor, Tensor> slogdet(const Tensor& a) { return slogdet_named(a, "linalg.slogdet"); }

Tensor logdet(const Tensor& a) {
  const auto [sign, log_size] = slogdet_named(a, "logdet");
  if (is_complex(a.dtype())) return add(log(sign), log_size);
  return where(eq(sign, Tensor(-1)), full({}, Scalar(std::nan("")), a.dtype()), log_size);
}

constexpr unsigned kPart = kSubmodule | kOut;
constexpr unsigned kBoth = kFunction | kMethod;

}  // namespace

std::span<const OpDef> solve_ops() {
  static constexpr OpDef rows[] = {
      native<linalg_solve>("linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
                           "X of A X = B, or of X A = B. B may be vectors. LinAlgError if A is "
                           "singular.",
                           kPart),
      native<solve_ex>("linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool "
                       "check_errors=False) -> (Tensor result, Tensor info)",
                       "solve() with LAPACK's number for each matrix, 0 for success.", kPart),
      native<linalg_solve_triangular>(
          "linalg_solve_triangular(Tensor self, Tensor B, *, bool "
          "upper, bool left=True, bool unitriangular=False) -> Tensor",
          "X of A X = B or X A = B for triangular A, of which the other "
          "triangle isn't read.",
          kPart),
      native<triangular_solve>("triangular_solve(Tensor self, Tensor A, bool upper=True, bool "
                               "transpose=False, bool unitriangular=False) -> (Tensor solution, "
                               "Tensor cloned_coefficient)",
                               "X of A X = self for triangular A, and a copy of A.", kBoth | kOut),
      native<inverse>("linalg_inv(Tensor A) -> Tensor",
                      "The inverse of square matrices. LinAlgError if one is singular.", kPart),
      native<inverse>("inverse(Tensor self) -> Tensor", "linalg.inv().", kBoth | kOut),
      native<inv_ex>("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, "
                     "Tensor info)",
                     "inv() with LAPACK's number for each matrix, 0 for success.", kPart),
      native<tensorinv>("linalg_tensorinv(Tensor self, int ind=2) -> Tensor",
                        "The inverse of tensordot(self, ., ind).", kPart),
      native<tensorsolve>("linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> "
                          "Tensor",
                          "X of tensordot(self, X, X.dim()) = other.", kPart),
      native<det>("linalg_det(Tensor A) -> Tensor", "The determinant.", kPart),
      native<det>("det(Tensor self) -> Tensor", "linalg.det().", kBoth),
      native<slogdet>("linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
                      "The determinant as its sign (or phase) and the logarithm of its size.",
                      kPart),
      native<slogdet>("slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
                      "linalg.slogdet().", kBoth | kOut),
      native<logdet>("logdet(Tensor self) -> Tensor",
                     "The logarithm of the determinant; NaN where it is negative.", kBoth),
  };
  return rows;
}

}  // namespace treadle
