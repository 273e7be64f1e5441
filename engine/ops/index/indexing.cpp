// Advanced indexing: x[i, :, mask] with integer and bool tensors, read and written. Python's ints,
// slices and Ellipsis become select and slice before; here a None keeps a dimension whole.
//
// All indices are broadcast to one shape. If the indexed dimensions are adjacent, that shape
// replaces them, else it comes first (NumPy's rule). Below the tape, the indexed dimensions of a
// view of the data are moved to the front and the kernel walks (positions of the index) x (elements
// of the rest).
#include <algorithm>

#include "engine/backend/cpu/dispatch.h"
#include "engine/core/iter.h"
#include "engine/ops/native.h"
#include "engine/ops/view/util.h"

namespace treadle {

Tensor nonzero(const Tensor& self) {
  Tensor mask;
  {
    const NoGrad off;
    mask = contiguous(self.dtype() == DType::boolean ? detach(self) : ne(detach(self), Tensor(0)));
  }
  const std::int64_t n = mask.numel();
  const std::int64_t count = n > 0 ? table().count_true(mask.data(), n, 1) : 0;
  const Tensor flat = Tensor::empty({count}, DType::int64);
  if (count > 0) table().true_positions(mask.data(), n, 1, flat.data_as<std::int64_t>(), 0);
  const Tensor out = Tensor::empty({count, self.dim()}, DType::int64);
  const std::int64_t* position = flat.data_as<std::int64_t>();
  std::int64_t* to = out.data_as<std::int64_t>();
  for (std::int64_t p = 0; p < count; ++p) {
    std::int64_t rest = position[p];
    for (std::int64_t d = self.dim() - 1; d >= 0; --d) {
      to[p * self.dim() + d] = rest % self.shape()[d];
      rest /= self.shape()[d];
    }
  }
  return out;
}

namespace {

// Masks replaced by the positions of their true elements; int64 everywhere; one entry for each
// dimension of self.
std::vector<Tensor> expand_masks(const Tensor& self, const std::vector<Tensor>& indices) {
  std::vector<Tensor> out;
  for (const Tensor& t : indices) {
    if (!t.defined()) {
      out.emplace_back();
      continue;
    }
    if (t.dtype() == DType::boolean || t.dtype() == DType::uint8) {
      for (std::int64_t d = 0; d < t.dim(); ++d) {
        const auto at = static_cast<std::int64_t>(out.size()) + d;
        if (at >= self.dim() || t.shape()[d] != self.shape()[at]) {
          fail(ErrorKind::index, "The shape of the mask " + to_string(t.shape()) + " at index " +
                                     std::to_string(d) +
                                     " does not match the shape of the indexed tensor " +
                                     to_string(self.shape()) + " at index " + std::to_string(at));
        }
      }
      const Tensor where = nonzero(t);
      for (std::int64_t d = 0; d < t.dim(); ++d) out.push_back(select(where, 1, d));
    } else if (t.dtype() == DType::int64 || t.dtype() == DType::int32) {
      out.push_back(to(t, DType::int64));
    } else {
      fail(ErrorKind::index, "tensors used as indices must be long, int, byte or bool tensors");
    }
  }
  if (static_cast<std::int64_t>(out.size()) > self.dim()) {
    fail(ErrorKind::index, "too many indices for tensor of dimension " +
                               std::to_string(self.dim()) + " (got " + std::to_string(out.size()) +
                               ")");
  }
  out.resize(static_cast<std::size_t>(self.dim()));
  return out;
}

// How an index expression maps data to values.
struct Plan {
  Dims dims;                    // indexed dimensions, ascending
  std::vector<Tensor> indices;  // one for each of them, contiguous, of the common shape
  Dims index_shape;
  Dims order;         // self's dimensions: indexed ones first
  Dims rest;          // sizes of the others
  Dims result_shape;  // with the index dimensions where NumPy puts them
  Dims to_result;     // permutation from [index..., rest...] to the result

  Plan(const Tensor& self, const std::vector<Tensor>& given) {
    const std::vector<Tensor> all = expand_masks(self, given);
    for (std::int64_t d = 0; d < self.dim(); ++d) {
      const Tensor& t = all[static_cast<std::size_t>(d)];
      if (t.defined()) {
        dims.push_back(d);
        indices.push_back(t);
      }
    }
    if (static_cast<int>(indices.size()) > kernel::kMaxIndices) {
      fail(ErrorKind::index, "at most " + std::to_string(kernel::kMaxIndices) +
                                 " dimensions can be indexed by tensors at once, got " +
                                 std::to_string(indices.size()));
    }
    try {
      for (const Tensor& t : indices) index_shape = broadcast_shapes(index_shape, t.shape());
    } catch (const Error&) {
      std::string shapes;
      for (const Tensor& t : indices) shapes += (shapes.empty() ? "" : ", ") + to_string(t.shape());
      fail(
          ErrorKind::index,
          "shape mismatch: indexing tensors could not be broadcast together with shapes " + shapes);
    }
    {
      const NoGrad off;
      for (Tensor& t : indices) t = contiguous(expand(detach(t), index_shape));
    }
    order = dims;
    for (std::int64_t d = 0; d < self.dim(); ++d) {
      if (all[static_cast<std::size_t>(d)].defined()) continue;
      order.push_back(d);
      rest.push_back(self.shape()[d]);
    }
    bool adjacent = true;
    for (std::int64_t i = 1; i < dims.size(); ++i) adjacent &= dims[i] == dims[i - 1] + 1;
    const std::int64_t lead =
        adjacent && !dims.empty() ? dims[0] : 0;  // rest dimensions before the index
    const std::int64_t k = index_shape.size();
    for (std::int64_t i = 0; i < lead; ++i) to_result.push_back(k + i);
    for (std::int64_t i = 0; i < k; ++i) to_result.push_back(i);
    for (std::int64_t i = lead; i < rest.size(); ++i) to_result.push_back(k + i);
    for (const std::int64_t d : to_result)
      result_shape.push_back(d < k ? index_shape[d] : rest[d - k]);
  }

  Dims kernel_shape() const {
    Dims s = index_shape;
    for (const std::int64_t r : rest) s.push_back(r);
    return s;
  }
  Dims from_result() const {
    Dims inverse(to_result.size(), 0);
    for (std::int64_t i = 0; i < to_result.size(); ++i) inverse[to_result[i]] = i;
    return inverse;
  }
};

// Runs an index kernel between `data` (any layout) and `values` (contiguous, of
// plan.kernel_shape()).
void run(kernel::IndexFn fn, const Plan& plan, const Tensor& data, const Tensor& values) {
  if (!fn)
    fail(ErrorKind::not_implemented, "indexing isn't implemented for dtype " + repr(data.dtype()));
  const std::int64_t item = item_size(data.dtype());
  kernel::IndexArgs args{};
  args.count = product(plan.index_shape);
  args.indices = plan.dims.size();
  for (std::int64_t k = 0; k < plan.dims.size(); ++k) {
    args.index[k] = plan.indices[static_cast<std::size_t>(k)].data();
    args.index_stride[k] = 8;
    args.size[k] = data.shape()[plan.dims[k]];
    args.step[k] = data.strides()[plan.dims[k]] * item;
  }
  // The last of the other dimensions is the kernel's inner loop, those before are walked here.
  Dims strides;
  for (std::int64_t i = plan.dims.size(); i < plan.order.size(); ++i)
    strides.push_back(data.strides()[plan.order[i]] * item);
  const std::int64_t n = plan.rest.size();
  std::int64_t rest = 1;
  for (const std::int64_t r : plan.rest) rest *= r;
  if (args.count == 0) return;
  std::int64_t inner_dims = 0, inner = 1;  // trailing dimensions that are one run in memory
  std::int64_t inner_stride = n > 0 ? strides[n - 1] : item;
  while (inner_dims < n && strides[n - 1 - inner_dims] == inner_stride * inner)
    inner *= plan.rest[n - 1 - inner_dims++];
  args.inner = rest == 0 ? 0 : inner;
  args.data_inner = inner_stride;
  args.values_inner = item;
  args.values_stride = rest * item;
  const std::int64_t outer = inner == 0 ? 0 : rest / inner;
  for (std::int64_t o = 0; o < std::max<std::int64_t>(outer, 1); ++o) {
    std::int64_t at = o, offset = 0;
    // Nothing to walk if a dimension is empty: the one call checks the indices.
    for (std::int64_t d = n - inner_dims - 1; d >= 0 && rest > 0; --d) {
      offset += at % plan.rest[d] * strides[d];
      at /= plan.rest[d];
    }
    args.data = data.data() + offset;
    args.values = values.data() + o * inner * item;
    const std::int64_t bad = fn(args);
    if (bad >= 0) {
      const std::int64_t p = bad / kernel::kMaxIndices, k = bad % kernel::kMaxIndices;
      if (args.size[k] == 0) {
        fail(ErrorKind::index, "index is out of bounds for dimension with size 0");
      }
      fail(
          ErrorKind::index,
          "index " +
              std::to_string(plan.indices[static_cast<std::size_t>(k)].data_as<std::int64_t>()[p]) +
              " is out of bounds for dimension " + std::to_string(plan.dims[k]) + " with size " +
              std::to_string(args.size[k]));
    }
  }
}

bool broadcasts_to(const Dims& from, const Dims& shape) {
  const std::int64_t shift = shape.size() - from.size();
  if (shift < 0) return false;
  for (std::int64_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1 && from[i] != shape[i + shift]) return false;
  }
  return true;
}

void check_values(const Tensor& v, const Plan& plan) {
  if (!broadcasts_to(v.shape(), plan.result_shape)) {
    fail(ErrorKind::runtime, "shape mismatch: value tensor of shape " + to_string(v.shape()) +
                                 " cannot be broadcast to indexing result of shape " +
                                 to_string(plan.result_shape));
  }
}

void put(const Tensor& self, const Plan& plan, const Tensor& values, bool accumulate) {
  const NoGrad off;
  Tensor v = values.dtype() == self.dtype() ? detach(values) : cast(values, self.dtype());
  v = contiguous(permute(expand(v, plan.result_shape), plan.from_result()));
  if (v.impl()->storage->shares_memory(*self.impl()->storage)) v = clone(v);
  const auto type = static_cast<std::size_t>(self.dtype());
  run(accumulate ? table().index_add[type] : table().index_put[type], plan, self, v);
}

// The index tensors as backward needs them: unchanged.
std::vector<Saved> saved(const std::vector<Tensor>& indices) {
  std::vector<Saved> kept;
  for (const Tensor& t : indices) kept.emplace_back(t);
  return kept;
}
std::vector<Tensor> restored(const std::vector<Saved>& kept, Node& owner) {
  std::vector<Tensor> indices;
  for (const Saved& s : kept) indices.push_back(s.get(&owner));
  return indices;
}

}  // namespace

Tensor index(const Tensor& self, const std::vector<Tensor>& indices) {
  const Plan plan(self, indices);
  if (plan.dims.empty()) return alias(self);
  Tensor out;
  {
    const NoGrad off;
    const Tensor flat = Tensor::empty(plan.kernel_shape(), self.dtype());
    run(table().index_get[static_cast<std::size_t>(self.dtype())], plan, self, flat);
    out = detach(permute(flat, plan.to_result));
  }
  if (needs_tape({&self})) {
    record(
        "IndexBackward0", out, {&self},
        [kept = saved(indices), shape = self.shape()](Node& n, const Gradients& g) {
          if (none(g)) return Gradients(1);
          return Gradients{index_put_(zeros(shape, g[0].dtype()), restored(kept, n), g[0], true)};
        });
  }
  return out;
}

Tensor index_put_(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
                  bool accumulate) {
  check_inplace(self);
  check_internal_overlap(self);
  const Plan plan(self, indices);
  if (!plan.dims.empty()) check_values(values, plan);
  if (values.dtype() != self.dtype() && !values.impl()->wrapped_number) {
    fail(ErrorKind::runtime, "Index put requires the source and destination dtypes match, got " +
                                 std::string(info(self.dtype()).scalar) +
                                 " for the destination and " +
                                 std::string(info(values.dtype()).scalar) + " for the source.");
  }
  if (values.impl()->wrapped_number) check_fits(number_of(values), self.dtype());
  if (plan.dims.empty()) return accumulate ? add_(self, values) : copy_(self, values);
  Ref<Node> node;
  if (is_differentiable(self.dtype()) && needs_tape({&self, &values})) {
    node = make_node("IndexPutBackward0", {&self, &values},
                     [kept = saved(indices), accumulate, shape = values.shape(),
                      dtype = values.dtype()](Node& n, const Gradients& g) {
                       Gradients r(2);
                       if (none(g)) return r;
                       const std::vector<Tensor> indices = restored(kept, n);
                       if (n.needs(0))
                         r[0] = accumulate ? g[0]
                                           : index_put_(clone(g[0]), indices,
                                                        zeros({}, g[0].dtype()), false);
                       if (n.needs(1)) r[1] = to(sum_to(index(g[0], indices), shape), dtype);
                       return r;
                     });
  }
  put(self, plan, values, accumulate);
  self.impl()->storage->bump();
  if (node) rebase_history(self, std::move(node));
  return self;
}

namespace {

void index_put_inplace(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
                       bool accumulate) {
  index_put_(self, indices, values, accumulate);
}
Tensor index_put(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
                 bool accumulate) {
  return index_put_(clone(self), indices, values, accumulate);
}
Tensor masked_select(const Tensor& self, const Tensor& mask) {
  if (mask.dtype() != DType::boolean) {
    fail(ErrorKind::runtime, "masked_select: expected BoolTensor for mask");
  }
  const Dims shape = broadcast_shapes(self.shape(), mask.shape());
  if (shape.empty()) return index(unsqueeze(self, 0), {unsqueeze(mask, 0)});
  return index(expand(self, shape), {expand(mask, shape)});
}
std::vector<Tensor> nonzero_tuple(const Tensor& self) {
  return unbind(nonzero(self.dim() == 0 ? unsqueeze(self, 0) : self), 1);
}

}  // namespace

std::span<const OpDef> indexing_ops() {
  static constexpr OpDef rows[] = {
      native<index>("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
                    "self[indices]: int64 or bool tensors, None keeps a dimension whole.",
                    kFunction),
      native<index_put, index_put_inplace>(
          "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
          "Tensor",
          "self with self[indices] replaced by values, or increased with accumulate.",
          kFunction | kMethod),
      native<masked_select>("masked_select(Tensor self, Tensor mask) -> Tensor",
                            "The elements where mask is true, as a vector.",
                            kFunction | kMethod | kOut),
      native<nonzero_tuple>("nonzero_numpy(Tensor self) -> Tensor[]",
                            "Indices of the nonzero elements, one tensor per dimension.",
                            kFunction | kMethod, false),
      native<nonzero_tuple>("where(Tensor condition) -> Tensor[]", "nonzero_numpy().", kFunction,
                            false),
  };
  return rows;
}

}  // namespace treadle
