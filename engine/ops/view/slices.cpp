// Views of a part of a tensor: select, slice, narrow and the ops that return several parts. Their
// rows of the op table are in views.cpp.
#include <algorithm>

#include "engine/ops/view/util.h"

namespace treadle {
namespace {

// One slice along a dimension, without history.
Tensor part(const Tensor& self, std::int64_t dim, std::int64_t start, std::int64_t length,
            std::int64_t step, ViewInfo::Creation creation) {
  Dims shape = self.shape(), strides = self.strides();
  shape[dim] = length;
  strides[dim] *= step;
  const std::int64_t offset = self.impl()->offset + (length > 0 ? start * self.strides()[dim] : 0);
  return make_view(self, std::move(shape), std::move(strides), offset, creation);
}

// One slice along a dimension; also what narrow is made of.
Tensor window(const Tensor& self, std::int64_t dim, std::int64_t start, std::int64_t length,
              std::int64_t step, const char* name) {
  const Tensor out = part(self, dim, start, length, step, ViewInfo::Creation::normal);
  if (needs_tape({&self})) {
    record(name, out, {&self}, [=, full = self.shape()](Node&, const Gradients& g) {
      if (none(g)) return Gradients(1);
      const std::int64_t end = start + (length - 1) * step + 1;
      return Gradients{embed(g[0], full, [=](const Tensor& t) {
        return slice(t, dim, start, length == 0 ? start : end, step);
      })};
    });
  }
  return out;
}

// Parts that cover the dimension, as outputs of one node.
std::vector<Tensor> parts(const Tensor& self, std::int64_t dim, const Dims& sizes,
                          const char* name) {
  std::vector<Tensor> out;
  out.reserve(static_cast<std::size_t>(sizes.size()));
  std::int64_t at = 0;
  for (const std::int64_t s : sizes) {
    out.push_back(part(self, dim, at, s, 1, ViewInfo::Creation::multi_output));
    at += s;
  }
  if (!needs_tape({&self}) || out.empty()) return out;
  const Ref<Node> node =
      make_node(name, {&self},
                [dim, sizes, full = self.shape(), dtype = self.dtype()](Node&, const Gradients& g) {
                  std::vector<Tensor> all;
                  for (std::int64_t i = 0; i < sizes.size(); ++i) {
                    const auto k = static_cast<std::size_t>(i);
                    if (k < g.size() && g[k].defined()) {
                      all.push_back(g[k]);
                    } else {
                      Dims shape = full;
                      shape[dim] = sizes[i];
                      all.push_back(zeros(shape, dtype));
                    }
                  }
                  return Gradients{cat(all, dim)};
                });
  for (std::size_t i = 0; i < out.size(); ++i) {
    set_history(out[i], node, static_cast<std::uint32_t>(i));
  }
  return out;
}

// The view of one index, without history.
Tensor at_index(const Tensor& self, std::int64_t dim, std::int64_t index,
                ViewInfo::Creation creation) {
  Dims shape = self.shape(), strides = self.strides();
  shape.erase(dim);
  strides.erase(dim);
  return make_view(self, std::move(shape), std::move(strides),
                   self.impl()->offset + index * self.strides()[dim], creation);
}

}  // namespace

Tensor select(const Tensor& self, std::int64_t dim, std::int64_t index) {
  if (self.dim() == 0) fail(ErrorKind::index, "select() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim(dim, self.dim());
  const std::int64_t size = self.shape()[dim];
  if (index < -size || index >= size) {
    fail(ErrorKind::index, "select(): index " + std::to_string(index) +
                               " out of range for tensor of size " + to_string(self.shape()) +
                               " at dimension " + std::to_string(dim));
  }
  if (index < 0) index += size;
  const Tensor out = at_index(self, dim, index, ViewInfo::Creation::normal);
  if (needs_tape({&self})) {
    record("SelectBackward0", out, {&self}, [=, full = self.shape()](Node&, const Gradients& g) {
      if (none(g)) return Gradients(1);
      return Gradients{embed(g[0], full, [=](const Tensor& t) { return select(t, dim, index); })};
    });
  }
  return out;
}

Tensor slice(const Tensor& self, std::int64_t dim, std::optional<std::int64_t> start,
             std::optional<std::int64_t> end, std::int64_t step) {
  if (self.dim() == 0) fail(ErrorKind::index, "slice() cannot be applied to a 0-dim tensor.");
  if (step <= 0) fail(ErrorKind::value, "slice step must be positive");
  dim = wrap_dim(dim, self.dim());
  const std::int64_t size = self.shape()[dim];
  const auto clip = [&](std::int64_t i) {
    return std::clamp<std::int64_t>(i < 0 ? i + size : i, 0, size);
  };
  const std::int64_t from = clip(start.value_or(0));
  const std::int64_t to = std::max(from, clip(end.value_or(size)));
  const std::int64_t length = (to - from) / step + ((to - from) % step != 0 ? 1 : 0);
  return window(self, dim, from, length, step, "SliceBackward0");
}

Tensor narrow(const Tensor& self, std::int64_t dim, std::int64_t start, std::int64_t length) {
  if (self.dim() == 0) fail(ErrorKind::runtime, "narrow() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim(dim, self.dim());
  const std::int64_t size = self.shape()[dim];
  if (length < 0) fail(ErrorKind::runtime, "narrow(): length must be non-negative.");
  if (start < -size || start > size) {
    fail(ErrorKind::index, "start out of range (expected to be in range of [" +
                               std::to_string(-size) + ", " + std::to_string(size) + "], but got " +
                               std::to_string(start) + ")");
  }
  if (start < 0) start += size;
  if (start > size - length) {
    fail(ErrorKind::runtime, "start (" + std::to_string(start) + ") + length (" +
                                 std::to_string(length) + ") exceeds dimension size (" +
                                 std::to_string(size) + ").");
  }
  return window(self, dim, start, length, 1, "SliceBackward0");
}

std::vector<Tensor> split_with_sizes(const Tensor& self, const Dims& sizes, std::int64_t dim) {
  if (self.dim() == 0) fail(ErrorKind::runtime, "split expects at least a 1-dimensional tensor");
  dim = wrap_dim(dim, self.dim());
  std::int64_t total = 0;
  bool overflow = false;
  for (const std::int64_t s : sizes) {
    if (s < 0) {
      fail(ErrorKind::runtime,
           "split_with_sizes expects split_sizes have only non-negative entries, but got "
           "split_sizes=" +
               to_string(sizes));
    }
    overflow |= __builtin_add_overflow(total, s, &total);
  }
  if (overflow || total != self.shape()[dim]) {
    fail(ErrorKind::runtime, "split_with_sizes expects split_sizes to sum exactly to " +
                                 std::to_string(self.shape()[dim]) +
                                 " (input tensor's size at dimension " + std::to_string(dim) +
                                 "), but got split_sizes=" + to_string(sizes));
  }
  return parts(self, dim, sizes, "SplitWithSizesBackward0");
}

std::vector<Tensor> split(const Tensor& self, std::int64_t split_size, std::int64_t dim) {
  if (self.dim() == 0) fail(ErrorKind::runtime, "split expects at least a 1-dimensional tensor");
  const std::int64_t size = self.size(dim);
  if (split_size < 0 || (split_size == 0 && size != 0)) {
    fail(ErrorKind::runtime, "split expects split_size be non-negative, but got split_size=" +
                                 std::to_string(split_size));
  }
  const std::int64_t pieces = size == 0 ? 1 : (size - 1) / split_size + 1;
  Dims sizes(pieces, split_size);
  sizes[pieces - 1] = size - (pieces - 1) * split_size;
  return parts(self, wrap_dim(dim, self.dim()), sizes, "SplitBackward0");
}

std::vector<Tensor> chunk(const Tensor& self, std::int64_t chunks, std::int64_t dim) {
  if (self.dim() == 0) fail(ErrorKind::runtime, "chunk expects at least a 1-dimensional tensor");
  if (chunks <= 0) {
    fail(ErrorKind::runtime,
         "chunk expects `chunks` to be greater than 0, got: " + std::to_string(chunks));
  }
  const std::int64_t size = self.size(dim);
  const std::int64_t each = size == 0 ? 0 : (size - 1) / chunks + 1;
  if (each == 0) return split_with_sizes(self, Dims(chunks, 0), dim);
  return split(self, each, dim);
}

std::vector<Tensor> unbind(const Tensor& self, std::int64_t dim) {
  dim = wrap_dim(dim, self.dim());
  const std::int64_t n = self.size(dim);
  std::vector<Tensor> out;
  out.reserve(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    out.push_back(at_index(self, dim, i, ViewInfo::Creation::multi_output));
  }
  if (!needs_tape({&self}) || out.empty()) return out;
  const Ref<Node> node =
      make_node("UnbindBackward0", {&self},
                [dim, n, shape = out[0].shape(), dtype = self.dtype()](Node&, const Gradients& g) {
                  std::vector<Tensor> all(g.begin(), g.end());
                  all.resize(static_cast<std::size_t>(n));
                  for (Tensor& t : all) {
                    if (!t.defined()) t = zeros(shape, dtype);
                  }
                  return Gradients{stack(all, dim)};
                });
  for (std::size_t i = 0; i < out.size(); ++i) {
    set_history(out[i], node, static_cast<std::uint32_t>(i));
  }
  return out;
}

}  // namespace treadle
