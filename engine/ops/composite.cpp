// Ops made of other ops: joining, triangles, division with rounding, comparisons of whole tensors.
// No kernel and no derivative of their own, cat and triangles apart.
#include <algorithm>
#include <cmath>

#include "engine/core/iter.h"
#include "engine/ops/native.h"
#include "engine/ops/view/layout.h"
#include "engine/ops/view/util.h"

namespace treadle {
namespace {

// Whether the strides say so that PyTorch takes a tensor of 4 or 5 dimensions for one whose
// channels lie innermost, with gaps or without.
bool channels_innermost(const Tensor& t) {
  if (t.dim() != 4 && t.dim() != 5) return false;
  std::int64_t least = 0;
  const auto grows = [&](std::int64_t d) {
    const bool fits = t.strides()[d] != 0 && t.strides()[d] >= least;
    least = t.strides()[d] * std::max<std::int64_t>(t.shape()[d], 1);
    return fits && t.shape()[d] != 0;
  };
  if (!grows(1)) return false;
  for (std::int64_t d = t.dim() - 1; d >= 2; --d) {
    if (!grows(d)) return false;
  }
  return least != t.strides()[1] && grows(0);
}

}  // namespace

Tensor cat(const std::vector<Tensor>& tensors, std::int64_t dim) {
  if (tensors.empty()) fail(ErrorKind::value, "torch.cat(): expected a non-empty list of Tensors");
  // PyTorch's old rule: an empty vector joins with anything.
  std::vector<Tensor> parts;
  Promotion promotion;
  for (const Tensor& t : tensors) promotion.add(t);
  const DType dtype = promotion.result();
  for (const Tensor& t : tensors) {
    if (t.dim() == 0)
      fail(ErrorKind::runtime, "zero-dimensional tensor (at position " +
                                   std::to_string(&t - tensors.data()) +
                                   ") cannot be concatenated");
    if (!(t.dim() == 1 && t.numel() == 0)) parts.push_back(t);
  }
  if (parts.empty()) return Tensor::empty({0}, dtype);
  const Tensor& first = parts[0];
  dim = wrap_dim(dim, first.dim());
  Dims shape = first.shape();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Tensor& t = parts[i];
    if (t.dim() != first.dim()) {
      fail(ErrorKind::runtime, "Tensors must have same number of dimensions: got " +
                                   std::to_string(first.dim()) + " and " + std::to_string(t.dim()));
    }
    for (std::int64_t d = 0; d < t.dim(); ++d) {
      if (d != dim && t.shape()[d] != first.shape()[d]) {
        fail(ErrorKind::runtime, "Sizes of tensors must match except in dimension " +
                                     std::to_string(dim) + ". Expected size " +
                                     std::to_string(first.shape()[d]) + " but got size " +
                                     std::to_string(t.shape()[d]) + " for tensor number " +
                                     std::to_string(i) + " in the list.");
      }
    }
    shape[dim] += t.shape()[dim];
  }
  const bool last = std::all_of(parts.begin(), parts.end(), channels_innermost);
  const Tensor out =
      last ? empty_strided(shape,
                           strides_in(shape.size() == 4 ? MemoryFormat::channels_last
                                                        : MemoryFormat::channels_last_3d,
                                      shape),
                           dtype)
           : Tensor::empty(shape, dtype);
  bool tape = false;
  {
    std::int64_t at = 0;
    for (const Tensor& t : parts) {
      tape |= needs_tape({&t});
      const NoGrad off;
      cast_into(narrow(detach(out), dim, at, t.shape()[dim]), t);
      at += t.shape()[dim];
    }
  }
  if (!tape || !is_differentiable(dtype)) return out;
  std::vector<std::pair<std::int64_t, DType>> pieces;
  for (const Tensor& t : parts) pieces.emplace_back(t.shape()[dim], t.dtype());
  const auto backward = [pieces, dim](Node& n, const Gradients& g) {
    Gradients r(pieces.size());
    if (none(g)) return r;
    std::int64_t at = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (n.needs(static_cast<std::uint32_t>(i)))
        r[i] = to(narrow(g[0], dim, at, pieces[i].first), pieces[i].second);
      at += pieces[i].first;
    }
    return r;
  };
  Ref<Node> node(new FnNode("CatBackward0", static_cast<std::uint32_t>(parts.size()), backward));
  for (std::size_t i = 0; i < parts.size(); ++i)
    node->edge(static_cast<std::uint32_t>(i)) = gradient_edge(parts[i]);
  set_history(out, std::move(node));
  return out;
}

Tensor stack(const std::vector<Tensor>& tensors, std::int64_t dim) {
  if (tensors.empty()) fail(ErrorKind::runtime, "stack expects a non-empty TensorList");
  dim = wrap_dim(dim, tensors[0].dim() + 1);
  std::vector<Tensor> wide;
  for (const Tensor& t : tensors) {
    if (t.shape() != tensors[0].shape()) {
      fail(ErrorKind::runtime, "stack expects each tensor to be equal size, but got " +
                                   to_string(tensors[0].shape()) + " at entry 0 and " +
                                   to_string(t.shape()) + " at entry " +
                                   std::to_string(&t - tensors.data()));
    }
    wide.push_back(unsqueeze(t, dim));
  }
  return cat(wide, dim);
}

namespace {

Tensor triangle(const Tensor& self, std::int64_t diagonal, bool upper) {
  if (self.dim() < 2)
    fail(ErrorKind::runtime,
         std::string(upper ? "triu" : "tril") + ": input tensor must have at least 2 dimensions");
  const Tensor row = unsqueeze(arange(0, self.size(-2), 1, DType::int64), 1);
  const Tensor distance = sub(arange(0, self.size(-1), 1, DType::int64), row);
  const Tensor keep =
      upper ? ge(distance, Tensor::wrapped(diagonal)) : le(distance, Tensor::wrapped(diagonal));
  return where(keep, self, zeros({}, self.dtype()));
}
Tensor triu(const Tensor& self, std::int64_t diagonal) { return triangle(self, diagonal, true); }
Tensor tril(const Tensor& self, std::int64_t diagonal) { return triangle(self, diagonal, false); }
void triu_inplace(const Tensor& self, std::int64_t diagonal) {
  check_inplace(self);
  copy_(self, triu(self, diagonal));
}
void tril_inplace(const Tensor& self, std::int64_t diagonal) {
  check_inplace(self);
  copy_(self, tril(self, diagonal));
}

Tensor div_mode(const Tensor& self, const Tensor& other, const std::optional<std::string>& mode) {
  if (!mode) return div(self, other);
  if (*mode == "floor") return floor_divide(self, other);
  if (*mode == "trunc") return div_trunc(self, other);
  fail(ErrorKind::runtime,
       "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '" + *mode +
           "'");
}
void div_mode_inplace(const Tensor& self, const Tensor& other,
                      const std::optional<std::string>& mode) {
  if (!mode) {
    div_(self, other);
    return;
  }
  check_inplace(self);
  const Tensor r = div_mode(self, other, mode);
  if (!can_cast(r.dtype(), self.dtype())) {
    fail(ErrorKind::runtime, "result type " + std::string(info(r.dtype()).scalar) +
                                 " can't be cast to the desired output type " +
                                 std::string(info(self.dtype()).scalar));
  }
  copy_(self, r);
}
Tensor add_scaled(const Tensor& self, const Scalar& alpha, const Tensor& other) {
  return add(self, other, alpha);
}
Tensor rsub(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return sub(other, self, alpha);
}

bool equal(const Tensor& self, const Tensor& other) {
  return self.shape() == other.shape() && all(eq(detach(self), detach(other))).item_int() != 0;
}
Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  if (self.dtype() != other.dtype()) {
    fail(ErrorKind::runtime, std::string(info(self.dtype()).scalar) + " did not match " +
                                 std::string(info(other.dtype()).scalar));
  }
  const auto check = [](const char* name, double tolerance) {
    if (tolerance >= 0) return;
    fail(ErrorKind::runtime, std::string(name) +
                                 " must be greater than or equal to zero, but got " +
                                 std::to_string(tolerance));
  };
  check("rtol", rtol);
  check("atol", atol);
  const NoGrad off;
  Tensor close = eq(self, other);
  if (equal_nan && is_differentiable(self.dtype())) {
    close = logical_or(close, logical_and(isnan(self), isnan(other)));
  }
  if (rtol == 0 && atol == 0) return close;
  // Integers in the default dtype, the others in their own, as PyTorch.
  const bool exact = is_integral(self.dtype());
  const Tensor a = exact ? to(self, default_dtype()) : self;
  const Tensor b = exact ? to(other, default_dtype()) : other;
  const Tensor error = abs(sub(a, b)), allowed = add(abs(mul(b, Tensor(rtol))), Tensor(atol));
  return logical_or(close, logical_and(lt(error, Tensor(HUGE_VAL)), le(error, allowed)));
}
bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return all(isclose(self, other, rtol, atol, equal_nan)).item_int() != 0;
}

constexpr unsigned kBoth = kFunction | kMethod;
constexpr unsigned kAll = kBoth | kOut;

}  // namespace

std::span<const OpDef> composite_ops() {
  static constexpr OpDef rows[] = {
      native<cat>("cat(Tensor[] tensors, int dim=0) -> Tensor",
                  "Joined along a dimension that exists.", kFunction | kOut),
      native<cat>("concat(Tensor[] tensors, int dim=0) -> Tensor", "cat().", kFunction | kOut),
      native<cat>("concatenate(Tensor[] tensors, int dim=0) -> Tensor", "cat().", kFunction | kOut),
      native<stack>("stack(Tensor[] tensors, int dim=0) -> Tensor", "Joined along a new dimension.",
                    kFunction | kOut),
      native<triu, triu_inplace>("triu(Tensor self, int diagonal=0) -> Tensor",
                                 "Upper triangle, 0 elsewhere.", kAll),
      native<tril, tril_inplace>("tril(Tensor self, int diagonal=0) -> Tensor",
                                 "Lower triangle, 0 elsewhere.", kAll),
      native<div_mode, div_mode_inplace>(
          "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
          "Quotient, rounded by 'trunc' or 'floor' if given.", kAll),
      native<div_mode, div_mode_inplace>(
          "divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
          "div().", kAll),
      native<add_scaled>("add.old(Tensor self, Scalar alpha, Tensor other) -> Tensor",
                         "self + alpha * other, in the order of PyTorch's first versions.", kBoth),
      native<rsub>("rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
                   "other - alpha * self.", kFunction),
      native<equal>("equal(Tensor self, Tensor other) -> bool",
                    "Same shape and all elements equal.", kBoth, false),
      native<isclose>("isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool "
                      "equal_nan=False) -> Tensor",
                      "|self - other| <= atol + rtol * |other|.", kBoth, false),
      native<allclose>("allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, "
                       "bool equal_nan=False) -> bool",
                       "Whether isclose() holds everywhere.", kBoth, false),
  };
  return rows;
}

}  // namespace treadle
