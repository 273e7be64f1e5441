// Eigenvalues, singular values, and what is made of them: pinv, matrix_rank, cond, polar.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/ops/linalg/util.h"

namespace treadle {
namespace {

Tensor columns_times(const Tensor& m, const Tensor& v) { return mul(m, unsqueeze(v, -2)); }
Tensor rows_times(const Tensor& m, const Tensor& v) { return mul(m, unsqueeze(v, -1)); }
Tensor skew(const Tensor& m) { return sub(m, adjoint(m)); }
Tensor as_dtype(const Tensor& t, DType dtype) { return t.dtype() == dtype ? t : to(t, dtype); }

// v_j - v_i, with 1 on the diagonal.
Tensor gaps(const Tensor& v) {
  const Tensor d = sub(unsqueeze(v, -2), unsqueeze(v, -1));
  return with_diagonal(d, ones({v.size(-1)}, v.dtype()));
}

bool close_to_zero(const Tensor& t, const Tensor& scale) {
  const NoGrad off;
  if (t.numel() == 0) return true;
  const double tolerance = t.dtype() == DType::float32 ? 1e-3 : 1e-8;
  const Tensor bound = mul(add(abs(amax(abs(detach(scale)))), Tensor(1)), Tensor(tolerance));
  return all(le(abs(detach(t)), bound)).item_int() != 0;
}

// --- Hermitian eigenvalues -----------------------------------------------------------------------

bool is_upper(const std::string& uplo) {
  if (uplo == "U" || uplo == "u") return true;
  if (uplo == "L" || uplo == "l") return false;
  fail(ErrorKind::runtime, "Expected UPLO argument to be 'L' or 'U', but got " + uplo);
}

// Below the tape.
std::tuple<Tensor, Tensor> eigh_raw(const Tensor& a, const std::string& uplo, bool vectors_too) {
  const bool upper_triangle = is_upper(uplo);
  const NoGrad off;
  const Tensor v = copy_columns(detach(a)), info = new_info(a);
  const lapack::Batch batch = batch_of(a, "linalg_eigh_cpu");
  const Tensor w = Tensor::empty(vectors(batch_shape(a), a.size(-1)), real_dtype(a.dtype()));
  lapack::eigh(batch, a.size(-1), vectors_too, upper_triangle, v.data(), w.data(),
               info.data_as<std::int32_t>());
  check_info(info, "linalg.eigh");
  return {w, v};
}

}  // namespace

std::tuple<Tensor, Tensor> eigh(const Tensor& a, const std::string& uplo) {
  check_square(a, "linalg.eigh");
  const auto [w, v] = eigh_raw(a, uplo, true);
  if (!needs_tape({&a})) return {w, v};
  record_all(
      "LinalgEighBackward0", {&w, &v}, {&a},
      [sw = Saved::output(w, 0), sv = Saved::output(v, 1)](Node& n, const Gradients& g) {
        if (!g[0].defined() && !g[1].defined()) return Gradients(1);
        const Tensor w = sw.get(&n), v = sv.get(&n), vh = adjoint(v);
        if (!g[1].defined()) return Gradients{matmul(columns_times(v, g[0]), vh)};
        const Tensor m = matmul(vh, g[1]);
        if (is_complex(m.dtype()) && !close_to_zero(imag(diagonal_view(m)), g[1])) {
          fail(ErrorKind::runtime,
               "linalg_eigh_backward: The eigenvectors in the complex case are specified up to "
               "multiplication by e^{i phi}. The specified loss function depends on this quantity, "
               "so it is ill-defined.");
        }
        Tensor inner = div(m, gaps(w));
        const Tensor diag =
            g[0].defined() ? as_dtype(g[0], m.dtype()) : zeros(w.shape(), m.dtype());
        inner = with_diagonal(inner, diag);
        return Gradients{matmul(matmul(v, inner), vh)};
      });
  return {w, v};
}

Tensor eigvalsh(const Tensor& a, const std::string& uplo) {
  check_square(a, "linalg.eigh");
  if (needs_tape({&a})) return std::get<0>(eigh(a, uplo));
  return std::get<0>(eigh_raw(a, uplo, false));
}

namespace {

// --- eigenvalues in general ----------------------------------------------------------------------

std::tuple<Tensor, Tensor> eig_raw(const Tensor& a, bool vectors_too) {
  const NoGrad off;
  if (!is_differentiable(a.dtype())) {
    fail(ErrorKind::runtime,
         "Unknown Complex ScalarType for " + std::string(info(a.dtype()).scalar));
  }
  const Tensor wrong = logical_not(lt(abs(detach(a)), Tensor(HUGE_VAL)));
  if (any(wrong).item_int() != 0) {
    fail(ErrorKind::runtime, "torch.linalg.eig: input tensor should not contain infs or NaNs.");
  }
  const DType dtype = complex_dtype(a.dtype());
  const Tensor work = copy_columns(detach(a)), info = new_info(a);
  const Tensor w = Tensor::empty(vectors(batch_shape(a), a.size(-1)), dtype);
  const Tensor v = vectors_too ? new_columns(a.shape(), dtype) : Tensor();
  lapack::eig(batch_of(a, "linalg_eig_out_cpu"), a.size(-1), work.data(), w.data(),
              vectors_too ? v.data() : nullptr, info.data_as<std::int32_t>());
  check_info(info, "torch.linalg.eig");
  return {w, v};
}

std::tuple<Tensor, Tensor> eig_named(const Tensor& a, const char* name) {
  check_square(a, name);
  const auto [w, v] = eig_raw(a, true);
  if (!needs_tape({&a})) return {w, v};
  record_all(
      "LinalgEigBackward0", {&w, &v}, {&a},
      [sw = Saved::output(w, 0), sv = Saved::output(v, 1), dtype = a.dtype()](Node& n,
                                                                              const Gradients& g) {
        if (!g[0].defined() && !g[1].defined()) return Gradients(1);
        const Tensor w = sw.get(&n), v = sv.get(&n), vh = adjoint(v);
        // V^-H (...) V^H
        const auto between = [&](const Tensor& inner) {
          return Gradients{real_if_real(solve(vh, matmul(inner, vh)), dtype)};
        };
        if (!g[1].defined()) return between(diag_matrix(g[0]));
        const Tensor m = matmul(vh, g[1]), diag = diagonal_view(m);
        if (!close_to_zero(imag(diag), g[1])) {
          fail(ErrorKind::runtime,
               "linalg_eig_backward: The eigenvectors in the complex case are specified up to "
               "multiplication by e^{i phi}. The specified loss function depends on this quantity, "
               "so it is ill-defined.");
        }
        Tensor inner = sub(m, columns_times(matmul(vh, v), as_dtype(real(diag), m.dtype())));
        inner = div(inner, gaps(conj(w)));
        inner = with_diagonal(inner, g[0].defined() ? g[0] : zeros_like(w));
        return between(inner);
      });
  return {w, v};
}
std::tuple<Tensor, Tensor> eig(const Tensor& a) { return eig_named(a, "linalg.eig"); }
Tensor eigvals(const Tensor& a) {
  check_square(a, "linalg.eigvals");
  if (needs_tape({&a})) return std::get<0>(eig_named(a, "linalg.eigvals"));
  return std::get<0>(eig_raw(a, false));
}

// --- singular values -----------------------------------------------------------------------------

void check_driver(const std::optional<std::string>& driver) {
  if (driver) {
    fail(ErrorKind::runtime,
         "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
         "cuSOLVER backend.");
  }
}

std::tuple<Tensor, Tensor, Tensor> svd_raw(const Tensor& a, bool full, bool vectors_too) {
  const NoGrad off;
  const std::int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  const Dims batch = batch_shape(a);
  const Tensor work = copy_columns(detach(a)), info = new_info(a);
  const Tensor s = Tensor::empty(vectors(batch, k), real_dtype(a.dtype()));
  Tensor u, vh;
  if (vectors_too) {
    u = new_columns(matrices(batch, m, full ? m : k), a.dtype());
    vh = new_columns(matrices(batch, full ? n : k, n), a.dtype());
    if (k == 0) {  // bases that nothing determines
      copy_(u, expand(eye(u.size(-2), u.size(-1), a.dtype()), u.shape()));
      copy_(vh, expand(eye(vh.size(-2), vh.size(-1), a.dtype()), vh.shape()));
    }
  }
  lapack::svd(batch_of(a, "linalg_svd_cpu"), m, n, full, work.data(), s.data(),
              vectors_too ? u.data() : nullptr, vectors_too ? vh.data() : nullptr,
              info.data_as<std::int32_t>());
  check_info(info, "linalg.svd");
  return {u, s, vh};
}

Tensor svd_backward(const Tensor& gu, const Tensor& gs, const Tensor& gvh, const Tensor& u,
                    const Tensor& s, const Tensor& vh) {
  const std::int64_t m = u.size(-2), n = vh.size(-1), k = s.size(-1);
  const DType dtype = u.dtype();
  if (!gu.defined() && !gvh.defined()) return matmul(columns_times(u, gs), vh);
  const Tensor squares = mul(s, s);
  const Tensor e = gaps(squares);
  const Tensor uu = gu.defined() ? skew(matmul(adjoint(u), gu)) : Tensor();
  const Tensor vv = gvh.defined() ? skew(matmul(vh, adjoint(gvh))) : Tensor();
  if (is_complex(dtype)) {
    const Tensor both = sum_defined(uu.defined() ? diagonal_view(uu) : Tensor(),
                                    vv.defined() ? diagonal_view(vv) : Tensor());
    if (!close_to_zero(imag(both), gu.defined() ? gu : gvh)) {
      fail(ErrorKind::runtime,
           "svd_backward: The singular vectors in the complex case are specified up to "
           "multiplication by e^{i phi}. The specified loss function depends on this quantity, so "
           "it is ill-defined.");
    }
  }
  Tensor inner;
  if (uu.defined()) inner = columns_times(div(uu, e), s);
  if (vv.defined()) inner = sum_defined(inner, rows_times(div(vv, e), s));
  if (gs.defined()) inner = add(inner, as_dtype(diag_matrix(gs), dtype));
  if (is_complex(dtype) && uu.defined() && vv.defined()) {
    // The common phase of both, of which the diagonals above say nothing.
    inner = add(inner, diag_matrix(div(diagonal_view(uu), mul(s, Tensor(2)))));
  }
  if (m > k && gu.defined()) {
    const Tensor outside = sub(gu, matmul(u, matmul(adjoint(u), gu)));
    Tensor g = matmul(add(matmul(u, inner), columns_times(outside, div(Tensor(1), s))), vh);
    if (n > k && gvh.defined()) {
      const Tensor other = sub(gvh, matmul(matmul(gvh, adjoint(vh)), vh));
      g = add(g, matmul(u, rows_times(other, div(Tensor(1), s))));
    }
    return g;
  }
  if (n > k && gvh.defined()) {
    const Tensor outside = sub(gvh, matmul(matmul(gvh, adjoint(vh)), vh));
    return matmul(u, add(matmul(inner, vh), rows_times(outside, div(Tensor(1), s))));
  }
  return matmul(matmul(u, inner), vh);
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& a, bool full, const char* name) {
  check_matrix(a, name);
  check_float_or_complex(a, name);
  const auto [u, s, vh] = svd_raw(a, full, true);
  if (!needs_tape({&a})) return {u, s, vh};
  record_all("LinalgSvdBackward0", {&u, &s, &vh}, {&a},
             [su = Saved::output(u, 0), ss = Saved::output(s, 1), sv = Saved::output(vh, 2)](
                 Node& n, const Gradients& g) {
               if (!g[0].defined() && !g[1].defined() && !g[2].defined()) return Gradients(1);
               const Tensor s = ss.get(&n);
               const std::int64_t k = s.size(-1);
               const auto cut = [k](const Tensor& t, std::int64_t dim) {
                 return t.defined() && t.size(dim) != k ? narrow(t, dim, 0, k) : t;
               };
               return Gradients{svd_backward(cut(g[0], -1), g[1], cut(g[2], -2),
                                             cut(su.get(&n), -1), s, cut(sv.get(&n), -2))};
             });
  return {u, s, vh};
}

Tensor svdvals(const Tensor& a) {
  check_matrix(a, "linalg.svd");
  check_float_or_complex(a, "linalg.svd");
  if (needs_tape({&a})) return std::get<1>(svd(a, false, "linalg.svd"));
  return std::get<1>(svd_raw(a, false, false));
}

namespace {

std::tuple<Tensor, Tensor, Tensor> linalg_svd(const Tensor& a, bool full_matrices,
                                              const std::optional<std::string>& driver) {
  check_matrix(a, "linalg.svd");
  check_driver(driver);
  return svd(a, full_matrices, "linalg.svd");
}
Tensor linalg_svdvals(const Tensor& a, const std::optional<std::string>& driver) {
  check_driver(driver);
  return svdvals(a);
}
std::tuple<Tensor, Tensor, Tensor> old_svd(const Tensor& self, bool some, bool compute_uv) {
  if (compute_uv) {
    const auto [u, s, vh] = svd(self, !some, "linalg.svd");
    return {u, s, adjoint(vh)};
  }
  const Tensor s = svdvals(self);
  const std::int64_t m = self.size(-2), n = self.size(-1);
  return {zeros(matrices(batch_shape(self), m, m), self.dtype()), s,
          zeros(matrices(batch_shape(self), n, n), self.dtype())};
}

// --- what is made of them ------------------------------------------------------------------------

Tensor epsilon_times(const Tensor& a) {
  const double eps = real_dtype(a.dtype()) == DType::float32
                         ? std::numeric_limits<float>::epsilon()
                         : std::numeric_limits<double>::epsilon();
  const double size = static_cast<double>(std::max(a.size(-2), a.size(-1)));
  return full({}, Scalar(eps * size), real_dtype(a.dtype()));
}

// max(atol, rtol * the largest value), for each matrix. rtol is eps * max(m, n) by default, and 0
// where an atol > 0 was given.
Tensor tolerance(const Tensor& a, const Tensor& values, const Tensor& atol, const Tensor& rtol) {
  const DType dtype = values.dtype();
  const auto check = [](const Tensor& t, const char* name) {
    if (t.defined() && is_complex(t.dtype())) {
      fail(ErrorKind::runtime, std::string("torch.linalg.matrix_rank: ") + name +
                                   " tensor of complex type is not supported. Got " +
                                   std::string(info(t.dtype()).scalar));
    }
  };
  check(atol, "atol");
  check(rtol, "rtol");
  Tensor least = atol.defined() ? as_dtype(atol, dtype) : zeros({}, dtype);
  Tensor relative;
  if (rtol.defined()) {
    relative = as_dtype(rtol, dtype);
  } else {
    relative = epsilon_times(a);
    if (atol.defined()) relative = where(gt(least, Tensor(0)), zeros({}, dtype), relative);
  }
  if (values.size(-1) == 0) return least;
  return maximum(least, mul(relative, amax(values, {-1})));
}

Tensor number(const std::optional<double>& value, DType dtype) {
  return value ? full({}, Scalar(*value), dtype) : Tensor();
}

Tensor rank_of(const Tensor& a, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  check_matrix(a, "torch.linalg.matrix_rank", "input");
  if (!is_differentiable(a.dtype()) || item_size(a.dtype()) == 2) {
    fail(ErrorKind::runtime, "This function doesn't handle types other than float and double");
  }
  const NoGrad off;
  const Tensor values = hermitian ? abs(eigvalsh(detach(a), "L")) : svdvals(detach(a));
  if (values.numel() == 0) return zeros(batch_shape(a), DType::int64);
  const Tensor limit = tolerance(a, values, atol, rtol);
  return sum(gt(values, unsqueeze(limit, -1)), {-1}, false, DType::int64);
}
DType tolerance_dtype(const Tensor& a) {
  return is_differentiable(a.dtype()) ? real_dtype(a.dtype()) : DType::float32;
}
Tensor matrix_rank(const Tensor& self, std::optional<double> atol, std::optional<double> rtol,
                   bool hermitian) {
  const DType dtype = tolerance_dtype(self);
  return rank_of(self, number(atol, dtype), number(rtol, dtype), hermitian);
}
Tensor matrix_rank_tensor(const Tensor& input, const Tensor& atol, const Tensor& rtol,
                          bool hermitian) {
  return rank_of(input, atol, rtol, hermitian);
}
Tensor matrix_rank_tol(const Tensor& self, double tol, bool hermitian) {
  const DType dtype = tolerance_dtype(self);
  return rank_of(self, number(tol, dtype), number(0, dtype), hermitian);
}
Tensor matrix_rank_tol_tensor(const Tensor& input, const Tensor& tol, bool hermitian) {
  return rank_of(input, tol, zeros({}, tolerance_dtype(input)), hermitian);
}

}  // namespace

Tensor pinv_gradient(const Tensor& g, const Tensor& p, const Tensor& a) {
  const Tensor ph = adjoint(p), gh = adjoint(g);
  if (a.size(-2) <= a.size(-1)) {
    const Tensor k = matmul(gh, p), kph = matmul(k, ph);
    const Tensor range = sub(kph, matmul(matmul(a, p), kph));
    const Tensor outside = matmul(matmul(ph, p), sub(gh, matmul(k, a)));
    return add(sub(range, adjoint(matmul(p, k))), outside);
  }
  const Tensor k = matmul(p, gh), phk = matmul(ph, k);
  const Tensor range = sub(phk, matmul(matmul(phk, p), a));
  const Tensor outside = matmul(matmul(sub(gh, matmul(a, k)), p), ph);
  return add(sub(range, adjoint(matmul(k, p))), outside);
}

Tensor pinv(const Tensor& a, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  if (a.dim() < 2 || !is_differentiable(a.dtype()) || item_size(a.dtype()) == 2) {
    fail(ErrorKind::runtime, "linalg.pinv(" + std::string(info(a.dtype()).scalar) + "{" +
                                 to_string(a.shape()) +
                                 "}): expected a tensor with 2 or more dimensions of float, "
                                 "double, cfloat or cdouble types");
  }
  if (hermitian) check_square(a, "linalg.pinv");
  Tensor out;
  {
    const NoGrad off;
    const Tensor x = detach(a);
    const auto inverted = [&](const Tensor& values, const Tensor& sizes) {
      const Tensor keep = gt(sizes, unsqueeze(tolerance(x, sizes, atol, rtol), -1));
      return where(keep, div(Tensor(1), values), zeros({}, values.dtype()));
    };
    if (a.numel() == 0) {
      out = zeros(matrices(batch_shape(a), a.size(-1), a.size(-2)), a.dtype());
    } else if (hermitian) {
      const auto [w, v] = eigh(x, "L");
      out = matmul(columns_times(v, inverted(w, abs(w))), adjoint(v));
    } else {
      const auto [u, s, vh] = svd(x, false, "linalg.svd");
      out = matmul(columns_times(adjoint(vh), inverted(s, s)), adjoint(u));
    }
  }
  if (needs_tape({&a})) {
    record("LinalgPinvBackward0", out, {&a},
           [sa = Saved(a), saved = Saved::output(out)](Node& n, const Gradients& g) {
             if (none(g)) return Gradients(1);
             return Gradients{pinv_gradient(g[0], saved.get(&n), sa.get(&n))};
           });
  }
  return out;
}

namespace {

Tensor linalg_pinv(const Tensor& self, std::optional<double> atol, std::optional<double> rtol,
                   bool hermitian) {
  const DType dtype = tolerance_dtype(self);
  return pinv(self, number(atol, dtype), number(rtol, dtype), hermitian);
}
Tensor linalg_pinv_tensor(const Tensor& self, const Tensor& atol, const Tensor& rtol,
                          bool hermitian) {
  return pinv(self, atol, rtol, hermitian);
}
Tensor linalg_pinv_rcond(const Tensor& self, double rcond, bool hermitian) {
  const DType dtype = tolerance_dtype(self);
  return pinv(self, number(0, dtype), number(rcond, dtype), hermitian);
}
Tensor linalg_pinv_rcond_tensor(const Tensor& self, const Tensor& rcond, bool hermitian) {
  return pinv(self, zeros({}, tolerance_dtype(self)), rcond, hermitian);
}
Tensor pinverse(const Tensor& self, double rcond) { return linalg_pinv_rcond(self, rcond, false); }

std::tuple<Tensor, Tensor> polar(const Tensor& a) {
  check_matrix(a, "linalg.polar");
  check_float_or_complex(a, "linalg.polar");
  if (a.size(-2) < a.size(-1)) {
    fail(ErrorKind::runtime,
         "linalg.polar: input must have at least as many rows as columns, but got " +
             std::to_string(a.size(-2)) + " by " + std::to_string(a.size(-1)) + " matrices");
  }
  const auto [u, s, vh] = svd(a, false, "linalg.polar");
  return {matmul(u, vh), matmul(columns_times(adjoint(vh), s), vh)};
}

Tensor matrix_sqrth(const Tensor& self) {
  check_square(self, "linalg.matrix_sqrth");
  check_float_or_complex(self, "linalg.matrix_sqrth");
  Tensor out;
  {
    const NoGrad off;
    const auto [w, v] = eigh(detach(self), "L");
    out = matmul(columns_times(v, sqrt(maximum(w, Tensor(0)))), adjoint(v));
  }
  if (needs_tape({&self})) {
    // X of S X + X S = g: in S's eigenbasis a division by the sums of its eigenvalues.
    record("LinalgMatrixSqrthBackward0", out, {&self},
           [saved = Saved::output(out)](Node& n, const Gradients& g) {
             if (none(g)) return Gradients(1);
             const auto [w, v] = eigh(saved.get(&n), "L");
             const Tensor sums = add(unsqueeze(w, -2), unsqueeze(w, -1));
             const Tensor both = mul(add(g[0], adjoint(g[0])), Tensor(0.5));
             const Tensor inner = div(matmul(matmul(adjoint(v), both), v), sums);
             return Gradients{matmul(matmul(v, inner), adjoint(v))};
           });
  }
  return out;
}

Tensor linalg_eigvalsh(const Tensor& self, const std::string& uplo) { return eigvalsh(self, uplo); }
std::tuple<Tensor, Tensor> linalg_eigh(const Tensor& self, const std::string& uplo) {
  return eigh(self, uplo);
}

constexpr unsigned kPart = kSubmodule | kOut;
constexpr unsigned kBoth = kFunction | kMethod;

}  // namespace

std::span<const OpDef> eig_ops() {
  static constexpr OpDef rows[] = {
      native<linalg_eigh>("linalg_eigh(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor "
                          "eigenvectors)",
                          "Eigenvalues, ascending, and orthonormal eigenvectors of symmetric or "
                          "Hermitian matrices, of which one triangle is read.",
                          kPart),
      native<linalg_eigvalsh>("linalg_eigvalsh(Tensor self, str UPLO='L') -> Tensor",
                              "Eigenvalues of symmetric or Hermitian matrices, ascending.", kPart),
      native<eig>("linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
                  "Complex eigenvalues and eigenvectors of length 1 of square matrices.", kPart),
      native<eigvals>("linalg_eigvals(Tensor self) -> Tensor",
                      "Complex eigenvalues of square matrices.", kPart),
      native<linalg_svd>("linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> "
                         "(Tensor U, Tensor S, Tensor Vh)",
                         "A = U diag(S) Vh with orthonormal columns of U and rows of Vh; S "
                         "descends.",
                         kPart),
      native<linalg_svdvals>("linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
                             "Singular values, descending.", kPart),
      native<old_svd>("svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor "
                      "S, Tensor V)",
                      "self = U diag(S) V^H.", kBoth | kOut),
      native<matrix_rank>("linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, "
                          "float? rtol=None, bool hermitian=False) -> Tensor",
                          "How many singular values exceed max(atol, rtol * the largest).", kPart,
                          false),
      native<matrix_rank_tensor>("linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? "
                                 "atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor",
                                 "How many singular values exceed max(atol, rtol * the largest).",
                                 kPart, false),
      native<matrix_rank_tol>("linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> "
                              "Tensor",
                              "How many singular values exceed tol.", kPart, false),
      native<matrix_rank_tol_tensor>("linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool "
                                     "hermitian=False) -> Tensor",
                                     "How many singular values exceed max(atol, rtol * the "
                                     "largest); rtol is eps * max(m, n) unless an atol is given.",
                                     kPart, false),
      native<linalg_pinv>("linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? "
                          "rtol=None, bool hermitian=False) -> Tensor",
                          "The pseudoinverse.", kPart),
      native<linalg_pinv_tensor>("linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, "
                                 "Tensor? rtol=None, bool hermitian=False) -> Tensor",
                                 "The pseudoinverse.", kPart),
      native<linalg_pinv_rcond>("linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> "
                                "Tensor",
                                "The pseudoinverse.", kPart),
      native<linalg_pinv_rcond_tensor>("linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool "
                                       "hermitian=False) -> Tensor",
                                       "The pseudoinverse; singular values of at most max(atol, "
                                       "rtol * the largest) count as 0.",
                                       kPart),
      native<pinverse>("pinverse(Tensor self, float rcond=1e-15) -> Tensor",
                       "The pseudoinverse; singular values of at most rcond * the largest count "
                       "as 0.",
                       kBoth),
      native<polar>("linalg_polar(Tensor A) -> (Tensor U, Tensor H)",
                    "A = U H with orthonormal columns of U and a Hermitian H >= 0.", kPart),
      native<matrix_sqrth>("linalg_matrix_sqrth(Tensor self) -> Tensor",
                           "The square root of a Hermitian matrix >= 0, itself Hermitian.", kPart),
  };
  return rows;
}

}  // namespace treadle
