// Reductions with their gradients, dtype rules and error texts.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/core/visit.h"
#include "engine/ops/native.h"
#include "engine/ops/reduce.h"
#include "engine/ops/view_util.h"

namespace treadle {
namespace {

// Gradient of an op that adds elements up: every element gets that of its sum.
Tensor spread(const Tensor& g, const Dims& shape, std::uint64_t mask, bool keepdim) {
  return expand(restore_dims(g, mask, shape.size(), keepdim), shape);
}

std::int64_t reduced_count(const Tensor& t, std::uint64_t mask) {
  std::int64_t n = 1;
  for (std::int64_t i = 0; i < t.dim(); ++i) n *= mask >> i & 1 ? t.shape()[i] : 1;
  return n;
}

// The tensor itself, or its conversion, which `owner` keeps. (Not a copy of the handle: counting a
// reference to a tensor that Python knows takes the GIL.)
const Tensor& in_dtype(const Tensor& self, std::optional<DType> dtype, Tensor& owner) {
  if (!dtype || *dtype == self.dtype()) return self;
  return owner = to(self, *dtype);
}

void check_floating(const Tensor& t, const char* op) {
  if (!is_differentiable(t.dtype())) {
    fail(ErrorKind::not_implemented,
         std::string(op) +
             "(): could not infer output dtype. Input dtype must be either a floating point or "
             "complex dtype. Got: " +
             std::string(info(t.dtype()).scalar));
  }
}

}  // namespace

Tensor sum(const Tensor& input, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  Tensor owner;
  const Tensor& self = in_dtype(input, dtype, owner);
  const std::uint64_t mask = dim_mask(dim, self.dim());
  Tensor out = reduce(Reduction::sum, self, mask, keepdim);
  if (dtype && out.dtype() != *dtype) out = to(out, *dtype);
  if (needs_tape({&self})) {
    record("SumBackward0", out, {&self},
           [mask, keepdim, shape = self.shape()](Node&, const Gradients& g) {
             return none(g) ? Gradients(1) : Gradients{spread(g[0], shape, mask, keepdim)};
           });
  }
  return out;
}

Tensor mean(const Tensor& input, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  Tensor owner;
  const Tensor& self = in_dtype(input, dtype, owner);
  check_floating(self, "mean");
  const std::uint64_t mask = dim_mask(dim, self.dim());
  const double n = static_cast<double>(reduced_count(self, mask));
  Tensor out;
  {
    const NoGrad off;
    out = to(div(reduce_wide(Reduction::sum, self, mask, keepdim), Tensor(n)), self.dtype());
  }
  if (needs_tape({&self})) {
    record("MeanBackward0", out, {&self},
           [mask, keepdim, n, shape = self.shape()](Node&, const Gradients& g) {
             return none(g) ? Gradients(1)
                            : Gradients{spread(div(g[0], Tensor(n)), shape, mask, keepdim)};
           });
  }
  return out;
}

namespace {

// Largest or smallest over several dimensions; elements that tie share the gradient.
Tensor extreme(Reduction op, const Tensor& self, const Dims& dim, bool keepdim, const char* name) {
  const std::uint64_t mask = dim_mask(dim, self.dim());
  const Tensor out = reduce(op, self, mask, keepdim);
  if (needs_tape({&self})) {
    record(name, out, {&self},
           [=, x = Saved(self), y = Saved::output(out)](Node& n, const Gradients& g) {
             if (none(g)) return Gradients(1);
             const Tensor in = x.get(&n);
             Dims dims;
             for (std::int64_t i = 0; i < in.dim(); ++i) {
               if (mask >> i & 1) dims.push_back(i);
             }
             const Tensor best = restore_dims(y.get(&n), mask, in.dim(), keepdim);
             // Where the result is NaN, it is that of the NaNs.
             const Tensor hit =
                 to(logical_or(eq(in, best), logical_and(isnan(in), isnan(best))), g[0].dtype());
             const Tensor share = in.dim() == 0 ? hit : div(hit, sum(hit, dims, true));
             return Gradients{mul(restore_dims(g[0], mask, in.dim(), keepdim), share)};
           });
  }
  return out;
}

std::tuple<Tensor, Tensor> extreme_dim(Reduction op, const Tensor& self, std::int64_t dim,
                                       bool keepdim, const char* name) {
  dim = wrap_dim(dim, self.dim());
  const std::uint64_t mask = self.dim() == 0 ? 0 : std::uint64_t{1} << dim;
  if (self.dim() > 0 && self.shape()[dim] == 0) {
    fail(ErrorKind::index, std::string(op == Reduction::max ? "max" : "min") +
                               "(): Expected reduction dim " + std::to_string(dim) +
                               " to have non-zero size.");
  }
  Tensor index;
  const Tensor out = reduce(op, self, mask, keepdim, &index);
  if (needs_tape({&self})) {
    record(name, out, {&self}, [=, at = index, shape = self.shape()](Node&, const Gradients& g) {
      if (none(g)) return Gradients(1);
      const Tensor grad = restore_dims(g[0], mask, shape.size(), keepdim);
      const Tensor where = restore_dims(at, mask, shape.size(), keepdim);
      return Gradients{scatter_add(zeros(shape, grad.dtype()), dim, where, grad)};
    });
  }
  return {out, index};
}

Tensor arg_extreme(Reduction op, const Tensor& self, std::optional<std::int64_t> dim,
                   bool keepdim) {
  if (!dim) {
    const NoGrad off;
    const Tensor flat = reshape(detach(self), {-1});
    Tensor out = reduce(op, flat, 1, false);
    return keepdim ? reshape(out, Dims(self.dim(), 1)) : out;
  }
  const std::int64_t d = wrap_dim(*dim, self.dim());
  if (self.dim() == 0) return zeros({}, DType::int64);
  if (self.shape()[d] == 0) {
    fail(ErrorKind::index, std::string(op == Reduction::argmax ? "argmax" : "argmin") +
                               "(): Expected reduction dim " + std::to_string(d) +
                               " to have non-zero size.");
  }
  return reduce(op, self, std::uint64_t{1} << d, keepdim);
}

}  // namespace

Tensor amax(const Tensor& self, const Dims& dim, bool keepdim) {
  return extreme(Reduction::max, self, dim, keepdim, "AmaxBackward0");
}
Tensor amin(const Tensor& self, const Dims& dim, bool keepdim) {
  return extreme(Reduction::min, self, dim, keepdim, "AminBackward0");
}
std::tuple<Tensor, Tensor> max(const Tensor& self, std::int64_t dim, bool keepdim) {
  return extreme_dim(Reduction::max, self, dim, keepdim, "MaxBackward0");
}
std::tuple<Tensor, Tensor> min(const Tensor& self, std::int64_t dim, bool keepdim) {
  return extreme_dim(Reduction::min, self, dim, keepdim, "MinBackward0");
}
Tensor argmax(const Tensor& self, std::optional<std::int64_t> dim, bool keepdim) {
  return arg_extreme(Reduction::argmax, self, dim, keepdim);
}
Tensor any(const Tensor& self) {
  return reduce(Reduction::any, self, dim_mask({}, self.dim()), false);
}
Tensor all(const Tensor& self) {
  return reduce(Reduction::all, self, dim_mask({}, self.dim()), false);
}

Tensor cumsum(const Tensor& input, std::int64_t dim, std::optional<DType> dtype) {
  if (!dtype && is_integral(input.dtype())) dtype = DType::int64;
  Tensor owner;
  const Tensor& self = in_dtype(input, dtype, owner);
  dim = wrap_dim(dim, self.dim());
  if (self.dim() == 0) return clone(self);
  Tensor out;
  {
    const NoGrad off;
    out = Tensor::empty(self.shape(), self.dtype());
    cast_into(out, self);
  }
  const std::int64_t n = self.shape()[dim], step = out.strides()[dim];
  visit_any(self.dtype(), "cumsum", [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, bool>) {
      T* data = out.data_as<T>();
      const std::int64_t lines = n == 0 ? 0 : out.numel() / n;
      for (std::int64_t l = 0; l < lines; ++l) {
        T* line = data + l / step * step * n + l % step;
        for (std::int64_t i = 1; i < n; ++i)
          line[i * step] = static_cast<T>(line[i * step] + line[(i - 1) * step]);
      }
    }
  });
  if (needs_tape({&self})) {
    record("CumsumBackward0", out, {&self}, [dim](Node&, const Gradients& g) {
      return none(g) ? Gradients(1) : Gradients{flip(cumsum(flip(g[0], {dim}), dim), {dim})};
    });
  }
  return out;
}

namespace {

// Product of all elements before (or after) each one along dim, by doubling; works where elements
// are 0.
Tensor exclusive_products(const Tensor& x, std::int64_t dim, bool reverse) {
  const std::int64_t n = x.shape()[dim];
  const auto shift = [&](const Tensor& t, std::int64_t by) {
    Dims shape = t.shape();
    shape[dim] = by;
    const Tensor fill = ones(shape, t.dtype());
    return reverse ? cat({narrow(t, dim, by, n - by), fill}, dim)
                   : cat({fill, narrow(t, dim, 0, n - by)}, dim);
  };
  Tensor product = shift(x, 1);
  for (std::int64_t step = 1; step < n; step *= 2) product = mul(product, shift(product, step));
  return product;
}

Tensor prod_gradient(const Tensor& g, const Tensor& x, std::int64_t dim) {
  return mul(g, mul(exclusive_products(x, dim, false), exclusive_products(x, dim, true)));
}

Tensor prod_dim(const Tensor& input, std::int64_t dim, bool keepdim, std::optional<DType> dtype) {
  Tensor owner;
  const Tensor& self = in_dtype(input, dtype, owner);
  dim = wrap_dim(dim, self.dim());
  const std::uint64_t mask = self.dim() == 0 ? 0 : std::uint64_t{1} << dim;
  Tensor out = reduce(Reduction::prod, self, mask, keepdim);
  if (dtype && out.dtype() != *dtype) out = to(out, *dtype);
  if (needs_tape({&self})) {
    record("ProdBackward1", out, {&self}, [=, x = Saved(self)](Node& n, const Gradients& g) {
      if (none(g)) return Gradients(1);
      const Tensor in = x.get(&n);
      if (in.dim() == 0 || in.numel() == 0)
        return Gradients{expand(restore_dims(g[0], mask, in.dim(), keepdim), in.shape())};
      return Gradients{prod_gradient(restore_dims(g[0], mask, in.dim(), keepdim), in, dim)};
    });
  }
  return out;
}

Tensor prod_all(const Tensor& self, std::optional<DType> dtype) {
  return prod_dim(reshape(self, {-1}), 0, false, dtype);
}

Tensor sum_all(const Tensor& self, std::optional<DType> dtype) {
  return sum(self, {}, false, dtype);
}
Tensor sum_dims(const Tensor& self, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  return sum(self, dim, keepdim, dtype);
}
Tensor mean_all(const Tensor& self, std::optional<DType> dtype) {
  return mean(self, {}, false, dtype);
}

Tensor var(const Tensor& self, const Dims& dim, const std::optional<Scalar>& correction,
           bool keepdim) {
  check_floating(self, "var");
  const std::uint64_t mask = dim_mask(dim, self.dim());
  const double n = static_cast<double>(reduced_count(self, mask));
  Dims dims;
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    if (mask >> i & 1) dims.push_back(i);
  }
  const Tensor centered = sub(self, mean(self, dims, true));
  return div(sum(square(centered), dims, keepdim),
             Tensor(std::max(0.0, n - (correction ? correction->f : 1.0))));
}
// sqrt has an infinite slope at 0; like PyTorch, the gradient of a standard deviation is 0 there.
Tensor safe_sqrt(const Tensor& v) {
  const Tensor zero = eq(v, Tensor(0));
  return where(zero, mul(v, Tensor(0.0)), sqrt(where(zero, Tensor(1.0), v)));
}
Tensor std_dev(const Tensor& self, const Dims& dim, const std::optional<Scalar>& correction,
               bool keepdim) {
  check_floating(self, "std");
  return safe_sqrt(var(self, dim, correction, keepdim));
}
Tensor var_unbiased(const Tensor& self, bool unbiased) {
  return var(self, {}, Scalar(unbiased ? 1 : 0), false);
}
Tensor std_unbiased(const Tensor& self, bool unbiased) {
  return std_dev(self, {}, Scalar(unbiased ? 1 : 0), false);
}
Tensor var_dim(const Tensor& self, const Dims& dim, bool unbiased, bool keepdim) {
  return var(self, dim, Scalar(unbiased ? 1 : 0), keepdim);
}
Tensor std_dim(const Tensor& self, const Dims& dim, bool unbiased, bool keepdim) {
  return std_dev(self, dim, Scalar(unbiased ? 1 : 0), keepdim);
}

Tensor logsumexp(const Tensor& self, const Dims& dim, bool keepdim) {
  const Tensor x = is_integral(self.dtype()) ? to(self, default_dtype()) : self;
  Tensor top;
  {
    const NoGrad off;
    top = amax(detach(x), dim, true);
    top = where(eq(abs(top), Tensor(std::numeric_limits<double>::infinity())), Tensor(0.0), top);
  }
  const Tensor s = log(sum(exp(sub(x, top)), dim, keepdim));
  return add(s, reshape(top, s.shape()));
}

Tensor max_all(const Tensor& self) {
  return extreme(Reduction::max, self, {}, false, "MaxBackward1");
}
Tensor min_all(const Tensor& self) {
  return extreme(Reduction::min, self, {}, false, "MinBackward1");
}
Tensor argmin(const Tensor& self, std::optional<std::int64_t> dim, bool keepdim) {
  return arg_extreme(Reduction::argmin, self, dim, keepdim);
}
Tensor any_dims(const Tensor& self, const Dims& dim, bool keepdim) {
  return reduce(Reduction::any, self, dim_mask(dim, self.dim()), keepdim);
}
Tensor all_dims(const Tensor& self, const Dims& dim, bool keepdim) {
  return reduce(Reduction::all, self, dim_mask(dim, self.dim()), keepdim);
}
Tensor count_nonzero(const Tensor& self, const Dims& dim) { return sum(ne(self, Tensor(0)), dim); }

constexpr unsigned kBoth = kFunction | kMethod;
constexpr unsigned kAll = kBoth | kOut;

}  // namespace

std::span<const OpDef> reduction_ops() {
  using Pair = std::tuple<Tensor, Tensor> (*)(const Tensor&, std::int64_t, bool);
  using One = Tensor (*)(const Tensor&);
  static constexpr OpDef rows[] = {
      native<sum_all>("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
                      "Sum of all elements; int64 for integers.", kBoth),
      native<sum_dims>("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
                       "ScalarType? dtype=None) -> Tensor",
                       "Sum over the dimensions; int64 for integers.", kAll),
      native<mean_all>("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
                       "Mean of all elements.", kBoth),
      native<mean>("mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
                   "dtype=None) -> Tensor",
                   "Mean over the dimensions.", kAll),
      native<prod_all>("prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
                       "Product of all elements.", kBoth),
      native<prod_dim>("prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? "
                       "dtype=None) -> Tensor",
                       "Product along a dimension.", kAll),
      native<max_all>("max(Tensor self) -> Tensor", "Largest element.", kBoth),
      native<maximum>("max.other(Tensor self, Tensor other) -> Tensor", "maximum().", kAll),
      native<static_cast<Pair>(max)>(
          "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
          "Largest element along a dimension and its position.", kAll),
      native<min_all>("min(Tensor self) -> Tensor", "Smallest element.", kBoth),
      native<minimum>("min.other(Tensor self, Tensor other) -> Tensor", "minimum().", kAll),
      native<static_cast<Pair>(min)>(
          "min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
          "Smallest element along a dimension and its position.", kAll),
      native<amax>("amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
                   "Largest element over the dimensions; ties share the gradient.", kAll),
      native<amin>("amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
                   "Smallest element over the dimensions; ties share the gradient.", kAll),
      native<argmax>("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
                     "Position of the largest element, in the flattened tensor or along dim.", kAll,
                     false),
      native<argmin>("argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
                     "Position of the smallest element, in the flattened tensor or along dim.",
                     kAll, false),
      native<static_cast<One>(any)>("any(Tensor self) -> Tensor",
                                    "Whether some element is nonzero.", kBoth, false),
      native<any_dims>("any.dims(Tensor self, int[1]? dim=None, bool keepdim=False) -> Tensor",
                       "Whether some element is nonzero, over the dimensions.", kAll, false),
      native<static_cast<One>(all)>("all(Tensor self) -> Tensor",
                                    "Whether every element is nonzero.", kBoth, false),
      native<all_dims>("all.dims(Tensor self, int[1]? dim=None, bool keepdim=False) -> Tensor",
                       "Whether every element is nonzero, over the dimensions.", kAll, false),
      native<count_nonzero>("count_nonzero(Tensor self, int[1]? dim=None) -> Tensor",
                            "Number of nonzero elements.", kBoth, false),
      native<var_unbiased>("var(Tensor self, bool unbiased=True) -> Tensor",
                           "Variance of all elements.", kBoth),
      native<var_dim>(
          "var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
          "Variance over the dimensions.", kBoth),
      native<var>("var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
                  "keepdim=False) -> Tensor",
                  "Variance; the divisor is n - correction (1 by default).", kAll),
      native<std_unbiased>("std(Tensor self, bool unbiased=True) -> Tensor",
                           "Standard deviation of all elements.", kBoth),
      native<std_dim>(
          "std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
          "Standard deviation over the dimensions.", kBoth),
      native<std_dev>("std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
                      "bool keepdim=False) -> Tensor",
                      "Standard deviation; the divisor is n - correction (1 by default).", kAll),
      native<logsumexp>("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
                        "log of the sum of exponentials, without overflow.", kAll),
      native<cumsum>("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
                     "Running sum along a dimension.", kAll),
  };
  return rows;
}

}  // namespace treadle
