// Parts of a tensor: splitting in all of PyTorch's ways, parts as copies, and parts written into a
// copy of the whole (select_scatter and its kin).
#include <algorithm>

#include "engine/core/iter.h"
#include "engine/ops/native.h"
#include "engine/ops/view/util.h"

namespace treadle {
namespace {

// --- splitting

// Cuts at the given positions, which mean what Python's slices mean.
std::vector<Tensor> cut_at(const Tensor& self, const Dims& indices, std::int64_t dim) {
  std::vector<Tensor> out;
  std::int64_t start = 0;
  for (const std::int64_t end : indices) {
    out.push_back(slice(self, dim, start, end));
    start = end;
  }
  out.push_back(slice(self, dim, start));
  return out;
}

std::vector<Tensor> tensor_split_sections(const Tensor& self, std::int64_t sections,
                                          std::int64_t dim) {
  if (self.dim() == 0) {
    fail(ErrorKind::runtime,
         "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  }
  dim = wrap_dim(dim, self.dim());
  if (sections <= 0) {
    fail(ErrorKind::runtime,
         "number of sections must be larger than 0, got " + std::to_string(sections));
  }
  const std::int64_t n = self.shape()[dim], each = n / sections, larger = n % sections;
  std::vector<Tensor> out;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < sections; ++i) {
    const std::int64_t length = each + (i < larger ? 1 : 0);
    out.push_back(slice(self, dim, at, at + length));
    at += length;
  }
  return out;
}
std::vector<Tensor> tensor_split_indices(const Tensor& self, const Dims& indices,
                                         std::int64_t dim) {
  if (self.dim() == 0) {
    fail(ErrorKind::runtime,
         "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  }
  return cut_at(self, indices, wrap_dim(dim, self.dim()));
}
std::vector<Tensor> tensor_split_tensor(const Tensor& self, const Tensor& where, std::int64_t dim) {
  if (self.dim() == 0) {
    fail(ErrorKind::runtime,
         "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  }
  if (where.dtype() != DType::int64) {
    fail(ErrorKind::runtime,
         "tensor_split expected tensor_indices_or_sections to have dtype of "
         "long, but got " +
             std::string(info(where.dtype()).scalar));
  }
  if (where.dim() > 1) {
    fail(ErrorKind::runtime,
         "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
         "one-dimensional tensor, but got a tensor with " +
             std::to_string(where.dim()) + " dims");
  }
  if (where.dim() == 0) return tensor_split_sections(self, where.item_int(), dim);
  const Tensor dense = contiguous(detach(where));
  return tensor_split_indices(
      self,
      Dims(std::span<const std::int64_t>(dense.data_as<std::int64_t>(),
                                         static_cast<std::size_t>(dense.numel()))),
      dim);
}

// hsplit, vsplit and dsplit: the dimension they cut, and the rank that needs.
enum class Side : std::uint8_t { horizontal, vertical, depth };
template <Side S>
std::int64_t side_dim(const Tensor& self) {
  constexpr std::int64_t kRank = S == Side::horizontal ? 1 : S == Side::vertical ? 2 : 3;
  if (self.dim() < kRank) {
    const std::string name = S == Side::horizontal ? "hsplit"
                             : S == Side::vertical ? "vsplit"
                                                   : "dsplit";
    fail(ErrorKind::runtime, "torch." + name + " requires a tensor with at least " +
                                 std::to_string(kRank) + " dimension" + (kRank > 1 ? "s" : "") +
                                 ", but got a tensor with " + std::to_string(self.dim()) +
                                 " dimensions!");
  }
  if (S == Side::vertical) return 0;
  return S == Side::depth ? 2 : (self.dim() == 1 ? 0 : 1);
}
template <Side S>
std::vector<Tensor> side_split(const Tensor& self, std::int64_t sections) {
  const std::int64_t d = side_dim<S>(self);
  if (sections == 0 || self.shape()[d] % sections != 0) {
    const std::string name = S == Side::horizontal ? "hsplit"
                             : S == Side::vertical ? "vsplit"
                                                   : "dsplit";
    fail(ErrorKind::runtime,
         "torch." + name + " attempted to split along dimension " + std::to_string(d) +
             ", but the size of the dimension " + std::to_string(self.shape()[d]) +
             " is not divisible by the split_size " + std::to_string(sections) + "!");
  }
  return tensor_split_sections(self, sections, d);
}
template <Side S>
std::vector<Tensor> side_split_at(const Tensor& self, const Dims& indices) {
  return cut_at(self, indices, side_dim<S>(self));
}

// --- parts as copies

std::vector<Tensor> copies(const std::vector<Tensor>& views) {
  std::vector<Tensor> out;
  for (const Tensor& t : views) out.push_back(clone(t));
  return out;
}
// The op `F` that makes a view, or views, as one that copies.
template <auto F>
struct Copying;
template <class... A, Tensor (*F)(A...)>
struct Copying<F> {
  static Tensor call(A... args) { return contiguous(clone(F(args...))); }
};
template <class... A, std::vector<Tensor> (*F)(A...)>
struct Copying<F> {
  static std::vector<Tensor> call(A... args) { return copies(F(args...)); }
};

using Start = std::optional<std::int64_t>;
Tensor slice_op(const Tensor& self, std::int64_t dim, Start start, Start end, std::int64_t step) {
  return slice(self, dim, start, end, step);
}
Tensor diagonal_op(const Tensor& self, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  return diagonal(self, offset, dim1, dim2);
}
Tensor squeeze_all(const Tensor& self) { return squeeze(self); }
Tensor squeeze_one(const Tensor& self, std::int64_t dim) { return squeeze(self, Dims{dim}); }
Tensor squeeze_some(const Tensor& self, const Dims& dim) { return squeeze(self, dim); }
Tensor select_op(const Tensor& self, std::int64_t dim, std::int64_t index) {
  return select(self, dim, index);
}
Tensor unfold_op(const Tensor& self, std::int64_t dimension, std::int64_t size, std::int64_t step) {
  Value args[] = {self, dimension, size, step};
  Value result;
  invoke(find_op("unfold")[0], args, &result);
  return std::get<Tensor>(result);
}
Tensor view_dtype(const Tensor& self, DType dtype) {
  Value args[] = {self, dtype};
  Value result;
  for (const OpDef& op : find_op("view")) {
    if (schema_of(op).overload == "dtype") invoke(op, args, &result);
  }
  return std::get<Tensor>(result);
}

Tensor narrow_tensor(const Tensor& self, std::int64_t dim, const Tensor& start,
                     std::int64_t length) {
  if (start.dim() != 0 || !is_integral(start.dtype()) || start.dtype() == DType::boolean) {
    fail(ErrorKind::runtime, "start must be an 0-dim integral Tensor.");
  }
  return narrow(self, dim, start.item_int(), length);
}

// --- parts written into a copy

// self with the window that `cut` makes replaced by src.
template <class F>
Tensor written(const Tensor& self, const Tensor& src, F cut) {
  const Tensor out = clone(self);
  const Tensor part = cut(out);
  if (part.shape() != src.shape()) {
    fail(ErrorKind::runtime, "expected src to have a size equal to the slice of self. src size = " +
                                 to_string(src.shape()) +
                                 ", slice size = " + to_string(part.shape()));
  }
  copy_(part, src);
  return out;
}
Tensor select_scatter(const Tensor& self, const Tensor& src, std::int64_t dim, std::int64_t index) {
  return written(self, src, [&](const Tensor& t) { return select(t, dim, index); });
}
Tensor slice_scatter(const Tensor& self, const Tensor& src, std::int64_t dim, Start start,
                     Start end, std::int64_t step) {
  return written(self, src, [&](const Tensor& t) { return slice(t, dim, start, end, step); });
}
Tensor diagonal_scatter(const Tensor& self, const Tensor& src, std::int64_t offset,
                        std::int64_t dim1, std::int64_t dim2) {
  return written(self, src, [&](const Tensor& t) { return diagonal(t, offset, dim1, dim2); });
}
Tensor as_strided_scatter(const Tensor& self, const Tensor& src, const Dims& size,
                          const Dims& stride, Start storage_offset) {
  // The window means self's own memory, so that the copy has to be laid out like it.
  const Tensor out = [&] {
    const NoGrad off;
    const TensorImpl& i = *self.impl();
    const Tensor whole =
        empty({static_cast<std::int64_t>(i.storage->bytes()) / item_size(i.dtype)}, i.dtype);
    return as_strided(whole, i.shape, i.strides, i.offset);
  }();
  const Tensor target = detach(out);
  copy_(target, self);
  const Tensor part = as_strided(target, size, stride, storage_offset);
  if (part.shape() != src.shape()) {
    fail(ErrorKind::runtime, "expected src to have a size equal to the slice of self. src size = " +
                                 to_string(src.shape()) +
                                 ", slice size = " + to_string(part.shape()));
  }
  copy_(part, src);
  return target;
}

constexpr unsigned kBoth = kFunction | kMethod;
constexpr unsigned kCopy = kFunction | kOut;

}  // namespace

std::span<const OpDef> part_ops() {
  using S = Side;
  static constexpr OpDef rows[] = {
      native<tensor_split_sections>(
          "tensor_split.sections(Tensor(a -> *) self, int sections, int dim=0) -> Tensor(a)[]",
          "A number of parts, of sizes that differ by 1 at most.", kBoth),
      native<tensor_split_indices>(
          "tensor_split.indices(Tensor(a -> *) self, int[] indices, int dim=0) -> Tensor(a)[]",
          "Cut at these positions.", kBoth),
      native<tensor_split_tensor>(
          "tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor "
          "tensor_indices_or_sections, int dim=0) -> Tensor(a)[]",
          "A number of parts (0-d) or positions to cut at (1-d).", kBoth),
      native<side_split<S::horizontal>>("hsplit.int(Tensor(a -> *) self, int sections) -> "
                                        "Tensor(a)[]",
                                        "Equal parts along dimension 1 (of a vector 0).", kBoth),
      native<side_split_at<S::horizontal>>("hsplit.array(Tensor(a -> *) self, int[] indices) -> "
                                           "Tensor(a)[]",
                                           "Cut at these positions.", kBoth),
      native<side_split<S::vertical>>("vsplit.int(Tensor(a -> *) self, int sections) -> "
                                      "Tensor(a)[]",
                                      "Equal parts along dimension 0.", kBoth),
      native<side_split_at<S::vertical>>("vsplit.array(Tensor(a -> *) self, int[] indices) -> "
                                         "Tensor(a)[]",
                                         "Cut at these positions.", kBoth),
      native<side_split<S::depth>>("dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
                                   "Equal parts along dimension 2.", kBoth),
      native<side_split_at<S::depth>>("dsplit.array(Tensor(a -> *) self, int[] indices) -> "
                                      "Tensor(a)[]",
                                      "Cut at these positions.", kBoth),
      native<Copying<split>::call>(
          "unsafe_split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]",
          "split(), as copies: they may be written in place.", kBoth),
      native<Copying<split_with_sizes>::call>(
          "unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]",
          "split_with_sizes(), as copies.", kBoth),
      native<Copying<chunk>::call>("unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
                                   "chunk(), as copies.", kBoth),
      native<Copying<split>::call>(
          "split_copy.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]",
          "split(), as copies.", kFunction),
      native<Copying<split_with_sizes>::call>(
          "split_with_sizes_copy(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]",
          "split_with_sizes(), as copies.", kFunction),
      native<Copying<unbind>::call>("unbind_copy.int(Tensor self, int dim=0) -> Tensor[]",
                                    "unbind(), as copies.", kFunction),
      native<Copying<select_op>::call>("select_copy.int(Tensor self, int dim, int index) -> Tensor",
                                       "select(), as a copy.", kCopy),
      native<Copying<slice_op>::call>("slice_copy.Tensor(Tensor self, int dim=0, int? start=None, "
                                      "int? end=None, int step=1) -> Tensor",
                                      "self[start:end:step] along dim, as a copy.", kCopy),
      native<Copying<narrow>::call>(
          "narrow_copy(Tensor self, int dim, int start, int length) -> Tensor",
          "narrow(), as a copy.", kBoth | kOut),
      native<narrow_tensor>(
          "narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a)",
          "A range along a dimension.", kBoth),
      native<Copying<diagonal_op>::call>(
          "diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor",
          "diagonal(), as a copy.", kCopy),
      native<Copying<squeeze_all>::call>("squeeze_copy(Tensor self) -> Tensor",
                                         "squeeze(), as a copy.", kCopy),
      native<Copying<squeeze_one>::call>("squeeze_copy.dim(Tensor self, int dim) -> Tensor",
                                         "squeeze(), as a copy.", kCopy),
      native<Copying<squeeze_some>::call>("squeeze_copy.dims(Tensor self, int[] dim) -> Tensor",
                                          "squeeze(), as a copy.", kCopy),
      native<Copying<unsqueeze>::call>("unsqueeze_copy(Tensor self, int dim) -> Tensor",
                                       "unsqueeze(), as a copy.", kCopy),
      native<Copying<t>::call>("t_copy(Tensor self) -> Tensor", "t(), as a copy.", kCopy),
      native<Copying<transpose>::call>(
          "transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor",
          "transpose(), as a copy.", kCopy),
      native<Copying<permute>::call>("permute_copy(Tensor self, int[] dims) -> Tensor",
                                     "permute(), as a copy.", kCopy),
      native<Copying<expand>::call>(
          "expand_copy(Tensor self, int[] size, *, bool implicit=False) -> Tensor",
          "expand(), as a copy.", kCopy),
      native<Copying<unfold_op>::call>(
          "unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor",
          "unfold(), as a copy.", kCopy),
      native<Copying<view>::call>("view_copy(Tensor self, int[] size) -> Tensor",
                                  "view(), as a copy.", kCopy),
      native<Copying<view_dtype>::call>("view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor",
                                        "view(), as a copy.", kCopy),
      native<Copying<alias>::call>("alias_copy(Tensor self) -> Tensor", "A copy.", kCopy),
      native<Copying<detach>::call>("detach_copy(Tensor self) -> Tensor",
                                    "A copy without gradient tracking.", kCopy, false),
      native<Copying<as_strided>::call>("as_strided_copy(Tensor self, int[] size, int[] stride, "
                                        "int? storage_offset=None) -> Tensor",
                                        "as_strided(), as a copy.", kCopy),
      native<Copying<view_as_real>::call>("view_as_real_copy(Tensor self) -> Tensor",
                                          "view_as_real(), as a copy.", kCopy),
      native<Copying<view_as_complex>::call>("view_as_complex_copy(Tensor self) -> Tensor",
                                             "view_as_complex(), as a copy.", kCopy),
      native<select_scatter>(
          "select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor",
          "A copy of self with select(dim, index) replaced by src.", kBoth | kOut),
      native<slice_scatter>("slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, "
                            "int? end=None, int step=1) -> Tensor",
                            "A copy of self with self[start:end:step] along dim replaced by src.",
                            kBoth | kOut),
      native<diagonal_scatter>("diagonal_scatter(Tensor self, Tensor src, int offset=0, int "
                               "dim1=0, int dim2=1) -> Tensor",
                               "A copy of self with a diagonal replaced by src.", kBoth | kOut),
      native<as_strided_scatter>("as_strided_scatter(Tensor self, Tensor src, int[] size, int[] "
                                 "stride, int? storage_offset=None) -> Tensor",
                                 "A copy of self with as_strided(...) replaced by src.",
                                 kBoth | kOut),
  };
  return rows;
}

}  // namespace treadle
