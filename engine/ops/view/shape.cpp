// Ops that rearrange elements: diagonals, repetition, rotation, joining at named sides, grids. All
// are made of views, index and cat, and have no derivative of their own but the views.
#include <algorithm>

#include "engine/core/iter.h"
#include "engine/core/visit.h"
#include "engine/core/warn.h"
#include "engine/ops/native.h"
#include "engine/ops/view/util.h"

namespace treadle {

Tensor repeat(const Tensor& self, const Dims& repeats) {
  if (repeats.size() < self.dim()) {
    fail(ErrorKind::runtime,
         "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
         "tensor");
  }
  // [r0, s0, r1, s1, ...] expanded, then merged pairwise.
  Dims thin, wide, shape;
  const std::int64_t shift = repeats.size() - self.dim();
  bool copied = false;
  for (std::int64_t i = 0; i < repeats.size(); ++i) {
    const std::int64_t s = i < shift ? 1 : self.shape()[i - shift];
    if (repeats[i] < 0) {
      fail(ErrorKind::runtime,
           "Trying to create tensor with negative dimension " + std::to_string(repeats[i]));
    }
    copied |= repeats[i] != 1;
    if (repeats[i] != 1) {  // few dimensions: there may be 64 of them
      thin.push_back(1);
      wide.push_back(repeats[i]);
    }
    thin.push_back(s);
    wide.push_back(s);
    std::int64_t size = 0;
    if (__builtin_mul_overflow(repeats[i], s, &size)) {
      fail(ErrorKind::memory, "repeat(): the size of the result overflows");
    }
    shape.push_back(size);
  }
  const Tensor view = expand(reshape(self, thin), wide);
  return copied ? reshape(contiguous(view), shape) : clone(reshape(self, shape));
}

Tensor diagonal(const Tensor& self, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  const std::int64_t first = wrap_dim(dim1, self.dim()), second = wrap_dim(dim2, self.dim());
  if (first == second) {
    fail(ErrorKind::runtime, "diagonal dimensions cannot be identical " + std::to_string(dim1) +
                                 ", " + std::to_string(dim2));
  }
  const std::int64_t rows = self.shape()[first], columns = self.shape()[second];
  // Far offsets select nothing; clipped so that sums below can't overflow.
  offset = std::clamp(offset, -rows, columns);
  const std::int64_t n = std::max<std::int64_t>(
      0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns));
  Dims shape, strides;
  for (std::int64_t d = 0; d < self.dim(); ++d) {
    if (d == first || d == second) continue;
    shape.push_back(self.shape()[d]);
    strides.push_back(self.strides()[d]);
  }
  shape.push_back(n);
  strides.push_back(self.strides()[first] + self.strides()[second]);
  std::int64_t start = self.impl()->offset;
  if (n > 0) {
    start += offset >= 0 ? offset * self.strides()[second] : -offset * self.strides()[first];
  }
  const Tensor out = make_view(self, std::move(shape), std::move(strides), start);
  if (needs_tape({&self})) {
    record("DiagonalBackward0", out, {&self}, [=, full = self.shape()](Node&, const Gradients& g) {
      if (none(g)) return Gradients(1);
      return Gradients{
          embed(g[0], full, [=](const Tensor& t) { return diagonal(t, offset, first, second); })};
    });
  }
  return out;
}

namespace {

Tensor diagonal_op(const Tensor& self, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  return diagonal(self, offset, dim1, dim2);
}

Tensor trace(const Tensor& self) {
  if (self.dim() != 2) {
    fail(ErrorKind::runtime,
         "trace: expected a matrix, but got tensor with dim " + std::to_string(self.dim()));
  }
  if (self.dtype() == DType::boolean) no_implementation(DType::boolean, "trace");
  return sum(diagonal(self));
}

// The elements of self's last dimension on a diagonal of new dimensions, 0 elsewhere.
Tensor diag_embed(const Tensor& self, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  const std::int64_t rank = self.dim() + 1;
  const std::int64_t first = wrap_dim(dim1, rank), second = wrap_dim(dim2, rank);
  if (first == second) {
    fail(ErrorKind::runtime, "diagonal dimensions cannot be identical " + std::to_string(dim1) +
                                 ", " + std::to_string(dim2));
  }
  std::int64_t n = self.size(-1);
  if (__builtin_add_overflow(n, offset < 0 ? -(offset + 1) + 1 : offset, &n)) {
    fail(ErrorKind::memory, "diag_embed(): the size of the result overflows");
  }
  Dims shape;
  for (std::int64_t d = 0, from = 0; d < rank; ++d) {
    shape.push_back(d == first || d == second ? n : self.shape()[from++]);
  }
  return embed(self, shape, [=](const Tensor& t) { return diagonal(t, offset, first, second); });
}
Tensor diag(const Tensor& self, std::int64_t offset) {
  if (self.dim() == 2) return clone(diagonal(self, offset));
  if (self.dim() != 1) {
    fail(ErrorKind::runtime,
         "diag(): Supports 1D or 2D tensors. Got " + std::to_string(self.dim()) + "D");
  }
  return diag_embed(self, offset, 0, 1);
}
Tensor diagflat(const Tensor& self, std::int64_t offset) {
  return diag_embed(reshape(self, {-1}), offset, 0, 1);
}

std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors) {
  Dims shape;
  for (const Tensor& t : tensors) shape = broadcast_shapes(shape, t.shape());
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(expand(t, shape));
  return out;
}
Tensor broadcast_to(const Tensor& self, const Dims& size) { return expand(self, size); }

Tensor tile(const Tensor& self, const Dims& dims) {
  Dims repeats = dims;
  while (repeats.size() < self.dim()) repeats.insert(0, 1);
  return repeat(self, repeats);
}

Tensor ravel(const Tensor& self) { return reshape(contiguous(self), {-1}); }

Tensor movedim_int(const Tensor& self, std::int64_t source, std::int64_t destination) {
  return movedim(self, Dims{source}, Dims{destination});
}

// --- turning and reversing

Tensor fliplr(const Tensor& self) {
  if (self.dim() < 2) fail(ErrorKind::runtime, "Input must be >= 2-d.");
  return flip(self, {1});
}
Tensor flipud(const Tensor& self) {
  if (self.dim() < 1) fail(ErrorKind::runtime, "Input must be >= 1-d.");
  return flip(self, {0});
}

Tensor rot90(const Tensor& self, std::int64_t k, const Dims& dims) {
  if (dims.size() != 2) {
    fail(ErrorKind::runtime,
         "expected total rotation dims == 2, but got dims = " + std::to_string(dims.size()));
  }
  if (self.dim() < 2) {
    fail(ErrorKind::runtime,
         "expected total dims >= 2, but got total dims = " + std::to_string(self.dim()));
  }
  if (dims[0] == dims[1] || std::abs(dims[0] - dims[1]) == self.dim()) {
    fail(ErrorKind::runtime,
         "expected rotation dims to be different, but got dim0 = " + std::to_string(dims[0]) +
             " and dim1 = " + std::to_string(dims[1]));
  }
  for (std::int64_t i = 0; i < 2; ++i) {
    if (dims[i] >= self.dim() || dims[i] < -self.dim()) {
      fail(ErrorKind::runtime, "Rotation dim" + std::to_string(i) + " out of range, dim" +
                                   std::to_string(i) + " = " + std::to_string(dims[i]));
    }
  }
  switch ((k % 4 + 4) % 4) {
    case 1:
      return contiguous(transpose(flip(self, {dims[1]}), dims[0], dims[1]));
    case 2:
      return flip(self, dims);
    case 3:
      return contiguous(transpose(flip(self, {dims[0]}), dims[0], dims[1]));
    default:
      return clone(self);
  }
}

Tensor roll(const Tensor& self, const Dims& shifts, const Dims& dims) {
  if (shifts.empty()) fail(ErrorKind::runtime, "`shifts` required");
  if (dims.empty() && shifts.size() == 1) {
    return reshape(roll(reshape(self, {-1}), shifts, {0}), self.shape());
  }
  if (shifts.size() != dims.size()) {
    fail(ErrorKind::runtime,
         "shifts and dimensions must align. shifts: " + std::to_string(shifts.size()) +
             ", dims:" + std::to_string(dims.size()));
  }
  Tensor out = self;
  for (std::int64_t i = 0; i < dims.size(); ++i) {
    if (self.dim() == 0) {
      fail(ErrorKind::index,
           "Dimension specified as " + std::to_string(dims[i]) + " but tensor has no dimensions");
    }
    const std::int64_t d = wrap_dim(dims[i], self.dim()), n = self.shape()[d];
    if (self.numel() == 0) continue;
    const std::int64_t start = ((-(shifts[i] % n)) % n + n) % n;
    if (start != 0) out = cat({narrow(out, d, start, n - start), narrow(out, d, 0, start)}, d);
  }
  return same(out, self) ? clone(self) : out;
}

// --- a least number of dimensions, and joining along the one that is meant

Tensor atleast_1d(const Tensor& self) { return self.dim() == 0 ? reshape(self, {1}) : self; }
Tensor atleast_2d(const Tensor& self) {
  if (self.dim() == 0) return reshape(self, {1, 1});
  return self.dim() == 1 ? unsqueeze(self, 0) : self;
}
Tensor atleast_3d(const Tensor& self) {
  if (self.dim() == 0) return reshape(self, {1, 1, 1});
  if (self.dim() == 1) return unsqueeze(unsqueeze(self, 0), -1);
  return self.dim() == 2 ? unsqueeze(self, -1) : self;
}
template <auto F>
std::vector<Tensor> each(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(F(t));
  return out;
}

void some_tensors(const char* op, const std::vector<Tensor>& tensors) {
  if (tensors.empty()) {
    fail(ErrorKind::runtime, std::string(op) + " expects a non-empty TensorList");
  }
}
Tensor hstack(const std::vector<Tensor>& tensors) {
  some_tensors("hstack", tensors);
  const std::vector<Tensor> parts = each<atleast_1d>(tensors);
  return cat(parts, parts[0].dim() == 1 ? 0 : 1);
}
Tensor vstack(const std::vector<Tensor>& tensors) {
  some_tensors("vstack", tensors);
  return cat(each<atleast_2d>(tensors), 0);
}
Tensor dstack(const std::vector<Tensor>& tensors) {
  some_tensors("dstack", tensors);
  return cat(each<atleast_3d>(tensors), 2);
}
Tensor column(const Tensor& t) { return t.dim() <= 1 ? reshape(t, {t.numel(), 1}) : t; }
Tensor column_stack(const std::vector<Tensor>& tensors) {
  some_tensors("column_stack", tensors);
  return hstack(each<column>(tensors));
}

Tensor block_diag(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) return zeros({1, 0});
  std::int64_t width = 0;
  std::vector<Tensor> blocks;
  for (const Tensor& t : tensors) {
    if (t.dim() > 2) {
      fail(ErrorKind::runtime,
           "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input " +
               std::to_string(blocks.size()) + " has " + std::to_string(t.dim()) + " dimensions");
    }
    blocks.push_back(atleast_2d(t));
    width += blocks.back().size(1);
  }
  std::vector<Tensor> rows;
  std::int64_t left = 0;
  for (const Tensor& t : blocks) {
    const std::int64_t n = t.size(0), m = t.size(1);
    rows.push_back(
        cat({zeros({n, left}, t.dtype()), t, zeros({n, width - left - m}, t.dtype())}, 1));
    left += m;
  }
  return cat(rows, 0);
}

// --- grids

std::vector<Tensor> meshgrid_indexing(const std::vector<Tensor>& tensors,
                                      const std::string& indexing) {
  if (tensors.empty()) fail(ErrorKind::runtime, "meshgrid expects a non-empty TensorList");
  if (indexing != "ij" && indexing != "xy") {
    fail(ErrorKind::runtime,
         "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: " + indexing);
  }
  for (const Tensor& t : tensors) {
    if (t.dim() > 1) {
      fail(ErrorKind::runtime,
           "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: a tensor of "
           "shape " +
               to_string(t.shape()));
    }
    if (t.dtype() != tensors[0].dtype()) {
      fail(ErrorKind::runtime, "torch.meshgrid expects all tensors to have the same dtype");
    }
  }
  std::vector<Tensor> axes = tensors;
  const bool swap = indexing == "xy" && axes.size() >= 2;
  if (swap) std::swap(axes[0], axes[1]);
  const auto n = static_cast<std::int64_t>(axes.size());
  Dims shape;
  for (const Tensor& t : axes) shape.push_back(t.numel());
  std::vector<Tensor> out;
  for (std::int64_t i = 0; i < n; ++i) {
    Dims thin(n, 1);
    thin[i] = shape[i];
    out.push_back(expand(view(axes[static_cast<std::size_t>(i)], thin), shape));
  }
  if (swap) std::swap(out[0], out[1]);
  return out;
}
std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors) {
  warn(
      "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.");
  return meshgrid_indexing(tensors, "ij");
}

Tensor cartesian_prod(const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors) {
    if (t.dim() != 1) {
      fail(ErrorKind::runtime, "Expect a 1D vector, but got shape " + to_string(t.shape()));
    }
  }
  if (tensors.empty()) fail(ErrorKind::runtime, "meshgrid expects a non-empty TensorList");
  if (tensors.size() == 1) return tensors[0];
  return stack(each<ravel>(meshgrid_indexing(tensors, "ij")), 1);
}

Tensor combinations(const Tensor& self, std::int64_t r, bool with_replacement) {
  if (self.dim() != 1) {
    fail(ErrorKind::runtime, "Expect a 1D vector, but got shape " + to_string(self.shape()));
  }
  if (r < 0) {
    fail(ErrorKind::runtime, "Expect a non-negative number, but got " + std::to_string(r));
  }
  if (r == 0) return empty({0}, self.dtype());
  // Positions, in lexicographic order.
  const std::int64_t n = self.size(0);
  std::vector<std::int64_t> rows, at(static_cast<std::size_t>(std::min(r, n + 1)));
  std::int64_t count = 0;
  if (with_replacement ? n > 0 : r <= n) {
    at.resize(static_cast<std::size_t>(r));
    for (std::size_t i = 0; i < at.size(); ++i)
      at[i] = with_replacement ? 0 : static_cast<std::int64_t>(i);
    while (true) {
      rows.insert(rows.end(), at.begin(), at.end());
      ++count;
      std::int64_t i = r - 1;
      const auto last = [&](std::int64_t k) { return with_replacement ? n - 1 : n - r + k; };
      while (i >= 0 && at[static_cast<std::size_t>(i)] == last(i)) --i;
      if (i < 0) break;
      std::int64_t next = ++at[static_cast<std::size_t>(i)];
      for (++i; i < r; ++i) {
        at[static_cast<std::size_t>(i)] = with_replacement ? next : ++next;
      }
    }
  }
  const Tensor positions =
      from_values(std::span<const std::int64_t>(rows), {count, r}, DType::int64);
  return index(self, {positions});
}

// --- windows

Tensor unfold(const Tensor& self, std::int64_t dimension, std::int64_t size, std::int64_t step) {
  const std::int64_t d = wrap_dim(dimension, self.dim());
  const std::int64_t n = self.dim() == 0 ? 1 : self.shape()[d];
  if (size < 0) fail(ErrorKind::runtime, "size is " + std::to_string(size) + " but must be >= 0");
  if (size > n) {
    fail(ErrorKind::runtime, "maximum size for tensor at dimension " + std::to_string(d) + " is " +
                                 std::to_string(n) + " but size is " + std::to_string(size));
  }
  if (step <= 0) fail(ErrorKind::runtime, "step is " + std::to_string(step) + " but must be > 0");
  Dims shape = self.shape(), strides = self.strides();
  shape.push_back(size);
  strides.push_back(self.dim() == 0 ? 1 : self.strides()[d]);
  if (self.dim() > 0) {
    shape[d] = (n - size) / step + 1;
    if (__builtin_mul_overflow(step, strides[d], &strides[d])) strides[d] = 0;  // one window
  }
  const Tensor out = make_view(self, std::move(shape), std::move(strides), self.impl()->offset);
  if (needs_tape({&self})) {
    record("UnfoldBackward0", out, {&self},
           [d, size, step, full = self.shape()](Node&, const Gradients& g) {
             if (none(g)) return Gradients(1);
             // Windows overlap: elements of g are added where unfold() takes them from.
             const Tensor positions = reshape(arange(0, product(full), 1, DType::int64), full);
             return Gradients{reshape(index_put_(zeros({product(full)}, g[0].dtype()),
                                                 {reshape(unfold(positions, d, size, step), {-1})},
                                                 reshape(g[0], {-1}), true),
                                      full)};
           });
  }
  return out;
}

constexpr unsigned kBoth = kFunction | kMethod;
constexpr unsigned kAll = kBoth | kOut;

}  // namespace

std::span<const OpDef> shape_ops() {
  static constexpr OpDef rows[] = {
      native<repeat>("repeat(Tensor self, int[] repeats) -> Tensor",
                     "Copies side by side along each dimension.", kMethod),
      native<tile>("tile(Tensor self, int[] dims) -> Tensor", "repeat() of the last dimensions.",
                   kBoth),
      native<diagonal_op>(
          "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
          "The diagonal of two dimensions as the last one.", kBoth),
      native<diag>("diag(Tensor self, int diagonal=0) -> Tensor",
                   "A vector as diagonal matrix, or the diagonal of a matrix.", kAll),
      native<diag_embed>(
          "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
          "The last dimension as the diagonal of two new ones.", kBoth),
      native<diagflat>("diagflat(Tensor self, int offset=0) -> Tensor",
                       "All elements on the diagonal of a matrix.", kBoth),
      native<trace>("trace(Tensor self) -> Tensor", "Sum of the diagonal.", kAll),
      native<broadcast_tensors>("broadcast_tensors(Tensor[] tensors) -> Tensor[]",
                                "All expanded to their common shape.", kFunction),
      native<broadcast_to>("broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)", "expand().",
                           kBoth),
      native<ravel>("ravel(Tensor(a) self) -> Tensor(a)",
                    "One dimension; a view where the elements lie row by row.", kBoth),
      native<movedim_int>("movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
                          "Moves a dimension to a new position.", kBoth),
      native<movedim>(
          "moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
          "movedim().", kBoth),
      native<movedim_int>("moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
                          "movedim().", kBoth),
      native<fliplr>("fliplr(Tensor self) -> Tensor", "Reversed along dimension 1; a copy.", kBoth),
      native<flipud>("flipud(Tensor self) -> Tensor", "Reversed along dimension 0; a copy.", kBoth),
      native<rot90>("rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor",
                    "Turned k times by 90 degrees in the plane of two dimensions; a copy.", kBoth),
      native<roll>("roll(Tensor self, int[1] shifts, int[1]? dims=[]) -> Tensor",
                   "Rotated along dimensions; without dims as one row of elements.", kBoth),
      native<atleast_1d>("atleast_1d(Tensor(a) self) -> Tensor(a)", "A 0-d tensor as a vector.",
                         kFunction),
      native<each<atleast_1d>>("atleast_1d.Sequence(Tensor(a)[] tensors) -> Tensor(a)[]",
                               "Each of them.", kFunction),
      native<atleast_2d>("atleast_2d(Tensor(a) self) -> Tensor(a)",
                         "A vector as a matrix of one row.", kFunction),
      native<each<atleast_2d>>("atleast_2d.Sequence(Tensor(a)[] tensors) -> Tensor(a)[]",
                               "Each of them.", kFunction),
      native<atleast_3d>("atleast_3d(Tensor(a) self) -> Tensor(a)",
                         "A vector as (1, n, 1), a matrix as (n, m, 1).", kFunction),
      native<each<atleast_3d>>("atleast_3d.Sequence(Tensor(a)[] tensors) -> Tensor(a)[]",
                               "Each of them.", kFunction),
      native<hstack>("hstack(Tensor[] tensors) -> Tensor", "Side by side: along dimension 1.",
                     kFunction | kOut),
      native<vstack>("vstack(Tensor[] tensors) -> Tensor", "Below each other: along dimension 0.",
                     kFunction | kOut),
      native<vstack>("row_stack(Tensor[] tensors) -> Tensor", "vstack().", kFunction | kOut),
      native<dstack>("dstack(Tensor[] tensors) -> Tensor", "Along dimension 2.", kFunction | kOut),
      native<column_stack>("column_stack(Tensor[] tensors) -> Tensor",
                           "hstack() with vectors as columns.", kFunction | kOut),
      native<block_diag>("block_diag(Tensor[] tensors) -> Tensor",
                         "The matrices along a diagonal, 0 elsewhere.", kFunction),
      native<meshgrid>("meshgrid(Tensor[] tensors) -> Tensor[]",
                       "Coordinates of a grid, one tensor for each axis.", kFunction),
      native<meshgrid_indexing>("meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
                                "'ij': axes in order; 'xy': the first two swapped.", kFunction),
      native<cartesian_prod>("cartesian_prod(Tensor[] tensors) -> Tensor",
                             "All combinations of one element from each vector, as rows.",
                             kFunction),
      native<combinations>(
          "combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
          "All r of the elements in order, as rows.", kFunction),
      native<unfold>("unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
                     "All windows of a size along a dimension; the window is the last dimension.",
                     kMethod),
  };
  return rows;
}

}  // namespace treadle
