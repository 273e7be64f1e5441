// Views: ops that return another geometry over the same memory. To add one: compute shape, strides
// and offset, make_view, record its inverse, and a row at the end.
#include "engine/ops/view/util.h"

#include <algorithm>

#include "engine/core/iter.h"
#include "engine/ops/native.h"

namespace treadle {

Tensor make_view(const Tensor& self, Dims shape, Dims strides, std::int64_t offset,
                 ViewInfo::Creation creation) {
  Tensor out(Ref<TensorImpl>::make(self.impl()->storage, offset, std::move(shape),
                                   std::move(strides), self.dtype()));
  out.impl()->inference = self.impl()->inference;
  out.impl()->conj = self.impl()->conj;
  out.impl()->neg = self.impl()->neg;
  set_view(out, self, creation);
  return out;
}

Dims infer_size(const Dims& shape, std::int64_t numel) {
  const auto invalid = [&] {
    fail(ErrorKind::runtime,
         "shape '" + to_string(shape) + "' is invalid for input of size " + std::to_string(numel));
  };
  Dims result = shape;
  std::int64_t known = 1, unknown = -1;
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1) {
      if (unknown >= 0) fail(ErrorKind::runtime, "only one dimension can be inferred");
      unknown = i;
    } else if (shape[i] < 0) {
      fail(ErrorKind::runtime, "invalid shape dimension " + std::to_string(shape[i]));
    } else {
      if (__builtin_mul_overflow(known, shape[i], &known)) invalid();
    }
  }
  if (unknown >= 0) {
    if (known == 0) {
      fail(ErrorKind::runtime,
           "cannot reshape tensor of 0 elements into shape " + to_string(shape) +
               " because the unspecified dimension size -1 can be any value and is ambiguous");
    }
    if (numel % known != 0) invalid();
    result[unknown] = numel / known;
  } else if (known != numel) {
    invalid();
  }
  return result;
}

namespace {

// Strides of `shape` over the memory of t, or nothing if a dimension would span two unrelated ones.
std::optional<Dims> view_strides(const Tensor& t, const Dims& shape) {
  if (t.numel() == 0) return shape == t.shape() ? t.strides() : contiguous_strides(shape);
  Dims strides(shape.size(), 1);
  std::int64_t to = shape.size() - 1;
  std::int64_t chunk_stride = t.dim() > 0 ? t.strides().back() : 1;
  std::int64_t chunk = 1, viewed = 1;
  for (std::int64_t from = t.dim() - 1; from >= 0; --from) {
    chunk *= t.shape()[from];
    const bool ends =
        from == 0 || (t.shape()[from - 1] != 1 && t.strides()[from - 1] != chunk * chunk_stride);
    if (!ends) continue;
    while (to >= 0 && (viewed < chunk || shape[to] == 1)) {
      strides[to] = viewed * chunk_stride;
      viewed *= shape[to];
      --to;
    }
    if (viewed != chunk) return std::nullopt;
    if (from > 0) {
      chunk_stride = t.strides()[from - 1];
      chunk = viewed = 1;
    }
  }
  if (to != -1 && t.dim() > 0) return std::nullopt;
  return strides;
}

Tensor viewed(const Tensor& self, const Dims& shape, Dims strides, const char* name) {
  const Tensor out = make_view(self, shape, std::move(strides), self.impl()->offset);
  if (needs_tape({&self})) {
    record(name, out, {&self}, [back = self.shape()](Node&, const Gradients& g) {
      return none(g) ? Gradients(1) : Gradients{reshape(g[0], back)};
    });
  }
  return out;
}

Tensor permuted(const Tensor& self, const Dims& order, const char* name) {
  Dims shape(order.size(), 0), strides(order.size(), 0), inverse(order.size(), 0);
  for (std::int64_t i = 0; i < order.size(); ++i) {
    shape[i] = self.shape()[order[i]];
    strides[i] = self.strides()[order[i]];
    inverse[order[i]] = i;
  }
  const Tensor out = make_view(self, std::move(shape), std::move(strides), self.impl()->offset);
  if (needs_tape({&self})) {
    record(name, out, {&self}, [inverse](Node&, const Gradients& g) {
      return none(g) ? Gradients(1) : Gradients{permute(g[0], inverse)};
    });
  }
  return out;
}

}  // namespace

Tensor view(const Tensor& self, const Dims& size) {
  const Dims shape = infer_size(size, self.numel());
  const std::optional<Dims> strides = view_strides(self, shape);
  if (!strides) {
    fail(ErrorKind::runtime,
         "view size is not compatible with input tensor's size and stride (at least one dimension "
         "spans across two "
         "contiguous subspaces). Use .reshape(...) instead.");
  }
  return viewed(self, shape, *strides, "ViewBackward0");
}

Tensor reshape(const Tensor& self, const Dims& size) {
  const Dims shape = infer_size(size, self.numel());
  if (const std::optional<Dims> strides = view_strides(self, shape)) {
    return viewed(self, shape, *strides, "ViewBackward0");
  }
  // A copy, which is no view of anything.
  Tensor out;
  {
    const NoGrad off;
    out = Tensor::empty(self.shape(), self.dtype());
    cast_into(out, self);
    out.impl()->shape = shape;
    out.impl()->strides = contiguous_strides(shape);
  }
  if (needs_tape({&self})) {
    record("UnsafeViewBackward0", out, {&self}, [back = self.shape()](Node&, const Gradients& g) {
      return none(g) ? Gradients(1) : Gradients{reshape(g[0], back)};
    });
  }
  return out;
}

Tensor flatten(const Tensor& self, std::int64_t start_dim, std::int64_t end_dim) {
  start_dim = wrap_dim(start_dim, self.dim());
  end_dim = wrap_dim(end_dim, self.dim());
  if (start_dim > end_dim)
    fail(ErrorKind::runtime, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (self.dim() == 0) return reshape(self, {1});
  if (start_dim == end_dim) return self;
  Dims shape;
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    if (i > start_dim && i <= end_dim)
      shape[start_dim] *= self.shape()[i];
    else
      shape.push_back(self.shape()[i]);
  }
  return reshape(self, shape);
}

Tensor transpose(const Tensor& self, std::int64_t dim0, std::int64_t dim1) {
  dim0 = wrap_dim(dim0, self.dim());
  dim1 = wrap_dim(dim1, self.dim());
  Dims order(self.dim(), 0);
  for (std::int64_t i = 0; i < order.size(); ++i) order[i] = i;
  if (self.dim() > 0) std::swap(order[dim0], order[dim1]);
  return permuted(self, order, "TransposeBackward0");
}

Tensor t(const Tensor& self) {
  if (self.dim() > 2) {
    fail(ErrorKind::runtime, "t() expects a tensor with <= 2 dimensions, but self is " +
                                 std::to_string(self.dim()) + "D");
  }
  return self.dim() < 2 ? alias(self) : permuted(self, {1, 0}, "TBackward0");
}

Tensor permute(const Tensor& self, const Dims& dims) {
  if (dims.size() != self.dim()) {
    fail(ErrorKind::runtime,
         "permute(dims): number of dimensions in the tensor input does not match the length "
         "of the desired ordering of dimensions i.e. input.dim() = " +
             std::to_string(self.dim()) +
             " is not equal to len(dims) = " + std::to_string(dims.size()));
  }
  Dims order(dims.size(), 0);
  std::uint64_t seen = 0;
  for (std::int64_t i = 0; i < dims.size(); ++i) {
    order[i] = wrap_dim(dims[i], self.dim());
    if (seen >> order[i] & 1)
      fail(ErrorKind::runtime, "permute(): duplicate dims are not allowed.");
    seen |= std::uint64_t{1} << order[i];
  }
  return permuted(self, order, "PermuteBackward0");
}

Tensor movedim(const Tensor& self, const Dims& source, const Dims& destination) {
  if (source.size() != destination.size()) {
    fail(ErrorKind::runtime, "movedim: Invalid source or destination dims: source (" +
                                 to_string(source) +
                                 " dims) should contain the same number of dims as destination (" +
                                 to_string(destination) + " dims)");
  }
  Dims order(self.dim(), -1);
  std::uint64_t used = 0;
  for (std::int64_t i = 0; i < source.size(); ++i) {
    const std::int64_t from = wrap_dim(source[i], self.dim()),
                       to = wrap_dim(destination[i], self.dim());
    if (used >> from & 1) {
      fail(ErrorKind::runtime, "movedim: repeated dim in `source` (" + to_string(source) + ")");
    }
    if (order[to] != -1) {
      fail(ErrorKind::runtime,
           "movedim: repeated dim in `destination` (" + to_string(destination) + ")");
    }
    order[to] = from;
    used |= std::uint64_t{1} << from;
  }
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    if (order[i] != -1) continue;
    while (used >> next & 1) ++next;
    order[i] = next++;
  }
  return permuted(self, order, "PermuteBackward0");
}

Tensor expand(const Tensor& self, const Dims& size, bool) {
  if (size.size() < self.dim()) {
    fail(ErrorKind::runtime,
         "expand(" + to_string(self.shape()) + ", size=" + to_string(size) +
             "): the number of sizes provided (" + std::to_string(size.size()) +
             ") must be greater or equal to the number of dimensions in the tensor (" +
             std::to_string(self.dim()) + ")");
  }
  Dims shape = size, strides(size.size(), 0);
  const std::int64_t shift = size.size() - self.dim();
  for (std::int64_t i = 0; i < size.size(); ++i) {
    const std::int64_t from = i - shift;
    const std::int64_t have = from < 0 ? 1 : self.shape()[from];
    if (shape[i] == -1) {
      if (from < 0) {
        fail(ErrorKind::runtime,
             "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
             "dimension " +
                 std::to_string(i));
      }
      shape[i] = have;
    }
    if (shape[i] < 0 || (shape[i] != have && have != 1)) {
      fail(ErrorKind::runtime, "The expanded size of the tensor (" + std::to_string(shape[i]) +
                                   ") must match the existing size (" + std::to_string(have) +
                                   ") at non-singleton dimension " + std::to_string(i) +
                                   ".  Target sizes: " + to_string(size) +
                                   ".  Tensor sizes: " + to_string(self.shape()));
    }
    if (from >= 0 && shape[i] == have) strides[i] = self.strides()[from];
  }
  // New dimensions of size 1 get the strides that unsqueeze() gives them.
  for (std::int64_t i = shift - 1; i >= 0; --i) {
    if (shape[i] == 1) strides[i] = i + 1 < size.size() ? shape[i + 1] * strides[i + 1] : 1;
  }
  product(shape);  // elements that share memory need none, but their number must fit
  const Tensor out = make_view(self, std::move(shape), std::move(strides), self.impl()->offset);
  if (needs_tape({&self})) {
    record("ExpandBackward0", out, {&self}, [back = self.shape()](Node&, const Gradients& g) {
      return none(g) ? Gradients(1) : Gradients{sum_to(g[0], back)};
    });
  }
  return out;
}

namespace {
Tensor squeezed(const Tensor& self, auto drop) {
  Dims shape, strides;
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    if (drop(i) && self.shape()[i] == 1) continue;
    shape.push_back(self.shape()[i]);
    strides.push_back(self.strides()[i]);
  }
  return viewed(self, shape, std::move(strides), "SqueezeBackward0");
}
}  // namespace

Tensor squeeze(const Tensor& self) {
  return squeezed(self, [](std::int64_t) { return true; });
}

Tensor squeeze(const Tensor& self, const Dims& dim) {
  std::uint64_t mask = 0;
  for (const std::int64_t d : dim) {
    const std::uint64_t bit = std::uint64_t{1} << wrap_dim(d, self.dim());
    if (mask & bit) {
      fail(ErrorKind::runtime, "dim " + std::to_string(wrap_dim(d, self.dim())) +
                                   " appears multiple times in the list of dims");
    }
    mask |= bit;
  }
  return squeezed(self, [mask](std::int64_t i) { return (mask >> i & 1) != 0; });
}

Tensor unsqueeze(const Tensor& self, std::int64_t dim) {
  dim = wrap_dim(dim, self.dim() + 1);
  Dims shape = self.shape(), strides = self.strides();
  strides.insert(dim, dim < self.dim() ? self.shape()[dim] * self.strides()[dim] : 1);
  shape.insert(dim, 1);
  return viewed(self, shape, std::move(strides), "UnsqueezeBackward0");
}

Tensor alias(const Tensor& self) {
  return viewed(self, self.shape(), self.strides(), "AliasBackward0");
}

Tensor detach(const Tensor& self) {
  const TensorImpl& i = *self.impl();
  Tensor out(Ref<TensorImpl>::make(i.storage, i.offset, i.shape, i.strides, i.dtype));
  out.impl()->inference = i.inference;
  out.impl()->conj = i.conj;
  out.impl()->neg = i.neg;
  return out;
}

Tensor raw(const Tensor& lazy) {
  Tensor out = detach(lazy);
  out.impl()->conj = out.impl()->neg = false;
  return out;
}

namespace {

Tensor unflatten(const Tensor& self, std::int64_t dim, const Dims& sizes) {
  dim = wrap_dim(dim, self.dim());
  const std::int64_t n = self.size(dim);
  if (sizes.empty()) fail(ErrorKind::runtime, "unflatten: sizes must be non-empty");
  std::int64_t known = 1;
  bool any = false, overflow = false;
  for (const std::int64_t s : sizes) {
    if (s == -1 && any) fail(ErrorKind::runtime, "only one dimension can be inferred");
    any |= s == -1;
    if (s != -1) overflow |= __builtin_mul_overflow(known, s, &known);
  }
  if (overflow || (any ? known == 0 || n % known != 0 : known != n)) {
    fail(ErrorKind::runtime, "unflatten: Provided sizes " + to_string(sizes) +
                                 " don't multiply up to the size of dim " + std::to_string(dim) +
                                 " (" + std::to_string(n) + ") in the input tensor");
  }
  const Dims inner = infer_size(sizes, n);
  Dims shape;
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    if (i != dim)
      shape.push_back(self.shape()[i]);
    else
      for (const std::int64_t s : inner) shape.push_back(s);
  }
  return view(self, shape);
}
Tensor squeeze_dim(const Tensor& self, std::int64_t dim) { return squeeze(self, Dims{dim}); }
Tensor expand_as(const Tensor& self, const Tensor& other) { return expand(self, other.shape()); }
Tensor view_as(const Tensor& self, const Tensor& other) { return view(self, other.shape()); }
Tensor reshape_as(const Tensor& self, const Tensor& other) { return reshape(self, other.shape()); }
Tensor slice_op(const Tensor& self, std::int64_t dim, std::optional<std::int64_t> start,
                std::optional<std::int64_t> end, std::int64_t step) {
  return slice(self, dim, start, end, step);
}
Tensor matrix_transpose(const Tensor& self) {
  if (self.dim() < 2) {
    fail(ErrorKind::runtime,
         "tensor.mT is only supported on matrices or batches of matrices. Got " +
             std::to_string(self.dim()) + "-D tensor.");
  }
  return transpose(self, -2, -1);
}

constexpr unsigned kBoth = kFunction | kMethod;

}  // namespace

std::span<const OpDef> view_ops() {
  using SelectFn = Tensor (*)(const Tensor&, std::int64_t, std::int64_t);
  using Squeeze = Tensor (*)(const Tensor&);
  using SqueezeDims = Tensor (*)(const Tensor&, const Dims&);
  static constexpr OpDef rows[] = {
      native<view>("view(Tensor(a) self, int[] size) -> Tensor(a)",
                   "The same memory with another shape; one size may be -1. Fails where strides "
                   "don't allow.",
                   kMethod),
      native<view_as>("view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
                      "view() with other's shape.", kMethod),
      native<reshape>("reshape(Tensor(a) self, int[] shape) -> Tensor(a)",
                      "A view where possible, else a copy.", kBoth),
      native<reshape_as>("reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
                         "reshape() with other's shape.", kMethod),
      native<flatten>(
          "flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
          "Merges a range of dimensions into one.", kBoth),
      native<unflatten>("unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)",
                        "Splits one dimension into several.", kBoth),
      native<transpose>("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
                        "Swaps two dimensions.", kBoth),
      native<transpose>("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)",
                        "transpose().", kBoth),
      native<t>("t(Tensor(a) self) -> Tensor(a)", "Transpose of a matrix; vectors stay.", kBoth),
      native<matrix_transpose>("matrix_transpose(Tensor(a) self) -> Tensor(a)",
                               "Swaps the last two dimensions (mT).", kMethod),
      native<permute>("permute(Tensor(a) self, int[] dims) -> Tensor(a)",
                      "Reorders the dimensions.", kBoth),
      native<movedim>(
          "movedim.intlist(Tensor(a) self, int[1] source, int[1] destination) -> Tensor(a)",
          "Moves dimensions to new positions; the others keep their order.", kBoth),
      native<expand>("expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)",
                     "Repeats dimensions of size 1 without copying; -1 keeps a size.", kMethod),
      native<expand_as>("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
                        "expand() to other's shape.", kMethod),
      native<static_cast<Squeeze>(squeeze)>("squeeze(Tensor(a) self) -> Tensor(a)",
                                            "Drops all dimensions of size 1.", kBoth),
      native<squeeze_dim>("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
                          "Drops dim if its size is 1.", kBoth),
      native<static_cast<SqueezeDims>(squeeze)>(
          "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
          "Drops those of the dimensions whose size is 1.", kBoth),
      native<unsqueeze>("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
                        "Inserts a dimension of size 1.", kBoth),
      native<static_cast<SelectFn>(select)>(
          "select.int(Tensor(a) self, int dim, int index) -> Tensor(a)",
          "One index along a dimension.", kBoth),
      native<slice_op>("slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, "
                       "int step=1) -> Tensor(a)",
                       "self[start:end:step] along dim.", 0),
      native<narrow>("narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)",
                     "A range along a dimension.", kBoth),
      native<split>("split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]",
                    "Pieces of split_size along dim; the last may be smaller.", kBoth),
      native<split_with_sizes>(
          "split.sizes(Tensor(a -> *) self, int[] split_size, int dim=0) -> Tensor(a)[]",
          "Pieces of the given sizes along dim.", kBoth),
      native<split_with_sizes>(
          "split_with_sizes(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
          "Pieces of the given sizes along dim.", kBoth),
      native<chunk>("chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
                    "At most `chunks` pieces of equal size along dim.", kBoth),
      native<unbind>("unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
                     "All indices along dim.", kBoth),
      native<as_strided>("as_strided(Tensor(a) self, int[] size, int[] stride, int? "
                         "storage_offset=None) -> Tensor(a)",
                         "Any geometry over the memory of self; checked to stay inside it.", kBoth),
      native<detach>("detach(Tensor(a) self) -> Tensor(a)",
                     "The same memory without gradient tracking.", kBoth, false),
      native<alias>("alias(Tensor(a) self) -> Tensor(a)", "A view of the whole tensor.", 0),
  };
  return rows;
}

}  // namespace treadle
