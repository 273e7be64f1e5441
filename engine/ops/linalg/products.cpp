// Products of vectors and of many tensors: dot, outer, kron, cross, tensordot, chains of matrices.
// All are made of mm, bmm and elementwise ops, and so are their gradients. einsum: einsum.cpp.
#include <algorithm>
#include <limits>

#include "engine/core/iter.h"
#include "engine/ops/linalg/util.h"
#include "engine/ops/reduction/scans.h"

namespace treadle {
namespace {

void check_dot(const Tensor& self, const Tensor& other) {
  if (self.dim() != 1 || other.dim() != 1) {
    fail(ErrorKind::runtime, "1D tensors expected, but got " + std::to_string(self.dim()) +
                                 "D and " + std::to_string(other.dim()) + "D tensors");
  }
  if (self.dtype() != other.dtype()) {
    fail(ErrorKind::runtime, "dot : expected both vectors to have same dtype, but found " +
                                 std::string(info(self.dtype()).scalar) + " and " +
                                 std::string(info(other.dtype()).scalar));
  }
  if (self.numel() != other.numel()) {
    fail(ErrorKind::runtime, "inconsistent tensor size, expected tensor " +
                                 to_string(self.shape()) + " and src " + to_string(other.shape()) +
                                 " to have the same number of elements, but got " +
                                 std::to_string(self.numel()) + " and " +
                                 std::to_string(other.numel()) + " elements respectively");
  }
  if (self.dtype() == DType::boolean) {
    fail(ErrorKind::not_implemented, "\"dot\" not implemented for 'Bool'");
  }
}

void check_mv(const char* op, const Tensor& self, const Tensor& mat, const Tensor& vec,
              std::int64_t self_dim) {
  if (mat.dim() != 2 || vec.dim() != 1 || self_dim > 1) {
    fail(ErrorKind::runtime, "vector + matrix @ vector expected, got " + std::to_string(self_dim) +
                                 ", " + std::to_string(mat.dim()) + ", " +
                                 std::to_string(vec.dim()));
  }
  const std::int64_t length = self.defined() ? self.numel() : mat.size(0);
  if (mat.size(1) != vec.size(0) || (length != mat.size(0) && length != 1)) {
    fail(ErrorKind::runtime, "size mismatch, got input (" + std::to_string(length) + "), mat (" +
                                 sizes(mat) + "), vec (" + std::to_string(vec.size(0)) + ")");
  }
  const DType dtype = self.defined() ? self.dtype() : vec.dtype();
  if (dtype != mat.dtype() || dtype != vec.dtype()) {
    fail(ErrorKind::runtime, std::string(op) + " input tensors must have the same dtype, but got " +
                                 std::string(info(dtype).scalar) + ", " +
                                 std::string(info(mat.dtype()).scalar) + ", and " +
                                 std::string(info(vec.dtype()).scalar));
  }
  if (mat.dtype() == DType::boolean) {
    fail(ErrorKind::not_implemented, "\"addmv_impl_cpu\" not implemented for 'Bool'");
  }
}

}  // namespace

Tensor dot(const Tensor& self, const Tensor& other) {
  check_dot(self, other);
  // Sums of products are faster than a product of matrices that are one row and one column; 16-bit
  // floats and integers need the latter's wider sums.
  if (is_differentiable(self.dtype()) && item_size(self.dtype()) > 2) return sum(mul(self, other));
  return reshape(mm(unsqueeze(self, 0), unsqueeze(other, 1)), {});
}

Tensor mv(const Tensor& self, const Tensor& vec) {
  check_mv("addmv", Tensor(), self, vec, 1);
  return squeeze(mm(self, unsqueeze(vec, 1)), Dims{1});
}

namespace {

Tensor vdot(const Tensor& self, const Tensor& other) {
  check_dot(self, other);
  return dot(conj(self), other);
}

Tensor outer(const Tensor& self, const Tensor& vec2) {
  const auto check = [](const Tensor& t, const char* name) {
    if (t.dim() == 1) return;
    fail(ErrorKind::runtime, std::string("outer: Expected 1-D argument ") + name + ", but got " +
                                 std::to_string(t.dim()) + "-D");
  };
  check(self, "self");
  check(vec2, "vec2");
  return mul(unsqueeze(self, 1), vec2);
}

Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
             const Scalar& alpha) {
  check_mv("addmv", self, mat, vec, self.dim());
  const Tensor column = unsqueeze(expand(self, {mat.size(0)}), 1);
  return squeeze(addmm(column, mat, unsqueeze(vec, 1), beta, alpha), Dims{1});
}

Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
            const Scalar& alpha) {
  const auto check = [](const Tensor& t, const char* name) {
    if (t.dim() == 1) return;
    fail(ErrorKind::runtime, std::string("addr: Expected 1-D argument ") + name + ", but got " +
                                 std::to_string(t.dim()) + "-D");
  };
  check(vec1, "vec1");
  check(vec2, "vec2");
  Promotion promotion;
  for (const Tensor* t : {&self, &vec1, &vec2}) promotion.add(*t);
  const DType dtype = promotion.result();
  const auto check_number = [&](const Scalar& s, const char* name) {
    if (s.kind == Scalar::Kind::boolean && dtype != DType::boolean) {
      fail(ErrorKind::runtime,
           std::string("Boolean ") + name + " only supported for Boolean results.");
    }
    if (s.kind >= Scalar::Kind::floating && is_integral(dtype)) {
      fail(ErrorKind::runtime, std::string("For integral input tensors, argument ") + name +
                                   " must not be a floating point number.");
    }
    if (s.kind == Scalar::Kind::complex && !is_complex(dtype)) {
      fail(ErrorKind::runtime, std::string("For non-complex input tensors, argument ") + name +
                                   " must not be a complex number.");
    }
  };
  check_number(beta, "beta");
  check_number(alpha, "alpha");
  const Tensor wide = expand(self, {vec1.size(0), vec2.size(0)});
  const Tensor times = mul(unsqueeze(vec1, 1), vec2);
  const bool zero = beta.f == 0 && beta.im == 0;
  if (dtype == DType::boolean) {
    const Tensor scaled = alpha.f != 0 ? times : zeros_like(times);
    return zero ? scaled : logical_or(wide, scaled);
  }
  const Tensor scaled = to(mul(times, alpha.tensor()), dtype);
  return zero ? scaled : to(add(mul(wide, beta.tensor()), scaled), dtype);
}

Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha) {
  if (batch1.dim() != 3) fail(ErrorKind::runtime, "batch1 must be a 3D tensor");
  if (batch2.dim() != 3) fail(ErrorKind::runtime, "batch2 must be a 3D tensor");
  if (batch1.size(0) != batch2.size(0)) {
    fail(ErrorKind::runtime, "batch1 and batch2 must have same number of batches, got " +
                                 std::to_string(batch1.size(0)) + " and " +
                                 std::to_string(batch2.size(0)));
  }
  if (batch1.size(2) != batch2.size(1)) {
    fail(ErrorKind::runtime,
         "Incompatible matrix sizes for bmm (" + std::to_string(batch1.size(1)) + "x" +
             std::to_string(batch1.size(2)) + " and " + std::to_string(batch2.size(1)) + "x" +
             std::to_string(batch2.size(2)) + ")");
  }
  // The batches side by side: one product whose inner dimension is that of all of them.
  const std::int64_t inner = batch1.size(0) * batch1.size(2);
  const Tensor a = reshape(transpose(batch1, 0, 1), {batch1.size(1), inner});
  const Tensor b = reshape(batch2, {inner, batch2.size(2)});
  return addmm(self, a, b, beta, alpha);
}

// --- contractions --------------------------------------------------------------------------------

Tensor tensordot(const Tensor& self, const Tensor& other, const Dims& dims_self,
                 const Dims& dims_other) {
  if (dims_self.size() != dims_other.size()) {
    fail(ErrorKind::runtime, "both dimension lists should have same length");
  }
  if (self.dtype() != other.dtype()) {
    fail(ErrorKind::runtime, "both inputs should have same dtype");
  }
  Tensor a = self, b = other;
  Dims in_a, in_b;
  for (std::int64_t i = 0; i < dims_self.size(); ++i) {
    in_a.push_back(wrap_dim(dims_self[i], self.dim()));
    in_b.push_back(wrap_dim(dims_other[i], other.dim()));
    const std::int64_t p = self.size(in_a[i]), q = other.size(in_b[i]);
    if (p == q) continue;
    if (p != 1 && q != 1) {
      fail(ErrorKind::runtime, "contracted dimensions need to match, but first has size " +
                                   std::to_string(p) + " in dim " + std::to_string(dims_self[i]) +
                                   " and second has size " + std::to_string(q) + " in dim " +
                                   std::to_string(dims_other[i]));
    }
    // A size of 1 broadcasts, so the other side is summed.
    if (p == 1) b = to(sum(b, {in_b[i]}, true), b.dtype());
    if (q == 1) a = to(sum(a, {in_a[i]}, true), a.dtype());
  }
  const auto order = [](const Tensor& t, const Dims& contracted, bool last, Dims& kept) {
    const std::uint64_t mask = [&] {
      std::uint64_t bits = 0;
      for (const std::int64_t d : contracted) {
        if (bits >> d & 1) {
          fail(ErrorKind::runtime,
               "dim " + std::to_string(d) + " appears multiple times in the list of dims");
        }
        bits |= std::uint64_t{1} << d;
      }
      return bits;
    }();
    Dims dims;
    if (!last) dims = contracted;
    for (std::int64_t d = 0; d < t.dim(); ++d) {
      if (mask >> d & 1) continue;
      dims.push_back(d);
      kept.push_back(t.size(d));
    }
    if (last) {
      for (const std::int64_t d : contracted) dims.push_back(d);
    }
    return permute(t, dims);
  };
  Dims kept_a, kept_b;
  const Tensor pa = order(a, in_a, true, kept_a), pb = order(b, in_b, false, kept_b);
  std::int64_t inner = 1;
  for (const std::int64_t d : in_a) inner *= a.size(d);
  const Tensor out =
      mm(reshape(pa, {product(kept_a), inner}), reshape(pb, {inner, product(kept_b)}));
  Dims shape = kept_a;
  for (const std::int64_t d : kept_b) shape.push_back(d);
  return reshape(out, shape);
}

Tensor inner(const Tensor& self, const Tensor& other) {
  if (self.dtype() != other.dtype() && self.dim() > 0 && other.dim() > 0) {
    fail(ErrorKind::runtime, "both inputs should have same dtype");
  }
  if (self.dim() == 0 || other.dim() == 0) return mul(self, other);
  if (self.size(-1) != other.size(-1)) {
    fail(ErrorKind::runtime,
         "inner() the last dimension must match on both input tensors but got shapes " +
             to_string(self.shape()) + " and " + to_string(other.shape()));
  }
  return tensordot(self, other, {-1}, {-1});
}

Tensor kron(const Tensor& self, const Tensor& other) {
  // Every dimension doubled: (a0, 1, a1, 1, ...) times (1, b0, 1, b1, ...).
  const std::int64_t rank = std::max(self.dim(), other.dim());
  Dims a, b, shape;
  for (std::int64_t i = 0; i < rank; ++i) {
    const std::int64_t x = i < rank - self.dim() ? 1 : self.shape()[i - (rank - self.dim())];
    const std::int64_t y = i < rank - other.dim() ? 1 : other.shape()[i - (rank - other.dim())];
    a.push_back(x), a.push_back(1);
    b.push_back(1), b.push_back(y);
    shape.push_back(product({x, y}));
  }
  return reshape(mul(reshape(self, a), reshape(other, b)), shape);
}

// PyTorch refuses integers; the array API standard sums their products in the common dtype.
Tensor vecdot(const Tensor& x, const Tensor& y, std::int64_t dim) {
  const Dims shape = broadcast_shapes(x.shape(), y.shape());
  if (!is_differentiable(x.dtype()) && !is_differentiable(y.dtype())) {
    const Tensor products = mul(x, y);
    return to(sum(products, {wrap_dim(dim, shape.size())}), products.dtype());
  }
  check_same_dtype(x, y, "linalg.vecdot", "x", "y");
  const auto row = [&](const Tensor& t) {
    return shape.empty() ? reshape(t, {1}) : movedim(expand(t, shape), {dim}, {-1});
  };
  const Tensor a = row(conj(x)), b = row(y);
  return squeeze(squeeze(matmul(unsqueeze(a, -2), unsqueeze(b, -1)), Dims{-1}), Dims{-1});
}

// --- cross ---------------------------------------------------------------------------------------

Tensor linalg_cross(const Tensor& self, const Tensor& other, std::int64_t dim) {
  if (self.dtype() != other.dtype()) {  // an error in PyTorch; the array API standard promotes
    const DType common = promote_types(self.dtype(), other.dtype());
    return linalg_cross(to(self, common), to(other, common), dim);
  }
  if (self.dim() != other.dim()) {
    fail(ErrorKind::runtime, "linalg.cross: inputs must have the same number of dimensions.");
  }
  const std::int64_t d = wrap_dim(dim, self.dim());
  const auto length = [&](const Tensor& t) { return t.dim() == 0 ? 1 : t.size(d); };
  if (length(self) != 3 || length(other) != 3) {
    fail(ErrorKind::runtime, "linalg.cross: inputs dimension " + std::to_string(dim) +
                                 " must have length 3. Got " + std::to_string(length(self)) +
                                 " and " + std::to_string(length(other)));
  }
  const Dims shape = broadcast_shapes(self.shape(), other.shape());
  const auto rolled = [d](const Tensor& t, std::int64_t by) {
    return by == 1 ? cat({narrow(t, d, 1, 2), narrow(t, d, 0, 1)}, d)
                   : cat({narrow(t, d, 2, 1), narrow(t, d, 0, 2)}, d);
  };
  const Tensor a = expand(self, shape), b = expand(other, shape);
  return sub(mul(rolled(a, 1), rolled(b, 2)), mul(rolled(a, 2), rolled(b, 1)));
}
Tensor cross(const Tensor& self, const Tensor& other, std::optional<std::int64_t> dim) {
  if (dim) return linalg_cross(self, other, *dim);
  for (std::int64_t d = 0; d < self.dim(); ++d) {
    if (self.size(d) == 3) return linalg_cross(self, other, d);
  }
  fail(ErrorKind::runtime, "no dimension of size 3 in input");
}

// --- chains --------------------------------------------------------------------------------------

// The products of matrices from..to in the order that takes the fewest multiplications.
class Chain {
 public:
  explicit Chain(const std::vector<Tensor>& matrices) : matrices_(matrices) {
    const std::size_t n = matrices.size();
    std::vector<double> size{static_cast<double>(matrices[0].size(0))};
    for (const Tensor& m : matrices) size.push_back(static_cast<double>(m.size(1)));
    split_.assign(n, std::vector<std::size_t>(n, 0));
    std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
    for (std::size_t length = 1; length < n; ++length) {
      for (std::size_t i = 0; i + length < n; ++i) {
        const std::size_t j = i + length;
        cost[i][j] = std::numeric_limits<double>::infinity();
        for (std::size_t k = i; k < j; ++k) {
          const double c = cost[i][k] + cost[k + 1][j] + size[i] * size[k + 1] * size[j + 1];
          if (c < cost[i][j]) cost[i][j] = c, split_[i][j] = k;
        }
      }
    }
  }
  Tensor multiply(std::size_t from, std::size_t to) const {
    if (from == to) return matrices_[from];
    const std::size_t k = split_[from][to];
    return mm(multiply(from, k), multiply(k + 1, to));
  }

 private:
  const std::vector<Tensor>& matrices_;
  std::vector<std::vector<std::size_t>> split_;
};

Tensor multi_dot(const std::vector<Tensor>& tensors) {
  const std::size_t n = tensors.size();
  const auto at = [](std::size_t i) { return std::to_string(i); };
  if (n < 2) {
    fail(ErrorKind::runtime, "multi_dot(): expected at least 2 tensors but got " + at(n));
  }
  std::vector<Tensor> matrices = tensors;
  const auto ends = [&](std::size_t i, const char* which, std::int64_t as_matrix) {
    Tensor& t = matrices[i];
    if (t.dim() == 1) {
      t = unsqueeze(t, as_matrix);
    } else if (t.dim() != 2) {
      fail(ErrorKind::runtime, std::string("multi_dot(): the ") + which +
                                   " tensor must be 1D or 2D but got " + std::to_string(t.dim()) +
                                   "D");
    }
  };
  const bool first_vector = tensors[0].dim() == 1, last_vector = tensors[n - 1].dim() == 1;
  ends(0, "first", 0);
  ends(n - 1, "last", 1);
  for (std::size_t i = 1; i < n; ++i) {
    const Tensor& t = tensors[i];
    if (i + 1 < n && t.dim() != 2) {
      fail(ErrorKind::runtime,
           "multi_dot(): tensor " + at(i) + " must be 2D but got " + std::to_string(t.dim()) + "D");
    }
    if (t.dtype() != tensors[0].dtype()) {
      fail(ErrorKind::runtime,
           "multi_dot(): all tensors must have be the same dtype but tensor 0 is " +
               cpp_name(tensors[0].dtype()) + " and tensor " + at(i) + " " + cpp_name(t.dtype()));
    }
    if (matrices[i - 1].size(1) != matrices[i].size(0)) {
      fail(ErrorKind::runtime, "multi_dot(): tensors " + at(i - 1) + " and " + at(i) +
                                   " with shapes " + to_string(tensors[i - 1].shape()) + " and " +
                                   to_string(t.shape()) + " cannot be multiplied");
    }
  }
  Tensor out = Chain(matrices).multiply(0, n - 1);
  if (last_vector) out = squeeze(out, Dims{-1});
  return first_vector ? squeeze(out, Dims{0}) : out;
}

Tensor chain_matmul(const std::vector<Tensor>& matrices) {
  if (matrices.empty()) {
    fail(ErrorKind::runtime, "chain_matmul(): Expected one or more matrices");
  }
  for (const Tensor& t : matrices) {
    if (t.dim() == 2) continue;
    fail(ErrorKind::runtime,
         "Tensor dimension is " + std::to_string(t.dim()) + ", expected 2 instead.");
  }
  return matrices.size() == 1 ? matrices[0] : multi_dot(matrices);
}

Tensor vander(const Tensor& x, std::optional<std::int64_t> n) {
  if (x.dtype() == DType::boolean) {
    fail(ErrorKind::not_implemented,
         "linalg.vander supports floating point, complex, and integer tensors, but got Bool");
  }
  const std::int64_t columns = n.value_or(x.dim() > 0 ? x.size(-1) : 1);
  if (columns <= 1) fail(ErrorKind::runtime, "N must be greater than 1.");
  return rising_powers(x.dim() > 0 ? x : unsqueeze(x, 0), columns);
}

constexpr unsigned kAll = kFunction | kMethod | kOut;

}  // namespace

std::span<const OpDef> product_ops() {
  static constexpr OpDef rows[] = {
      native<mv>("mv(Tensor self, Tensor vec) -> Tensor",
                 "Product of a matrix (n, m) and a vector (m).", kAll),
      native<dot>("dot(Tensor self, Tensor tensor) -> Tensor",
                  "Sum of the products of two vectors.", kAll),
      native<vdot>("vdot(Tensor self, Tensor other) -> Tensor",
                   "Sum of conj(self) * other of two vectors.", kAll),
      native<vecdot>("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
                     "Sum of conj(x) * y along a dimension; the others broadcast.",
                     kSubmodule | kOut),
      native<inner>("inner(Tensor self, Tensor other) -> Tensor",
                    "Sums of products over the last dimension of both.", kAll),
      native<outer>("outer(Tensor self, Tensor vec2) -> Tensor",
                    "All products of the elements of two vectors.", kAll),
      native<outer>("ger(Tensor self, Tensor vec2) -> Tensor", "outer().", kAll),
      native<addmv, inplace<addmv>>(
          "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
          "beta * self + alpha * (mat @ vec).", kAll),
      native<addr, inplace<addr>>(
          "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
          "beta * self + alpha * outer(vec1, vec2); of bools `or` and `and`.", kAll),
      native<addbmm, inplace<addbmm>>("addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar "
                                      "beta=1, Scalar alpha=1) -> Tensor",
                                      "beta * self + alpha * the sum over the batch of batch1 @ "
                                      "batch2.",
                                      kAll),
      native<tensordot>("_tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) "
                        "-> Tensor",
                        "tensordot() with lists of dimensions.", kFunction | kOut),
      native<kron>("kron(Tensor self, Tensor other) -> Tensor",
                   "Kronecker product: every element of self times all of other.", kAll),
      native<linalg_cross>("linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
                           "Cross products of vectors of 3 along a dimension.", kSubmodule | kOut),
      native<cross>("cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
                    "Cross products along dim, else along the first dimension of size 3.", kAll),
      native<multi_dot>("linalg_multi_dot(Tensor[] tensors) -> Tensor",
                        "Product of a chain of matrices (the ends may be vectors) in the order "
                        "that takes the fewest multiplications.",
                        kSubmodule | kOut),
      native<chain_matmul>("_chain_matmul(Tensor[] matrices) -> Tensor",
                           "chain_matmul() of a list.", kFunction | kOut),
      native<vander>("linalg_vander(Tensor x, *, int? N=None) -> Tensor",
                     "The powers 0 to N - 1 of each element, in a new last dimension.", kSubmodule),
  };
  return rows;
}

}  // namespace treadle
