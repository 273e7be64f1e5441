// Scatter with a reduction, and the ops that write or read elements by position: scatter_reduce,
// index_reduce, masked_scatter, take, put.
#include <algorithm>
#include <cmath>

#include "engine/core/iter.h"
#include "engine/core/visit.h"
#include "engine/ops/native.h"
#include "engine/ops/view/layout.h"
#include "engine/ops/view/util.h"

namespace treadle {
namespace {

enum class Fold : std::uint8_t { sum, prod, mean, amax, amin };

Fold fold_of(const char* op, const std::string& reduce) {
  static constexpr std::string_view kNames[] = {"sum", "prod", "mean", "amax", "amin"};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (reduce == kNames[i]) return static_cast<Fold>(i);
  }
  fail(ErrorKind::runtime, std::string(op) +
                               ": reduce argument must be either sum, prod, mean, amax or amin, "
                               "got " +
                               reduce);
}

Tensor whole(const Tensor& t) { return t.dim() == 0 ? reshape(t, {1}) : t; }

template <class T>
T folded(Fold how, T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return how == Fold::prod || how == Fold::amin ? a && b : a || b;
  } else {
    switch (how) {
      case Fold::prod:
        return static_cast<T>(a * b);
      case Fold::amax:
      case Fold::amin:
        if constexpr (!functor::is_complex<T>) {
          if (a != a || b != b) return a != a ? a : b;
          return (how == Fold::amax ? b > a : b < a) ? b : a;
        }
        [[fallthrough]];
      default:
        return static_cast<T>(a + b);
    }
  }
}

// data[.., index, ..] = folded(data[..], src[..]); all of the index's rank. Integers wrap around.
void fold_into(Fold how, const Tensor& data, std::int64_t dim, const Tensor& index,
               const Tensor& src) {
  const std::int64_t n = index.dim(), count = index.numel();
  const auto* at = index.data_as<std::int64_t>();
  Dims position(n, 0);
  std::int64_t to = 0, from = 0, i = 0;
  visit_any(data.dtype(), "scatter_reduce", [&](auto zero) {
    using T = decltype(zero);
    T* out = data.data_as<T>();
    const T* in = src.data_as<T>();
    for (std::int64_t k = 0; k < count; ++k) {
      T& place = out[to + at[i] * data.strides()[dim]];
      if constexpr (functor::is_integer<T> && !std::is_same_v<T, bool>) {
        if (how == Fold::amax || how == Fold::amin) {
          place = folded(how, place, in[from]);
        } else {  // unsigned, so that sums and products that overflow wrap around
          const auto a = static_cast<std::uint64_t>(place),
                     b = static_cast<std::uint64_t>(in[from]);
          place = static_cast<T>(folded(how, a, b));
        }
      } else {
        place = folded(how, place, in[from]);
      }
      for (std::int64_t d = n - 1; d >= 0; --d) {
        i += index.strides()[d];
        from += src.strides()[d];
        if (d != dim) to += data.strides()[d];
        if (++position[d] < index.shape()[d]) break;
        i -= position[d] * index.strides()[d];
        from -= position[d] * src.strides()[d];
        if (d != dim) to -= position[d] * data.strides()[d];
        position[d] = 0;
      }
    }
  });
}

// Shapes, dtypes and range. `index` has at least one dimension.
void check(const char* op, const Tensor& self, std::int64_t dim, const Tensor& index,
           const Tensor& src) {
  const std::string name = op;
  if (self.dtype() != src.dtype()) {
    fail(ErrorKind::runtime, name + "(): Expected self.dtype to be equal to src.dtype");
  }
  if (index.numel() == 0) return;
  if (index.dim() != self.dim()) {
    fail(ErrorKind::runtime, "Index tensor must have the same number of dimensions as self tensor");
  }
  if (index.dim() != src.dim()) {
    fail(ErrorKind::runtime, "Index tensor must have the same number of dimensions as src tensor");
  }
  for (std::int64_t d = 0; d < index.dim(); ++d) {
    if ((d != dim && index.shape()[d] > self.shape()[d]) || index.shape()[d] > src.shape()[d]) {
      fail(ErrorKind::runtime, "Expected index " + to_string(index.shape()) +
                                   " to be no larger than self " + to_string(self.shape()) +
                                   " apart from dimension " + std::to_string(dim) +
                                   " and to be no larger size than src " + to_string(src.shape()));
    }
  }
  const std::int64_t n = self.shape()[dim];
  const auto* at = index.data_as<std::int64_t>();
  for (std::int64_t k = 0; k < index.numel(); ++k) {
    if (at[k] < 0 || at[k] >= n) {
      fail(ErrorKind::runtime, "index " + std::to_string(at[k]) +
                                   " is out of bounds for dimension " + std::to_string(dim) +
                                   " with size " + std::to_string(n));
    }
  }
}

Tensor scatter(const Tensor& self, std::int64_t dim, const Tensor& index, const Scalar& value) {
  Tensor src = full(index.shape(), value, self.dtype());
  Value args[] = {self, dim, index, src};
  Value result;
  for (const OpDef& op : find_op("scatter")) {
    if (schema_of(op).overload == "src") invoke(op, args, &result);
  }
  return std::get<Tensor>(result);
}

// Below the tape. `index` contiguous.
Tensor fold_values(Fold how, const Tensor& self, std::int64_t dim, const Tensor& index,
                   const Tensor& src, bool include_self) {
  const NoGrad off;
  const DType dtype = self.dtype();
  if (is_short_float(dtype) && how != Fold::amax && how != Fold::amin) {
    return to(fold_values(how, to(self, DType::float32), dim, index, to(src, DType::float32),
                          include_self),
              dtype);
  }
  const Tensor out = clone(self, MemoryFormat::contiguous);
  if (index.numel() == 0) return out;
  if (!include_self) {
    // The first value at a place replaces what was there: start from the identity.
    const bool real = is_floating(dtype);
    Scalar start = 0;
    if (how == Fold::prod) start = 1;
    if (how == Fold::amax || how == Fold::amin) {
      const double sign = how == Fold::amax ? -1 : 1;
      start = real ? Scalar(sign * HUGE_VAL) : visit(dtype, "scatter_reduce", [&](auto zero) {
        using T = decltype(zero);
        if constexpr (functor::is_integer<T>) {
          return Scalar(static_cast<std::int64_t>(
              how == Fold::amax ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max()));
        } else {
          return Scalar(how == Fold::amax ? 0 : 1);
        }
      });
    }
    copy_(out, scatter(out, dim, index, start));
  }
  fold_into(how, out, dim, index, src);
  if (how != Fold::mean) return out;
  Tensor counts =
      include_self ? ones(self.shape(), DType::int64) : zeros(self.shape(), DType::int64);
  counts = scatter_add(counts, dim, index, ones(index.shape(), DType::int64));
  counts = masked_fill(counts, eq(counts, Tensor(0)), Tensor(1));
  return is_integral(dtype) ? to(floor_divide(out, counts), dtype) : div(out, to(counts, dtype));
}

// PyTorch's gradients: shared equally among equal maxima; of products exact where there is one
// zero.
struct FoldGradient {
  const char* op;
  Fold how;
  std::int64_t dim;
  bool include_self;
  Tensor index;

  Tensor operator()(const Tensor& self, const Tensor& src) const;

  Gradients apply(Node& n, const Tensor& g, const Tensor& self, const Tensor& src,
                  const Tensor& result) const {
    Gradients r(2);
    const auto gathered = [&](const Tensor& t) { return gather(t, dim, index); };
    Tensor of_self, of_src;
    switch (how) {
      case Fold::sum:
        of_self = g;
        of_src = gathered(g);
        break;
      case Fold::mean: {
        Tensor count = include_self ? ones_like(g) : zeros_like(g);
        count = scatter_add(count, dim, index, ones(index.shape(), g.dtype()));
        count = masked_fill(count, eq(count, Tensor(0)), Tensor(1));
        of_self = div(g, count);
        of_src = div(gathered(g), gathered(count));
        break;
      }
      case Fold::amax:
      case Fold::amin: {
        const Tensor self_is = to(eq(self, result), g.dtype());
        const Tensor src_is = to(eq(src, gathered(result)), g.dtype());
        Tensor shares = include_self ? self_is : zeros_like(self_is);
        shares = scatter_add(shares, dim, index, src_is);
        const Tensor each = div(g, masked_fill(shares, eq(shares, Tensor(0)), Tensor(1)));
        of_self = mul(self_is, each);
        of_src = mul(src_is, gathered(each));
        break;
      }
      case Fold::prod: {
        const Tensor self_or_1 = masked_fill(self, eq(self, Tensor(0)), Tensor(1));
        of_self = div(mul(g, (*this)(self_or_1, src)), self_or_1);
        const Tensor zero = eq(src, Tensor(0));
        const Tensor zeros_there =
            gathered(scatter_add(zeros_like(detach(g)), dim, index, to(zero, g.dtype())));
        const Tensor single = logical_and(zero, eq(zeros_there, Tensor(1)));
        const Tensor without = (*this)(self, masked_fill(src, single, Tensor(1)));
        of_src = where(single, gathered(mul(g, without)),
                       div(gathered(mul(g, result)), masked_fill(src, zero, Tensor(1))));
        if (needs_tape({&of_src}) && any(gt(zeros_there, Tensor(1))).item_int() != 0) {
          of_src = once(of_src);
        }
        break;
      }
    }
    if (n.needs(0)) r[0] = include_self ? of_self : scatter(of_self, dim, index, 0);
    if (n.needs(1)) r[1] = of_src;
    return r;
  }

  // The formula is that of first derivatives where a product has several zeros.
  Tensor once(const Tensor& of_src) const {
    const Tensor out = alias(detach(of_src));
    record("Error", out, {&of_src}, [op = op](Node&, const Gradients&) -> Gradients {
      fail(ErrorKind::runtime,
           std::string(op) +
               "(): Double backward is unsupported for src when >1 zeros in src are scattered to "
               "the same position in self");
    });
    return out;
  }
};

Tensor scatter_fold(Fold how, const char* op, const Tensor& self0, std::int64_t dim,
                    const Tensor& index0, const Tensor& src0, bool include_self) {
  dim = wrap_dim(dim, self0.dim());
  if (index0.numel() > 0 && index0.dtype() != DType::int64 && index0.dtype() != DType::int32) {
    fail(ErrorKind::runtime, std::string(op) + "(): Expected dtype int32/int64 for index");
  }
  if (is_complex(self0.dtype()) && (how == Fold::amax || how == Fold::amin)) {
    no_implementation(self0.dtype(), op);
  }
  const Tensor self = whole(self0), src = whole(src0);
  const Tensor index = whole(contiguous(to(detach(index0), DType::int64)));
  check(op, self, dim, index, src);
  if (index.numel() == 0) return clone(self0);
  // What the index doesn't reach takes no part.
  Tensor part = src;
  for (std::int64_t d = 0; d < index.dim(); ++d) part = narrow(part, d, 0, index.shape()[d]);
  const Tensor out =
      fold_values(how, detach(self), dim, index, contiguous(detach(part)), include_self);
  if (needs_tape({&self, &part}) && is_differentiable(out.dtype())) {
    record("ScatterReduceBackward0", out, {&self, &part},
           [f = FoldGradient{op, how, dim, include_self, index}, a = Saved(self), b = Saved(part),
            y = Saved::output(out)](Node& n, const Gradients& g) {
             if (none(g)) return Gradients(2);
             return f.apply(n, g[0], a.get(&n), b.get(&n), y.get(&n));
           });
  }
  return self0.dim() == 0 ? reshape(out, {}) : out;
}

Tensor FoldGradient::operator()(const Tensor& self, const Tensor& src) const {
  return scatter_fold(how, op, self, dim, index, src, include_self);
}

Tensor scatter_reduce(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
                      const std::string& reduce, bool include_self) {
  return scatter_fold(fold_of("scatter_reduce", reduce), "scatter_reduce", self, dim, index, src,
                      include_self);
}
void scatter_reduce_inplace(const Tensor& self, std::int64_t dim, const Tensor& index,
                            const Tensor& src, const std::string& reduce, bool include_self) {
  check_inplace(self);
  check_internal_overlap(self);
  copy_(self, scatter_reduce(self, dim, index, src, reduce, include_self));
}

// The older form: scatter(..., reduce="add" or "multiply"). Not differentiable in src, as in
// PyTorch.
Fold older_fold(const std::string& reduce) {
  if (reduce == "add") return Fold::sum;
  if (reduce == "multiply") return Fold::prod;
  fail(ErrorKind::runtime, "reduce argument must be either add or multiply.");
}
Tensor scatter_with(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
                    const std::string& reduce) {
  return scatter_fold(older_fold(reduce), "scatter", self, dim, index, src, true);
}
void scatter_with_inplace(const Tensor& self, std::int64_t dim, const Tensor& index,
                          const Tensor& src, const std::string& reduce) {
  check_inplace(self);
  check_internal_overlap(self);
  copy_(self, scatter_with(self, dim, index, src, reduce));
}
Tensor scatter_value_with(const Tensor& self, std::int64_t dim, const Tensor& index,
                          const Scalar& value, const std::string& reduce) {
  return scatter_with(self, dim, index, full(index.shape(), value, self.dtype()), reduce);
}
void scatter_value_with_inplace(const Tensor& self, std::int64_t dim, const Tensor& index,
                                const Scalar& value, const std::string& reduce) {
  scatter_with_inplace(self, dim, index, full(index.shape(), value, self.dtype()), reduce);
}

Tensor index_reduce(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source,
                    const std::string& reduce, bool include_self) {
  const std::int64_t d = wrap_dim(dim, self.dim());
  if (reduce != "prod" && reduce != "mean" && reduce != "amax" && reduce != "amin") {
    fail(ErrorKind::runtime,
         "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got " + reduce +
             ".");
  }
  if (index.dim() > 1) {
    fail(ErrorKind::index, "index_reduce_(): Index is supposed to be a vector, but got dim: " +
                               std::to_string(index.dim()) +
                               " with type: " + std::string(info(index.dtype()).scalar));
  }
  if (index.dtype() != DType::int64 && index.dtype() != DType::int32) {
    fail(ErrorKind::index, "index_reduce_(): Expected dtype int32/int64 for index but got: " +
                               std::string(info(index.dtype()).scalar));
  }
  if (self.dtype() != source.dtype()) {
    fail(ErrorKind::runtime, "index_reduce_(): self (" + std::string(info(self.dtype()).scalar) +
                                 ") and source (" + std::string(info(source.dtype()).scalar) +
                                 ") must have the same scalar type");
  }
  const Tensor from = whole(source), base = whole(self);
  if (from.dim() != base.dim() || from.shape()[d] != index.numel()) {
    fail(ErrorKind::runtime, "index_reduce_(): Number of indices (" +
                                 std::to_string(index.numel()) +
                                 ") should be equal to source.size(dim): (" +
                                 std::to_string(from.dim() > d ? from.shape()[d] : 0) +
                                 "), for dim: " + std::to_string(dim));
  }
  Dims thin(base.dim(), 1);
  thin[d] = index.numel();
  for (std::int64_t k = 0; k < base.dim(); ++k) {
    if (k != d && from.shape()[k] != base.shape()[k]) {
      fail(ErrorKind::runtime,
           "index_reduce_(): self and source expected to have the same shape, except for the "
           "dimension " +
               std::to_string(d) + ", but got " + to_string(self.shape()) + " and " +
               to_string(source.shape()));
    }
  }
  const Tensor spread = expand(reshape(to(detach(index), DType::int64), thin), from.shape());
  const Tensor out = scatter_fold(fold_of("index_reduce", reduce), "index_reduce", base, d, spread,
                                  from, include_self);
  return self.dim() == 0 ? reshape(out, {}) : out;
}
void index_reduce_inplace(const Tensor& self, std::int64_t dim, const Tensor& index,
                          const Tensor& source, const std::string& reduce, bool include_self) {
  check_inplace(self);
  check_internal_overlap(self);
  copy_(self, index_reduce(self, dim, index, source, reduce, include_self));
}

// --- masks

void masked_scatter_inplace(const Tensor& self, const Tensor& mask, const Tensor& source) {
  check_inplace(self);
  check_internal_overlap(self);
  if (self.dtype() != source.dtype()) {
    fail(ErrorKind::runtime,
         "masked_scatter_: expected self and source to have same dtypes but "
         "got " +
             std::string(info(self.dtype()).scalar) + " and " +
             std::string(info(source.dtype()).scalar));
  }
  if (mask.dtype() != DType::boolean) {
    fail(ErrorKind::runtime,
         "masked_scatter_ only supports boolean masks, but got mask with "
         "dtype " +
             std::string(info(mask.dtype()).scalar));
  }
  const Tensor wide = expand(mask, self.shape());
  const std::int64_t count = sum(detach(wide)).item_int();
  if (count > source.numel()) {
    fail(ErrorKind::runtime,
         "masked_scatter: expected self and source to have same number of "
         "elements: Number of elements of source < number of ones in mask");
  }
  const Tensor values = narrow(reshape(source, {-1}), 0, 0, count);
  if (self.dim() == 0) {
    if (count == 1) copy_(self, select(values, 0, 0));
  } else {
    index_put_(self, {wide}, values, false);
  }
}
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  const Tensor out =
      clone(expand(self, broadcast_shapes(self.shape(), mask.shape())), MemoryFormat::contiguous);
  masked_scatter_inplace(out, mask, source);
  return out;
}

// --- by position in row-major order

Tensor checked_positions(const char* op, const Tensor& self, const Tensor& index) {
  if (index.dtype() != DType::int64) {
    fail(ErrorKind::runtime, std::string(op) + "(): Expected a long tensor for index, but got " +
                                 std::string(info(index.dtype()).scalar));
  }
  const std::int64_t n = self.numel();
  if (n == 0 && index.numel() != 0) {
    fail(ErrorKind::index, std::string(op) + "(): tried to " +
                               (std::string(op) == "take" ? "take from" : "put elements into") +
                               " an empty tensor");
  }
  const NoGrad off;
  const Tensor flat = reshape(contiguous(detach(index)), {-1});
  const auto* at = flat.data_as<std::int64_t>();
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    if (at[i] < -n || at[i] >= n) {
      fail(ErrorKind::index, "out of range: tried to access index " + std::to_string(at[i]) +
                                 " on a tensor of " + std::to_string(n) + " elements.");
    }
  }
  return flat;
}

Tensor take(const Tensor& self, const Tensor& index) {
  const Tensor at = checked_positions("take", self, index);
  if (index.numel() == 0) return empty(index.shape(), self.dtype());
  return reshape(treadle::index(reshape(self, {-1}), {at}), index.shape());
}

void put_inplace(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  check_inplace(self);
  check_internal_overlap(self);
  if (self.dtype() != source.dtype()) {
    fail(ErrorKind::runtime,
         "put_(): self and source expected to have the same dtype, but got "
         "self.dtype = " +
             std::string(info(self.dtype()).scalar) +
             " and source.dtype = " + std::string(info(source.dtype()).scalar));
  }
  const Tensor at = checked_positions("put_", self, index);
  if (index.numel() != source.numel()) {
    fail(ErrorKind::runtime,
         "put_(): Expected source and index to have the same number of elements, but got "
         "source.numel() = " +
             std::to_string(source.numel()) + ", index.numel() = " + std::to_string(index.numel()));
  }
  if (index.numel() == 0) return;
  const Tensor values = reshape(source, {-1});
  if (self.is_contiguous()) {
    index_put_(view(self, {-1}), {at}, values, accumulate);
    return;
  }
  Tensor copy = reshape(clone(self, MemoryFormat::contiguous), {-1});
  index_put_(copy, {at}, values, accumulate);
  copy_(self, reshape(copy, self.shape()));
}
Tensor put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  const Tensor out = clone(self, MemoryFormat::contiguous);
  put_inplace(out, index, source, accumulate);
  return out;
}

constexpr unsigned kBoth = kFunction | kMethod;
constexpr unsigned kAll = kBoth | kOut;

}  // namespace

std::span<const OpDef> scatter_ops() {
  static constexpr OpDef rows[] = {
      native<scatter_reduce, scatter_reduce_inplace>(
          "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool "
          "include_self=True) -> Tensor",
          "self with src folded in at the indices along dim: 'sum', 'prod', 'mean', 'amax' or "
          "'amin'.",
          kAll),
      native<scatter_with, scatter_with_inplace>(
          "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
          "self with src folded in: 'add' or 'multiply'.", kAll),
      native<scatter_value_with, scatter_value_with_inplace>(
          "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) "
          "-> Tensor",
          "self with value folded in: 'add' or 'multiply'.", kAll),
      native<index_reduce, index_reduce_inplace>(
          "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool "
          "include_self=True) -> Tensor",
          "self with slices of source folded in at the indices along dim: 'prod', 'mean', 'amax' "
          "or 'amin'.",
          kAll),
      native<masked_scatter, masked_scatter_inplace>(
          "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
          "self with the elements of source, in order, where mask is true.", kBoth),
      native<take>("take(Tensor self, Tensor index) -> Tensor",
                   "The elements at these positions of self as one row.", kAll),
      native<put, put_inplace>(
          "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
          "self with source at these positions of self as one row.", kBoth),
  };
  return rows;
}

}  // namespace treadle
