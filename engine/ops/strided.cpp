// as_strided and its gradient; the history of views whose base was changed in place.
#include <algorithm>

#include "engine/core/iter.h"
#include "engine/ops/view_util.h"

namespace treadle {
namespace {

struct Geometry {
  Dims shape, strides;
  std::int64_t offset;

  // One past the last element reached, in elements.
  std::int64_t end() const {
    std::int64_t last = offset;
    for (std::int64_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == 0) return offset;
      last += (shape[i] - 1) * strides[i];
    }
    return last + 1;
  }
  // Might two indices name the same element? Sorted by stride, each must exceed what the faster
  // ones span.
  bool may_overlap() const {
    Dims order(shape.size(), 0);
    for (std::int64_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return strides[a] < strides[b]; });
    std::int64_t span = 0;
    for (const std::int64_t d : order) {
      if (shape[d] < 2) continue;
      if (strides[d] <= span) return true;
      span += (shape[d] - 1) * strides[d];
    }
    return false;
  }
  Tensor over(const Tensor& flat, std::int64_t low) const {
    return as_strided(flat, shape, strides, offset - low);
  }
};

// flat[window positions] += g
void accumulate(const Tensor& flat, const Geometry& window, std::int64_t low, const Tensor& g) {
  if (!window.may_overlap()) {
    const Tensor place = window.over(flat, low);
    add_(place, g);
    return;
  }
  const Tensor positions =
      reshape(window.over(arange(0, flat.numel(), 1, DType::int64), low), {-1});
  index_put_(flat, {positions}, reshape(g, {-1}), true);
}

Tensor strided_gradient(const Tensor& g, const Geometry& base, const Geometry& window) {
  Tensor out;
  {
    const NoGrad off;
    const std::int64_t low = std::min(base.offset, window.offset);
    const Tensor flat = zeros({std::max(base.end(), window.end()) - low}, g.dtype());
    accumulate(flat, window, low, g);
    if (base.may_overlap()) {
      // Elements of the base that share a place share its gradient.
      const Tensor counts = zeros(flat.shape(), g.dtype());
      accumulate(counts, base, low, ones(base.shape, g.dtype()));
      div_(flat, counts);
    }
    out = contiguous(base.over(flat, low));
  }
  if (needs_tape({&g})) {
    record("AsStridedBackwardBackward0", out, {&g}, [base, window](Node&, const Gradients& gg) {
      const std::int64_t low = std::min(base.offset, window.offset);
      // gg has the base's shape; put it into the base's layout and look through the window.
      const Tensor flat = zeros({std::max(base.end(), window.end()) - low}, gg[0].dtype());
      copy_(base.over(flat, low), gg[0]);
      return Gradients{window.over(flat, low)};
    });
  }
  return out;
}

Geometry geometry(const Tensor& t) { return {t.shape(), t.strides(), t.impl()->offset}; }

}  // namespace

Ref<Node> as_strided_node(const Tensor& base, const Tensor& view) {
  return make_node("AsStridedBackward0", {&base},
                   [b = geometry(base), w = geometry(view)](Node&, const Gradients& g) {
                     return none(g) ? Gradients(1) : Gradients{strided_gradient(g[0], b, w)};
                   });
}

Tensor as_strided(const Tensor& self, const Dims& size, const Dims& stride,
                  std::optional<std::int64_t> storage_offset) {
  Geometry g{size, stride, storage_offset.value_or(self.impl()->offset)};
  if (size.size() != stride.size())
    fail(ErrorKind::runtime, "mismatch in length of strides and shape");
  if (g.offset < 0)
    fail(ErrorKind::runtime, "Tensor: invalid storage offset " + std::to_string(g.offset));
  std::int64_t last = g.offset;
  bool overflow = false, empty = false;
  for (std::int64_t i = 0; i < size.size(); ++i) {
    if (size[i] < 0) fail(ErrorKind::runtime, "as_strided: negative size in " + to_string(size));
    if (stride[i] < 0) {
      fail(ErrorKind::runtime,
           "as_strided: Negative strides are not supported at the moment, got strides: " +
               to_string(stride));
    }
    std::int64_t reach = 0;
    empty |= size[i] == 0;
    overflow |= __builtin_mul_overflow(size[i] - 1, stride[i], &reach);
    overflow |= __builtin_add_overflow(last, reach, &last);
  }
  const auto available =
      static_cast<std::int64_t>(self.impl()->storage->bytes()) / item_size(self.dtype());
  if (!empty && (overflow || last >= available)) {
    fail(ErrorKind::runtime, "setStorage: sizes " + to_string(size) + ", strides " +
                                 to_string(stride) + ", storage offset " +
                                 std::to_string(g.offset) + " are out of bounds for storage of " +
                                 std::to_string(available) + " elements");
  }
  product(size);  // throws if it overflows: strides of 0 need no memory
  const Tensor out = make_view(self, size, stride, g.offset);
  if (needs_tape({&self})) set_history(out, as_strided_node(self, out));
  return out;
}

}  // namespace treadle
