// Reductions over consecutive segments of a dimension.
#include <algorithm>
#include <limits>

#include "engine/backend/cpu/pool.h"
#include "engine/core/fractions.h"
#include "engine/ops/native.h"
#include "engine/ops/reduction/util.h"

namespace treadle {
namespace {

enum class Fold : std::uint8_t { sum, mean, max, min, prod };

[[noreturn]] void refuse(const std::string& why) {
  fail(ErrorKind::runtime, "segment_reduce(): " + why);
}

Fold fold_of(const std::string& name) {
  static constexpr const char* kNames[] = {"sum", "mean", "max", "min", "prod"};
  for (int i = 0; i < 5; ++i) {
    if (name == kNames[i]) return static_cast<Fold>(i);
  }
  fail(ErrorKind::runtime,
       "reduce argument must be either sum, prod, mean, max or min, got " + name);
}

// Where the segments lie: [outer][segments + 1] borders along data seen as [outer][count][inner].
struct Segments {
  std::int64_t outer = 1, count = 1, inner = 1, segments = 0;
  std::vector<std::int64_t> border;
  Dims shape;  // of the result
  const std::int64_t* of(std::int64_t o) const { return border.data() + o * (segments + 1); }
};

Segments segments_of(const Tensor& data, const Tensor& lengths, const Tensor& offsets,
                     std::int64_t axis, bool unchecked) {
  const Tensor& given = lengths.defined() ? lengths : offsets;
  const char* name = lengths.defined() ? "lengths" : "offsets";
  if (given.dtype() != DType::int64 && given.dtype() != DType::int32) {
    refuse("Expected " + std::string(name) + " to be int32 or int64, got " + repr(given.dtype()));
  }
  if (axis != given.dim() - 1) {
    refuse("Expected axis to be the last dimension of " + std::string(name) + " but got " +
           std::to_string(axis) + ".");
  }
  Segments s;
  for (std::int64_t d = 0; d < data.dim(); ++d) {
    (d < axis ? s.outer : d == axis ? s.count : s.inner) *= data.shape()[d];
    if (d < axis && given.shape()[d] != data.shape()[d]) {
      refuse("Expected data.shape[:axis] to be " + std::string(name) + ".shape[:axis], got " +
             to_string(data.shape()) + " and " + to_string(given.shape()));
    }
  }
  const std::int64_t listed = given.shape()[axis];
  if (offsets.defined() && !lengths.defined() && listed == 0)
    refuse("Expected offsets to have at least one element along axis");
  s.segments = lengths.defined() ? listed : listed - 1;
  s.shape = data.shape();
  s.shape[axis] = s.segments;
  const NoGrad off;
  const Tensor numbers = contiguous(to(detach(given), DType::int64));
  const auto* value = numbers.data_as<std::int64_t>();
  s.border.resize(static_cast<std::size_t>(s.outer * (s.segments + 1)));
  for (std::int64_t o = 0; o < s.outer; ++o) {
    std::int64_t* border = s.border.data() + o * (s.segments + 1);
    border[0] = lengths.defined() ? 0 : value[o * listed];
    for (std::int64_t i = 0; i < s.segments; ++i) {
      if (lengths.defined()) {
        const std::int64_t length = value[o * listed + i];
        if (length < 0) refuse("lengths contains negative value!");
        if (length > s.count - border[i])
          refuse(
              "Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) "
              "when !unsafe.");
        border[i + 1] = border[i] + length;
      } else {
        border[i + 1] = value[o * listed + i + 1];
      }
      if (border[i] < 0 || border[i + 1] < border[i] || border[i + 1] > s.count)
        refuse("Expected offsets to rise from 0 to data.size(axis)");
    }
    if (lengths.defined() && !unchecked && border[s.segments] != s.count)
      refuse(
          "Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
          "!unsafe.");
  }
  return s;
}

template <class A>
A identity(Fold fold) {
  constexpr A inf = std::numeric_limits<A>::infinity();
  return fold == Fold::max ? -inf : fold == Fold::min ? inf : fold == Fold::prod ? A(1) : A(0);
}
template <class A>
A step(Fold fold, A a, A x) {
  switch (fold) {
    case Fold::max:
      return a != a || a > x ? a : x;
    case Fold::min:
      return a != a || a < x ? a : x;
    case Fold::prod:
      return a * x;
    default:
      return a + x;
  }
}
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

Tensor fold_segments(const Tensor& data, const Segments& s, Fold fold,
                     const std::optional<Scalar>& initial) {
  const Tensor out = Tensor::empty(s.shape, data.dtype());
  visit_floating(data.dtype(), "segment_reduce", [&](auto zero) {
    using T = decltype(zero);
    using A = Wide<T>;
    const T* x = data.data_as<T>();
    T* y = out.data_as<T>();
    const std::int64_t work =
        std::max<std::int64_t>(1, s.inner * (s.count / std::max<std::int64_t>(1, s.segments) + 1));
    parallel_for(0, s.outer * s.segments, std::max<std::int64_t>(1, kGrain / work),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t p = begin; p < end; ++p) {
                     const std::int64_t o = p / s.segments;
                     const std::int64_t* border = s.of(o) + p % s.segments;
                     const std::int64_t length = border[1] - border[0];
                     for (std::int64_t k = 0; k < s.inner; ++k) {
                       A a = initial ? static_cast<A>(initial->f) : identity<A>(fold);
                       for (std::int64_t i = border[0]; i < border[1]; ++i)
                         a = step(fold, a, convert<A>(x[(o * s.count + i) * s.inner + k]));
                       if (fold == Fold::mean && length == 0 && !initial)
                         a = std::numeric_limits<A>::quiet_NaN();
                       if (fold == Fold::mean && length > 0) a /= static_cast<A>(length);
                       y[p * s.inner + k] = convert<T>(a);
                     }
                   }
                 });
  });
  return out;
}

// For each element the product of the others of its segment (and of `initial`).
Tensor other_products(const Tensor& data, const Segments& s, const std::optional<Scalar>& initial) {
  const Tensor out = zeros(data.shape(), data.dtype());
  visit_floating(data.dtype(), "segment_reduce", [&](auto zero) {
    using T = decltype(zero);
    using A = Wide<T>;
    const T* x = data.data_as<T>();
    T* y = out.data_as<T>();
    std::vector<A> before;
    for (std::int64_t p = 0; p < s.outer * s.segments * s.inner; ++p) {
      const std::int64_t k = p % s.inner, segment = p / s.inner, o = segment / s.segments;
      const std::int64_t* border = s.of(o) + segment % s.segments;
      const auto at = [&](std::int64_t i) { return (o * s.count + i) * s.inner + k; };
      A a = initial ? static_cast<A>(initial->f) : A(1);
      before.clear();
      for (std::int64_t i = border[0]; i < border[1]; ++i) {
        before.push_back(a);
        a *= convert<A>(x[at(i)]);
      }
      a = A(1);
      for (std::int64_t i = border[1]; i-- > border[0];) {
        y[at(i)] = convert<T>(before[static_cast<std::size_t>(i - border[0])] * a);
        a *= convert<A>(x[at(i)]);
      }
    }
  });
  return out;
}

// The segment of each element along axis, and how many elements it has; -1 and 1 outside of all.
struct Members {
  Tensor segment, length, inside;
};
Members members_of(const Segments& s, const Dims& shape, std::int64_t axis) {
  const Tensor segment = Tensor::empty({s.outer, s.count, 1}, DType::int64);
  const Tensor length = Tensor::empty({s.outer, s.count, 1}, DType::int64);
  auto* id = segment.data_as<std::int64_t>();
  auto* size = length.data_as<std::int64_t>();
  const Tensor inside = zeros({s.outer, s.count, 1}, DType::boolean);
  std::fill(id, id + s.outer * s.count, 0);
  std::fill(size, size + s.outer * s.count, 1);
  for (std::int64_t o = 0; o < s.outer; ++o) {
    for (std::int64_t k = 0; k < s.segments; ++k) {
      for (std::int64_t i = s.of(o)[k]; i < s.of(o)[k + 1]; ++i) {
        id[o * s.count + i] = k;
        size[o * s.count + i] = s.of(o)[k + 1] - s.of(o)[k];
        inside.data_as<bool>()[o * s.count + i] = true;
      }
    }
  }
  Dims thin = shape;
  for (std::int64_t d = axis + 1; d < thin.size(); ++d) thin[d] = 1;
  const auto shaped = [&](const Tensor& t) { return expand(reshape(t, thin), shape); };
  return {shaped(segment), shaped(length), shaped(inside)};
}

Tensor segment_reduce(const Tensor& data, const std::string& reduce, const Tensor& lengths,
                      const Tensor& indices, const Tensor& offsets, std::int64_t axis,
                      bool unchecked, const std::optional<Scalar>& initial) {
  axis = wrap_dim(axis, data.dim());
  if (indices.defined()) refuse("indices based reduction is not supported yet.");
  if (!lengths.defined() && !offsets.defined())
    refuse("Either lengths or offsets must be defined.");
  if (data.dim() == 0) refuse("Expected data to have dimensions");
  const Fold fold = fold_of(reduce);
  Tensor in;
  {
    const NoGrad off;
    in = contiguous(detach(data));
  }
  const Segments s = segments_of(in, lengths, offsets, axis, unchecked);
  const Tensor out = fold_segments(in, s, fold, initial);
  if (needs_tape({&data})) {
    record("SegmentReduceBackward0", out, {&data},
           [=, x = Saved(data), y = Saved::output(out)](Node& n, const Gradients& g) {
             if (none(g)) return Gradients(1);
             const Tensor values = x.get(&n);
             if (s.segments == 0 || values.numel() == 0) return Gradients{zeros_like(values)};
             Members m;
             Tensor others;
             {
               const NoGrad off;
               m = members_of(s, values.shape(), axis);
               if (fold == Fold::prod)
                 others = other_products(contiguous(detach(values)), s, initial);
             }
             const Tensor each = gather(g[0], axis, m.segment);
             const Tensor nothing = zeros({}, each.dtype());
             Tensor r = each;
             if (fold == Fold::mean) r = div(each, m.length);
             if (fold == Fold::max || fold == Fold::min) {
               const NoGrad off;
               const Tensor best = gather(detach(y.get(&n)), axis, m.segment);
               const Tensor value = detach(values);
               const Tensor hit = logical_and(
                   m.inside, logical_or(eq(value, best), logical_and(isnan(value), isnan(best))));
               const Tensor one = to(hit, each.dtype());
               const Tensor ties = scatter_add(zeros(s.shape, each.dtype()), axis, m.segment, one);
               const Tensor share =
                   div(one, where(hit, gather(ties, axis, m.segment), ones({}, each.dtype())));
               others = share;
             }
             if (others.defined()) r = mul(each, others);
             return Gradients{where(m.inside, r, nothing)};
           });
  }
  return out;
}

}  // namespace

std::span<const OpDef> segment_ops() {
  static constexpr OpDef rows[] = {
      native<segment_reduce>(
          "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, "
          "Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
          "Reduces ('sum', 'mean', 'max', 'min', 'prod') consecutive segments along axis, given by "
          "their lengths or by offsets, their borders.",
          kFunction | kOut),
      native<segment_reduce>(
          "_segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, "
          "Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
          "segment_reduce() by its older name.", kFunction),
  };
  return rows;
}

}  // namespace treadle
