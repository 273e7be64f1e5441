// Distances, similarities and bilinear forms of vectors.
#include <algorithm>

#include "engine/backend/cpu/distance.h"
#include "engine/core/iter.h"
#include "engine/ops/nn/util.h"

namespace treadle {
namespace {

// x1 (B, P, M), x2 (B, R, M): distances (B, P, R).
Tensor distances(const Tensor& x1, const Tensor& x2, double p) {
  const DistanceShape shape{x1.size(0), x1.size(1), x2.size(1), x1.size(2), p};
  const Tensor out = Tensor::empty({shape.batch, shape.rows1, shape.rows2}, x1.dtype());
  if (out.numel() > 0) {
    row_distances(x1.dtype(), shape, dense(x1).data(), dense(x2).data(), out.data());
  }
  if (!needs_tape({&x1, &x2})) return out;
  record("CdistBackward0", out, {&x1, &x2},
         [p, s1 = Saved(x1), s2 = Saved(x2), so = Saved::output(out)](Node& n, const Gradients& g) {
           Gradients r(2);
           if (none(g)) return r;
           if (context().grad_enabled) {  // the same in differentiable ops, with all differences
             const Tensor diff = sub(unsqueeze(s1.get(&n), 2), unsqueeze(s2.get(&n), 1));
             const Tensor each =
                 p_norm_gradient(diff, unsqueeze(so.get(&n), -1), unsqueeze(g[0], -1), p, 1U << 3);
             if (n.needs(0)) r[0] = sum(each, {2});
             if (n.needs(1)) r[1] = neg(sum(each, {1}));
             return r;
           }
           const auto one = [&](const Tensor& a, const Tensor& b, const Tensor& ga,
                                const Tensor& da) {
             const Tensor grad = Tensor::empty(a.shape(), a.dtype());
             const DistanceShape sh{a.size(0), a.size(1), b.size(1), a.size(2), p};
             if (grad.numel() > 0) {
               row_distances_grad(a.dtype(), sh, dense(ga).data(), dense(a).data(), dense(b).data(),
                                  dense(da).data(), grad.data());
             }
             return grad;
           };
           const Tensor a = s1.get(&n), b = s2.get(&n), d = so.get(&n);
           if (n.needs(0)) r[0] = one(a, b, g[0], d);
           if (n.needs(1)) r[1] = one(b, a, transpose(g[0], 1, 2), transpose(d, 1, 2));
           return r;
         });
  return out;
}

void check_floats(const char* op, const char* name, const Tensor& t) {
  if (!is_floating(t.dtype())) {
    fail(ErrorKind::runtime, std::string(op) + " only supports floating-point dtypes, " + name +
                                 " got: " + scalar_name(t.dtype()));
  }
}

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, const std::string& compute_mode) {
  check_floats("cdist", "X1", x1);
  check_floats("cdist", "X2", x2);
  if (compute_mode != "use_mm_for_euclid_dist_if_necessary" &&
      compute_mode != "use_mm_for_euclid_dist" && compute_mode != "donot_use_mm_for_euclid_dist") {
    fail(ErrorKind::value, compute_mode + " is not a valid value for compute_mode");
  }
  for (const auto& [name, t] : {std::pair{"X1", &x1}, std::pair{"X2", &x2}}) {
    if (t->dim() < 2) {
      fail(ErrorKind::runtime, std::string(name) + " must be at least two-dimensional, got: " +
                                   std::to_string(t->dim()) + "D");
    }
  }
  if (x1.size(-1) != x2.size(-1)) {
    fail(ErrorKind::runtime,
         "X1 and X2 must have the same number of columns. X1: " + std::to_string(x1.size(-1)) +
             " X2: " + std::to_string(x2.size(-1)));
  }
  if (!(p >= 0)) fail(ErrorKind::runtime, "cdist only supports non-negative p values");
  if (x1.dtype() != x2.dtype()) {
    const DType common = promote_types(x1.dtype(), x2.dtype());
    return cdist(to(x1, common), to(x2, common), p, compute_mode);
  }
  const DType wide = compute_dtype(x1.dtype());
  if (wide != x1.dtype()) {
    return to(cdist(to(x1, wide), to(x2, wide), p, compute_mode), x1.dtype());
  }
  Dims batch1 = x1.shape(), batch2 = x2.shape();
  batch1.resize(batch1.size() - 2);
  batch2.resize(batch2.size() - 2);
  Dims shape = broadcast_shapes(batch1, batch2);
  const std::int64_t batch = product(shape);
  const auto flat = [&](const Tensor& t) {
    Dims full = shape;
    full.push_back(t.size(-2));
    full.push_back(t.size(-1));
    return reshape(expand(t, full), {batch, t.size(-2), t.size(-1)});
  };
  const Tensor out = distances(flat(x1), flat(x2), p);
  shape.push_back(x1.size(-2));
  shape.push_back(x2.size(-2));
  return reshape(out, shape);
}

Tensor pdist(const Tensor& self, double p) {
  if (self.dim() != 2) {
    fail(ErrorKind::runtime,
         "pdist only supports 2D tensors, got: " + std::to_string(self.dim()) + "D");
  }
  check_floats("pdist", "input", self);
  if (!(p >= 0)) fail(ErrorKind::runtime, "pdist only supports non-negative p values");
  const DType wide = compute_dtype(self.dtype());
  if (wide != self.dtype()) return to(pdist(to(self, wide), p), self.dtype());
  const std::int64_t n = self.size(0);
  product({n, n});  // throws if that overflows
  // Row by row above the diagonal.
  const std::int64_t pairs = n < 2 ? 0 : n * (n - 1) / 2;
  const Tensor place = Tensor::empty({pairs}, DType::int64);
  std::int64_t* at = place.data_as<std::int64_t>();
  for (std::int64_t i = 0; i < n; ++i) {
    // Without pairs there is no memory, and no turn of this loop.
    for (std::int64_t j = i + 1; j < n; ++j) *at++ = i * n + j;  // NOLINT(clang-analyzer-core.*)
  }
  const Tensor x = unsqueeze(self, 0);
  return index_select(reshape(distances(x, x, p), {n * n}), 0, place);
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  const Tensor diff = add(sub(x1, x2), Tensor(eps));
  if (diff.dim() == 0) return p_norm(unsqueeze(diff, 0), p, {0}, false);
  return p_norm(diff, p, {-1}, keepdim);
}

Tensor cosine_similarity(const Tensor& a, const Tensor& b, std::int64_t dim, double eps) {
  const DType common = result_type(a, b);
  if (!is_floating(common)) {
    fail(ErrorKind::runtime,
         "expected common dtype to be floating point, yet common dtype is " + scalar_name(common));
  }
  const Dims shape = broadcast_shapes(a.shape(), b.shape());
  const Tensor x1 = expand(to(a, common), shape), x2 = expand(to(b, common), shape);
  if (shape.empty()) {
    return reshape(cosine_similarity(reshape(x1, {1}), reshape(x2, {1}), 0, eps), {});
  }
  // The norms' lower bound takes no part in the gradient.
  const auto unit = [&](const Tensor& x) {
    const Tensor size = p_norm(x, 2, {dim}, true);
    Tensor more;
    {
      const NoGrad off;
      const Tensor plain = detach(size);
      more = sub(maximum(plain, Tensor(eps)), plain);
    }
    return div(x, add(size, more));
  };
  return sum(mul(unit(x1), unit(x2)), {dim});
}

// out[.., o] = sum over i and j of input1[.., i] weight[o, i, j] input2[.., j]
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias) {
  const auto wrong = [&](const std::string& what) {
    fail(ErrorKind::runtime,
         "bilinear(): " + what + ", but got input1 " + to_string(input1.shape()) + ", input2 " +
             to_string(input2.shape()) + ", weight " + to_string(weight.shape()));
  };
  if (input1.dim() == 0 || input1.dim() != input2.dim() || weight.dim() != 3) {
    wrong("input dimensions do not match: expected inputs of the same rank and a 3-D weight");
  }
  std::int64_t rows = 1;
  Dims shape;
  for (std::int64_t d = 0; d + 1 < input1.dim(); ++d) {
    if (input1.shape()[d] != input2.shape()[d]) {
      wrong("input batch dimensions do not match at dim " + std::to_string(d));
    }
    shape.push_back(input1.shape()[d]);
    rows *= input1.shape()[d];
  }
  const std::int64_t outputs = weight.size(0), n1 = weight.size(1), n2 = weight.size(2);
  if (input1.size(-1) != n1) wrong("input1 size does not match weight size");
  if (input2.size(-1) != n2) wrong("input2 size does not match weight size");
  if (bias.defined() && (bias.dim() != 1 || bias.size(0) != outputs)) {
    wrong("bias size does not match weight size");
  }
  const Tensor left =
      mm(reshape(input1, {rows, n1}), reshape(transpose(weight, 0, 1), {n1, outputs * n2}));
  const Tensor both = mul(reshape(left, {rows, outputs, n2}), reshape(input2, {rows, 1, n2}));
  shape.push_back(outputs);
  const Tensor out = reshape(sum(both, {2}, false, both.dtype()), shape);
  return bias.defined() ? add(out, bias) : out;
}

// p_norm for the Python functions that are made of it.
Tensor vector_norm(const Tensor& self, double p, const Dims& dim, bool keepdim) {
  return p_norm(self, p, dim, keepdim);
}

}  // namespace

std::span<const OpDef> nn_distance_ops() {
  static constexpr OpDef rows[] = {
      native<cdist>("cdist(Tensor x1, Tensor x2, float p=2.0, str "
                    "compute_mode='use_mm_for_euclid_dist_if_necessary') -> Tensor",
                    "p-norm distances of all rows of x1 (..., P, M) from all rows of x2 (..., R, "
                    "M). Euclidean distances are always computed from differences.",
                    kFunction),
      native<pdist>("pdist(Tensor self, float p=2.0) -> Tensor",
                    "p-norm distances of each row from the rows after it.", kFunction),
      native<pairwise_distance>(
          "pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool "
          "keepdim=False) -> Tensor",
          "p-norm of x1 - x2 + eps along the last dimension.", kFunction),
      native<cosine_similarity>(
          "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
          "Cosine of the angle between vectors along dim, whose norms count as at least eps.",
          kFunction),
      native<bilinear>(
          "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
          "input1^T weight input2 + bias for each of the outputs of weight (O, I, J).", kFunction),
      native<vector_norm>(
          "_vector_norm(Tensor self, float p, int[1] dim, bool keepdim=False) -> Tensor",
          "(sum |x|^p)^(1/p) along dim.", kFunctional),
  };
  return rows;
}

}  // namespace treadle
