// Factorisations that systems are solved with: Cholesky, LU and LDL, and solving with their
// factors. QR: qr.cpp; solve, inv and det: solve.cpp.
#include <algorithm>

#include "engine/ops/linalg/util.h"

namespace treadle {
namespace {

// --- Cholesky ------------------------------------------------------------------------------------

std::tuple<Tensor, Tensor> cholesky_ex(const Tensor& self, bool upper_factor, bool check_errors) {
  check_square(self, "linalg.cholesky");
  check_float_or_complex(self, "linalg.cholesky");
  const Tensor info = new_info(self);
  Tensor factor;
  {
    const NoGrad off;
    factor = copy_columns(detach(self));
    lapack::cholesky(batch_of(self, "cholesky_cpu"), self.size(-1), upper_factor, factor.data(),
                     info.data_as<std::int32_t>());
    factor = upper_factor ? upper(factor) : lower(factor);
  }
  if (check_errors) check_info(info, "linalg.cholesky_ex");
  if (needs_tape({&self})) {
    record_all("LinalgCholeskyExBackward0", {&factor, &info}, {&self},
               [saved = Saved::output(factor), upper_factor](Node& n, const Gradients& g) {
                 if (none(g)) return Gradients(1);
                 const Tensor f = saved.get(&n);
                 const Tensor l = upper_factor ? adjoint(f) : f;
                 const Tensor gl = upper_factor ? adjoint(g[0]) : g[0];
                 Tensor phi = lower(matmul(adjoint(l), gl));
                 // As in PyTorch, the diagonal keeps its imaginary part.
                 phi = add(phi, adjoint(lower(phi, -1)));
                 phi = solve_triangular(adjoint(l), phi, true);
                 return Gradients{mul(solve_triangular(l, phi, false, false), Tensor(0.5))};
               });
  }
  return {factor, info};
}
Tensor cholesky(const Tensor& self, bool upper_factor) {
  const auto [factor, info] = cholesky_ex(self, upper_factor, false);
  check_info(info, "linalg.cholesky");
  return factor;
}

// Below the tape: (L L^H)^-1 b.
Tensor solve_with_cholesky(const Tensor& b, const Tensor& factor, bool upper_factor) {
  const Tensor half = upper_factor ? solve_triangular(adjoint(factor), b, false)
                                   : solve_triangular(factor, b, false);
  return upper_factor ? solve_triangular(factor, half, true)
                      : solve_triangular(adjoint(factor), half, true);
}

Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper_factor) {
  const auto check_rank = [](const Tensor& t, const char* name) {
    if (t.dim() >= 2) return;
    fail(ErrorKind::runtime, std::string(name) + " should have at least 2 dimensions, but has " +
                                 std::to_string(t.dim()) + " dimensions instead");
  };
  check_rank(self, "b");
  check_rank(input2, "u");
  if (self.dtype() != input2.dtype()) {
    fail(ErrorKind::runtime, "Expected b and A to have the same dtype, but found b of type " +
                                 std::string(info(self.dtype()).scalar) + " and A of type " +
                                 std::string(info(input2.dtype()).scalar) + " instead.");
  }
  if (input2.size(-1) != input2.size(-2)) {
    fail(ErrorKind::runtime, "A must be batches of square matrices, but they are " +
                                 std::to_string(input2.size(-2)) + " by " +
                                 std::to_string(input2.size(-1)) + " matrices");
  }
  if (input2.size(-1) != self.size(-2)) {
    fail(ErrorKind::runtime, "Incompatible matrix sizes for cholesky_solve: each A matrix is " +
                                 std::to_string(input2.size(-1)) + " by " +
                                 std::to_string(input2.size(-1)) + " but each b matrix is " +
                                 std::to_string(self.size(-2)) + " by " +
                                 std::to_string(self.size(-1)));
  }
  Tensor out;
  {
    const NoGrad off;
    out = solve_with_cholesky(detach(self), detach(input2), upper_factor);
  }
  if (needs_tape({&self, &input2})) {
    record("CholeskySolveBackward0", out, {&self, &input2},
           [factor = Saved(input2), saved = Saved::output(out), upper_factor, shape = self.shape()](
               Node& n, const Gradients& g) {
             Gradients r(2);
             if (none(g)) return r;
             const Tensor f = factor.get(&n);
             const Tensor gb = cholesky_solve(g[0], f, upper_factor);
             if (n.needs(0)) r[0] = sum_to(gb, shape);
             if (n.needs(1)) {
               const Tensor outer = matmul(gb, adjoint(saved.get(&n)));
               const Tensor both = add(outer, adjoint(outer));
               r[1] = neg(sum_to(upper_factor ? matmul(f, both) : matmul(both, f), f.shape()));
             }
             return r;
           });
  }
  return out;
}

Tensor cholesky_inverse(const Tensor& self, bool upper_factor) {
  check_square(self, "cholesky_inverse");
  if (!is_differentiable(self.dtype()) || item_size(self.dtype()) == 2) {
    fail(ErrorKind::not_implemented, "\"cholesky_inverse_out_cpu\" not implemented for '" +
                                         std::string(info(self.dtype()).scalar) + "'");
  }
  Tensor out;
  {
    const NoGrad off;
    const Tensor factor = detach(self);
    // The first zero on each diagonal is what LAPACK's potri reports.
    const Tensor zero = contiguous(eq(diagonal_view(factor), Tensor(0)));
    const Tensor info = new_info(self);
    const std::int64_t order = self.size(-1);
    for (std::int64_t i = 0; i < zero.numel(); ++i) {
      std::int32_t& code = info.data_as<std::int32_t>()[i / order];
      if (zero.data_as<bool>()[i] && code == 0) code = static_cast<std::int32_t>(i % order + 1);
    }
    check_info(info, "cholesky_inverse");
    out = solve_with_cholesky(expand(eye(order, std::nullopt, self.dtype()), self.shape()), factor,
                              upper_factor);
  }
  if (needs_tape({&self})) {
    record("CholeskyInverseBackward0", out, {&self},
           [factor = Saved(self), saved = Saved::output(out), upper_factor](Node& n,
                                                                            const Gradients& g) {
             if (none(g)) return Gradients(1);
             const Tensor inverse = saved.get(&n), f = factor.get(&n);
             const Tensor both = matmul(matmul(inverse, add(g[0], adjoint(g[0]))), inverse);
             return Gradients{neg(upper_factor ? matmul(f, both) : matmul(both, f))};
           });
  }
  return out;
}

// --- LU ------------------------------------------------------------------------------------------

// The gradient of A = P L U from those of L and U, which lie in the triangles of g.
Tensor lu_backward(const Tensor& g, const Tensor& lu, const Tensor& pivots) {
  const std::int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
  const auto [p, l, u] = lu_unpack(lu, pivots, true, true);
  const Tensor l1 = narrow(l, -2, 0, k), u1 = narrow(u, -1, 0, k);
  const Tensor gl = lower(narrow(narrow(g, -1, 0, k), -2, 0, k), -1);
  const Tensor gu = upper(narrow(narrow(g, -1, 0, k), -2, 0, k));
  Tensor left = matmul(adjoint(l1), gl), right = matmul(gu, adjoint(u1));
  Tensor rest;
  if (m < n) {
    const Tensor gu2 = narrow(g, -1, k, n - k);
    left = sub(left, matmul(gu2, adjoint(narrow(u, -1, k, n - k))));
    rest = solve_triangular(adjoint(l1), gu2, true, true, true);
  } else if (m > n) {
    const Tensor gl2 = narrow(g, -2, k, m - k);
    right = sub(right, matmul(adjoint(narrow(l, -2, k, m - k)), gl2));
    rest = solve_triangular(adjoint(u1), gl2, false, false);
  }
  Tensor ga = add(lower(left, -1), upper(right));
  ga = solve_triangular(adjoint(l1), ga, true, true, true);
  ga = solve_triangular(adjoint(u1), ga, false, false);
  if (rest.defined()) ga = cat({ga, rest}, m < n ? -1 : -2);
  return matmul(p, ga);
}

void check_lu_input(const Tensor& a, const char* name, bool pivot) {
  if (a.dim() < 2) {
    fail(ErrorKind::runtime, std::string(name) +
                                 ": Expected tensor with 2 or more dimensions. Got size: " +
                                 to_string(a.shape()) + " instead");
  }
  if (!pivot) {
    fail(ErrorKind::runtime,
         std::string(name) + ": LU without pivoting is not implemented on the CPU");
  }
}

std::tuple<Tensor, Tensor, Tensor> lu_factor_ex(const Tensor& a, bool pivot, bool check_errors) {
  auto made = lu_factor(a, pivot, "torch.lu_factor");
  if (check_errors) check_info(std::get<2>(made), "torch.linalg.lu_factor_ex");
  return made;
}
std::tuple<Tensor, Tensor> lu_factor_checked(const Tensor& a, bool pivot) {
  const auto [lu, pivots, info] = lu_factor(a, pivot, "torch.lu_factor");
  check_info(info, "torch.linalg.lu_factor");
  return {lu, pivots};
}
std::tuple<Tensor, Tensor, Tensor> linalg_lu(const Tensor& a, bool pivot) {
  const auto [lu, pivots, info] = lu_factor(a, pivot, "linalg.lu");
  return lu_unpack(lu, pivots, true, true);
}

// Whether all pivots are row numbers: what they index must be inside the matrix.
bool pivots_fit(const Tensor& pivots, std::int64_t rows) {
  const std::int32_t* p = pivots.data_as<std::int32_t>();
  return std::all_of(p, p + pivots.numel(), [rows](std::int32_t i) { return i >= 1 && i <= rows; });
}

Tensor old_lu_solve(const Tensor& self, const Tensor& lu_data, const Tensor& lu_pivots) {
  return lu_solve(lu_data, lu_pivots, self, true, false);
}

// --- LDL -----------------------------------------------------------------------------------------

std::tuple<Tensor, Tensor, Tensor> ldl_factor_ex(const Tensor& self, bool hermitian,
                                                 bool check_errors) {
  check_square(self, "torch.linalg.ldl_factor_ex");
  check_float_or_complex(self, "torch.linalg.ldl_factor_ex");
  const Tensor info = new_info(self);
  Tensor ld, pivots;
  {
    const NoGrad off;
    ld = copy_columns(lower(detach(self)));
    pivots = Tensor::empty(vectors(batch_shape(self), self.size(-1)), DType::int32);
    lapack::ldl(batch_of(self, "ldl_factor_kernel_cpu"), self.size(-1), hermitian, ld.data(),
                pivots.data_as<std::int32_t>(), info.data_as<std::int32_t>());
  }
  if (check_errors) check_info(info, "torch.linalg.ldl_factor_ex");
  record_not_differentiable("linalg_ldl_factor_ex", {&ld, &pivots, &info}, self);
  return {ld, pivots, info};
}
std::tuple<Tensor, Tensor> ldl_factor(const Tensor& self, bool hermitian) {
  const auto [ld, pivots, info] = ldl_factor_ex(self, hermitian, false);
  check_info(info, "torch.linalg.ldl_factor");
  return {ld, pivots};
}

// LAPACK marks a block of two rows by two negative numbers.
bool ldl_pivots_fit(const Tensor& pivots) {
  const std::int64_t n = pivots.size(-1);
  const std::int32_t* p = pivots.data_as<std::int32_t>();
  for (std::int64_t start = 0; n > 0 && start < pivots.numel(); start += n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t row = p[start + i];
      if (row == 0 || std::abs(row) > n) return false;
      if (row > 0) continue;
      ++i;
      if (i == n || p[start + i] >= 0 || p[start + i] < -n) return false;
    }
  }
  return true;
}

Tensor ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian) {
  check_square(ld, "torch.linalg.ldl_solve");
  check_float_or_complex(ld, "torch.linalg.ldl_solve");
  if (b.dim() < 2) wrap_dim(-2, b.dim());
  if (b.size(-2) != ld.size(-2)) {
    fail(ErrorKind::runtime,
         "Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is " +
             std::to_string(ld.size(-2)) + " by " + std::to_string(ld.size(-2)) +
             " but each b matrix is " + std::to_string(b.size(-2)) + " by " +
             std::to_string(b.size(-1)));
  }
  if (pivots.dtype() != DType::int32) {
    fail(ErrorKind::runtime, is_integral(pivots.dtype())
                                 ? std::string("torch.linalg.ldl_solve: pivots must be int32")
                                 : "torch.linalg.ldl_solve: Expected pivots to be integers. Got " +
                                       std::string(info(pivots.dtype()).scalar));
  }
  if (pivots.shape() != vectors(batch_shape(ld), ld.size(-1))) {
    fail(ErrorKind::runtime,
         "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got "
         "pivots with shape " +
             to_string(pivots.shape()) + " instead");
  }
  check_same_dtype(ld, b, "torch.linalg.ldl_solve", "LD", "B");
  const Dims batch = batch_broadcast(ld, b);
  const std::int64_t n = ld.size(-1);
  const NoGrad off;
  const Tensor factors = copy_columns(expand(detach(ld), matrices(batch, n, n)));
  const Tensor rows = contiguous(expand(pivots, vectors(batch, n)));
  if (!ldl_pivots_fit(rows)) {
    fail(ErrorKind::runtime,
         "torch.linalg.ldl_solve: pivots must be those that ldl_factor gave: row numbers from 1, "
         "or pairs of negative ones");
  }
  const Tensor x = copy_columns(expand(detach(b), matrices(batch, n, b.size(-1))));
  lapack::ldl_solve(batch_of(x, "ldl_solve_cpu"), n, b.size(-1), hermitian, factors.data(),
                    rows.data_as<std::int32_t>(), x.data());
  return x;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lu_factor(const Tensor& a, bool pivot, const char* name) {
  check_lu_input(a, name, pivot);
  const std::int64_t m = a.size(-2), n = a.size(-1);
  const Tensor info = new_info(a);
  Tensor lu, pivots;
  {
    const NoGrad off;
    lu = copy_columns(detach(a));
    pivots = Tensor::empty(vectors(batch_shape(a), std::min(m, n)), DType::int32);
    lapack::lu(batch_of(a, "lu_cpu"), m, n, lu.data(), pivots.data_as<std::int32_t>(),
               info.data_as<std::int32_t>());
  }
  if (needs_tape({&a})) {
    record_all("LinalgLuFactorExBackward0", {&lu, &pivots, &info}, {&a},
               [saved = Saved::output(lu), pivots = Saved(pivots)](Node& node, const Gradients& g) {
                 if (none(g)) return Gradients(1);
                 return Gradients{lu_backward(g[0], saved.get(&node), pivots.get(&node))};
               });
  }
  return {lu, pivots, info};
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& lu, const Tensor& pivots, bool data,
                                             bool permutation) {
  if (lu.dim() < 2) {
    fail(ErrorKind::runtime,
         "torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: " +
             to_string(lu.shape()) + " instead");
  }
  const std::int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
  Tensor p = zeros({0}, lu.dtype()), l = zeros({0}, lu.dtype()), u = zeros({0}, lu.dtype());
  if (permutation) {
    if (pivots.dtype() != DType::int32) {
      fail(ErrorKind::runtime,
           "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype. "
           "Note: this function is intended to be used with the output produced by "
           "torch.linalg.lu_factor");
    }
    const Dims expected = vectors(batch_shape(lu), k);
    if (pivots.shape() != expected) {
      fail(ErrorKind::value, "Expected LU_pivots to have shape " + to_string(expected) +
                                 " but got " + to_string(pivots.shape()) + " instead.");
    }
    const NoGrad off;
    const Tensor rows = contiguous(detach(pivots));
    if (!pivots_fit(rows, m)) {
      fail(ErrorKind::runtime,
           "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
           "Did you properly pass the result of lu_factor?");
    }
    const std::int64_t count = product(batch_shape(lu));
    const Tensor order = Tensor::empty(vectors(batch_shape(lu), m), DType::int64);
    for (std::int64_t b = 0; b < count; ++b) {
      std::int64_t* row = order.data_as<std::int64_t>() + b * m;
      const std::int32_t* swap = rows.data_as<std::int32_t>() + b * k;
      for (std::int64_t i = 0; i < m; ++i) row[i] = i;
      for (std::int64_t i = 0; i < k; ++i) std::swap(row[i], row[swap[i] - 1]);
    }
    // P[order[j], j] = 1
    const Tensor each = unsqueeze(arange(0, m, 1, DType::int64), 1);
    p = to(eq(each, unsqueeze(order, -2)), lu.dtype());
  }
  if (data) {
    const Tensor low = lower(narrow(lu, -1, 0, k), -1);
    l = with_diagonal(low, ones({k}, lu.dtype()));
    u = upper(narrow(lu, -2, 0, k));
  }
  return {p, l, u};
}

Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left, bool adj) {
  check_float_or_complex(lu, "torch.linalg.lu_solve");
  check_same_dtype(lu, b, "linalg.lu_solve", "LU", "B");
  if (pivots.dtype() != DType::int32) {
    fail(ErrorKind::runtime,
         "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32");
  }
  check_square(lu, "torch.linalg.lu_solve");
  check_matrix(b, "linalg.lu_solve", "B");
  check_solvable_shapes(lu, b, left, "linalg.lu_solve");
  const std::int64_t n = lu.size(-1);
  if (pivots.dim() < 1 || pivots.size(-1) != n) {
    fail(ErrorKind::runtime,
         "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the "
         "matrix");
  }
  if (pivots.shape() != vectors(batch_shape(lu), n)) {
    fail(ErrorKind::runtime,
         "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots "
         "with shape " +
             to_string(pivots.shape()) + " instead");
  }
  Tensor x;
  {
    const NoGrad off;
    const Dims batch = batch_broadcast(lu, b);
    const Tensor factors = copy_columns(expand(detach(lu), matrices(batch, n, n)));
    const Tensor rows = contiguous(expand(detach(pivots), vectors(batch, n)));
    if (!pivots_fit(rows, n)) {
      fail(ErrorKind::runtime,
           "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). Did you properly "
           "pass the result of lu_factor?");
    }
    // X A = B is A^H X^H = B^H.
    const Tensor wide = expand(detach(b), matrices(batch, b.size(-2), b.size(-1)));
    x = copy_columns(left ? wide : adjoint(wide));
    lapack::lu_solve(batch_of(x, "lu_solve_cpu"), n, x.size(-1), left == adj ? 'C' : 'N',
                     factors.data(), rows.data_as<std::int32_t>(), x.data());
    if (!left) x = adjoint(x);
  }
  if (needs_tape({&lu, &b})) {
    record("LinalgLuSolveBackward0", x, {&lu, &b},
           [s_lu = Saved(lu), s_pivots = Saved(pivots), s_x = Saved::output(x), left, adj,
            shape = b.shape()](Node& node, const Gradients& g) {
             Gradients r(2);
             if (none(g)) return r;
             const Tensor f = s_lu.get(&node), rows = s_pivots.get(&node);
             const Tensor gb = lu_solve(f, rows, g[0], left, !adj);
             if (node.needs(1)) r[1] = sum_to(gb, shape);
             if (!node.needs(0)) return r;
             // The gradient of A = P L U, then of L and U.
             const Tensor x = s_x.get(&node);
             Tensor ga = left ? matmul(gb, adjoint(x)) : matmul(adjoint(x), gb);
             if (adj) ga = adjoint(ga);
             const auto [p, l, u] = lu_unpack(f, rows, true, true);
             ga = matmul(adjoint(p), neg(ga));
             r[0] = add(lower(matmul(ga, adjoint(u)), -1), upper(matmul(adjoint(l), ga)));
             r[0] = sum_to(r[0], f.shape());
             return r;
           });
  }
  return x;
}

namespace {
constexpr unsigned kPart = kSubmodule | kOut;
constexpr unsigned kAll = kFunction | kMethod | kOut;
}  // namespace

std::span<const OpDef> factor_ops() {
  static constexpr OpDef rows[] = {
      native<cholesky>(
          "linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
          "L of L L^H = A for positive-definite A (..., n, n), or its adjoint (upper). "
          "LinAlgError if A isn't positive-definite.",
          kPart),
      native<cholesky_ex>("linalg_cholesky_ex(Tensor self, *, bool upper=False, bool "
                          "check_errors=False) -> (Tensor L, Tensor info)",
                          "cholesky() with LAPACK's number for each matrix, 0 for success.", kPart),
      native<cholesky_solve>("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> "
                             "Tensor",
                             "X of A X = self, where input2 is A's Cholesky factor.", kAll),
      native<cholesky_inverse>("cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
                               "The inverse of the matrix whose Cholesky factor self is.", kAll),
      native<lu_factor_checked>("linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, "
                                "Tensor pivots)",
                                "LU in one matrix with the row swaps (int32, from 1). RuntimeError "
                                "if U has a zero on its diagonal.",
                                kPart),
      native<lu_factor_ex>("linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool "
                           "check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)",
                           "lu_factor() with LAPACK's number for each matrix.", kPart),
      native<linalg_lu>("linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
                        "A = P L U: a permutation, a lower triangle with ones, an upper triangle.",
                        kPart),
      native<lu_factor_ex>("_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> "
                           "(Tensor LU, Tensor pivots, Tensor info)",
                           "lu_factor_ex() for lu().", kFunction),
      native<lu_unpack>("lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool "
                        "unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
                        "P, L and U from what lu_factor() gives.", kFunction | kOut),
      native<lu_solve>(
          "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool "
          "adjoint=False) -> Tensor",
          "X of A X = B (left), X A = B, or with A^H (adjoint), from A's LU factors.", kPart),
      native<old_lu_solve>("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
                           "X of A X = self from A's LU factors.", kAll),
      native<ldl_factor>("linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, "
                         "Tensor pivots)",
                         "LDL of symmetric or Hermitian matrices, from the lower triangle.", kPart),
      native<ldl_factor_ex>("linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool "
                            "check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)",
                            "ldl_factor() with LAPACK's number for each matrix.", kPart),
      native<ldl_solve>("linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool "
                        "hermitian=False) -> Tensor",
                        "X of A X = B from A's LDL factors.", kPart, false),
  };
  return rows;
}

}  // namespace treadle
