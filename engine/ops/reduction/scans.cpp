// Scans along a dimension with their gradients: cumsum, cumprod, cummax, cummin, logcumsumexp. To
// add one: its kernel in backend/cpu/scan.cpp, and its function and row here.
#include "engine/backend/cpu/scan.h"

#include <limits>

#include "engine/ops/native.h"
#include "engine/ops/reduction/scans.h"
#include "engine/ops/view/util.h"

namespace treadle {
namespace {

ScanShape scan_shape(const Tensor& dense, std::int64_t dim) {
  ScanShape s{1, 1, 1};
  for (std::int64_t d = 0; d < dense.dim(); ++d) {
    (d < dim ? s.outer : d == dim ? s.count : s.inner) *= dense.shape()[d];
  }
  return s;
}

Tensor dense(const Tensor& t) {
  const NoGrad off;
  return contiguous(detach(t));
}

Tensor run_scan(Scan op, const Tensor& self, std::int64_t dim) {
  const Tensor in = dense(self), out = Tensor::empty(self.shape(), self.dtype());
  scan(op, self.dtype(), in.data(), out.data(), scan_shape(in, dim));
  return out;
}

// The tensor in the dtype of a sum or product: integers as int64.
Tensor widened(const Tensor& self, std::optional<DType> dtype) {
  if (!dtype && is_integral(self.dtype())) dtype = DType::int64;
  return dtype ? to(self, *dtype) : self;
}

Tensor reverse_cumsum(const Tensor& g, std::int64_t dim) {
  return flip(cumsum(flip(g, {dim}), dim), {dim});
}

// s[k] = b[k] + a[k] s[k - 1] (reverse: s[k + 1]). Its gradients are such recurrences again, the
// other way round.
Tensor linear_scan(const Tensor& a, const Tensor& b, std::int64_t dim, bool reverse) {
  const Tensor da = dense(a), db = dense(b), out = Tensor::empty(b.shape(), b.dtype());
  scan_linear(b.dtype(), da.data(), db.data(), out.data(), scan_shape(db, dim), reverse);
  if (needs_tape({&a, &b})) {
    record("LinearScanBackward0", out, {&a, &b},
           [=, sa = Saved(a), s = Saved::output(out)](Node& n, const Gradients& g) {
             if (none(g)) return Gradients(2);
             const Tensor factor = conj(sa.get(&n));
             const Tensor t = linear_scan(shift(factor, dim, !reverse, 0), g[0], dim, !reverse);
             return Gradients{
                 n.needs(0) ? mul(t, conj(shift(s.get(&n), dim, reverse, 0))) : Tensor(), t};
           });
  }
  return out;
}

}  // namespace

Tensor shift(const Tensor& t, std::int64_t dim, bool back, const Scalar& fill) {
  const std::int64_t n = t.shape()[dim];
  if (n == 0) return t;
  Dims shape = t.shape();
  shape[dim] = 1;
  const Tensor edge = full(shape, fill, t.dtype());
  return back ? cat({narrow(t, dim, 1, n - 1), edge}, dim)
              : cat({edge, narrow(t, dim, 0, n - 1)}, dim);
}

Tensor cumsum(const Tensor& input, std::int64_t dim, std::optional<DType> dtype) {
  const Tensor self = widened(input, dtype);
  dim = wrap_dim(dim, self.dim());
  const Tensor out = run_scan(Scan::sum, self, dim);
  if (needs_tape({&self})) {
    record("CumsumBackward0", out, {&self}, [dim](Node&, const Gradients& g) {
      if (none(g)) return Gradients(1);
      return Gradients{g[0].dim() == 0 ? g[0] : reverse_cumsum(g[0], dim)};
    });
  }
  return out;
}

Tensor cumprod(const Tensor& input, std::int64_t dim, std::optional<DType> dtype) {
  const Tensor self = widened(input, dtype);
  dim = wrap_dim(dim, self.dim());
  const Tensor out = run_scan(Scan::product, self, dim);
  if (needs_tape({&self})) {
    record("CumprodBackward0", out, {&self},
           [dim, x = Saved(self), y = Saved::output(out)](Node& n, const Gradients& g) {
             if (none(g)) return Gradients(1);
             const Tensor in = x.get(&n), product = y.get(&n);
             if (in.dim() == 0) return Gradients{g[0]};
             // The product before element k, times what the later results make of it: no division,
             // so that zeros are right.
             const Tensor later = linear_scan(conj(shift(in, dim, true, 0)), g[0], dim, true);
             return Gradients{mul(later, conj(shift(product, dim, false, 1)))};
           });
  }
  return out;
}

Tensor rising_powers(const Tensor& x, std::int64_t size) {
  Dims shape = x.shape();
  shape.push_back(size - 1);
  const Tensor powers = cumprod(expand(unsqueeze(x, -1), shape), -1);
  shape[shape.size() - 1] = 1;
  return cat({ones(shape, powers.dtype()), powers}, -1);
}

namespace {

Tensor logcumsumexp(const Tensor& self, std::int64_t dim) {
  dim = wrap_dim(dim, self.dim());
  const Tensor out = run_scan(Scan::log_sum, self, dim);
  if (!needs_tape({&self})) return out;
  record("LogcumsumexpBackward0", out, {&self},
         [dim, x = Saved(self), y = Saved::output(out)](Node& n, const Gradients& g) {
           if (none(g) || g[0].numel() == 0) return g;
           const Tensor in = x.get(&n), result = y.get(&n);
           // sum over j >= i of g[j] exp(x[i] - result[j]), by logarithms: nothing overflows.
           const auto spread = [&](const Tensor& log_grad) {
             const Tensor logs = sub(log_grad, result);
             const Tensor sums =
                 logs.dim() == 0 ? logs : flip(logcumsumexp(flip(logs, {dim}), dim), {dim});
             return exp(add(sums, in));
           };
           if (is_complex(in.dtype())) return Gradients{conj(spread(log(conj(g[0]))))};
           const Tensor nothing = full({}, -std::numeric_limits<double>::infinity(), in.dtype());
           const Tensor one = ones({}, in.dtype());
           const auto part = [&](const Tensor& h) {
             const Tensor has = gt(h, Tensor(0));
             return spread(where(has, log(where(has, h, one)), nothing));
           };
           const Tensor grad = sub(part(g[0]), part(neg(g[0])));
           // Elements of -inf have no share.
           return Gradients{where(eq(in, nothing), zeros({}, in.dtype()), grad)};
         });
  return out;
}

using Pair = std::tuple<Tensor, Tensor>;
Pair running_extreme(bool maximum, const Tensor& self, std::int64_t dim) {
  dim = wrap_dim(dim, self.dim());
  const Tensor in = dense(self), out = Tensor::empty(self.shape(), self.dtype());
  const Tensor index = Tensor::empty(self.shape(), DType::int64);
  scan_extreme(maximum, self.dtype(), in.data(), out.data(), index.data_as<std::int64_t>(),
               scan_shape(in, dim));
  if (needs_tape({&self})) {
    record(maximum ? "CummaxBackward0" : "CumminBackward0", out, {&self},
           [dim, index](Node&, const Gradients& g) {
             if (none(g) || g[0].numel() == 0) return g;
             return Gradients{scatter_add(zeros_like(g[0]), dim, index, g[0])};
           });
  }
  return {out, index};
}
Pair cummax(const Tensor& self, std::int64_t dim) { return running_extreme(true, self, dim); }
Pair cummin(const Tensor& self, std::int64_t dim) { return running_extreme(false, self, dim); }

void write_back(const Tensor& self, const Tensor& result) {
  check_inplace(self);
  copy_(self, result);
}
void cumsum_inplace(const Tensor& self, std::int64_t dim, std::optional<DType> dtype) {
  write_back(self, cumsum(self, dim, dtype.value_or(self.dtype())));
}
void cumprod_inplace(const Tensor& self, std::int64_t dim, std::optional<DType> dtype) {
  write_back(self, cumprod(self, dim, dtype.value_or(self.dtype())));
}

constexpr unsigned kAll = kFunction | kMethod | kOut;

}  // namespace

std::span<const OpDef> scan_ops() {
  static constexpr OpDef rows[] = {
      native<cumsum, cumsum_inplace>(
          "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
          "Running sum along a dimension; int64 for integers.", kAll),
      native<cumprod, cumprod_inplace>(
          "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
          "Running product along a dimension; int64 for integers.", kAll),
      native<logcumsumexp>("logcumsumexp(Tensor self, int dim) -> Tensor",
                           "log of the running sum of exponentials, without overflow.", kAll),
      native<cummax>("cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
                     "Running maximum along a dimension and its position, the last of equals; a "
                     "NaN stays.",
                     kAll),
      native<cummin>("cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
                     "Running minimum along a dimension and its position, the last of equals; a "
                     "NaN stays.",
                     kAll),
  };
  return rows;
}

}  // namespace treadle
