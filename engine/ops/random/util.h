// What the files with random ops share.
#pragma once
#include "engine/core/fractions.h"
#include "engine/core/iter.h"
#include "engine/core/random.h"
#include "engine/ops/view/util.h"

namespace treadle {

inline Generator& or_default(Generator* g) { return g ? *g : default_generator(); }

// An empty tensor in self's layout.
inline Tensor random_like(const Tensor& self, std::optional<DType> dtype = std::nullopt) {
  const Tensor* in[] = {&self};
  return allocate_like(self.shape(), dtype.value_or(self.dtype()), in);
}

// self with its dimensions in the order of its strides: PyTorch draws for a tensor that isn't
// contiguous in the order of its memory, not of its indices.
Tensor in_memory_order(const Tensor& self);

// In-place forms: `draw(state, data, n)` writes dense elements; the history of self becomes zero.
template <class F>
Tensor fill_inplace(const Tensor& self, Generator* generator, F draw) {
  check_inplace(self);
  check_overlap(self, {});
  Ref<Node> node = overwriting_node("NormalBackward0", self);
  const bool dense = self.is_contiguous();
  const Tensor place = dense ? self : in_memory_order(self);
  const Tensor target = dense ? self : Tensor::empty(place.shape(), self.dtype());
  or_default(generator).draw(
      [&](RandomState& state) { draw(state, target.data(), target.numel()); });
  if (!dense) cast_into(place, target);
  self.impl()->storage->bump();
  if (node) rebase_history(self, std::move(node));
  return self;
}

Tensor normal_(const Tensor& self, double mean, double std, Generator* generator);

}  // namespace treadle
