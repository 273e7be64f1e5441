// QR, Householder reflectors, and least squares.
#include <algorithm>
#include <limits>

#include "engine/ops/linalg/util.h"

namespace treadle {
namespace {

// --- qr ------------------------------------------------------------------------------------------

enum class QrMode { reduced, complete, r };
QrMode qr_mode(const std::string& mode) {
  if (mode == "reduced") return QrMode::reduced;
  if (mode == "complete") return QrMode::complete;
  if (mode == "r") return QrMode::r;
  fail(ErrorKind::runtime, "qr received unrecognized mode '" + mode +
                               "' but expected one of 'reduced' (default), 'r', or 'complete'");
}

// X + X^H without counting the diagonal twice: the gradient of a triangle with a real diagonal.
Tensor both_triangles(const Tensor& x) {
  const Tensor d = diagonal_view(x);
  const Tensor kept = is_complex(x.dtype()) ? to(real(d), x.dtype()) : d;
  return with_diagonal(add(x, adjoint(x)), kept);
}

// For Q (m, k) and square R (k, k).
Tensor qr_backward_square(const Tensor& gq, const Tensor& gr, const Tensor& q, const Tensor& r) {
  Tensor m = gr.defined() ? matmul(gr, adjoint(r)) : Tensor();
  if (gq.defined()) m = sum_defined(m, neg(matmul(adjoint(q), gq)));
  Tensor g = matmul(q, both_triangles(upper(m)));
  g = sum_defined(g, gq);
  return solve_triangular(adjoint(r), g, false, false);
}

std::tuple<Tensor, Tensor> qr(const Tensor& a, const std::string& mode_text) {
  check_matrix(a, "linalg.qr");
  const QrMode mode = qr_mode(mode_text);
  check_float_or_complex(a, "linalg.qr");
  const std::int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  Tensor q, r;
  {
    const NoGrad off;
    const Tensor packed = copy_columns(detach(a));
    const Tensor tau = Tensor::empty(vectors(batch_shape(a), k), a.dtype());
    const lapack::Batch batch = batch_of(a, "geqrf_cpu");
    if (item_size(a.dtype()) == 2) {
      fail(ErrorKind::not_implemented,
           "\"geqrf_cpu\" not implemented for '" + std::string(info(a.dtype()).scalar) + "'");
    }
    lapack::qr(batch, m, n, packed.data(), tau.data());
    const bool complete = mode == QrMode::complete;
    r = upper(narrow(packed, -2, 0, complete ? m : k));
    if (mode == QrMode::r) {
      q = zeros({0}, a.dtype());
    } else {
      const std::int64_t columns = complete ? m : k;
      q = new_columns(matrices(batch_shape(a), m, columns), a.dtype());
      zero_(q);
      const std::int64_t shared = std::min(columns, n);
      cast_into(narrow(q, -1, 0, shared), narrow(packed, -1, 0, shared));
      lapack::make_q(batch, m, columns, k, q.data(), tau.data());
    }
  }
  if (!needs_tape({&a})) return {q, r};
  record_all("LinalgQrBackward0", {&q, &r}, {&a},
             [sa = Saved(a), sq = Saved::output(q, 0), sr = Saved::output(r, 1), mode, m, n, k](
                 Node& node, const Gradients& g) {
               if (!g[0].defined() && !g[1].defined()) return Gradients(1);
               if (mode == QrMode::r) {
                 fail(ErrorKind::runtime,
                      "The derivative of linalg.qr depends on Q, which is not computed when "
                      "mode='r'. Please use linalg.qr(A, mode='reduced') if you are going to "
                      "require gradients");
               }
               if (mode == QrMode::complete && m > n) {
                 fail(ErrorKind::runtime,
                      "The QR decomposition is not differentiable when mode='complete' and nrows > "
                      "ncols");
               }
               const Tensor q = sq.get(&node), r = sr.get(&node);
               if (m >= n) return Gradients{qr_backward_square(g[0], g[1], q, r)};
               // Wide: A = [X Y], R = [U V] with X = Q U and V = Q^H Y.
               const Tensor y = narrow(sa.get(&node), -1, k, n - k);
               Tensor gq = g[0], gu, gy;
               if (g[1].defined()) {
                 const Tensor gv = narrow(g[1], -1, k, n - k);
                 gq = sum_defined(gq, matmul(y, adjoint(gv)));
                 gu = narrow(g[1], -1, 0, k);
                 gy = matmul(q, gv);
               } else {
                 gy = zeros_like(y);
               }
               return Gradients{cat({qr_backward_square(gq, gu, q, narrow(r, -1, 0, k)), gy}, -1)};
             });
  return {q, r};
}

std::tuple<Tensor, Tensor> geqrf(const Tensor& self) {
  if (self.dim() < 2) {
    fail(ErrorKind::runtime, "torch.geqrf: input must have at least 2 dimensions.");
  }
  const std::int64_t m = self.size(-2), n = self.size(-1);
  Tensor a, tau;
  {
    const NoGrad off;
    a = copy_columns(detach(self));
    tau = zeros(vectors(batch_shape(self), std::min(m, n)), self.dtype());
    const lapack::Batch batch = batch_of(self, "geqrf_cpu");
    lapack::qr(batch, m, n, a.data(), tau.data());
  }
  record_not_differentiable("geqrf", {&a, &tau}, self);
  return {a, tau};
}

// --- reflectors ----------------------------------------------------------------------------------

// x - scale * v (v^H x), v being column i of `packed` below its diagonal, with a 1 on it.
Tensor reflect(const Tensor& x, const Tensor& packed, const Tensor& scale, std::int64_t i) {
  const std::int64_t m = packed.size(-2);
  const Tensor column = narrow(packed, -1, i, 1);
  const Tensor row = unsqueeze(arange(0, m, 1, DType::int64), 1);
  const Tensor below = gt(row, Tensor::wrapped(i)), on = eq(row, Tensor::wrapped(i));
  const Tensor v = where(below, column, to(on, packed.dtype()));
  const Tensor times = matmul(v, matmul(adjoint(v), x));
  return sub(x, mul(unsqueeze(unsqueeze(scale, -1), -1), times));
}

void check_reflectors(const Tensor& input, const Tensor& tau, const char* op) {
  const std::string name = op;
  if (input.dim() < 2) fail(ErrorKind::runtime, name + ": input must have at least 2 dimensions.");
  if (input.dim() - tau.dim() != 1) {
    fail(ErrorKind::runtime,
         name + ": Expected tau to have one dimension less than input, but got tau.ndim equal to " +
             std::to_string(tau.dim()) + " and input.ndim is equal to " +
             std::to_string(input.dim()));
  }
  if (input.dim() > 2) {
    Dims batch = tau.shape();
    batch.resize(batch.size() - 1);
    if (batch != batch_shape(input)) {
      fail(ErrorKind::runtime,
           name + ": Expected batch dimensions of tau to be equal to input.shape[:-2], but got " +
               to_string(batch));
    }
  }
  if (tau.dtype() != input.dtype()) {
    fail(ErrorKind::runtime, name + ": tau dtype " + std::string(info(tau.dtype()).scalar) +
                                 " does not match input dtype " +
                                 std::string(info(input.dtype()).scalar));
  }
}

Tensor householder_product(const Tensor& input, const Tensor& tau) {
  constexpr const char* kName = "torch.linalg.householder_product";
  if (input.dim() < 2) {
    fail(ErrorKind::runtime, std::string(kName) + ": input must have at least 2 dimensions.");
  }
  const std::int64_t m = input.size(-2), n = input.size(-1);
  if (m < n) {
    fail(ErrorKind::runtime,
         std::string(kName) + ": input.shape[-2] must be greater than or equal to input.shape[-1]");
  }
  const std::int64_t k = tau.dim() > 0 ? tau.size(-1) : 0;
  if (n < k) {
    fail(ErrorKind::runtime,
         std::string(kName) + ": input.shape[-1] must be greater than or equal to tau.shape[-1]");
  }
  check_reflectors(input, tau, kName);
  if (needs_tape({&input, &tau})) {
    // As a chain of differentiable reflections of the identity.
    Tensor q = expand(eye(m, n, input.dtype()), input.shape());
    if (k == 0) q = where(zeros({}, DType::boolean), input, q);  // depends on input in name only
    for (std::int64_t i = k - 1; i >= 0; --i) q = reflect(q, input, select(tau, -1, i), i);
    return q;
  }
  const NoGrad off;
  const Tensor q = copy_columns(input), scales = contiguous(tau);
  lapack::make_q(batch_of(input, "orgqr_cpu"), m, n, k, q.data(), scales.data());
  return q;
}

Tensor ormqr(const Tensor& self, const Tensor& input2, const Tensor& input3, bool left,
             bool transposed) {
  const Tensor &input = self, &tau = input2, &other = input3;
  const std::string name = "torch.ormqr";
  if (input.dim() < 2) fail(ErrorKind::runtime, name + ": input must have at least 2 dimensions.");
  if (other.dim() < 2) fail(ErrorKind::runtime, name + ": other must have at least 2 dimensions.");
  const std::int64_t side = left ? -2 : -1;
  const std::string side_text = "other.shape[" + std::to_string(side) + "]";
  if (tau.dim() > 0 && other.size(side) < tau.size(-1)) {
    fail(ErrorKind::runtime,
         name + ": " + side_text + " must be greater than or equal to tau.shape[-1]");
  }
  if (other.size(side) != input.size(-2)) {
    fail(ErrorKind::runtime, name + ": " + side_text + " must be equal to input.shape[-2]");
  }
  if (tau.dim() < 1 || tau.size(-1) != std::min(other.size(side), input.size(-1))) {
    fail(ErrorKind::runtime,
         name + ": tau.shape[-1] must be equal to min(" + side_text + ", input.shape[-1])");
  }
  check_reflectors(input, tau, "torch.ormqr");
  if (input.dim() != other.dim()) {
    fail(ErrorKind::runtime,
         name +
             ": Expected other to have the same number of dimensions as input, but got "
             "other.ndim equal to " +
             std::to_string(other.dim()) + " and input.ndim is equal to " +
             std::to_string(input.dim()));
  }
  if (batch_shape(other) != batch_shape(input)) {
    fail(ErrorKind::runtime,
         name + ": Expected batch dimensions of other to be equal to input.shape[:-2], but got " +
             to_string(batch_shape(other)));
  }
  if (other.dtype() != input.dtype()) {
    fail(ErrorKind::runtime,
         name + ": Expected input and other to have the same dtype, but got input with dtype " +
             std::string(info(input.dtype()).scalar) + " and other with dtype " +
             std::string(info(other.dtype()).scalar));
  }
  const std::int64_t k = tau.size(-1);
  if (needs_tape({&input, &tau, &other})) {
    // C Q is (Q^H C^H)^H, so that only products from the left are needed.
    const bool adj = left == transposed;
    Tensor x = left ? other : adjoint(other);
    for (std::int64_t s = 0; s < k; ++s) {
      const std::int64_t i = adj ? s : k - 1 - s;
      const Tensor scale = select(tau, -1, i);
      x = reflect(x, input, adj ? conj(scale) : scale, i);
    }
    return left ? x : adjoint(x);
  }
  const NoGrad off;
  const Tensor out = copy_columns(other), scales = contiguous(tau);
  const Tensor packed = copy_columns(narrow(input, -1, 0, k));
  lapack::multiply_q(batch_of(input, "ormqr_cpu"), out.size(-2), out.size(-1), k, left, transposed,
                     packed.data(), scales.data(), out.data());
  return out;
}

// --- least squares -------------------------------------------------------------------------------

struct Lstsq {
  Tensor solution, residuals, rank, singular_values;
};

char lstsq_driver(const std::optional<std::string>& driver) {
  if (!driver || *driver == "gelsy") return 'y';
  if (*driver == "gels") return 'l';
  if (*driver == "gelsd") return 'd';
  if (*driver == "gelss") return 's';
  fail(ErrorKind::runtime,
       "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
}

double default_rcond(DType dtype, std::int64_t m, std::int64_t n) {
  const double eps = real_dtype(dtype) == DType::float32 ? std::numeric_limits<float>::epsilon()
                                                         : std::numeric_limits<double>::epsilon();
  return eps * static_cast<double>(std::max(m, n));
}

std::tuple<Tensor, Tensor, Tensor, Tensor> lstsq(const Tensor& self, const Tensor& b,
                                                 std::optional<double> rcond,
                                                 const std::optional<std::string>& driver_name) {
  const std::string name = "torch.linalg.lstsq";
  if (self.dim() < 2) fail(ErrorKind::runtime, name + ": input must have at least 2 dimensions.");
  if (b.dim() < 1) fail(ErrorKind::runtime, name + ": other must have at least 1 dimension.");
  if (self.dtype() != b.dtype()) {
    fail(ErrorKind::runtime,
         name + ": Expected input and other to have the same dtype, but got input's dtype " +
             std::string(info(self.dtype()).scalar) + " and other's dtype " +
             std::string(info(b.dtype()).scalar));
  }
  if (!is_differentiable(self.dtype()) || item_size(self.dtype()) == 2) {
    fail(ErrorKind::runtime, "This function doesn't handle types other than float and double");
  }
  const char driver = lstsq_driver(driver_name);
  const std::int64_t m = self.size(-2), n = self.size(-1), tall = std::max(m, n);
  const bool vector =
      b.dim() == 1 || (b.dim() == self.dim() - 1 &&
                       std::equal(b.shape().begin(), b.shape().end(), self.shape().begin()));
  const Tensor right = vector ? unsqueeze(b, -1) : b;
  if (self.size(-2) != right.size(-2)) {
    fail(ErrorKind::runtime, vector ? name + ": input.size(-2) should match other.size(-1)"
                                    : name + ": input.size(-2) should match other.size(-2)");
  }
  const std::int64_t columns = right.size(-1);
  Tensor solution, residuals, rank, values;
  bool full_rank = true;
  {
    const NoGrad off;
    const Dims batch = batch_broadcast(self, right);
    const Tensor a = copy_columns(expand(detach(self), matrices(batch, m, n)));
    const Tensor x = new_columns(matrices(batch, tall, columns), self.dtype());
    zero_(x);
    cast_into(narrow(x, -2, 0, m), detach(right));
    const DType real = real_dtype(self.dtype());
    rank = Tensor::empty(driver == 'l' ? Dims{0} : batch, DType::int64);
    values = zeros(driver == 'd' || driver == 's' ? vectors(batch, std::min(m, n)) : Dims{0}, real);
    const Tensor info = new_info(x);
    const bool has_values = values.dim() > 1 || values.numel() > 0;
    lapack::least_squares(batch_of(x, "linalg_lstsq_cpu"), driver, m, n, columns,
                          rcond ? *rcond : default_rcond(self.dtype(), m, n), a.data(), x.data(),
                          driver == 'l' ? nullptr : rank.data_as<std::int64_t>(),
                          has_values ? values.data() : nullptr, info.data_as<std::int32_t>());
    check_info(info, "torch.linalg.lstsq");
    solution = clone(narrow(x, -2, 0, n));
    if (driver != 'l') {
      full_rank = all(eq(rank, Tensor::wrapped(std::min(m, n)))).item_int() != 0;
    }
    residuals = zeros({0}, real);
    if (m > n && driver != 'y' && full_rank) {
      residuals = sum(square(abs(narrow(x, -2, n, m - n))), {-2});
    }
    if (vector) solution = squeeze(solution, Dims{-1});
  }
  if (!needs_tape({&self, &b})) return {solution, residuals, rank, values};
  record_all("LinalgLstsqBackward0", {&solution, &residuals, &rank}, {&self, &b},
             [sa = Saved(self), sb = Saved(b), vector](Node& node, const Gradients& g) {
               Gradients r(2);
               const Tensor a = sa.get(&node), given = sb.get(&node);
               const Tensor right = vector ? unsqueeze(given, -1) : given;
               const Tensor inverse = pinv(a, Tensor(), Tensor(), false);
               // X = pinv(A) B, so the gradient of pinv(A) leads to A's.
               Tensor ga, gb;
               if (g[0].defined()) {
                 const Tensor gx = vector ? unsqueeze(g[0], -1) : g[0];
                 if (node.needs(1)) gb = matmul(adjoint(inverse), gx);
                 if (node.needs(0)) {
                   ga = pinv_gradient(matmul(gx, adjoint(right)), inverse, a);
                 }
               }
               if (g[1].defined() && g[1].numel() > 0) {
                 // |A X - B|^2 per column; the solution is where its derivative by X is 0.
                 const Tensor rest = sub(matmul(a, matmul(inverse, right)), right);
                 const Tensor scaled = mul(mul(rest, Tensor(2)), unsqueeze(g[1], -2));
                 ga = sum_defined(ga, matmul(scaled, adjoint(matmul(inverse, right))));
                 gb = sum_defined(gb, neg(scaled));
               }
               if (ga.defined() && node.needs(0)) r[0] = sum_to(ga, a.shape());
               if (gb.defined() && node.needs(1)) {
                 r[1] = sum_to(vector ? squeeze(gb, Dims{-1}) : gb, given.shape());
               }
               return r;
             });
  return {solution, residuals, rank, values};
}

constexpr unsigned kPart = kSubmodule | kOut;
constexpr unsigned kAll = kFunction | kMethod | kOut;

}  // namespace

std::span<const OpDef> qr_ops() {
  static constexpr OpDef rows[] = {
      native<qr>("linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)",
                 "A = Q R: orthonormal columns, an upper triangle. mode: 'reduced', 'complete' (Q "
                 "square) or 'r' (R alone).",
                 kPart),
      native<geqrf>("geqrf(Tensor self) -> (Tensor a, Tensor tau)",
                    "QR in LAPACK's form: R above, Householder vectors below the diagonal, their "
                    "scales in tau.",
                    kAll),
      native<householder_product>("linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
                                  "The first columns of the product of Householder reflectors.",
                                  kPart),
      native<householder_product>("orgqr(Tensor self, Tensor input2) -> Tensor",
                                  "linalg.householder_product().", kAll),
      native<ormqr>("ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool "
                    "transpose=False) -> Tensor",
                    "input3 times Q (or its adjoint), given as Householder reflectors.", kAll),
      native<lstsq>(
          "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> "
          "(Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
          "The X with the least |A X - B|. driver: 'gels', 'gelsy' (default), 'gelsd' or "
          "'gelss'.",
          kPart),
  };
  return rows;
}

}  // namespace treadle
