// How a view lies in its base: what the tape needs when either is written in place.
#pragma once
#include "engine/core/tensor.h"

namespace treadle {

struct Geometry {
  Dims shape, strides;
  std::int64_t offset;

  std::int64_t end() const;  // one past the last element reached, in elements
  // Might two indices name the same element? Sorted by stride, each must exceed what the faster
  // ones span.
  bool may_overlap() const;
};

// A view of a base, which may be complex where the base is real or the other way round (then both
// geometries count the parts of complex numbers), and a lazy conjugate or negative of it.
struct Window {
  Geometry base, view;
  bool conj, neg;
  bool complex_base, complex_view;

  Window(const Tensor& base, const Tensor& view);
  // The base's gradient, from that of the view. Differentiable.
  Tensor gradient(const Tensor& of_view) const;
  // The view of another tensor in the base's layout, whose element 0 lies at `start` of its memory.
  Tensor look(const Tensor& of_base, std::int64_t start) const;
};

}  // namespace treadle
