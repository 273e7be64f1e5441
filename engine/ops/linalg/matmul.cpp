// Matrix products. One primitive below the tape (multiply: batches of GEMMs over any strides); mm,
// bmm, addmm and baddbmm record gradients; matmul, linear and what is in products.cpp are made of
// them.
#include <algorithm>

#include "engine/backend/cpu/gemm.h"
#include "engine/backend/cpu/pool.h"
#include "engine/core/iter.h"
#include "engine/ops/elementwise/map.h"
#include "engine/ops/linalg/util.h"
#include "engine/ops/native.h"
#include "engine/ops/view/util.h"

namespace treadle {
namespace {

void check_dtypes(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) {
    fail(ErrorKind::runtime, "expected m1 and m2 to have the same dtype, but got: " +
                                 cpp_name(a.dtype()) + " != " + cpp_name(b.dtype()));
  }
}

// The dtype whose kernel computes products of `dtype`: 16-bit floats in float32, integers in int64,
// whose low bits are their results.
DType product_dtype(DType dtype) {
  if (is_integral(dtype) && dtype != DType::uint8 && dtype != DType::boolean) return DType::int64;
  return compute_dtype(dtype);
}

// out (.., m, n) = alpha a (.., m, k) b (.., k, n) + beta out; all of rank 2 or all of rank 3 with
// equal batches.
void multiply(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha,
              const Scalar& beta) {
  if (const DType wide = product_dtype(out.dtype()); wide != out.dtype()) {
    const Tensor result = cast(out, wide);
    multiply(result, cast(a, wide), cast(b, wide), alpha, beta);
    return cast_into(out, result);
  }
  const std::int64_t item = item_size(out.dtype()), r = out.dim();
  kernel::GemmArgs g{};
  g.m = a.size(-2);
  g.k = a.size(-1);
  g.n = b.size(-1);
  g.a_row = a.strides()[r - 2] * item;
  g.a_col = a.strides()[r - 1] * item;
  g.b_row = b.strides()[r - 2] * item;
  g.b_col = b.strides()[r - 1] * item;
  g.c_row = out.strides()[r - 2] * item;
  g.c_col = out.strides()[r - 1] * item;
  g.alpha = param(alpha);
  g.beta = param(beta);
  const std::int64_t batch = r == 3 ? out.shape()[0] : 1;
  if (out.numel() == 0) return;
  const auto one = [&](std::int64_t i) {
    kernel::GemmArgs mine = g;
    mine.a = a.data() + (r == 3 ? i * a.strides()[0] * item : 0);
    mine.b = b.data() + (r == 3 ? i * b.strides()[0] * item : 0);
    mine.c = out.data() + (r == 3 ? i * out.strides()[0] * item : 0);
    gemm(out.dtype(), mine);
  };
  const std::int64_t work = std::max<std::int64_t>(1, g.m * g.n * g.k);
  if (batch >= 4 && work < (std::int64_t{1} << 22)) {
    // Many small products: whole ones for each thread.
    parallel_for(0, batch, std::max<std::int64_t>(1, (std::int64_t{1} << 18) / work),
                 [&](std::int64_t from, std::int64_t to) {
                   for (std::int64_t i = from; i < to; ++i) one(i);
                 });
  } else {
    for (std::int64_t i = 0; i < batch; ++i) one(i);
  }
}

Tensor product(const Tensor& a, const Tensor& b, const char* name) {
  Dims shape = a.shape();
  shape[a.dim() - 1] = b.size(-1);
  const Tensor out = Tensor::empty(shape, a.dtype());
  multiply(out, a, b, 1, 0);
  if (needs_tape({&a, &b})) {
    // Each factor is kept only if the other one's gradient is wanted.
    const Saved sa = b.requires_grad() ? Saved(a) : Saved(),
                sb = a.requires_grad() ? Saved(b) : Saved();
    record(name, out, {&a, &b}, [sa, sb](Node& n, const Gradients& g) {
      Gradients r(2);
      if (none(g)) return r;
      const auto times = [](const Tensor& x, const Tensor& y) {
        return x.dim() == 2 ? mm(x, y) : bmm(x, y);
      };
      if (n.needs(0)) r[0] = times(g[0], adjoint(sb.get(&n)));
      if (n.needs(1)) r[1] = times(adjoint(sa.get(&n)), g[0]);
      return r;
    });
  }
  return out;
}

}  // namespace

Tensor mm(const Tensor& self, const Tensor& mat2) {
  const auto check = [](const Tensor& t, const char* name) {
    if (t.dim() == 2) return;
    fail(ErrorKind::runtime, std::string("mm: ") + name + " must be a matrix, got " +
                                 std::to_string(t.dim()) + "-D tensor");
  };
  check(self, "self");
  check(mat2, "mat2");
  if (self.size(1) != mat2.size(0)) {
    fail(ErrorKind::runtime, "mm: mat1 and mat2 shapes cannot be multiplied (" + sizes(self) +
                                 " and " + sizes(mat2) + ")");
  }
  check_dtypes(self, mat2);
  return product(self, mat2, "MmBackward0");
}

namespace {

void check_batches(const Tensor& a, const Tensor& b) {
  if (a.dim() != 3) fail(ErrorKind::runtime, "batch1 must be a 3D tensor");
  if (b.dim() != 3) fail(ErrorKind::runtime, "batch2 must be a 3D tensor");
  if (a.size(0) != b.size(0) || a.size(2) != b.size(1)) {
    fail(ErrorKind::runtime, "Expected size for first two dimensions of batch2 tensor to be: [" +
                                 std::to_string(a.size(0)) + ", " + std::to_string(a.size(2)) +
                                 "] but got: [" + std::to_string(b.size(0)) + ", " +
                                 std::to_string(b.size(1)) + "].");
  }
}

}  // namespace

Tensor bmm(const Tensor& self, const Tensor& mat2) {
  check_batches(self, mat2);
  check_same_scalar_type(self, mat2);
  return product(self, mat2, "BmmBackward0");
}

namespace {

// beta * self + alpha * (a @ b), the arguments checked; self broadcasts.
Tensor accumulate(const char* name, const Tensor& self, const Tensor& a, const Tensor& b,
                  const Scalar& beta, const Scalar& alpha) {
  for (const Scalar* s : {&beta, &alpha}) {
    if (s->kind == Scalar::Kind::complex && !is_complex(self.dtype())) {
      fail(ErrorKind::runtime,
           "value cannot be converted to type " + cpp_name(self.dtype()) + " without overflow");
    }
  }
  Dims shape = a.shape();
  shape[a.dim() - 1] = b.size(-1);
  const bool zero = is_integral(self.dtype()) ? beta.i == 0 : beta.f == 0 && beta.im == 0;
  Tensor out;
  {
    const NoGrad off;
    const Tensor wide = expand(detach(self), shape);
    out = Tensor::empty(shape, self.dtype());
    if (!zero) cast_into(out, wide);
  }
  multiply(out, a, b, alpha, beta);
  if (needs_tape({&self, &a, &b})) {
    const Saved sa = b.requires_grad() ? Saved(a) : Saved(),
                sb = a.requires_grad() ? Saved(b) : Saved();
    record(name, out, {&self, &a, &b},
           [sa, sb, alpha, beta, shape = self.shape()](Node& n, const Gradients& g) {
             Gradients r(3);
             if (none(g)) return r;
             const auto scaled = [](const Tensor& t, const Scalar& by) {
               return by.f == 1 && by.im == 0 ? t : mul(t, conj(by.tensor()));
             };
             if (n.needs(0)) r[0] = scaled(sum_to(g[0], shape), beta);
             if (n.needs(1)) r[1] = scaled(matmul(g[0], adjoint(sb.get(&n))), alpha);
             if (n.needs(2)) r[2] = scaled(matmul(adjoint(sa.get(&n)), g[0]), alpha);
             return r;
           });
  }
  return out;
}

}  // namespace

Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha) {
  const auto check = [](const Tensor& t, const char* name) {
    if (t.dim() == 2) return;
    fail(ErrorKind::runtime,
         std::string(name) + " must be a matrix, got " + std::to_string(t.dim()) + "-D tensor");
  };
  check(mat1, "mat1");
  check(mat2, "mat2");
  if (mat1.size(1) != mat2.size(0)) {
    fail(ErrorKind::runtime,
         "mat1 and mat2 shapes cannot be multiplied (" + sizes(mat1) + " and " + sizes(mat2) + ")");
  }
  if (self.dtype() != mat2.dtype()) {
    fail(ErrorKind::runtime, "self and mat2 must have the same dtype, but got " +
                                 std::string(info(self.dtype()).scalar) + " and " +
                                 std::string(info(mat2.dtype()).scalar));
  }
  check_dtypes(mat1, mat2);
  return accumulate("AddmmBackward0", self, mat1, mat2, beta, alpha);
}

Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha) {
  check_batches(batch1, batch2);
  if (self.dtype() != batch1.dtype() || self.dtype() != batch2.dtype()) {
    fail(ErrorKind::runtime, "Input dtypes must be the same, got: input " + cpp_name(self.dtype()) +
                                 ", batch1: " + cpp_name(batch1.dtype()) +
                                 ", batch2: " + cpp_name(batch2.dtype()));
  }
  return accumulate("BaddbmmBackward0", self, batch1, batch2, beta, alpha);
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  if (a.dim() == 0 || b.dim() == 0) {
    fail(ErrorKind::runtime, "both arguments to matmul need to be at least 1D, but they are " +
                                 std::to_string(a.dim()) + "D and " + std::to_string(b.dim()) +
                                 "D");
  }
  if (a.dim() == 1 && b.dim() == 1) return dot(a, b);
  if (a.dim() == 2 && b.dim() == 1) return mv(a, b);
  if (a.dim() == 1 && b.dim() == 2) return squeeze(mm(unsqueeze(a, 0), b), Dims{0});
  if (a.dim() == 2 && b.dim() == 2) return mm(a, b);
  if (a.dim() >= 3 && b.dim() <= 2) {
    // The rows of all batches are one matrix.
    const Tensor right = b.dim() == 1 ? unsqueeze(b, 1) : b;
    Dims shape = a.shape();
    const std::int64_t k = shape.back();
    std::int64_t rows = 1;
    for (std::int64_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
    const Tensor flat = mm(reshape(a, {rows, k}), right);
    shape[shape.size() - 1] = right.size(1);
    const Tensor out = reshape(flat, shape);
    return b.dim() == 1 ? squeeze(out, Dims{-1}) : out;
  }
  const Tensor left = a.dim() == 1 ? unsqueeze(a, 0) : a;
  const Tensor right = b.dim() == 1 ? unsqueeze(b, 1) : b;
  Dims lb = left.shape(), rb = right.shape();
  lb.resize(lb.size() - 2);
  rb.resize(rb.size() - 2);
  const Dims batch = broadcast_shapes(lb, rb);
  std::int64_t count = 1;
  for (const std::int64_t d : batch) count *= d;
  const auto flat = [&](const Tensor& t) {
    Dims shape = batch;
    shape.push_back(t.size(-2));
    shape.push_back(t.size(-1));
    return reshape(expand(t, shape), {count, t.size(-2), t.size(-1)});
  };
  const Tensor out = bmm(flat(left), flat(right));
  Dims shape = batch;
  if (a.dim() > 1) shape.push_back(left.size(-2));
  if (b.dim() > 1) shape.push_back(right.size(-1));
  return reshape(out, shape);
}

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  if (weight.dim() == 2 && input.dim() == 2 && bias.defined()) return addmm(bias, input, t(weight));
  const Tensor out = matmul(input, weight.dim() == 2 ? t(weight) : weight);
  return bias.defined() ? add(out, bias) : out;
}

namespace {

constexpr unsigned kAll = kFunction | kMethod | kOut;

}  // namespace

std::span<const OpDef> matmul_ops() {
  static constexpr OpDef rows[] = {
      native<mm>("mm(Tensor self, Tensor mat2) -> Tensor", "Product of two matrices.", kAll),
      native<bmm>("bmm(Tensor self, Tensor mat2) -> Tensor", "Products of two batches of matrices.",
                  kAll),
      native<matmul>(
          "matmul(Tensor self, Tensor other) -> Tensor",
          "Matrix product with broadcast batches; vectors are rows or columns as needed.", kAll),
      native<matmul>("linalg_matmul(Tensor self, Tensor other) -> Tensor", "matmul().",
                     kSubmodule | kOut),
      native<addmm, inplace<addmm>>("addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar "
                                    "beta=1, Scalar alpha=1) -> Tensor",
                                    "beta * self + alpha * (mat1 @ mat2).", kAll),
      native<baddbmm, inplace<baddbmm>>("baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, "
                                        "Scalar beta=1, Scalar alpha=1) -> Tensor",
                                        "beta * self + alpha * (batch1 @ batch2).", kAll),
      native<linear>("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
                     "input @ weight.T + bias.", kFunctional),
  };
  return rows;
}

}  // namespace treadle
