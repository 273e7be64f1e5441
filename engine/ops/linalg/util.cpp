#include "engine/ops/linalg/util.h"

#include <algorithm>
#include <string_view>

#include "engine/core/iter.h"

namespace treadle {
namespace {

Tensor diagonals_apart(const Tensor& t) {  // column - row
  const Tensor row = unsqueeze(arange(0, t.size(-2), 1, DType::int64), 1);
  return sub(arange(0, t.size(-1), 1, DType::int64), row);
}

}  // namespace

Tensor upper(const Tensor& t, std::int64_t k) {
  return where(ge(diagonals_apart(t), Tensor::wrapped(k)), t, zeros({}, t.dtype()));
}
Tensor lower(const Tensor& t, std::int64_t k) {
  return where(le(diagonals_apart(t), Tensor::wrapped(k)), t, zeros({}, t.dtype()));
}

Tensor diagonal_view(const Tensor& t, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  dim1 = wrap_dim(dim1, t.dim());
  dim2 = wrap_dim(dim2, t.dim());
  if (dim1 == dim2) {
    fail(ErrorKind::runtime, "diagonal dimensions cannot be identical " + std::to_string(dim1) +
                                 ", " + std::to_string(dim2));
  }
  const std::int64_t rows = t.shape()[dim1], columns = t.shape()[dim2];
  const std::int64_t n =
      offset >= 0 ? (offset >= columns ? 0 : std::min(rows, columns - offset))
                  : (-offset >= rows || offset == INT64_MIN ? 0 : std::min(rows + offset, columns));
  Dims shape, strides;
  for (std::int64_t d = 0; d < t.dim(); ++d) {
    if (d == dim1 || d == dim2) continue;
    shape.push_back(t.shape()[d]);
    strides.push_back(t.strides()[d]);
  }
  shape.push_back(n);
  strides.push_back(t.strides()[dim1] + t.strides()[dim2]);
  std::int64_t start = t.impl()->offset;
  if (n > 0) start += offset >= 0 ? offset * t.strides()[dim2] : -offset * t.strides()[dim1];
  const Tensor out = make_view(t, std::move(shape), std::move(strides), start);
  if (needs_tape({&t})) {
    record("DiagonalBackward0", out, {&t},
           [shape = t.shape(), offset, dim1, dim2](Node&, const Gradients& g) {
             if (none(g)) return Gradients(1);
             return Gradients{embed(g[0], shape, [=](const Tensor& x) {
               return diagonal_view(x, offset, dim1, dim2);
             })};
           });
  }
  return out;
}

Tensor diag_matrix(const Tensor& v) {
  const Tensor square = unsqueeze(v, -2);
  const std::int64_t n = v.size(-1);
  const Tensor on = eye(n, std::nullopt, DType::boolean);
  return where(on, square, zeros({}, v.dtype()));
}
Tensor with_diagonal(const Tensor& t, const Tensor& diag) {
  return where(eye(t.size(-2), t.size(-1), DType::boolean), unsqueeze(diag, -2), t);
}
Tensor real_if_real(const Tensor& t, DType dtype) {
  return is_complex(t.dtype()) && !is_complex(dtype) ? real(t) : t;
}
Tensor sum_defined(const Tensor& a, const Tensor& b) {
  if (!a.defined()) return b;
  return b.defined() ? add(a, b) : a;
}
DType real_dtype(DType dtype) {
  if (dtype == DType::complex64) return DType::float32;
  return dtype == DType::complex128 ? DType::float64 : dtype;
}
DType complex_dtype(DType dtype) {
  if (dtype == DType::float32) return DType::complex64;
  return dtype == DType::float64 ? DType::complex128 : dtype;
}

std::string sizes(const Tensor& t) {
  std::string s;
  for (std::int64_t i = 0; i < t.dim(); ++i) s += (i > 0 ? "x" : "") + std::to_string(t.shape()[i]);
  return s;
}
std::string matrix_sizes(const Tensor& t) {
  return std::to_string(t.size(-2)) + "x" + std::to_string(t.size(-1));
}

void check_matrix(const Tensor& t, const char* op, const char* name) {
  if (t.dim() >= 2) return;
  fail(ErrorKind::runtime,
       std::string(op) + ": The input tensor " + name + " must have at least 2 dimensions.");
}
void check_square(const Tensor& t, const char* op, const char* name) {
  check_matrix(t, op, name);
  if (t.size(-1) == t.size(-2)) return;
  fail(ErrorKind::runtime,
       std::string(op) + ": " + name + " must be batches of square matrices, but they are " +
           std::to_string(t.size(-2)) + " by " + std::to_string(t.size(-1)) + " matrices");
}
void check_float_or_complex(const Tensor& t, const char* op, bool low_precision) {
  const std::string got = " Got " + std::string(info(t.dtype()).scalar);
  if (!is_differentiable(t.dtype())) {
    fail(ErrorKind::not_implemented,
         std::string(op) + ": Expected a floating point or complex tensor as input." + got);
  }
  if (!low_precision && item_size(t.dtype()) == 2) {
    fail(ErrorKind::not_implemented,
         std::string(op) + ": Low precision dtypes not supported." + got);
  }
}
void check_same_scalar_type(const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype()) return;
  fail(ErrorKind::runtime, "expected scalar type " + std::string(info(a.dtype()).scalar) +
                               " but found " + std::string(info(b.dtype()).scalar));
}
void check_same_dtype(const Tensor& a, const Tensor& b, const char* op, const char* a_name,
                      const char* b_name) {
  if (a.dtype() == b.dtype()) return;
  fail(ErrorKind::runtime, std::string(op) + ": Expected " + a_name + " and " + b_name +
                               " to have the same dtype, but found " + a_name + " of type " +
                               std::string(info(a.dtype()).scalar) + " and " + b_name +
                               " of type " + std::string(info(b.dtype()).scalar) + " instead");
}
void check_solvable_shapes(const Tensor& a, const Tensor& b, bool left, const char* op) {
  if (left ? a.size(-2) == b.size(-2) : a.size(-1) == b.size(-1)) return;
  fail(ErrorKind::runtime, std::string(op) + ": Incompatible shapes of A and B for the equation " +
                               (left ? "AX = B (" : "XA = B (") + matrix_sizes(a) + " and " +
                               matrix_sizes(b) + ")");
}

void check_info(const Tensor& info, const char* op) {
  const Tensor flat = contiguous(detach(info));
  const std::int32_t* codes = flat.data_as<std::int32_t>();
  const auto bad = std::find_if(codes, codes + flat.numel(), [](std::int32_t c) { return c != 0; });
  if (bad == codes + flat.numel()) return;
  const std::string_view name = op;
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  const std::string code = std::to_string(*bad);
  std::string text = name.data() + std::string(": ");
  if (info.dim() > 0) text += "(Batch element " + std::to_string(bad - codes) + "): ";
  if (has("inv")) {
    text += "The diagonal element " + code +
            " is zero, the inversion could not be completed because the input matrix is singular.";
  } else if (has("solve")) {
    text += "The solver failed because the input matrix is singular.";
  } else if (has("cholesky")) {
    text +=
        "The factorization could not be completed because the input is not positive-definite "
        "(the leading minor of order " +
        code + " is not positive-definite).";
  } else if (has("svd")) {
    text += *bad < 0 ? "The algorithm failed to converge because the input matrix contained "
                       "non-finite values."
                     : "The algorithm failed to converge because the input matrix is "
                       "ill-conditioned or has too many repeated singular values (error code: " +
                           code + ").";
  } else if (has("eig")) {
    text +=
        "The algorithm failed to converge because the input matrix is ill-conditioned or has "
        "too many repeated eigenvalues (error code: " +
        code + ").";
  } else if (has("lstsq")) {
    text +=
        "The least squares solution could not be computed because the input matrix does not "
        "have full rank (error code: " +
        code + ").";
  } else if (has("lu_factor")) {
    fail(ErrorKind::runtime,
         text + "U[" + code + "," + code +
             "] is zero and using it on lu_solve would result in a division by zero. If you still "
             "want to perform the factorization, consider calling linalg.lu(A, pivot) or "
             "linalg.lu_factor_ex(A, pivot)");
  } else {
    text += "The factorization met a zero at " + code + ".";
  }
  fail(ErrorKind::linalg, text);
}

Tensor new_info(const Tensor& t) {
  const NoGrad off;
  return zeros(batch_shape(t), DType::int32);
}
Dims batch_shape(const Tensor& t) {
  Dims shape = t.shape();
  shape.resize(shape.size() - 2);
  return shape;
}
Dims batch_broadcast(const Tensor& a, const Tensor& b) {
  return broadcast_shapes(batch_shape(a), batch_shape(b));
}

Tensor new_columns(const Dims& shape, DType dtype) {
  Dims turned = shape;
  std::swap(turned[shape.size() - 1], turned[shape.size() - 2]);
  const NoGrad off;
  return mT(Tensor::empty(turned, dtype));
}
Tensor copy_columns(const Tensor& t) {
  const Tensor out = new_columns(t.shape(), t.dtype());
  cast_into(out, t);
  return out;
}

void record_not_differentiable(const char* op, std::initializer_list<const Tensor*> results,
                               const Tensor& input) {
  if (!needs_tape({&input})) return;
  const Ref<Node> node =
      make_node("NotImplemented", {&input}, [op](Node&, const Gradients& g) -> Gradients {
        for (const Tensor& t : g) {
          if (!t.defined()) continue;
          fail(ErrorKind::not_implemented,
               std::string("the derivative for '") + op + "' is not implemented.");
        }
        return Gradients(1);
      });
  std::uint32_t nr = 0;
  for (const Tensor* r : results) {
    if (is_differentiable(r->dtype())) set_history(*r, node, nr);
    ++nr;
  }
}

void write_inplace(const Tensor& self, const Tensor& result) {
  if (self.shape() != result.shape()) {
    fail(ErrorKind::runtime, "Bad in-place call: input tensor size " + to_string(self.shape()) +
                                 " and output tensor size " + to_string(result.shape()) +
                                 " should match");
  }
  if (!can_cast(result.dtype(), self.dtype())) {
    fail(ErrorKind::runtime, "result type " + std::string(info(result.dtype()).scalar) +
                                 " can't be cast to the desired output type " +
                                 std::string(info(self.dtype()).scalar));
  }
  copy_(self, result);
}

}  // namespace treadle
