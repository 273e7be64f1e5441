// Functions of square matrices: powers and the exponential; and views of diagonals.
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/ops/linalg/util.h"

namespace treadle {
namespace {

Tensor matrix_power(const Tensor& self, std::int64_t n) {
  check_square(self, "linalg.matrix_power");
  if (n == 0) {
    const Tensor one = expand(eye(self.size(-1), std::nullopt, self.dtype()), self.shape());
    return where(zeros({}, DType::boolean), self, one);  // depends on self in name only
  }
  Tensor base = n < 0 ? inverse(self) : self;
  // Not -n: that of the least integer doesn't exist.
  std::uint64_t left = n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  if (left == 1) return n < 0 ? base : clone(self);
  if (left == 3) return matmul(matmul(base, base), base);
  Tensor out;
  while (true) {
    if (left & 1) out = out.defined() ? matmul(out, base) : base;
    left >>= 1;
    if (left == 0) return out;
    base = matmul(base, base);
  }
}

// --- exp -----------------------------------------------------------------------------------------

// The Taylor polynomial of degree 18 in five products (Bader, Blanes, Casas: "Computing the matrix
// exponential with an optimized Taylor polynomial approximation", Mathematics 7, 2019), as PyTorch.
Tensor taylor18(const Tensor& a) {
  static constexpr double kB[5][5] = {
      {0., -1.00365581030144618291e-01, -8.02924648241156932449e-03, -8.92138498045729985177e-04,
       0.},
      {0., 3.97849749499645077844e-01, 1.36783778460411720168e+00, 4.98289622525382669416e-01,
       -6.37898194594723280150e-04},
      {-1.09676396052962061844e+01, 1.68015813878906206114e+00, 5.71779846478865511061e-02,
       -6.98210122488052056106e-03, 3.34975017086070470649e-05},
      {-9.04316832390810593223e-02, -6.76404519071381882256e-02, 6.75961301770459654925e-02,
       2.95552570429315521194e-02, -1.39180257516060693404e-05},
      {0., 0., -9.23364619367118555360e-02, -1.69364939002081722752e-02,
       -1.40086798182036094347e-05},
  };
  const Tensor a2 = matmul(a, a), a3 = matmul(a, a2), a6 = matmul(a3, a3);
  const Tensor one = eye(a.size(-1), std::nullopt, a.dtype());
  const std::array<const Tensor*, 5> powers = {&one, &a, &a2, &a3, &a6};
  const auto combined = [&](const double(&c)[5]) {
    Tensor out;
    for (std::size_t i = 0; i < 5; ++i) {
      if (c[i] != 0) out = sum_defined(out, mul(*powers[i], Tensor(c[i])));
    }
    return out;
  };
  const Tensor b1 = combined(kB[0]), b2 = combined(kB[1]), b3 = combined(kB[2]),
               b4 = combined(kB[3]), b5 = combined(kB[4]);
  const Tensor a9 = add(matmul(b1, b5), b4);
  return add(b2, matmul(add(b3, a9), a9));
}

Tensor matrix_exp_wide(const Tensor& a) {
  // Each matrix is halved until its norm is small, and the result squared as often.
  const double limit =
      real_dtype(a.dtype()) == DType::float32 ? 3.010066362817634e+00 : 1.090863719290036e+00;
  const Tensor norms = contiguous(to(amax(sum(abs(detach(a)), {-2}), {-1}), DType::float64));
  const std::int64_t count = norms.numel();
  std::vector<double> halvings(static_cast<std::size_t>(count), 0);
  double most = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double norm = norms.data_as<double>()[i];
    double& h = halvings[static_cast<std::size_t>(i)];
    if (norm > limit && std::isfinite(norm)) h = std::ceil(std::log2(norm / limit));
    most = std::max(most, h);
  }
  if (most == 0) return taylor18(a);
  Dims shape = norms.shape();
  shape.push_back(1), shape.push_back(1);
  const Tensor h = from_values<double>(halvings, shape, DType::float64);
  std::vector<double> factors;
  for (const double x : halvings) factors.push_back(std::ldexp(1.0, -static_cast<int>(x)));
  const Tensor scale = from_values<double>(factors, shape, real_dtype(a.dtype()));
  Tensor out = taylor18(mul(a, scale));
  for (double i = 0; i < most; ++i) {
    out = where(gt(h, Tensor(i)), matmul(out, out), out);
  }
  return out;
}

Tensor matrix_exp(const Tensor& self) {
  check_square(self, "linalg.matrix_exp");
  check_float_or_complex(self, "linalg.matrix_exp");
  Tensor out;
  {
    const NoGrad off;
    const Tensor a = detach(self);
    if (a.numel() == 0) {
      out = clone(a);
    } else if (a.size(-1) == 1) {
      out = exp(a);
    } else if (item_size(a.dtype()) == 2) {
      out = to(matrix_exp_wide(to(a, DType::float32)), a.dtype());
    } else {
      out = matrix_exp_wide(a);
    }
  }
  if (needs_tape({&self})) {
    record("LinalgMatrixExpBackward0", out, {&self},
           [saved = Saved(self)](Node& n, const Gradients& g) {
             if (none(g)) return Gradients(1);
             // exp of [[A^H, G], [0, A^H]] has the derivative along G in its upper right corner.
             const Tensor h = adjoint(saved.get(&n));
             const std::int64_t size = h.size(-1);
             const Tensor top = cat({h, g[0]}, -1), bottom = cat({zeros_like(h), h}, -1);
             const Tensor both = matrix_exp(cat({top, bottom}, -2));
             return Gradients{narrow(narrow(both, -2, 0, size), -1, size, size)};
           });
  }
  return out;
}

Tensor linalg_diagonal(const Tensor& a, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  return diagonal_view(a, offset, dim1, dim2);
}

constexpr unsigned kPart = kSubmodule | kOut;
constexpr unsigned kBoth = kFunction | kMethod;

}  // namespace

std::span<const OpDef> matrix_function_ops() {
  static constexpr OpDef rows[] = {
      native<matrix_power>("linalg_matrix_power(Tensor self, int n) -> Tensor",
                           "The product of n square matrices; of the inverse for n < 0.", kPart),
      native<matrix_power>("matrix_power(Tensor self, int n) -> Tensor", "linalg.matrix_power().",
                           kBoth | kOut),
      native<matrix_exp>("linalg_matrix_exp(Tensor self) -> Tensor",
                         "The sum of A^k / k!, for square matrices.", kPart),
      native<matrix_exp>("matrix_exp(Tensor self) -> Tensor", "linalg.matrix_exp().", kBoth),
      native<linalg_diagonal>(
          "linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
          "The diagonal of two dimensions (by default the last two) as the last one.", kSubmodule),
  };
  return rows;
}

}  // namespace treadle
