// Norms of vectors and matrices, and cond. The gradient at a zero vector is 0, a subgradient.
#include <algorithm>
#include <cmath>

#include "engine/ops/linalg/util.h"
#include "engine/ops/reduction/reduce.h"

namespace treadle {
namespace {

Tensor sgn(const Tensor& t) {
  if (!is_complex(t.dtype())) return sign(t);
  const Tensor size = abs(t);
  const Tensor none = eq(size, Tensor(0));
  return where(none, zeros_like(t), div(t, where(none, ones_like(size), size)));
}

Tensor zero_where(const Tensor& mask, const Tensor& t) {
  return where(mask, zeros({}, t.dtype()), t);
}

// In the dtype that sums are made in.
DType wide_dtype(DType dtype) { return item_size(dtype) == 2 ? DType::float32 : dtype; }

// Below the tape; x is floating point or complex, wide enough.
Tensor norm_raw(const Tensor& x, double p, const Dims& dim, bool keepdim) {
  const Tensor size = is_complex(x.dtype()) && p != 2 ? abs(x) : x;
  if (p == 0) return to(sum(ne(x, Tensor(0)), dim, keepdim), real_dtype(x.dtype()));
  if (p == HUGE_VAL) return amax(abs(size), dim, keepdim);
  if (p == -HUGE_VAL) return amin(abs(size), dim, keepdim);
  if (p == 1) return sum(abs(size), dim, keepdim);
  if (p == 2) {
    if (is_complex(x.dtype())) {
      Dims dims;
      for (std::int64_t d = 0; d < x.dim(); ++d) {
        if (dim.empty()) dims.push_back(d);
      }
      for (const std::int64_t d : dim) dims.push_back(wrap_dim(d, x.dim()));
      const Tensor re = real(x), im = imag(x);
      return sqrt(sum(add(mul(re, re), mul(im, im)), dims, keepdim));
    }
    return sqrt(sum(mul(x, x), dim, keepdim));
  }
  return pow(sum(pow(abs(size), Tensor(p)), dim, keepdim), Tensor(1 / p));
}

// PyTorch's subgradients: 0 where the norm is 0, shared among the maxima for infinity.
Tensor norm_backward(const Tensor& g, const Tensor& x, const Tensor& norm, double p,
                     const Dims& dim, bool keepdim) {
  const std::uint64_t mask = dim_mask(dim, x.dim());
  const auto wide = [&](const Tensor& t) {
    Tensor out = t;
    if (!keepdim) {
      for (std::int64_t d = 0; d < x.dim(); ++d) {
        if (mask >> d & 1) out = unsqueeze(out, d);
      }
    }
    return out;
  };
  if (p == 0) return zeros_like(x);
  const Tensor gw = wide(g), nw = wide(norm);
  if (p == 1) return mul(sgn(x), gw);
  if (p == 2) return mul(gw, zero_where(eq(nw, Tensor(0)), div(x, nw)));
  if (std::isinf(p)) {
    const Tensor size = abs(x);
    Tensor is_extreme = logical_or(eq(size, nw), logical_and(isnan(size), isnan(nw)));
    is_extreme = to(detach(is_extreme), real_dtype(x.dtype()));
    const Tensor count = sum(is_extreme, dim, true);
    return mul(sgn(x), mul(div(gw, count), is_extreme));
  }
  if (p < 1) {
    const Tensor size = abs(x);
    const Tensor scaled = zero_where(eq(size, Tensor(0)), mul(sgn(x), pow(size, Tensor(p - 1))));
    return mul(scaled, mul(gw, pow(nw, Tensor(1 - p))));
  }
  if (p < 2) {
    const Tensor scaled = mul(sgn(x), pow(abs(x), Tensor(p - 1)));
    const Tensor scale = zero_where(eq(nw, Tensor(0)), div(gw, pow(nw, Tensor(p - 1))));
    return mul(scaled, scale);
  }
  const Tensor scaled = mul(x, pow(abs(x), Tensor(p - 2)));
  const Tensor scale = zero_where(eq(nw, Tensor(0)), div(gw, pow(nw, Tensor(p - 1))));
  return mul(scaled, scale);
}

std::string text_of(double p) {
  if (p == HUGE_VAL) return "inf";
  if (p == -HUGE_VAL) return "-inf";
  if (p == std::floor(p) && std::abs(p) < 1e15) {
    return std::to_string(static_cast<std::int64_t>(p));
  }
  std::string s = std::to_string(p);
  while (s.back() == '0') s.pop_back();
  return s;
}

void check_norm_dtype(const Tensor& self, std::optional<DType> dtype, const std::string& name) {
  if (!dtype) return;
  const std::string got = ", but got " + std::string(info(*dtype).scalar);
  if (!is_differentiable(*dtype)) {
    fail(ErrorKind::runtime, name + ": dtype should be floating point or complex" + got);
  }
  if (is_complex(self.dtype()) != is_complex(*dtype)) {
    fail(ErrorKind::runtime,
         name +
             (is_complex(self.dtype()) ? ": dtype should be complex for complex inputs"
                                       : ": dtype should be real for real inputs") +
             got);
  }
  if (promote_types(self.dtype(), *dtype) != *dtype) {
    fail(ErrorKind::runtime, name + ": the dtype of the input (" +
                                 std::string(info(self.dtype()).scalar) +
                                 ") should be convertible without narrowing to the specified "
                                 "dtype (" +
                                 std::string(info(*dtype).scalar) + ")");
  }
}

double real_order(const Scalar& ord, const char* name) {
  if (ord.kind == Scalar::Kind::complex) {
    fail(ErrorKind::runtime,
         std::string(name) + ": Expected a non-complex scalar as the order of norm.");
  }
  return ord.f;
}

// The norm of an empty vector is 0, except where that isn't what adding nothing gives.
void check_identity(const Tensor& self, double p, const Dims& dim) {
  if (p >= 0 && !std::isinf(p)) return;
  const std::string what = "linalg.vector_norm cannot compute the " + text_of(p) + " norm on ";
  if (dim.empty() && self.numel() == 0) {
    fail(ErrorKind::runtime,
         what + "an empty tensor because the operation does not have an identity");
  }
  for (const std::int64_t d : dim) {
    if (self.dim() == 0 || self.size(d) != 0) continue;
    fail(ErrorKind::runtime, what + "the dimension " + std::to_string(d) +
                                 "because this dimension is empty and the operation does not have "
                                 "an identity");
  }
}

}  // namespace

Tensor vector_norm(const Tensor& self, const Scalar& ord, const Dims& dim, bool keepdim,
                   std::optional<DType> dtype) {
  check_float_or_complex(self, "linalg.vector_norm");
  const double p = real_order(ord, "linalg.vector_norm");
  dim_mask(dim, self.dim());
  check_norm_dtype(self, dtype, "linalg.vector_norm");
  check_identity(self, p, dim);
  const Tensor x = dtype && *dtype != self.dtype() ? to(self, *dtype) : self;
  Tensor out;
  {
    const NoGrad off;
    out =
        to(norm_raw(to(detach(x), wide_dtype(x.dtype())), p, dim, keepdim), real_dtype(x.dtype()));
  }
  if (needs_tape({&x})) {
    record(
        "LinalgVectorNormBackward0", out, {&x},
        [sx = Saved(x), saved = Saved::output(out), p, dim, keepdim](Node& n, const Gradients& g) {
          if (none(g)) return Gradients(1);
          return Gradients{norm_backward(g[0], sx.get(&n), saved.get(&n), p, dim, keepdim)};
        });
  }
  return out;
}
Tensor vector_norm(const Tensor& self, double ord, const Dims& dim, bool keepdim) {
  return vector_norm(self, Scalar(ord), dim, keepdim, std::nullopt);
}

namespace {

Tensor linalg_vector_norm(const Tensor& self, const Scalar& ord, const std::optional<Dims>& dim,
                          bool keepdim, std::optional<DType> dtype) {
  return vector_norm(self, ord, dim.value_or(Dims{}), keepdim, dtype);
}

// Dimensions of a matrix, not negative.
std::pair<std::int64_t, std::int64_t> matrix_dims(const Tensor& self, const Dims& dim) {
  if (dim.size() != 2) {
    std::string got;
    for (const std::int64_t d : dim) got += (got.empty() ? "" : " ") + std::to_string(d);
    fail(ErrorKind::runtime, "linalg.matrix_norm: dim must be a 2-tuple. Got " + got);
  }
  const std::int64_t a = wrap_dim(dim[0], self.dim()), b = wrap_dim(dim[1], self.dim());
  if (a == b) {
    fail(ErrorKind::runtime, "linalg.matrix_norm: dims must be different. Got (" +
                                 std::to_string(dim[0]) + ", " + std::to_string(dim[1]) + ")");
  }
  return {a, b};
}

Tensor restored(Tensor t, std::int64_t a, std::int64_t b, bool keepdim) {
  if (!keepdim) return t;
  t = unsqueeze(t, std::min(a, b));
  return unsqueeze(t, std::max(a, b));
}

Tensor matrix_norm(const Tensor& self, const Scalar& ord, const Dims& dim, bool keepdim,
                   std::optional<DType> dtype) {
  constexpr const char* kName = "linalg.matrix_norm";
  check_matrix(self, kName);
  check_float_or_complex(self, kName);
  const auto [a, b] = matrix_dims(self, dim);
  const double p = real_order(ord, kName);
  const double size = std::abs(p);
  if (size != 1 && size != 2 && !std::isinf(p)) {
    fail(ErrorKind::runtime, std::string(kName) + ": Order " + text_of(p) + " not supported.");
  }
  check_norm_dtype(self, dtype, kName);
  const auto extreme = [p = p](const Tensor& t, std::int64_t d, bool keep) {
    return p > 0 ? amax(t, {d}, keep) : amin(t, {d}, keep);
  };
  if (size == 2) {
    if (!dtype) check_float_or_complex(self, kName, false);
    const Tensor x = dtype && *dtype != self.dtype() ? to(self, *dtype) : self;
    const Tensor s = svdvals(movedim(x, {a, b}, {-2, -1}));
    if (s.size(-1) == 0 && p > 0) {
      return restored(zeros(batch_shape(movedim(x, {a, b}, {-2, -1})), s.dtype()), a, b, keepdim);
    }
    return restored(extreme(s, -1, false), a, b, keepdim);
  }
  // The sums of one dimension, then their largest or smallest.
  const std::int64_t summed = size == 1 ? a : b, other = size == 1 ? b : a;
  const Tensor sums = vector_norm(self, Scalar(1.0), {summed}, true, dtype);
  if (sums.size(other) == 0 && p > 0) {
    const Tensor none = sum(sums, {other}, true);
    return keepdim ? none : squeeze(none, Dims{a, b});
  }
  const Tensor found = extreme(sums, other, true);
  return keepdim ? found : squeeze(found, Dims{a, b});
}

Tensor matrix_norm_named(const Tensor& self, const std::string& ord, const Dims& dim, bool keepdim,
                         std::optional<DType> dtype) {
  constexpr const char* kName = "linalg.matrix_norm";
  check_matrix(self, kName);
  check_float_or_complex(self, kName);
  const auto [a, b] = matrix_dims(self, dim);
  if (ord == "fro") return vector_norm(self, Scalar(2.0), {a, b}, keepdim, dtype);
  if (ord != "nuc") {
    fail(ErrorKind::runtime, std::string(kName) + ": Order " + ord + " not supported.");
  }
  check_norm_dtype(self, dtype, kName);
  const Tensor x = dtype && *dtype != self.dtype() ? to(self, *dtype) : self;
  return restored(sum(svdvals(movedim(x, {a, b}, {-2, -1})), {-1}), a, b, keepdim);
}

void check_norm_dims(const Tensor& self, const std::optional<Dims>& dim, bool ord) {
  if (dim && dim->size() != 1 && dim->size() != 2) {
    fail(ErrorKind::runtime,
         "linalg.norm: If dim is specified, it must be of length 1 or 2. Got " + to_string(*dim));
  }
  if (!dim && ord && self.dim() != 1 && self.dim() != 2) {
    fail(ErrorKind::runtime,
         "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got " +
             std::to_string(self.dim()) + "D.");
  }
}

Tensor linalg_norm(const Tensor& self, const std::optional<Scalar>& ord,
                   const std::optional<Dims>& dim, bool keepdim, std::optional<DType> dtype) {
  check_norm_dims(self, dim, ord.has_value());
  if (ord && ((dim && dim->size() == 2) || (!dim && self.dim() == 2))) {
    return matrix_norm(self, *ord, dim.value_or(Dims{-2, -1}), keepdim, dtype);
  }
  return vector_norm(self, ord.value_or(Scalar(2.0)), dim.value_or(Dims{}), keepdim, dtype);
}
Tensor linalg_norm_named(const Tensor& self, const std::string& ord, const std::optional<Dims>& dim,
                         bool keepdim, std::optional<DType> dtype) {
  check_norm_dims(self, dim, true);
  return matrix_norm_named(self, ord, dim.value_or(Dims{-2, -1}), keepdim, dtype);
}

// torch.norm: numbers are norms of vectors, also over two dimensions.
Tensor norm(const Tensor& self, const std::optional<Scalar>& p, const std::optional<Dims>& dim,
            bool keepdim, std::optional<DType> dtype) {
  return vector_norm(self, p.value_or(Scalar(2.0)), dim.value_or(Dims{}), keepdim, dtype);
}
Tensor norm_named(const Tensor& self, const std::string& p, const std::optional<Dims>& dim,
                  bool keepdim, std::optional<DType> dtype) {
  if (p == "fro") return norm(self, Scalar(2.0), dim, keepdim, dtype);
  return matrix_norm_named(self, p, dim.value_or(Dims{-2, -1}), keepdim, dtype);
}

// Slices along `dim` with a norm above maxnorm are scaled down to it.
Tensor renorm(const Tensor& self, const Scalar& p, std::int64_t dim, const Scalar& maxnorm) {
  if (p.kind == Scalar::Kind::complex || !(p.f > 0)) {
    fail(ErrorKind::runtime, "renorm: non-positive-norm not supported");
  }
  if (maxnorm.kind == Scalar::Kind::complex || !(maxnorm.f >= 0)) {
    fail(ErrorKind::runtime, "renorm: expected maxnorm to be >= 0 but got " + text_of(maxnorm.f));
  }
  if (self.dim() < 2) {
    fail(ErrorKind::runtime, "renorm: input needs at least 2 dimensions, got " +
                                 std::to_string(self.dim()) + " dimensions");
  }
  const std::int64_t kept = wrap_dim(dim, self.dim());
  Dims others;
  for (std::int64_t d = 0; d < self.dim(); ++d) {
    if (d != kept) others.push_back(d);
  }
  const Tensor wide = to(self, wide_dtype(self.dtype()));
  const Tensor size = vector_norm(wide, p, others, true, std::nullopt);
  const Tensor scale = div(maxnorm.tensor(), add(size, Tensor(1e-7)));
  const Tensor factor = where(gt(size, maxnorm.tensor()), scale, ones({}, size.dtype()));
  return mul(self, to(factor, real_dtype(self.dtype())));
}
Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p) {
  return vector_norm(sub(self, other), p, {}, false, std::nullopt);
}

// --- cond ----------------------------------------------------------------------------------------

// By the norms of A and its inverse; infinite for a singular A.
template <class Norm>
Tensor cond_by_inverse(const Tensor& self, const std::string& ord, const Norm& norm) {
  check_square(self, ("linalg.cond(ord=" + ord + ")").c_str());
  if (self.numel() == 0) return zeros(batch_shape(self), real_dtype(self.dtype()));
  const auto [lu, pivots, info] = lu_factor(detach(self), true, "linalg.cond");
  const Tensor singular = ne(info, Tensor(0));
  const Tensor safe = where(unsqueeze(unsqueeze(singular, -1), -1),
                            eye(self.size(-1), std::nullopt, self.dtype()), self);
  const Tensor product = mul(norm(self), norm(inverse(safe)));
  return where(singular, full({}, Scalar(HUGE_VAL), product.dtype()), product);
}

Tensor cond(const Tensor& self, const std::optional<Scalar>& p) {
  if (self.dim() < 2) {
    fail(ErrorKind::runtime, "linalg.cond: The input tensor must have at least 2 dimensions.");
  }
  if (!p || std::abs(p->f) == 2) {
    const Tensor s = svdvals(self);
    if (s.size(-1) == 0) return zeros(batch_shape(self), s.dtype());
    const Tensor largest = select(s, -1, 0), smallest = select(s, -1, -1);
    return p && p->f == -2 ? div(smallest, largest) : div(largest, smallest);
  }
  if (p->f != 1 && p->f != -1 && !std::isinf(p->f)) {
    fail(ErrorKind::value, "linalg.cond got an invalid norm type: " + text_of(p->f));
  }
  return cond_by_inverse(self, text_of(p->f), [&](const Tensor& t) {
    return matrix_norm(t, *p, {-2, -1}, false, std::nullopt);
  });
}
Tensor cond_named(const Tensor& self, const std::string& p) {
  if (self.dim() < 2) {
    fail(ErrorKind::runtime, "linalg.cond: The input tensor must have at least 2 dimensions.");
  }
  if (p != "fro" && p != "nuc") {
    fail(ErrorKind::value, "linalg.cond got an invalid norm type: " + p);
  }
  if (self.numel() == 0) return zeros(batch_shape(self), real_dtype(self.dtype()));
  return cond_by_inverse(self, p, [&](const Tensor& t) {
    return matrix_norm_named(t, p, {-2, -1}, false, std::nullopt);
  });
}

constexpr unsigned kPart = kSubmodule | kOut;

}  // namespace

std::span<const OpDef> norm_ops() {
  static constexpr OpDef rows[] = {
      native<linalg_vector_norm>(
          "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
          "ScalarType? dtype=None) -> Tensor",
          "(sum of |x|^ord)^(1/ord) over dim, or all; 0: how many aren't 0; inf, -inf: extremes.",
          kPart),
      native<matrix_norm>(
          "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, "
          "ScalarType? dtype=None) -> Tensor",
          "Norms of matrices.", kPart),
      native<matrix_norm_named>(
          "linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2, -1], bool "
          "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
          "Norms of matrices: 'fro', 'nuc', or 1, -1, 2, -2, inf, -inf.", kPart),
      native<linalg_norm>(
          "linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, "
          "ScalarType? dtype=None) -> Tensor",
          "vector_norm() or matrix_norm().", kPart),
      native<linalg_norm_named>(
          "linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, "
          "ScalarType? dtype=None) -> Tensor",
          "vector_norm() or matrix_norm(): of matrices where dim says two dimensions, or an ord is "
          "given for a 2-d tensor.",
          kPart),
      native<norm_named>("norm.str(Tensor self, str p='fro', int[1]? dim=None, bool keepdim=False, "
                         "*, ScalarType? dtype=None) -> Tensor",
                         "p-norm of the elements.", kFunction | kMethod | kOut),
      native<norm>("norm.number(Tensor self, Scalar? p, int[1]? dim=None, bool keepdim=False, *, "
                   "ScalarType? dtype=None) -> Tensor",
                   "p-norm of the elements over dim, or all; 'nuc' is that of matrices.",
                   kFunction | kMethod | kOut),
      native<renorm, inplace<renorm>>(
          "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
          "self with every slice along dim scaled down to a p-norm of at most maxnorm.",
          kFunction | kMethod | kOut),
      native<dist>("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
                   "The p-norm of self - other.", kFunction | kMethod | kOut),
      native<cond>("linalg_cond(Tensor self, Scalar? p=None) -> Tensor",
                   "The condition number: how much a solution may magnify errors.", kPart),
      native<cond_named>("linalg_cond.p_str(Tensor self, str p) -> Tensor",
                         "The condition number in a norm; by default the ratio of the largest to "
                         "the smallest singular value.",
                         kPart),
  };
  return rows;
}

}  // namespace treadle
