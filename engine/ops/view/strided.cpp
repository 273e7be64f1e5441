// as_strided and its gradient; the history of views whose base was changed in place.
#include <algorithm>

#include "engine/core/iter.h"
#include "engine/ops/view/strided.h"
#include "engine/ops/view/util.h"

namespace treadle {

std::int64_t Geometry::end() const {
  std::int64_t last = offset;
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return offset;
    last += (shape[i] - 1) * strides[i];
  }
  return last + 1;
}

bool Geometry::may_overlap() const {
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

namespace {

Tensor over(const Geometry& g, const Tensor& flat, std::int64_t low) {
  return as_strided(flat, g.shape, g.strides, g.offset - low);
}

// flat[window positions] += g
void accumulate(const Tensor& flat, const Geometry& window, std::int64_t low, const Tensor& g) {
  if (!window.may_overlap()) {
    const Tensor place = over(window, flat, low);
    add_(place, g);
    return;
  }
  const Tensor positions =
      reshape(over(window, arange(0, flat.numel(), 1, DType::int64), low), {-1});
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
    out = contiguous(over(base, flat, low));
  }
  if (needs_tape({&g})) {
    record("AsStridedBackwardBackward0", out, {&g}, [base, window](Node&, const Gradients& gg) {
      const std::int64_t low = std::min(base.offset, window.offset);
      // gg has the base's shape; put it into the base's layout and look through the window.
      const Tensor flat = zeros({std::max(base.end(), window.end()) - low}, gg[0].dtype());
      copy_(over(base, flat, low), gg[0]);
      return Gradients{over(window, flat, low)};
    });
  }
  return out;
}

Geometry geometry(const Tensor& t) { return {t.shape(), t.strides(), t.impl()->offset}; }

}  // namespace

Window::Window(const Tensor& b, const Tensor& v)
    : base(geometry(b)),
      view(geometry(v)),
      conj(v.impl()->conj != b.impl()->conj),
      neg(v.impl()->neg != b.impl()->neg),
      complex_base(is_complex(b.dtype())),
      complex_view(is_complex(v.dtype())) {
  if (complex_base == complex_view) return;
  // Both in the parts of complex numbers.
  for (Geometry* g : {complex_base ? &base : nullptr, complex_view ? &view : nullptr}) {
    if (!g) continue;
    for (std::int64_t& s : g->strides) s *= 2;
    g->shape.push_back(2);
    g->strides.push_back(1);
    g->offset *= 2;
  }
}

Tensor Window::gradient(const Tensor& of_view) const {
  Tensor g = of_view;
  if (conj) g = treadle::conj(g);
  if (neg) g = treadle::neg(g);
  if (complex_base == complex_view) return strided_gradient(g, base, view);
  if (complex_view) g = view_as_real(g);
  g = strided_gradient(g, base, view);
  return complex_base ? view_as_complex(g) : g;
}

Tensor Window::look(const Tensor& of_base, std::int64_t start) const {
  Tensor t = of_base;
  if (complex_base != complex_view && complex_base) {
    t = view_as_real(t);
    start *= 2;
  }
  t = as_strided(t, view.shape, view.strides, view.offset - base.offset + start);
  if (complex_base != complex_view && complex_view) t = view_as_complex(t);
  t = alias(t);
  t.impl()->conj = conj;
  t.impl()->neg = neg;
  return t;
}

Ref<Node> as_strided_node(const Tensor& base, const Tensor& view) {
  return make_node("AsStridedBackward0", {&base},
                   [w = Window(base, view)](Node&, const Gradients& g) {
                     return none(g) ? Gradients(1) : Gradients{w.gradient(g[0])};
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
