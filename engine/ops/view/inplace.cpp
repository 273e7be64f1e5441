// Views written into the tensor itself: t_, transpose_, squeeze_ and so on. The elements stay where
// they are; the tensor becomes another window on them. And fill_diagonal_, which writes into a
// view.
#include "engine/ops/inplace.h"

#include <algorithm>

#include "engine/core/iter.h"
#include "engine/ops/view/util.h"

namespace treadle {
namespace {

// self takes over the geometry and history of `view`, a view of self.
void become(const Tensor& self, const Tensor& view) {
  check_inplace(self);
  // Before the version moves on, which would make the view's history a new one.
  Ref<Node> node = needs_tape({&self}) ? grad_fn(view) : Ref<Node>();
  TensorImpl& impl = *self.impl();
  impl.shape = view.shape();
  impl.strides = view.strides();
  impl.offset = view.impl()->offset;
  impl.storage->bump();
  if (node) {
    GradMeta& m = grad_meta(self);
    if (m.view) m.view->version = self.version();
    m.grad_fn = std::move(node);
    m.output_nr = 0;
  }
}

void t_inplace(const Tensor& self) { become(self, t(self)); }
void transpose_inplace(const Tensor& self, std::int64_t dim0, std::int64_t dim1) {
  become(self, transpose(self, dim0, dim1));
}
void squeeze_inplace(const Tensor& self) { become(self, squeeze(self)); }
void squeeze_dim_inplace(const Tensor& self, std::int64_t dim) {
  become(self, squeeze(self, Dims{dim}));
}
void squeeze_dims_inplace(const Tensor& self, const Dims& dim) { become(self, squeeze(self, dim)); }
void unsqueeze_inplace(const Tensor& self, std::int64_t dim) { become(self, unsqueeze(self, dim)); }
void as_strided_inplace(const Tensor& self, const Dims& size, const Dims& stride,
                        std::optional<std::int64_t> storage_offset) {
  become(self, as_strided(self, size, stride, storage_offset));
}

// Every (width + 1)-th row of a tall matrix starts another diagonal with `wrap`.
void fill_diagonal_inplace(const Tensor& self, const Scalar& value, bool wrap) {
  if (self.dim() < 2) fail(ErrorKind::runtime, "dimensions must larger than 1");
  const Dims& shape = self.shape();
  std::int64_t length = shape[0], step = 0;
  for (std::int64_t d = 0; d < self.dim(); ++d) {
    if (self.dim() > 2 && shape[d] != shape[0])
      fail(ErrorKind::runtime, "all dimensions of input must be of equal length");
    length = std::min(length, shape[d]);
    step += self.strides()[d];
  }
  check_inplace(self);
  const std::int64_t period = shape[1] + 1;
  if (!wrap || self.dim() > 2 || length == 0 || shape[0] <= period) {
    fill_(as_strided(self, {length}, {step}), value);
    return;
  }
  const std::int64_t whole = shape[0] / period, rest = shape[0] % period;
  fill_(as_strided(self, {whole, length}, {period * self.strides()[0], step}), value);
  if (rest > 0) {
    const Tensor rows = narrow(self, 0, whole * period, rest);
    fill_(as_strided(rows, {std::min(rest, length)}, {step}), value);
  }
}

}  // namespace

std::span<const OpDef> view_inplace_ops() {
  static constexpr OpDef rows[] = {
      inplace_only<t_inplace>("t(Tensor(a) self) -> Tensor(a)", "Transpose of a matrix.", true),
      inplace_only<transpose_inplace>("transpose(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
                                      "Swaps two dimensions.", true),
      inplace_only<transpose_inplace>("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)",
                                      "transpose_().", true),
      inplace_only<transpose_inplace>("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
                                      "transpose_().", true),
      native<transpose>("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", "transpose().",
                        kFunction | kMethod),
      inplace_only<squeeze_inplace>("squeeze(Tensor(a) self) -> Tensor(a)",
                                    "Drops all dimensions of size 1.", true),
      inplace_only<squeeze_dim_inplace>("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
                                        "Drops dim if its size is 1.", true),
      inplace_only<squeeze_dims_inplace>("squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
                                         "Drops those of the dimensions whose size is 1.", true),
      inplace_only<unsqueeze_inplace>("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
                                      "Inserts a dimension of size 1.", true),
      inplace_only<as_strided_inplace>("as_strided(Tensor(a) self, int[] size, int[] stride, int? "
                                       "storage_offset=None) -> Tensor(a)",
                                       "Any geometry over the memory of self.", true),
      inplace_only<fill_diagonal_inplace>(
          "fill_diagonal(Tensor self, Scalar fill_value, bool wrap=False) -> Tensor",
          "fill_diagonal_: writes fill_value into the main diagonal; with wrap, into one after "
          "another of a tall matrix.",
          true),
  };
  return rows;
}

}  // namespace treadle
