// Helpers of nn.functional's ops.
#include "engine/ops/nn/util.h"

#include <algorithm>

#include "engine/core/iter.h"
#include "engine/core/random.h"

namespace treadle {

Dims spatial_list(const Dims& list, std::int64_t n, const char* op, const char* name) {
  if (list.size() != n && list.size() != 1) {
    fail(ErrorKind::runtime, std::string("expected ") + name + " of " + op +
                                 " to be a single integer value or a list of " + std::to_string(n) +
                                 " values to match the dimensions, but got " + name + "=" +
                                 to_string(list));
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  for (const std::int64_t v : list) {
    if (v > kMost || v < -kMost) {
      fail(ErrorKind::runtime,
           std::string(op) + ": " + name + " " + std::to_string(v) + " is too large");
    }
  }
  return list.size() == n ? list : Dims(n, list[0]);
}

namespace {
Dims channels_last_order(std::int64_t rank) {  // of dimensions in memory
  Dims order{0};
  for (std::int64_t d = 2; d < rank; ++d) order.push_back(d);
  order.push_back(1);
  return order;
}
}  // namespace

bool is_channels_last(const Tensor& t) {
  if (t.dim() != 4 && t.dim() != 5) return false;
  if (t.is_contiguous()) return false;
  const NoGrad off;
  return permute(detach(t), channels_last_order(t.dim())).is_contiguous();
}
Tensor to_channels_last(const Tensor& t) {
  const NoGrad off;
  const Dims order = channels_last_order(t.dim());
  Dims back = Dims::unset(order.size());
  for (std::int64_t i = 0; i < order.size(); ++i) back[order[i]] = i;
  return detach(permute(contiguous(permute(detach(t), order)), back));
}

Tensor reduce_loss(const Tensor& loss, std::int64_t reduction) {
  switch (static_cast<LossReduction>(reduction)) {
    case LossReduction::none:
      return loss;
    case LossReduction::mean:
      return mean(loss);
    case LossReduction::sum:
      return sum(loss);
  }
  fail(ErrorKind::value, std::to_string(reduction) + " is not a valid value for reduction");
}

// The direction of each element: its sign, for complex numbers the number of size 1.
static Tensor direction(const Tensor& v, const Tensor& size) {
  if (!is_complex(v.dtype())) return sign(v);
  const Tensor zero = eq(size, Tensor(0.0));
  return div(v, masked_fill(size, zero, Tensor(1.0)));
}

Tensor p_norm_gradient(const Tensor& v, const Tensor& norm, const Tensor& g, double p,
                       std::uint64_t mask) {
  if (p == 0) return mul(v, Tensor(0.0));
  const Tensor at_zero = eq(norm, Tensor(0.0));
  const Tensor safe = masked_fill(norm, at_zero, Tensor(1.0));  // no NaN in second derivatives
  if (p == 2) return mul(v, masked_fill(div(g, safe), at_zero, Tensor(0.0)));
  const Tensor size = abs(v);
  if (p == 1) return mul(direction(v, size), g);
  if (std::isinf(p)) {
    Dims dims;
    for (std::int64_t d = 0; d < v.dim(); ++d) {
      if (mask >> d & 1) dims.push_back(d);
    }
    const Tensor most = to(eq(size, norm), size.dtype());
    return mul(mul(direction(v, size), most), div(g, sum(most, dims, true)));
  }
  // |x|^(p-1) / norm^(p-1), 0 where x or the norm is 0
  const Tensor zero = eq(size, Tensor(0.0));
  const Tensor power =
      masked_fill(pow(masked_fill(size, zero, Tensor(1.0)), Tensor(p - 1)), zero, Tensor(0.0));
  const Tensor scale = masked_fill(div(g, pow(safe, Tensor(p - 1))), at_zero, Tensor(0.0));
  return mul(mul(direction(v, size), power), scale);
}

Tensor p_norm(const Tensor& x, double p, const Dims& dim, bool keepdim) {
  Tensor out;
  {
    const NoGrad off;
    const Tensor size = abs(detach(x));
    if (p == 0) {
      out = sum(to(ne(size, Tensor(0.0)), size.dtype()), dim, keepdim);
    } else if (p == 1) {
      out = sum(size, dim, keepdim);
    } else if (p == 2) {
      out = sqrt(sum(square(size), dim, keepdim));
    } else if (std::isinf(p)) {
      out = p > 0 ? amax(size, dim, keepdim) : amin(size, dim, keepdim);
    } else {
      out = pow(sum(pow(size, Tensor(p)), dim, keepdim), Tensor(1 / p));
    }
  }
  if (!needs_tape({&x})) return out;
  const std::uint64_t mask = dim_mask(dim, x.dim());
  record("LinalgVectorNormBackward0", out, {&x},
         [p, mask, keepdim, sx = Saved(x), so = Saved::output(out)](Node& n, const Gradients& g) {
           if (none(g)) return Gradients(1);
           const Tensor v = sx.get(&n);
           const auto whole = [&](const Tensor& t) {
             return restore_dims(t, mask, v.dim(), keepdim);
           };
           return Gradients{p_norm_gradient(v, whole(so.get(&n)), whole(g[0]), p, mask)};
         });
  return out;
}

// The stream doesn't depend on the dtype: others than float32 and float64 are converted.
static Tensor drawn_mask(const Tensor& place, DType dtype, double p) {
  default_generator().draw([&](RandomState& state) {
    fill_bernoulli(state, place.dtype(), place.data(), place.numel(), 1 - p);
  });
  return place.dtype() == dtype ? place : cast(place, dtype);
}
static DType mask_dtype(DType dtype) { return dtype == DType::float64 ? dtype : DType::float32; }

Tensor keep_mask(const Dims& shape, DType dtype, double p) {
  return drawn_mask(Tensor::empty(shape, mask_dtype(dtype)), dtype, p);
}
Tensor keep_mask_like(const Tensor& t, double p) {
  const Tensor* in = &t;
  return drawn_mask(allocate_like(t.shape(), mask_dtype(t.dtype()), std::span(&in, 1)), t.dtype(),
                    p);
}

}  // namespace treadle
