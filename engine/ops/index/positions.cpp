// Positions of elements: argwhere, nonzero_static, unravel_index, repeat_interleave.
#include "engine/core/iter.h"
#include "engine/core/visit.h"
#include "engine/ops/native.h"
#include "engine/ops/view/util.h"

namespace treadle {
namespace {

Value nonzero_op(const Tensor& self, bool as_tuple) {
  if (!as_tuple) return nonzero(self);
  return unbind(nonzero(self.dim() == 0 ? unsqueeze(self, 0) : self), 1);
}
Tensor nonzero_static(const Tensor& self, std::int64_t size, std::int64_t fill_value) {
  if (size < 0) fail(ErrorKind::runtime, "nonzero_static: 'size' must be an non-negative integer");
  const Tensor found = nonzero(self);
  const std::int64_t n = found.size(0);
  if (n >= size) return contiguous(narrow(found, 0, 0, size));
  return cat({found, full({size - n, self.dim()}, fill_value, DType::int64)}, 0);
}

std::vector<Tensor> unravel_index(const Tensor& indices, const Dims& shape) {
  if (!is_integral(indices.dtype()) || indices.dtype() == DType::boolean) {
    fail(ErrorKind::type,
         "expected 'indices' to be integer dtype, but got " + repr(indices.dtype()));
  }
  for (const std::int64_t d : shape) {
    if (d < 0) {
      std::string given = to_string(shape);  // as Python prints a tuple
      given.front() = '(';
      given.back() = ')';
      fail(ErrorKind::value, "'shape' cannot have negative values, but got " + given);
    }
  }
  const Dims steps = contiguous_strides(shape);
  std::vector<Tensor> out;
  for (std::int64_t d = 0; d < shape.size(); ++d) {
    const Tensor whole = floor_divide(indices, Tensor::wrapped(steps[d]));
    out.push_back(remainder(whole, Tensor::wrapped(std::max<std::int64_t>(shape[d], 1))));
  }
  return out;
}
std::vector<Tensor> unravel_index_int(const Tensor& indices, std::int64_t shape) {
  return unravel_index(indices, Dims{shape});
}

// 0 repeats[0] times, 1 repeats[1] times, ...
Tensor spread(const Tensor& repeats, std::optional<std::int64_t> output_size) {
  if (repeats.dim() != 1) {
    fail(ErrorKind::runtime, "repeat_interleave only accept 1D vector as repeat");
  }
  if (repeats.dtype() != DType::int64 && repeats.dtype() != DType::int32) {
    fail(ErrorKind::runtime, "repeats has to be Long or Int tensor");
  }
  const Tensor counts = contiguous(to(detach(repeats), DType::int64));
  const auto* n = counts.data_as<std::int64_t>();
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < counts.numel(); ++i) {
    if (n[i] < 0) fail(ErrorKind::runtime, "repeats can not be negative");
    if (__builtin_add_overflow(total, n[i], &total)) {
      fail(ErrorKind::memory, "repeat_interleave(): the size of the result overflows");
    }
  }
  if (output_size && *output_size != total) {
    fail(ErrorKind::runtime, "allocated size does not match required size");
  }
  const Tensor out = Tensor::empty({total}, DType::int64);
  auto* to = out.data_as<std::int64_t>();
  for (std::int64_t i = 0; i < counts.numel(); ++i) to = std::fill_n(to, n[i], i);
  return out;
}
Tensor spread_op(const Tensor& repeats, std::optional<std::int64_t> output_size) {
  return treadle::to(spread(repeats, output_size), repeats.dtype());
}

Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, std::optional<std::int64_t> dim,
                         std::optional<std::int64_t> output_size) {
  const Tensor input = dim ? self : reshape(self, {-1});
  const std::int64_t d = wrap_dim(dim.value_or(0), input.dim());
  const std::int64_t n = input.dim() == 0 ? 1 : input.shape()[d];
  Tensor counts = repeats;
  if (repeats.dim() == 0 || (repeats.dim() == 1 && repeats.size(0) == 1)) {
    counts = expand(reshape(repeats, {1}), {n});
  } else if (repeats.dim() == 1 && repeats.size(0) != n) {
    fail(ErrorKind::runtime,
         "repeats must have the same size as input along dim, but got "
         "repeats.size(0) = " +
             std::to_string(repeats.size(0)) + " and input.size(" + std::to_string(d) +
             ") = " + std::to_string(n));
  }
  return index_select(input.dim() == 0 ? reshape(input, {1}) : input, d,
                      spread(counts, output_size));
}
Tensor repeat_interleave_int(const Tensor& self, std::int64_t repeats,
                             std::optional<std::int64_t> dim,
                             std::optional<std::int64_t> output_size) {
  return repeat_interleave(self, full({}, repeats, DType::int64), dim, output_size);
}

constexpr unsigned kBoth = kFunction | kMethod;

}  // namespace

std::span<const OpDef> index_ops() {
  static constexpr OpDef rows[] = {
      native<nonzero_op>("nonzero(Tensor self, *, bool as_tuple=False) -> Tensor",
                         "Indices of the nonzero elements, one row for each; with as_tuple one "
                         "tensor per dimension.",
                         kBoth | kOut, false),
      native<nonzero>("argwhere(Tensor self) -> Tensor", "nonzero().", kBoth, false),
      native<nonzero_static>(
          "nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor",
          "nonzero() cut or filled up to a number of rows.", kBoth | kOut, false),
      native<unravel_index_int>("_unravel_index.int(Tensor indices, int shape) -> Tensor[]",
                                "The coordinates in a tensor of this shape.", kFunction, false),
      native<unravel_index>("_unravel_index(Tensor indices, int[] shape) -> Tensor[]",
                            "The coordinates of positions in a tensor of this shape, one tensor "
                            "for each dimension.",
                            kFunction, false),
      native<spread_op>("repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> "
                        "Tensor",
                        "0 repeats[0] times, then 1 repeats[1] times, and so on.", kBoth, false),
      native<repeat_interleave_int>("repeat_interleave.self_int(Tensor self, int repeats, int? "
                                    "dim=None, *, int? output_size=None) -> Tensor",
                                    "Every element, or slice along dim, several times.", kBoth),
      native<repeat_interleave>("repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? "
                                "dim=None, *, int? output_size=None) -> Tensor",
                                "Element, or slice along dim, i repeats[i] times.", kBoth),
  };
  return rows;
}

}  // namespace treadle
