// From a dimension list to calls of ReduceFn. A reduction must see its elements along one stride;
// where the reduced dimensions don't merge into one, the input is copied with them last. Long
// reductions with few outputs are cut into blocks of fixed length, so that threads can share them
// and the result doesn't depend on how many there are.
#include "engine/ops/reduction/reduce.h"

#include <algorithm>
#include <string>

#include "engine/backend/cpu/reduce.h"
#include "engine/core/iter.h"
#include "engine/functor/all.h"
#include "engine/ops/out.h"
#include "engine/ops/view/util.h"

namespace treadle {
namespace {

template <class Op>
constexpr int kId = functor::IndexOf<Op, functor::Reduce>::value;

int id_of(Reduction op) {
  switch (op) {
    case Reduction::sum:
      return kId<functor::Sum>;
    case Reduction::prod:
      return kId<functor::Prod>;
    case Reduction::any:
      return kId<functor::Any>;
    case Reduction::all:
      return kId<functor::All>;
    case Reduction::max:
      return kId<functor::Max>;
    case Reduction::min:
      return kId<functor::Min>;
    case Reduction::argmax:
      return kId<functor::ArgMax>;
    case Reduction::argmin:
      return kId<functor::ArgMin>;
  }
  return 0;
}

const char* name_of(Reduction op) {
  constexpr const char* kNames[] = {"sum", "prod", "any", "all", "max", "min", "argmax", "argmin"};
  return kNames[static_cast<int>(op)];
}

bool selects(Reduction op) { return op >= Reduction::max; }

// What the kernels write.
DType kernel_dtype(Reduction op, DType in) {
  switch (op) {
    case Reduction::sum:
    case Reduction::prod:
      if (is_short_float(in)) return DType::float32;
      if (in == DType::complex32) return DType::complex64;
      return is_integral(in) ? DType::int64 : in;
    case Reduction::any:
    case Reduction::all:
      return in == DType::uint8 ? in : DType::boolean;  // as PyTorch, which once had no bool
    case Reduction::max:
    case Reduction::min:
      return in;
    case Reduction::argmax:
    case Reduction::argmin:
      return DType::int64;
  }
  return in;
}

struct Axis {
  std::int64_t size, stride;  // bytes
};

// Dimensions, slowest first; neighbours that are one run in memory are merged as they are added.
class Axes {
 public:
  void add(std::int64_t size, std::int64_t stride) {
    if (size == 1) return;
    if (count_ > 0 && back().stride == stride * size) {
      at_[count_ - 1] = {back().size * size, stride};
    } else {
      at_[count_++] = {size, stride};
    }
  }
  void set(Axis one) {
    at_[0] = one;
    count_ = 1;
  }
  int count() const { return count_; }
  const Axis& operator[](int i) const { return at_[i]; }
  const Axis& back() const { return at_[count_ - 1]; }

 private:
  Axis at_[Dims::kMaxDims];
  int count_ = 0;
};

}  // namespace

std::uint64_t dim_mask(const Dims& dim, std::int64_t rank) {
  if (dim.empty()) return rank == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << rank) - 1;
  std::uint64_t mask = 0;
  for (const std::int64_t d : dim) {
    const std::uint64_t bit = std::uint64_t{1} << wrap_dim(d, rank);
    if (mask & bit) {
      fail(ErrorKind::runtime, "dim " + std::to_string(wrap_dim(d, rank)) +
                                   " appears multiple times in the list of dims");
    }
    mask |= bit;
  }
  return mask;
}

Dims reduced_shape(const Dims& shape, std::uint64_t mask, bool keepdim) {
  Dims out;
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    if (!(mask >> i & 1))
      out.push_back(shape[i]);
    else if (keepdim)
      out.push_back(1);
  }
  return out;
}

Tensor restore_dims(const Tensor& t, std::uint64_t mask, std::int64_t rank, bool keepdim) {
  if (keepdim) return t;
  Dims shape;
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < rank; ++i) shape.push_back(mask >> i & 1 ? 1 : t.shape()[next++]);
  return reshape(t, shape);
}

Tensor reduce_wide(Reduction op, const Tensor& self, std::uint64_t mask, bool keepdim,
                   Tensor* index) {
  const DType dtype = self.dtype();
  const std::int64_t item = item_size(dtype);
  Axes kept, gone;
  std::int64_t count = 1;
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    (mask >> i & 1 ? gone : kept).add(self.shape()[i], self.strides()[i] * item);
    if (mask >> i & 1) count *= self.shape()[i];
  }
  const Tensor out =
      Tensor::empty(reduced_shape(self.shape(), mask, keepdim), kernel_dtype(op, dtype));
  const std::int64_t outer = out.numel();
  if (index) *index = Tensor::empty(out.shape(), DType::int64);
  if (outer == 0) return out;
  if (count == 0 && selects(op)) {
    fail(ErrorKind::index,
         std::string(name_of(op)) +
             "(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
             "reduction dim with the 'dim' argument.");
  }
  Tensor copy;
  if (count > 0 && gone.count() > 1) {
    // Kept dimensions first, reduced ones last and dense.
    Dims order;
    for (std::int64_t i = 0; i < self.dim(); ++i) {
      if (!(mask >> i & 1)) order.push_back(i);
    }
    for (std::int64_t i = 0; i < self.dim(); ++i) {
      if (mask >> i & 1) order.push_back(i);
    }
    const NoGrad off;
    copy = contiguous(permute(detach(self), order));
    gone.set({count, item});
    kept.set({outer, count * item});
  }
  if (gone.count() == 0) gone.set({count, item});
  if (kept.count() == 0) kept.set({1, 0});

  const char* source = copy.defined() ? copy.data() : self.data();
  const Axis inner = kept.back();
  const std::int64_t rows = outer / inner.size;
  const std::int64_t osize = item_size(out.dtype());
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t at = row, offset = 0;
    for (int k = kept.count() - 1; k-- > 0;) {
      offset += at % kept[k].size * kept[k].stride;
      at /= kept[k].size;
    }
    kernel::ReduceArgs args{};
    args.outer = inner.size;
    args.count = count;
    args.out = out.data() + row * inner.size * osize;
    args.out_stride = osize;
    if (index) {
      args.index = index->data() + row * inner.size * 8;
      args.index_stride = 8;
    }
    args.in = source + offset;
    args.in_outer = inner.stride;
    args.in_reduce = gone[0].stride;
    treadle::reduce(id_of(op), dtype, args);
  }
  return out;
}

Tensor reduce(Reduction op, const Tensor& self, std::uint64_t mask, bool keepdim, Tensor* index) {
  const Tensor out = reduce_wide(op, self, mask, keepdim, index);
  const bool wide = out.dtype() != self.dtype() && is_differentiable(out.dtype());
  return wide ? cast(out, self.dtype()) : out;
}

}  // namespace treadle
