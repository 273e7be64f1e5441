// Sorting and what is found by it: sort, topk, kthvalue, median, mode, quantile. To add one: its
// function and its row here; loops over elements are in backend/cpu/sort.cpp.
#include <limits>

#include "engine/backend/cpu/sort.h"
#include "engine/ops/native.h"
#include "engine/ops/reduction/util.h"

namespace treadle {
namespace {

using Pair = std::tuple<Tensor, Tensor>;
using OptInt = std::optional<std::int64_t>;

// Dense lines along dim, which is their last dimension; a number is a line of one.
struct Lines {
  Tensor data;
  std::int64_t dim, n, count;
};
Lines lines_of(const Tensor& self, std::int64_t dim) {
  const NoGrad off;
  const Tensor one = self.dim() == 0 ? reshape(detach(self), {1}) : detach(self);
  const Tensor data = contiguous(transpose(one, dim, -1));
  const std::int64_t n = data.shape().back();
  return {data, dim, n, n == 0 ? 0 : data.numel() / n};
}
// `order`, of the same lines with `n` elements each, back in self's order of dimensions.
Tensor back_in_place(const Tensor& order, const Lines& lines, const Tensor& self) {
  const NoGrad off;
  if (self.dim() == 0) return reshape(order, {});
  return contiguous(transpose(order, lines.dim, -1));
}
Tensor empty_order(const Lines& lines, std::int64_t n) {
  Dims shape = lines.data.shape();
  shape[shape.size() - 1] = n;
  return Tensor::empty(shape, DType::int64);
}

Tensor sorted_positions(const Tensor& self, std::int64_t dim, bool descending, std::int64_t top) {
  const Lines lines = lines_of(self, dim);
  const Tensor order = empty_order(lines, top);
  sort_lines(self.dtype(), lines.data.data(), lines.count, lines.n, descending, top,
             order.data_as<std::int64_t>());
  return back_in_place(order, lines, self);
}

Pair sort(const Tensor& self, std::int64_t dim, bool descending) {
  dim = wrap_dim(dim, self.dim());
  const std::int64_t n = self.dim() == 0 ? 1 : self.shape()[dim];
  const Tensor order = sorted_positions(self, dim, descending, n);
  return {gather(self, dim, order), order};
}
Pair sort_stable(const Tensor& self, std::optional<bool>, std::int64_t dim, bool descending) {
  return sort(self, dim, descending);
}
Tensor argsort(const Tensor& self, std::int64_t dim, bool descending) {
  return std::get<1>(sort(detach(self), dim, descending));
}
Tensor argsort_stable(const Tensor& self, bool, std::int64_t dim, bool descending) {
  return argsort(self, dim, descending);
}
Tensor msort(const Tensor& self) { return std::get<0>(sort(self, 0, false)); }

Pair topk(const Tensor& self, std::int64_t k, std::int64_t dim, bool largest, bool) {
  dim = wrap_dim(dim, self.dim());
  const std::int64_t n = self.dim() > 0 ? self.shape()[dim] : 1;
  if (k < 0 || k > n) fail(ErrorKind::runtime, "selected index k out of range");
  if (self.dtype() == DType::boolean)
    fail(ErrorKind::not_implemented, "topk does not support bool dtypes on CPU");
  if (self.dim() == 0) return sort(self, dim, largest);
  const Tensor order = sorted_positions(self, dim, largest, k);
  return {gather(self, dim, order), order};
}

// --- one element of each line -------------------------------------------------------------------

// The values at `position` (one for each line, kept as size 1), as a reduction gives them.
Pair pick(const Tensor& self, std::int64_t dim, bool keepdim, const Tensor& position) {
  const Tensor values = gather(self, dim, position);
  if (keepdim || self.dim() == 0) return {values, position};
  return {squeeze(values, Dims{dim}), squeeze(position, Dims{dim})};
}

void check_not_empty(const Tensor& self, std::int64_t dim, const char* op) {
  if (self.dim() > 0 && self.shape()[dim] == 0) {
    fail(ErrorKind::index, std::string(op) + "(): Expected reduction dim " + std::to_string(dim) +
                               " to have non-zero size.");
  }
}

Pair kthvalue(const Tensor& self, std::int64_t k, std::int64_t dim, bool keepdim) {
  dim = wrap_dim(dim, self.dim());
  if (self.dtype() == DType::boolean) no_implementation(self.dtype(), "kthvalue_cpu");
  check_not_empty(self, dim, "kthvalue");
  const std::int64_t n = self.dim() > 0 ? self.shape()[dim] : 1;
  if (k < 1 || k > n)
    fail(ErrorKind::runtime,
         "kthvalue(): selected number k out of range for dimension " + std::to_string(dim));
  const Lines lines = lines_of(self, dim);
  const std::vector<std::int64_t> rank(static_cast<std::size_t>(lines.count), k - 1);
  const Tensor at = empty_order(lines, 1);
  select_lines(self.dtype(), lines.data.data(), lines.count, lines.n, rank.data(),
               at.data_as<std::int64_t>());
  return pick(self, dim, keepdim, back_in_place(at, lines, self));
}

// The lower of the two middle elements. A NaN is the median of its line, unless they are ignored.
Pair median_dim(const Tensor& self, std::int64_t dim, bool keepdim, bool ignore_nan) {
  dim = wrap_dim(dim, self.dim());
  if (self.dtype() == DType::boolean) no_implementation(self.dtype(), "median_cpu");
  check_not_empty(self, dim, ignore_nan ? "nanmedian" : "median");
  const Lines lines = lines_of(self, dim);
  const Tensor at = empty_order(lines, 1);
  auto* position = at.data_as<std::int64_t>();
  std::vector<std::int64_t> rank(static_cast<std::size_t>(lines.count));
  visit(self.dtype(), "median", [&](auto zero) {
    using T = decltype(zero);
    const T* x = lines.data.data_as<T>();
    for (std::int64_t l = 0; l < lines.count; ++l) {
      std::int64_t nans = 0;
      for (std::int64_t i = 0; i < lines.n; ++i) nans += x[l * lines.n + i] != x[l * lines.n + i];
      std::int64_t& r = rank[static_cast<std::size_t>(l)];
      r = (lines.n - 1) / 2;
      // NaNs are last in the order: the first of them, or the middle of the others.
      if (nans > 0 && ignore_nan && nans < lines.n) r = (lines.n - nans - 1) / 2;
      if (nans > 0 && (!ignore_nan || nans == lines.n)) r = lines.n - nans;
    }
  });
  select_lines(self.dtype(), lines.data.data(), lines.count, lines.n, rank.data(), position);
  return pick(self, dim, keepdim, back_in_place(at, lines, self));
}
Pair median(const Tensor& self, std::int64_t dim, bool keepdim) {
  return median_dim(self, dim, keepdim, false);
}
Pair nanmedian(const Tensor& self, std::int64_t dim, bool keepdim) {
  return median_dim(self, dim, keepdim, true);
}

// Over all elements: those that equal the median share the gradient.
Tensor median_of_all(const Tensor& self, bool ignore_nan) {
  if (self.numel() == 0) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return cast(full({}, nan, DType::float64), self.dtype());
  }
  Tensor out;
  {
    const NoGrad off;
    out = clone(std::get<0>(median_dim(reshape(detach(self), {-1}), 0, false, ignore_nan)));
  }
  if (needs_tape({&self})) {
    record("MedianBackward0", out, {&self},
           [x = Saved(self), y = Saved::output(out)](Node& n, const Gradients& g) {
             if (none(g)) return Gradients(1);
             const Tensor in = detach(x.get(&n)), m = detach(y.get(&n));
             const Tensor hit =
                 to(logical_or(eq(in, m), logical_and(isnan(in), isnan(m))), g[0].dtype());
             return Gradients{mul(hit, div(g[0], sum(hit)))};
           });
  }
  return out;
}
Tensor median_all(const Tensor& self) { return median_of_all(self, false); }
Tensor nanmedian_all(const Tensor& self) { return median_of_all(self, true); }

Pair mode(const Tensor& self, std::int64_t dim, bool keepdim) {
  dim = wrap_dim(dim, self.dim());
  check_not_empty(self, dim, "mode");
  const Lines lines = lines_of(self, dim);
  const Tensor at = empty_order(lines, 1);
  mode_lines(self.dtype(), lines.data.data(), lines.count, lines.n, at.data_as<std::int64_t>());
  return pick(self, dim, keepdim, back_in_place(at, lines, self));
}

// --- quantiles ----------------------------------------------------------------------------------

Tensor round_even(const Tensor& x) {
  const Tensor below = floor(x), rest = sub(x, below), half = full({}, 0.5, x.dtype());
  const Tensor odd = ne(remainder(below, Tensor(2.0)), Tensor(0));
  const Tensor up = logical_or(gt(rest, half), logical_and(eq(rest, half), odd));
  return add(below, to(up, x.dtype()));
}

// a + w (b - a), exact at both ends.
Tensor lerp(const Tensor& a, const Tensor& b, const Tensor& w) {
  const Tensor d = sub(b, a);
  const Tensor near_a = lt(w, full({}, 0.5, w.dtype()));
  return where(near_a, add(a, mul(w, d)), sub(b, mul(sub(ones({}, w.dtype()), w), d)));
}

Tensor quantile_of(const Tensor& self, const Tensor& q, OptInt dim, bool keepdim,
                   const std::string& mode, bool ignore_nan) {
  const std::string op = ignore_nan ? "nanquantile() " : "quantile() ";
  const auto refuse = [&](const std::string& why) { fail(ErrorKind::runtime, op + why); };
  if (q.dim() > 1) {
    refuse("q must be a scalar or 1D tensor, but got q of dimension " + std::to_string(q.dim()));
  }
  if (self.numel() == 0) refuse("input tensor must be non-empty");
  if (self.dtype() != DType::float32 && self.dtype() != DType::float64)
    refuse("input tensor must be either float or double dtype");
  if (q.dtype() != self.dtype()) refuse("q tensor must be same dtype as the input tensor");
  if (mode != "linear" && mode != "lower" && mode != "higher" && mode != "midpoint" &&
      mode != "nearest") {
    refuse("interpolation must be one of linear, lower, higher, midpoint or nearest, but got " +
           mode);
  }
  const std::int64_t rank = self.dim();
  const std::int64_t d = dim ? wrap_dim(*dim, rank) : 0;
  {
    const NoGrad off;
    const Tensor one = ones({}, q.dtype()), nil = zeros({}, q.dtype());
    const Tensor in_range = logical_and(ge(detach(q), nil), le(detach(q), one));
    if (all(in_range).item_int() == 0) refuse("q values must be in the range [0, 1]");
  }
  // The lines that are reduced, last.
  const Tensor lines = !dim || rank == 0 ? reshape(self, {-1}) : transpose(self, d, -1);
  const Tensor sorted = std::get<0>(sort(lines, -1, false));
  const std::int64_t n = sorted.size(-1);
  const Tensor queries = q.dim() == 0 ? reshape(q, {1}) : q;
  Dims shape = sorted.shape();
  shape[shape.size() - 1] = queries.size(0);
  Tensor ranks;
  if (ignore_nan) {
    const Tensor last =
        sub(sum(logical_not(isnan(detach(sorted))), {-1}, true), Tensor::wrapped(std::int64_t{1}));
    ranks = mul(queries, to(last, self.dtype()));
    ranks = where(lt(ranks, Tensor(0)), zeros({}, self.dtype()), ranks);
  } else {
    const Tensor last = full({}, static_cast<double>(n - 1), self.dtype());
    const Tensor some = ne(sum(to(isnan(detach(sorted)), DType::int64), {-1}, true), Tensor(0));
    ranks = where(some, last, mul(queries, last));
  }
  ranks = expand(ranks, shape);
  if (mode == "lower") ranks = floor(ranks);
  if (mode == "higher") ranks = neg(floor(neg(ranks)));
  if (mode == "nearest") ranks = round_even(ranks);
  const Tensor below = to(detach(ranks), DType::int64);
  Tensor values = gather(sorted, -1, below);
  if (mode == "linear" || mode == "midpoint") {
    const Tensor above = to(neg(floor(neg(detach(ranks)))), DType::int64);
    const Tensor weight =
        mode == "midpoint" ? full({}, 0.5, self.dtype()) : sub(ranks, to(below, ranks.dtype()));
    const Tensor top = gather(sorted, -1, above);
    values = where(eq(below, above), values, lerp(values, top, weight));
  }
  // The queries first, if they are a list.
  if (dim && rank > 0) {
    values = transpose(unsqueeze(values, 0), 0, -1);  // the reduced dimension is last now
    values = transpose(values, 1 + d, -1);
    if (!keepdim) values = squeeze(values, Dims{1 + d});
  } else if (keepdim) {
    Dims wide(rank + 1, 1);
    wide[0] = queries.size(0);
    values = reshape(values, wide);
  }
  return q.dim() == 0 ? squeeze(values, Dims{0}) : values;
}
Tensor quantile(const Tensor& self, const Tensor& q, OptInt dim, bool keepdim,
                const std::string& interpolation) {
  return quantile_of(self, q, dim, keepdim, interpolation, false);
}
Tensor nanquantile(const Tensor& self, const Tensor& q, OptInt dim, bool keepdim,
                   const std::string& interpolation) {
  return quantile_of(self, q, dim, keepdim, interpolation, true);
}
Tensor number(const Tensor& self, double q, const char* op) {
  if (!(q >= 0 && q <= 1)) {
    fail(ErrorKind::runtime,
         std::string(op) + "() q must be in the range [0, 1] but got " + std::to_string(q));
  }
  return full({}, Scalar(q), is_floating(self.dtype()) ? self.dtype() : default_dtype());
}
Tensor quantile_scalar(const Tensor& self, double q, OptInt dim, bool keepdim,
                       const std::string& interpolation) {
  return quantile(self, number(self, q, "quantile"), dim, keepdim, interpolation);
}
Tensor nanquantile_scalar(const Tensor& self, double q, OptInt dim, bool keepdim,
                          const std::string& interpolation) {
  return nanquantile(self, number(self, q, "nanquantile"), dim, keepdim, interpolation);
}

constexpr unsigned kBoth = kFunction | kMethod;
constexpr unsigned kAll = kBoth | kOut;

}  // namespace

std::span<const OpDef> sorting_ops() {
  static constexpr OpDef rows[] = {
      native<sort>(
          "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
          "Sorted along a dimension, stable, NaN the largest; and the positions.", kAll),
      native<sort_stable>("sort.stable(Tensor self, *, bool? stable, int dim=-1, bool "
                          "descending=False) -> (Tensor values, Tensor indices)",
                          "sort(), which is always stable here.", kAll),
      native<argsort>("argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
                      "The positions that sort self.", kAll, false),
      native<argsort_stable>("argsort.stable(Tensor self, *, bool stable, int dim=-1, bool "
                             "descending=False) -> Tensor",
                             "argsort(), which is always stable here.", kAll, false),
      native<msort>("msort(Tensor self) -> Tensor", "Sorted along the first dimension.", kAll),
      native<topk>("topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> "
                   "(Tensor values, Tensor indices)",
                   "The k largest or smallest along a dimension, in order; and their positions.",
                   kAll),
      native<kthvalue>("kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor "
                       "values, Tensor indices)",
                       "The k-th smallest along a dimension and its position.", kAll),
      native<median_all>("median(Tensor self) -> Tensor",
                         "The lower middle element of all; NaN if there is one.", kAll),
      native<median>(
          "median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
          "The lower middle element along a dimension and its position; NaN if there is one.",
          kAll),
      native<nanmedian_all>("nanmedian(Tensor self) -> Tensor",
                            "The lower middle of the elements that aren't NaN.", kAll),
      native<nanmedian>("nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor "
                        "values, Tensor indices)",
                        "The lower middle of the elements that aren't NaN along a dimension.",
                        kAll),
      native<mode>("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor "
                   "indices)",
                   "The most frequent element along a dimension, the smallest of several; and the "
                   "last of its positions.",
                   kAll),
      native<quantile>("quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str "
                       "interpolation='linear') -> Tensor",
                       "Quantiles q (0 to 1) over all elements or along a dimension.", kAll),
      native<quantile_scalar>("quantile.scalar(Tensor self, float q, int? dim=None, bool "
                              "keepdim=False, *, str interpolation='linear') -> Tensor",
                              "Quantile q (0 to 1) over all elements or along a dimension.", kAll),
      native<nanquantile>("nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, "
                          "*, str interpolation='linear') -> Tensor",
                          "quantile() of the elements that aren't NaN.", kAll),
      native<nanquantile_scalar>("nanquantile.scalar(Tensor self, float q, int? dim=None, bool "
                                 "keepdim=False, *, str interpolation='linear') -> Tensor",
                                 "quantile() of the elements that aren't NaN.", kAll),
  };
  return rows;
}

}  // namespace treadle
