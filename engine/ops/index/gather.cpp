// Gather and scatter along one dimension, and what is made of them: index_select, index_add,
// masked_fill, flip.
#include <algorithm>
#include <cmath>

#include "engine/backend/cpu/dispatch.h"
#include "engine/core/iter.h"
#include "engine/ops/native.h"
#include "engine/ops/reduction/reduce.h"
#include "engine/ops/view/util.h"

namespace treadle {
namespace {

void check_index(const char* op, const Tensor& self, std::int64_t dim, const Tensor& index) {
  if (index.numel() == 0) return;
  if (index.dtype() != DType::int64) {
    fail(ErrorKind::runtime, std::string(op) + "(): Expected dtype int32/int64 for index");
  }
  if (std::max<std::int64_t>(index.dim(), 1) != std::max<std::int64_t>(self.dim(), 1)) {
    fail(
        ErrorKind::runtime,
        "Index tensor must have the same number of dimensions as input tensor: " + std::string(op) +
            "() got " + std::to_string(index.dim()) + " and " + std::to_string(self.dim()));
  }
  for (std::int64_t d = 0; d < index.dim(); ++d) {
    if (d != dim && index.shape()[d] > self.shape()[d]) {
      fail(ErrorKind::runtime, "Size does not match at dimension " + std::to_string(d) +
                                   " expected index " + to_string(index.shape()) +
                                   " to be no larger than self " + to_string(self.shape()) +
                                   " apart from dimension " + std::to_string(dim));
    }
  }
  const NoGrad off;
  const std::int64_t low =
      reduce(Reduction::min, detach(index), dim_mask({}, index.dim()), false).item_int();
  if (low < 0) {
    fail(ErrorKind::runtime, "index " + std::to_string(low) + " is out of bounds for dimension " +
                                 std::to_string(dim) + " with size " +
                                 std::to_string(self.dim() > 0 ? self.shape()[dim] : 1));
  }
}

// int32 is an index too.
Tensor as_index(const Tensor& t) { return t.dtype() == DType::int32 ? to(t, DType::int64) : t; }

Tensor at_least_1d(const Tensor& t) { return t.dim() == 0 ? reshape(t, {1}) : t; }

// Runs an index kernel between data[.., index[i..], ..] and values[i..]. The longest dimension of
// the index is the kernel's loop, the others are walked here.
void along(kernel::IndexFn fn, const Tensor& data0, std::int64_t dim, const Tensor& index0,
           const Tensor& values0) {
  if (!fn)
    fail(ErrorKind::not_implemented,
         "gather and scatter aren't implemented for dtype " + repr(data0.dtype()));
  const NoGrad off;
  const Tensor data = at_least_1d(detach(data0)), index = at_least_1d(detach(index0)),
               values = at_least_1d(detach(values0));
  const std::int64_t item = item_size(data.dtype()), n = index.dim();
  if (index.numel() == 0) return;
  std::int64_t p = dim;
  for (std::int64_t d = 0; d < n; ++d) {
    if (index.shape()[d] > index.shape()[p]) p = d;
  }
  kernel::IndexArgs args{};
  args.count = index.shape()[p];
  args.indices = 1;
  args.index_stride[0] = index.strides()[p] * 8;
  args.size[0] = data.shape()[dim];
  args.step[0] = data.strides()[dim] * item;
  args.data_stride = p == dim ? 0 : data.strides()[p] * item;
  args.values_stride = values.strides()[p] * item;
  args.inner = 1;
  args.data_inner = args.values_inner = item;
  const std::int64_t lines = index.numel() / args.count;
  for (std::int64_t l = 0; l < lines; ++l) {
    std::int64_t at = l, oi = 0, od = 0, ov = 0;
    for (std::int64_t d = n - 1; d >= 0; --d) {
      if (d == p) continue;
      const std::int64_t i = at % index.shape()[d];
      at /= index.shape()[d];
      oi += i * index.strides()[d];
      ov += i * values.strides()[d];
      if (d != dim) od += i * data.strides()[d];
    }
    args.index[0] = index.data() + oi * 8;
    args.data = data.data() + od * item;
    args.values = values.data() + ov * item;
    const std::int64_t bad = fn(args);
    if (bad < 0) continue;
    const std::int64_t position = bad / kernel::kMaxIndices;
    const auto* line = reinterpret_cast<const std::int64_t*>(args.index[0]);
    fail(ErrorKind::runtime, "index " + std::to_string(line[position * index.strides()[p]]) +
                                 " is out of bounds for dimension " + std::to_string(dim) +
                                 " with size " + std::to_string(args.size[0]));
  }
}

std::size_t type_of(const Tensor& t) { return static_cast<std::size_t>(t.dtype()); }

enum class Scatter : std::uint8_t { put, add };

void scatter_into(Scatter how, const Tensor& self, std::int64_t dim, const Tensor& given,
                  const Tensor& src, const char* op) {
  dim = wrap_dim(dim, self.dim());
  const Tensor index = as_index(given);
  check_inplace(self);
  check_internal_overlap(self);
  check_index(op, self, dim, index);
  if (src.dtype() != self.dtype()) {
    fail(ErrorKind::runtime, std::string(op) + "(): Expected self.dtype to be equal to src.dtype");
  }
  if (index.numel() == 0) return;
  if (std::max<std::int64_t>(src.dim(), 1) != std::max<std::int64_t>(index.dim(), 1)) {
    fail(ErrorKind::runtime, "Index tensor must have the same number of dimensions as src tensor");
  }
  for (std::int64_t d = 0; d < index.dim(); ++d) {
    if (src.dim() > 0 && index.shape()[d] > src.shape()[d]) {
      fail(ErrorKind::runtime, "Expected index " + to_string(index.shape()) +
                                   " to be no larger than src " + to_string(src.shape()) +
                                   " in every dimension");
    }
  }
  Ref<Node> node;
  if (is_differentiable(self.dtype()) && needs_tape({&self, &src})) {
    node = make_node(
        how == Scatter::add ? "ScatterAddBackward0" : "ScatterBackward0", {&self, &src},
        [how, dim, kept = Saved(index), shape = src.shape()](Node& n, const Gradients& g) {
          Gradients r(2);
          if (none(g)) return r;
          const Tensor index = kept.get(&n);
          if (n.needs(0)) {
            r[0] = g[0];
            if (how == Scatter::put) {
              r[0] = clone(g[0]);
              scatter_into(how, r[0], dim, index, zeros(index.shape(), g[0].dtype()), "scatter");
            }
          }
          if (n.needs(1)) {
            r[1] = gather(g[0], dim, index);
            if (r[1].shape() != shape) {
              const Tensor part = r[1];
              r[1] = embed(part, shape, [s = part.shape()](Tensor t) {
                for (std::int64_t d = 0; d < s.size(); ++d) t = narrow(t, d, 0, s[d]);
                return t;
              });
            }
          }
          return r;
        });
  }
  const Tensor values =
      src.impl()->storage->shares_memory(*self.impl()->storage) ? cast(src, src.dtype()) : src;
  along(how == Scatter::add ? table().index_add[type_of(self)] : table().index_put[type_of(self)],
        self, dim, index, values);
  self.impl()->storage->bump();
  if (node) rebase_history(self, std::move(node));
}

}  // namespace

Tensor gather(const Tensor& self, std::int64_t dim, const Tensor& given) {
  dim = wrap_dim(dim, self.dim());
  const Tensor index = as_index(given);
  check_index("gather", self, dim, index);
  const Tensor out = Tensor::empty(index.shape(), self.dtype());
  along(table().index_get[type_of(self)], self, dim, index, out);
  if (needs_tape({&self})) {
    record("GatherBackward0", out, {&self},
           [dim, kept = Saved(index), shape = self.shape()](Node& n, const Gradients& g) {
             if (none(g)) return Gradients(1);
             const Tensor index = kept.get(&n);
             return Gradients{scatter_add(zeros(shape, g[0].dtype()), dim, index, g[0])};
           });
  }
  return out;
}

Tensor scatter_add(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
  const Tensor out = clone(self);
  scatter_into(Scatter::add, out, dim, index, src, "scatter_add");
  return out;
}

namespace {

// Throws unless all of a vector of positions lie in [low, size of dim). `text` empty: PyTorch's
// usual one.
void check_range(const Tensor& index, const Tensor& self, std::int64_t dim, ErrorKind kind,
                 std::string text, std::int64_t low) {
  const NoGrad off;
  const Tensor flat = contiguous(to(detach(index), DType::int64));
  const std::int64_t n = self.dim() == 0 ? 1 : self.shape()[dim];
  const auto* at = flat.data_as<std::int64_t>();
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    if (at[i] >= low && at[i] < n) continue;
    if (text.empty()) {
      text = "index " + std::to_string(at[i]) + " is out of bounds for dimension " +
             std::to_string(dim) + " with size " + std::to_string(n);
    }
    fail(kind, text);
  }
}

std::string scalar_name(const Tensor& t) { return std::string(info(t.dtype()).scalar); }

}  // namespace

Tensor index_select(const Tensor& self, std::int64_t dim, const Tensor& index) {
  dim = wrap_dim(dim, self.dim());
  if (index.dim() > 1) fail(ErrorKind::index, "index_select(): Index is supposed to be a vector");
  if (index.dtype() != DType::int64 && index.dtype() != DType::int32) {
    fail(ErrorKind::runtime, "index_select(): Expected dtype int32 or int64 for index");
  }
  check_range(index, self, dim, ErrorKind::index, "index out of range in self", 0);
  std::vector<Tensor> all(static_cast<std::size_t>(dim));
  all.push_back(at_least_1d(index));
  if (self.dim() == 0) return reshape(treadle::index(reshape(self, {1}), all), {});
  return treadle::index(self, all);
}

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value) {
  if (mask.dtype() != DType::boolean) {
    fail(ErrorKind::runtime, "masked_fill_ only supports boolean masks, but got mask with dtype " +
                                 std::string(info(mask.dtype()).scalar));
  }
  if (value.dim() != 0) {
    fail(ErrorKind::runtime,
         "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with " +
             std::to_string(value.dim()) + " dimension(s).");
  }
  if (value.impl()->wrapped_number) check_fits(number_of(value), self.dtype());
  return where(mask, to(value, self.dtype()), self);
}

Tensor flip(const Tensor& self, const Dims& dims) {
  Tensor out = self;
  const std::uint64_t mask = dims.empty() ? 0 : dim_mask(dims, self.dim());
  for (std::int64_t d = 0; d < self.dim(); ++d) {
    const std::int64_t n = self.shape()[d];
    if (mask >> d & 1 && n > 1) out = index_select(out, d, arange(n - 1, -1, -1, DType::int64));
  }
  return same(out, self) ? clone(self) : out;
}

namespace {

Tensor gather_op(const Tensor& self, std::int64_t dim, const Tensor& index, bool sparse_grad) {
  (void)sparse_grad;  // a hint: gradients here are dense
  return gather(self, dim, index);
}
Tensor scatter(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
  const Tensor out = clone(self);
  scatter_into(Scatter::put, out, dim, index, src, "scatter");
  return out;
}
void scatter_inplace(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
  scatter_into(Scatter::put, self, dim, index, src, "scatter");
}
void scatter_add_inplace(const Tensor& self, std::int64_t dim, const Tensor& index,
                         const Tensor& src) {
  scatter_into(Scatter::add, self, dim, index, src, "scatter_add");
}
Tensor scatter_value(const Tensor& self, std::int64_t dim, const Tensor& index,
                     const Scalar& value) {
  return scatter(self, dim, index, full(index.shape(), value, self.dtype()));
}
void scatter_value_inplace(const Tensor& self, std::int64_t dim, const Tensor& index,
                           const Scalar& value) {
  scatter_inplace(self, dim, index, full(index.shape(), value, self.dtype()));
}
void masked_fill_inplace(const Tensor& self, const Tensor& mask, const Tensor& value) {
  check_inplace(self);
  copy_(self, masked_fill(self, mask, value));
}
// A 0-d tensor is a vector of one element here; writes go through the view.
Tensor as_vector(const Tensor& self) { return self.dim() == 0 ? view(self, {1}) : self; }

std::vector<Tensor> at_dim(std::int64_t dim, const Tensor& index) {
  std::vector<Tensor> all(static_cast<std::size_t>(dim));
  all.push_back(at_least_1d(as_index(index)));
  return all;
}
void check_vector(const std::string& op, const Tensor& index) {
  if (index.dim() <= 1) return;
  fail(ErrorKind::index, op + "(): Index is supposed to be a vector, but got dim: " +
                             std::to_string(index.dim()) + " with type: " + scalar_name(index));
}

void index_add_inplace(const Tensor& self, std::int64_t dim, const Tensor& index,
                       const Tensor& source, const Scalar& alpha) {
  const std::int64_t d = wrap_dim(dim, self.dim());
  check_vector("index_add_", index);
  if (index.dtype() != DType::int64 && index.dtype() != DType::int32) {
    fail(ErrorKind::runtime,
         "index_add_(): Expected dtype int32/int64 for index but got: " + scalar_name(index));
  }
  if (self.dtype() != source.dtype()) {
    fail(ErrorKind::runtime, "index_add_(): self (" + scalar_name(self) + ") and source (" +
                                 scalar_name(source) + ") must have the same scalar type");
  }
  Dims expected = self.shape();
  if (self.dim() > 0) expected[d] = index.numel();
  const std::int64_t have = source.dim() > d ? source.shape()[d] : 1;
  if (source.dim() == self.dim() && have != index.numel()) {
    fail(ErrorKind::runtime, "index_add_(): Number of indices (" + std::to_string(index.numel()) +
                                 ") should be equal to source.size(dim): (" + std::to_string(have) +
                                 "), for dim: " + std::to_string(dim));
  }
  if (source.shape() != expected) {
    fail(ErrorKind::runtime,
         "source tensor shape must match self tensor shape, excluding the specified dimension. "
         "Got self.shape = " +
             to_string(self.shape()) + " source.shape = " + to_string(source.shape()));
  }
  check_range(index, self, d, ErrorKind::runtime, "", 0);
  index_put_(as_vector(self), at_dim(d, index),
             at_least_1d(alpha.f == 1 && alpha.im == 0 ? source : mul(source, alpha.tensor())),
             true);
}
Tensor index_add(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source,
                 const Scalar& alpha) {
  const Tensor out = clone(self);
  index_add_inplace(out, dim, index, source, alpha);
  return out;
}
void index_fill_inplace(const Tensor& self, std::int64_t dim, const Tensor& index,
                        const Tensor& value) {
  const std::int64_t d = wrap_dim(dim, self.dim());
  if (value.dim() != 0) {
    fail(ErrorKind::runtime,
         "index_fill_ only supports a 0-dimensional value tensor, but got "
         "tensor with " +
             std::to_string(value.dim()) + " dimension(s).");
  }
  if (index.dtype() != DType::int64) {
    fail(ErrorKind::index, "index_fill_(): Expected dtype int64 for index.");
  }
  if (index.dim() > 1) fail(ErrorKind::index, "Index has to be a vector/scalar");
  if (is_complex(value.dtype()) && !is_complex(self.dtype())) {
    fail(ErrorKind::runtime,
         "index_fill_(): Converting complex Scalar to non-complex type is not supported");
  }
  if (value.impl()->wrapped_number) check_fits(number_of(value), self.dtype());
  check_range(index, self, d, ErrorKind::index, "", -(self.dim() == 0 ? 1 : self.shape()[d]));
  // Each place once, so that the gradient of value counts it once.
  const Tensor flat = contiguous(detach(index));
  const std::int64_t n = self.dim() == 0 ? 1 : self.shape()[d];
  std::vector<std::int64_t> places(flat.data_as<std::int64_t>(),
                                   flat.data_as<std::int64_t>() + flat.numel());
  for (std::int64_t& p : places) p += p < 0 ? n : 0;
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  const Tensor unique = from_values(std::span<const std::int64_t>(places),
                                    {static_cast<std::int64_t>(places.size())}, DType::int64);
  index_put_(as_vector(self), at_dim(d, unique), to(value, self.dtype()), false);
}
Tensor index_fill(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& value) {
  const Tensor out = clone(self);
  index_fill_inplace(out, dim, index, value);
  return out;
}
void index_copy_inplace(const Tensor& self, std::int64_t dim, const Tensor& index,
                        const Tensor& source) {
  const std::int64_t d = wrap_dim(dim, self.dim());
  check_vector("index_copy_", index);
  if (index.dtype() != DType::int64) {
    fail(ErrorKind::runtime,
         "index_copy_(): Expected a long tensor for index, but got " + scalar_name(index));
  }
  if (self.dtype() != source.dtype()) {
    fail(ErrorKind::runtime,
         "index_copy_(): self and source expected to have the same dtype, but got (self) " +
             scalar_name(self) + " and (source) " + scalar_name(source));
  }
  const std::int64_t count = index.numel();
  if (source.dim() == 0 && count != 1) {
    fail(ErrorKind::index,
         "index_copy_(): When source is scalar, index should have one element "
         "(got " +
             std::to_string(count) + ")");
  }
  if (source.dim() != self.dim() && source.dim() != 0 && self.dim() != 0) {
    fail(ErrorKind::index,
         "index_copy_(): When source and destination are not scalars, their dimensionality must "
         "match. Source dimensionality (" +
             std::to_string(source.dim()) + "), destination dimensionality (" +
             std::to_string(self.dim()) + ")");
  }
  const Tensor to = as_vector(self), from = at_least_1d(source);
  if (from.dim() == to.dim() && from.shape()[d] != count) {
    fail(ErrorKind::index, "index_copy_(): Number of indices (" + std::to_string(count) +
                               ") should be equal to source.size(dim) (" +
                               std::to_string(from.shape()[d]) + ")");
  }
  Dims expected = to.shape();
  expected[d] = count;
  if (source.dim() > 0 && from.shape() != expected) {
    fail(ErrorKind::runtime,
         "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice "
         "shape: " +
             to_string(self.shape()) + " at dimension " + std::to_string(d) +
             " and source slice shape: " + to_string(source.shape()) + " at dimension 0.");
  }
  check_range(index, self, d, ErrorKind::index, "", 0);
  index_put_(to, at_dim(d, index), from, false);
}
Tensor index_copy(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source) {
  const Tensor out = clone(self);
  index_copy_inplace(out, dim, index, source);
  return out;
}
Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<std::int64_t> dim) {
  if (indices.dtype() != DType::int64) {
    fail(ErrorKind::runtime,
         "torch.take_along_dim(): dtype of indices should be Long but got " + scalar_name(indices));
  }
  if (!dim) return take_along_dim(reshape(self, {-1}), reshape(indices, {-1}), 0);
  const std::int64_t d = wrap_dim(*dim, self.dim());
  Dims a = self.shape(), b = indices.shape();
  if (a.size() != b.size()) {
    fail(ErrorKind::runtime,
         "torch.take_along_dim(): input and indices should have the same number of dimensions, but "
         "got " +
             std::to_string(a.size()) + " dimensions for input, and " + std::to_string(b.size()) +
             " dimensions for indices");
  }
  Dims shape = broadcast_shapes((a[d] = 1, a), (b[d] = 1, b));
  Dims sa = shape, sb = shape;
  sa[d] = self.shape()[d];
  sb[d] = indices.shape()[d];
  // Negative ones count from the end.
  const std::int64_t n = self.dim() == 0 ? 1 : self.shape()[d];
  const Tensor low = lt(indices, Tensor::wrapped(-n));
  if (any(low).item_int() != 0)
    check_range(reshape(indices, {-1}), self, d, ErrorKind::runtime, "", -n);
  const Tensor from_start =
      where(lt(indices, Tensor(0)), add(indices, Tensor::wrapped(n)), indices);
  return gather(expand(self, sa), d, expand(from_start, sb));
}

constexpr unsigned kBoth = kFunction | kMethod;
constexpr unsigned kAll = kBoth | kOut;

}  // namespace

std::span<const OpDef> gather_ops() {
  static constexpr OpDef rows[] = {
      native<gather_op>("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> "
                        "Tensor",
                        "out[i][j] = self[index[i][j]][j] for dim 0, and so on.", kAll),
      native<scatter, scatter_inplace>(
          "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
          "self with out[index[i][j]][j] = src[i][j] for dim 0, and so on.", kAll),
      native<scatter_value, scatter_value_inplace>(
          "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
          "self with value at the indices along dim.", kAll),
      native<scatter_add, scatter_add_inplace>(
          "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
          "self with src added at the indices along dim.", kAll),
      native<index_select>("index_select(Tensor self, int dim, Tensor index) -> Tensor",
                           "The given indices along dim.", kAll),
      native<index_add, index_add_inplace>(
          "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> "
          "Tensor",
          "self with alpha * source added at the indices along dim.", kAll),
      native<index_fill, index_fill_inplace>(
          "index_fill(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
          "self with value at the indices along dim.", kBoth),
      native<index_copy, index_copy_inplace>(
          "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
          "self with source at the indices along dim.", kAll),
      native<take_along_dim>("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
                             "gather() with broadcasting.", kAll),
      native<masked_fill, masked_fill_inplace>(
          "masked_fill(Tensor self, Tensor mask, Tensor value) -> Tensor",
          "self with value where mask is true.", kBoth),
      native<flip>("flip(Tensor self, int[] dims) -> Tensor",
                   "Reversed along the dimensions; a copy.", kBoth),
  };
  return rows;
}

}  // namespace treadle
