// Reductions with their gradients, dtype rules and error texts.
#include <algorithm>
#include <limits>

#include "engine/ops/native.h"
#include "engine/ops/reduction/scans.h"
#include "engine/ops/reduction/util.h"

namespace treadle {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// The tensor itself, or its conversion, which `owner` keeps. (Not a copy of the handle: counting a
// reference to a tensor that Python knows takes the GIL.)
const Tensor& in_dtype(const Tensor& self, std::optional<DType> dtype, Tensor& owner) {
  if (!dtype || *dtype == self.dtype()) return self;
  return owner = to(self, *dtype);
}

}  // namespace

void check_floating(const Tensor& t, const char* op) {
  if (!is_differentiable(t.dtype())) {
    fail(ErrorKind::not_implemented,
         std::string(op) +
             "(): could not infer output dtype. Input dtype must be either a floating point or "
             "complex dtype. Got: " +
             std::string(info(t.dtype()).scalar));
  }
}

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
  if (self.numel() == 0) {
    const std::string text =
        std::string(op == Reduction::max ? "max" : "min") + "(): Expected reduction dim ";
    if (dim.empty()) {
      fail(ErrorKind::runtime, text +
                                   "to be specified for input.numel() == 0. Specify the "
                                   "reduction dim with the 'dim' argument.");
    }
    for (const std::int64_t d : dim) {
      if (self.size(d) == 0)
        fail(ErrorKind::index,
             text + std::to_string(wrap_dim(d, self.dim())) + " to have non-zero size.");
    }
  }
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
  if (self.dtype() == DType::boolean) {
    fail(ErrorKind::not_implemented, std::string(op == Reduction::argmax ? "argmax" : "argmin") +
                                         "(): does not support bool input");
  }
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

namespace {

// The product of the others: of those before each element, times that of those after it.
Tensor prod_gradient(const Tensor& g, const Tensor& x, std::int64_t dim) {
  const Tensor before = cumprod(shift(x, dim, false, 1), dim);
  const Tensor after = flip(cumprod(flip(shift(x, dim, true, 1), {dim}), dim), {dim});
  return mul(g, conj(mul(before, after)));
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

Tensor logsumexp(const Tensor& self, const Dims& dim, bool keepdim) {
  const Tensor x = is_integral(self.dtype()) ? to(self, default_dtype()) : self;
  const std::uint64_t mask = dim_mask(dim, x.dim());
  const Dims dims = mask_dims(mask, x.dim());
  Tensor out;
  {
    const NoGrad off;
    const bool narrow = is_short_float(x.dtype());
    const Tensor in = narrow ? to(detach(x), DType::float32) : detach(x);
    const Tensor size = is_complex(in.dtype()) ? real(in) : in;
    const Tensor zero = zeros({}, size.dtype());
    // An empty sum is 0, an infinite largest element is left as it is.
    const Tensor top = in.numel() == 0 ? zeros(reduced_shape(in.shape(), mask, true), size.dtype())
                                       : amax(size, dims, true);
    const Tensor finite = where(eq(abs(top), Tensor(kInf)), zero, top);
    const Tensor s = log(sum(exp(sub(in, finite)), dims, keepdim));
    out = to(add(s, reshape(finite, s.shape())), x.dtype());
  }
  if (needs_tape({&x})) {
    record("LogsumexpBackward0", out, {&x},
           [=, sx = Saved(x), y = Saved::output(out)](Node& n, const Gradients& g) {
             if (none(g)) return Gradients(1);
             const Tensor in = sx.get(&n);
             const Tensor r = restore_dims(y.get(&n), mask, in.dim(), keepdim);
             const Tensor grad = restore_dims(g[0], mask, in.dim(), keepdim);
             // Where everything is -inf, nothing has a share.
             const Tensor safe =
                 is_complex(r.dtype()) ? r : where(eq(r, Tensor(-kInf)), zeros({}, r.dtype()), r);
             return Gradients{mul(grad, conj(exp(sub(in, safe))))};
           });
  }
  return out;
}

Tensor nansum(const Tensor& input, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  if (is_complex(input.dtype())) fail(ErrorKind::runtime, "nansum does not support complex inputs");
  Tensor owner;
  const Tensor& self = in_dtype(input, dtype, owner);
  if (!is_floating(self.dtype())) return sum(self, dim, keepdim, dtype);
  return sum(where(isnan(self), zeros({}, self.dtype()), self), dim, keepdim, dtype);
}
Tensor nanmean(const Tensor& input, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  if (!is_differentiable(input.dtype())) {
    fail(ErrorKind::not_implemented,
         "nanmean(): expected input to have floating point or complex dtype "
         "but got " +
             std::string(info(input.dtype()).scalar));
  }
  const Tensor some = detach(isnan(input));
  const Tensor count = sum(logical_not(some), dim, keepdim);
  return div(nansum(input, dim, keepdim, dtype), count);
}

std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<std::int64_t> dim,
                                   bool keepdim) {
  if (!dim && self.numel() == 0) {
    fail(ErrorKind::runtime,
         "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
         "identity.");
  }
  Dims dims;
  if (dim) {
    dims.push_back(wrap_dim(*dim, self.dim()));
    if (self.dim() > 0 && self.shape()[dims[0]] == 0) {
      fail(ErrorKind::index,
           "aminmax(): Expected reduction dim " + std::to_string(*dim) + " to have non-zero size.");
    }
  }
  return {amin(self, dims, keepdim), amax(self, dims, keepdim)};
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
// An empty list of dimensions reduces nothing; None is all of them.
Tensor truth(Reduction op, const Tensor& self, const std::optional<Dims>& dim, bool keepdim) {
  const bool nothing = dim && dim->empty();
  const std::uint64_t mask = nothing ? 0 : dim_mask(dim.value_or(Dims()), self.dim());
  return reduce(op, self, mask, keepdim);
}
Tensor any_dims(const Tensor& self, const std::optional<Dims>& dim, bool keepdim) {
  return truth(Reduction::any, self, dim, keepdim);
}
Tensor all_dims(const Tensor& self, const std::optional<Dims>& dim, bool keepdim) {
  return truth(Reduction::all, self, dim, keepdim);
}
Tensor count_nonzero(const Tensor& self, const Dims& dim) {
  const NoGrad off;
  return sum(ne(detach(self), Tensor(0)), dim);
}

// out= of max, min and their kin takes no other dtype.
template <auto Fn>
void strict_out(Value* args, Tensor* outs) {
  const DType dtype = detail::unbox_tensor(args[0]).dtype();
  constexpr bool pair = std::is_same_v<decltype(Fn), decltype(&aminmax)>;
  for (int i = 0; i < (pair ? 2 : 1); ++i) {
    if (outs[i].dtype() == dtype) continue;
    fail(ErrorKind::runtime, "Expected the dtype for input and out to match, but got " +
                                 std::string(info(dtype).scalar) + " for input's dtype and " +
                                 std::string(info(outs[i].dtype()).scalar) + " for out's dtype.");
  }
  if (pair && outs[0].data() == outs[1].data()) {
    fail(ErrorKind::value, "aminmax(): the `min` and `max` out= tensors must not overlap.");
  }
  detail::call_native_out<Fn>(args, outs);
}
template <auto Fn>
constexpr OpDef with_strict_out(const char* schema, const char* doc) {
  OpDef op = native<Fn>(schema, doc, kFunction | kMethod | kOut);
  op.call_out = &strict_out<Fn>;
  return op;
}

// out= of any and all: bool, or uint8, which was PyTorch's bool once.
template <auto Fn>
void truth_out(const char* op, Value* args, Tensor* outs) {
  const DType dtype = outs->dtype();
  if (dtype != DType::boolean && dtype != DType::uint8) {
    fail(ErrorKind::runtime, std::string(op) + " only supports bool tensor for result, got: " +
                                 std::string(info(dtype).scalar));
  }
  Value result;
  detail::call_native<Fn>(args, &result);
  write_out(op, *outs, cast(std::get<Tensor>(result), dtype));
}
template <auto Fn, bool Any>
constexpr OpDef truth_op(const char* schema, const char* doc) {
  OpDef op = native<Fn>(schema, doc, kFunction | kMethod | kOut, false);
  op.call_out = [](Value* args, Tensor* outs) { truth_out<Fn>(Any ? "any" : "all", args, outs); };
  return op;
}

constexpr unsigned kBoth = kFunction | kMethod;
constexpr unsigned kAll = kBoth | kOut;

}  // namespace

std::span<const OpDef> reduction_ops() {
  using Pair = std::tuple<Tensor, Tensor> (*)(const Tensor&, std::int64_t, bool);
  using One = Tensor (*)(const Tensor&);
  static constexpr OpDef rows[] = {
      native<sum_all>("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
                      "Sum of all elements; int64 for integers.", kAll),
      native<sum_dims>("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
                       "ScalarType? dtype=None) -> Tensor",
                       "Sum over the dimensions; int64 for integers.", kAll),
      native<mean_all>("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
                       "Mean of all elements.", kAll),
      native<mean>("mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
                   "dtype=None) -> Tensor",
                   "Mean over the dimensions.", kAll),
      native<nansum>("nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
                     "dtype=None) -> Tensor",
                     "Sum over the dimensions with NaN taken for 0.", kAll),
      native<nanmean>("nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
                      "dtype=None) -> Tensor",
                      "Mean of the elements that aren't NaN.", kAll),
      native<prod_all>("prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
                       "Product of all elements.", kAll),
      native<prod_dim>("prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? "
                       "dtype=None) -> Tensor",
                       "Product along a dimension.", kAll),
      native<max_all>("max(Tensor self) -> Tensor", "Largest element.", kAll),
      native<maximum>("max.other(Tensor self, Tensor other) -> Tensor", "maximum().", kAll),
      native<static_cast<Pair>(max)>(
          "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
          "Largest element along a dimension and its position.", kAll),
      native<min_all>("min(Tensor self) -> Tensor", "Smallest element.", kAll),
      native<minimum>("min.other(Tensor self, Tensor other) -> Tensor", "minimum().", kAll),
      native<static_cast<Pair>(min)>(
          "min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
          "Smallest element along a dimension and its position.", kAll),
      with_strict_out<amax>("amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
                            "Largest element over the dimensions; ties share the gradient."),
      with_strict_out<amin>("amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
                            "Smallest element over the dimensions; ties share the gradient."),
      with_strict_out<aminmax>(
          "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, "
          "Tensor max)",
          "Smallest and largest element, of all or along a dimension."),
      native<argmax>("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
                     "Position of the largest element, in the flattened tensor or along dim.", kAll,
                     false),
      native<argmin>("argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
                     "Position of the smallest element, in the flattened tensor or along dim.",
                     kAll, false),
      truth_op<static_cast<One>(any), true>("any(Tensor self) -> Tensor",
                                            "Whether some element is nonzero."),
      truth_op<any_dims, true>("any.dims(Tensor self, int[1]? dim, bool keepdim=False) -> Tensor",
                               "Whether some element is nonzero, over the dimensions."),
      truth_op<static_cast<One>(all), false>("all(Tensor self) -> Tensor",
                                             "Whether every element is nonzero."),
      truth_op<all_dims, false>("all.dims(Tensor self, int[1]? dim, bool keepdim=False) -> Tensor",
                                "Whether every element is nonzero, over the dimensions."),
      native<count_nonzero>("count_nonzero(Tensor self, int[1]? dim=None) -> Tensor",
                            "Number of nonzero elements.", kBoth, false),
      native<logsumexp>("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
                        "log of the sum of exponentials, without overflow.", kAll),
  };
  return rows;
}

}  // namespace treadle
