// Numeric differences and integrals: diff, gradient, trapezoid, cumulative_trapezoid. Compositions
// of differentiable ops.
#include <string>

#include "engine/ops/native.h"
#include "engine/ops/view/util.h"

namespace treadle {
namespace {

using OptInt = std::optional<std::int64_t>;
using Floats = std::vector<double>;
using Tensors = std::vector<Tensor>;

Tensor cut(const Tensor& t, std::int64_t dim, std::int64_t from, std::int64_t to) {
  const std::int64_t n = t.shape()[dim];
  return narrow(t, dim, from < 0 ? from + n : from,
                (to <= 0 ? to + n : to) - (from < 0 ? from + n : from));
}

Tensor diff(const Tensor& self, std::int64_t n, std::int64_t dim, const Tensor& prepend,
            const Tensor& append) {
  if (self.dim() == 0)
    fail(ErrorKind::runtime, "diff expects input to be at least one-dimensional");
  dim = wrap_dim(dim, self.dim());
  if (n < 0) {
    fail(ErrorKind::runtime, "order must be non-negative but got " + std::to_string(n));
  }
  for (const Tensor* t : {&prepend, &append}) {
    if (t->defined() && t->dim() != self.dim()) {
      fail(ErrorKind::runtime, "diff expects prepend or append to be the same dimension as input");
    }
  }
  Tensors parts;
  for (const Tensor* t : {&prepend, &self, &append}) {
    if (t->defined()) parts.push_back(*t);
  }
  Tensor out = parts.size() > 1 ? cat(parts, dim) : self;
  const std::int64_t size = out.shape()[dim];
  if (n == 0) return clone(self);
  if (n > size) n = size;
  if (n == size) return narrow(out, dim, 0, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    const Tensor high = cut(out, dim, 1, 0), low = cut(out, dim, 0, -1);
    out = out.dtype() == DType::boolean ? ne(high, low) : sub(high, low);
  }
  return out;
}

// --- gradient -----------------------------------------------------------------------------------

// Central differences inside, one-sided ones of order `edge_order` at the ends. `h`: the distances
// between neighbours along dim, or one for all.
Tensor gradient_dim(const Tensor& self, std::int64_t dim, const Tensor& h, std::int64_t edge) {
  const std::int64_t n = self.shape()[dim];
  const auto f = [&](std::int64_t i) { return narrow(self, dim, i < 0 ? i + n : i, 1); };
  if (h.dim() == 0) {
    const Tensor inner = div(sub(cut(self, dim, 2, 0), cut(self, dim, 0, -2)), mul(h, Tensor(2.0)));
    const auto end = [&](std::int64_t a, std::int64_t b, std::int64_t c, bool first) {
      if (edge == 1) return div(first ? sub(f(b), f(a)) : sub(f(a), f(b)), h);
      const Tensor sum =
          add(sub(mul(f(a), Tensor(-1.5)), mul(f(c), Tensor(0.5))), mul(f(b), Tensor(2.0)));
      return div(first ? sum : neg(sum), h);
    };
    return cat({end(0, 1, 2 % n, true), inner, end(-1, -2, n > 2 ? -3 : 0, false)}, dim);
  }
  // Distances of their own: a is before, b after each inner point.
  Dims shape(self.dim(), 1);
  shape[dim] = n - 1;
  const Tensor d = reshape(h, shape);
  const Tensor a = cut(d, dim, 0, -1), b = cut(d, dim, 1, 0);
  const Tensor wa = neg(div(b, mul(a, add(a, b)))), wb = div(sub(b, a), mul(a, b)),
               wc = div(a, mul(b, add(a, b)));
  const Tensor inner = add(add(mul(wa, cut(self, dim, 0, -2)), mul(wb, cut(self, dim, 1, -1))),
                           mul(wc, cut(self, dim, 2, 0)));
  const auto step = [&](std::int64_t i) { return narrow(d, dim, i < 0 ? i + n - 1 : i, 1); };
  Tensor first, last;
  if (edge == 1) {
    first = div(sub(f(1), f(0)), step(0));
    last = div(sub(f(-1), f(-2)), step(-1));
  } else {
    const auto one_sided = [&](const Tensor& x0, const Tensor& x1, const Tensor& x2,
                               const Tensor& near, const Tensor& far) {
      const Tensor both = add(near, far);
      const Tensor c0 = neg(div(add(mul(near, Tensor(2.0)), far), mul(near, both)));
      const Tensor c1 = div(both, mul(near, far)), c2 = neg(div(near, mul(far, both)));
      return add(add(mul(c0, x0), mul(c1, x1)), mul(c2, x2));
    };
    first = one_sided(f(0), f(1), f(2), step(0), step(1));
    last = neg(one_sided(f(-1), f(-2), f(-3), step(-1), step(-2)));
  }
  return cat({first, inner, last}, dim);
}

// PyTorch takes no dimension at all of a number here.
void check_has_dims(const Tensor& t, const Dims& dims) {
  if (t.dim() > 0 || dims.empty()) return;
  fail(ErrorKind::index,
       "Dimension specified as " + std::to_string(dims[0]) + " but tensor has no dimensions");
}

Tensors gradient_of(const Tensor& input, const std::optional<Dims>& given, std::int64_t edge,
                    const std::function<Tensor(std::int64_t, std::int64_t)>& spacing,
                    OptInt spacings) {
  const auto refuse = [](const std::string& why) {
    fail(ErrorKind::runtime, "torch.gradient " + why);
  };
  if (edge != 1 && edge != 2) refuse("only supports edge_order=1 and edge_order=2.");
  Dims dims;
  if (given) {
    dims = *given;
    check_has_dims(input, dims);
    for (std::int64_t& d : dims) d = wrap_dim(d, input.dim());
    for (std::int64_t i = 0; i < dims.size(); ++i) {
      for (std::int64_t k = 0; k < i; ++k) {
        if (dims[i] == dims[k]) {
          fail(ErrorKind::runtime,
               "dim " + std::to_string(dims[i]) + " appears multiple times in the list of dims");
        }
      }
    }
  } else {
    for (std::int64_t d = 0; d < input.dim(); ++d) dims.push_back(d);
  }
  if (spacings && *spacings != dims.size()) {
    refuse("expected spacing to be unspecified, a scalar, or a list of length " +
           std::to_string(given ? dims.size() : input.dim()) + " but got a list of length " +
           std::to_string(*spacings));
  }
  if (input.dtype() == DType::boolean || input.dtype() == DType::uint8) {
    fail(ErrorKind::not_implemented,
         "torch.gradient does not support " + std::string(info(input.dtype()).name) + " input.");
  }
  const Tensor self = is_integral(input.dtype()) ? to(input, default_dtype()) : input;
  Tensors out;
  for (std::int64_t i = 0; i < dims.size(); ++i) {
    if (self.dim() == 0 || self.shape()[dims[i]] < edge + 1)
      refuse("expected each dimension size to be at least edge_order+1");
    out.push_back(gradient_dim(self, dims[i], spacing(i, dims[i]), edge));
  }
  return out;
}

DType spacing_dtype(const Tensor& self) {
  return is_integral(self.dtype()) ? default_dtype() : self.dtype();
}
Tensors gradient(const Tensor& self, const std::optional<Scalar>& spacing,
                 const std::optional<Dims>& dim, std::int64_t edge) {
  const Tensor h = full({}, spacing.value_or(Scalar(1)), spacing_dtype(self));
  return gradient_of(
      self, dim, edge, [&](auto, auto) { return h; }, std::nullopt);
}
Tensors gradient_numbers(const Tensor& self, const Floats& spacing, const std::optional<Dims>& dim,
                         std::int64_t edge) {
  const auto h = [&](std::int64_t i, std::int64_t) {
    return full({}, spacing[static_cast<std::size_t>(i)], spacing_dtype(self));
  };
  return gradient_of(self, dim, edge, h, static_cast<std::int64_t>(spacing.size()));
}
Tensors gradient_points(const Tensor& self, const Tensors& spacing, const std::optional<Dims>& dim,
                        std::int64_t edge) {
  const auto h = [&](std::int64_t i, std::int64_t d) {
    const Tensor& x = spacing[static_cast<std::size_t>(i)];
    if (x.dim() != 1 || x.numel() != self.shape()[d]) {
      fail(ErrorKind::runtime,
           "torch.gradient expected each element of spacing to have one dimension and as many "
           "elements as the input has along its dimension, but got shape " +
               to_string(x.shape()) + " for size " + std::to_string(self.shape()[d]));
    }
    return diff(x, 1, 0, Tensor(), Tensor());
  };
  return gradient_of(self, dim, edge, h, static_cast<std::int64_t>(spacing.size()));
}

// --- integrals ----------------------------------------------------------------------------------

// Sums of neighbours along dim, times their distance.
Tensor strips(const Tensor& y, std::int64_t dim, const Tensor& distance) {
  const Tensor pairs = add(cut(y, dim, 1, 0), cut(y, dim, 0, -1));
  return div(distance.defined() ? mul(pairs, distance) : pairs, Tensor(2.0));
}

Tensor distances(const Tensor& y, const Tensor& x, std::int64_t dim, const char* op) {
  const auto size = std::to_string(y.shape()[dim]);
  if (x.dim() == 0)
    fail(ErrorKind::runtime, std::string(op) + ": There must be at least one `x` value");
  if (x.dim() == 1) {
    if (x.numel() != y.shape()[dim]) {
      fail(ErrorKind::runtime,
           std::string(op) + ": There must be one `x` value for each sample point");
    }
    Dims shape(y.dim(), 1);
    shape[dim] = x.numel() - 1;
    return reshape(diff(x, 1, 0, Tensor(), Tensor()), shape);
  }
  const std::int64_t d = x.dim() == y.dim() ? dim : wrap_dim(dim - y.dim(), x.dim());
  return sub(cut(x, d, 1, 0), cut(x, d, 0, -1));
}

void check_bool(const Tensor& t, const char* op, const char* name) {
  if (t.dtype() == DType::boolean) {
    fail(ErrorKind::runtime,
         std::string(op) + ": received a bool input for `" + name + "`, but bool is not supported");
  }
}

Tensor as_fractions(const Tensor& y) { return is_integral(y.dtype()) ? to(y, default_dtype()) : y; }

// The integral along a dimension without elements.
Tensor nothing_below(const Tensor& y, std::int64_t dim) {
  Dims shape = y.shape();
  shape.erase(dim);
  return zeros(shape, spacing_dtype(y));
}

Tensor trapezoid_x(const Tensor& y, const Tensor& x, std::int64_t dim) {
  check_has_dims(y, {dim});
  dim = wrap_dim(dim, y.dim());
  if (y.shape()[dim] == 0) return nothing_below(y, dim);
  check_bool(y, "trapezoid", "y");
  check_bool(x, "trapezoid", "x");
  return sum(strips(y, dim, distances(y, x, dim, "trapezoid")), {dim});
}
Tensor trapezoid_dx(const Tensor& y, const Scalar& dx, std::int64_t dim) {
  check_has_dims(y, {dim});
  dim = wrap_dim(dim, y.dim());
  if (y.shape()[dim] == 0) return nothing_below(y, dim);
  check_bool(y, "trapezoid", "y");
  return mul(sum(strips(as_fractions(y), dim, Tensor()), {dim}), dx.tensor());
}
Tensor trapz_dx(const Tensor& y, double dx, std::int64_t dim) { return trapezoid_dx(y, dx, dim); }

Tensor cumulative_x(const Tensor& y, const Tensor& x, std::int64_t dim) {
  check_has_dims(y, {dim});
  dim = wrap_dim(dim, y.dim());
  check_bool(y, "cumulative_trapezoid", "y");
  check_bool(x, "cumulative_trapezoid", "x");
  if (y.shape()[dim] == 0) return zeros(y.shape(), spacing_dtype(y));
  return cumsum(strips(y, dim, distances(y, x, dim, "cumulative_trapezoid")), dim);
}
Tensor cumulative_dx(const Tensor& y, const Scalar& dx, std::int64_t dim) {
  check_has_dims(y, {dim});
  dim = wrap_dim(dim, y.dim());
  check_bool(y, "cumulative_trapezoid", "y");
  if (y.shape()[dim] == 0) return zeros(y.shape(), spacing_dtype(y));
  return mul(cumsum(strips(as_fractions(y), dim, Tensor()), dim), dx.tensor());
}

constexpr unsigned kBoth = kFunction | kMethod;

}  // namespace

std::span<const OpDef> calculus_ops() {
  static constexpr OpDef rows[] = {
      native<diff>("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? "
                   "append=None) -> Tensor",
                   "n-th differences of neighbours along dim.", kBoth | kOut),
      native<gradient>("gradient.scalar(Tensor self, *, Scalar? spacing=None, int[1]? dim=None, "
                       "int edge_order=1) -> Tensor[]",
                       "Derivatives along the dimensions by central differences, at the ends by "
                       "one-sided ones; `spacing` is the distance of the samples.",
                       kFunction),
      native<gradient_points>("gradient.points(Tensor self, *, Tensor[] spacing, int[1]? dim=None, "
                              "int edge_order=1) -> Tensor[]",
                              "gradient() with the coordinates of the samples.", kFunction),
      native<gradient_numbers>("gradient.numbers(Tensor self, *, float[] spacing, int[1]? "
                               "dim=None, int edge_order=1) -> Tensor[]",
                               "gradient() with a distance for each dimension.", kFunction),
      native<trapezoid_x>("trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
                          "Integral along dim by trapezoids over the points x.", kFunction),
      native<trapezoid_dx>("trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
                           "Integral along dim by trapezoids of width dx.", kFunction),
      native<trapezoid_x>("trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", "trapezoid().",
                          kFunction),
      native<trapz_dx>("trapz.dx(Tensor y, *, float dx=1.0, int dim=-1) -> Tensor", "trapezoid().",
                       kFunction),
      native<cumulative_x>("cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
                           "Running integral along dim by trapezoids over the points x.",
                           kFunction),
      native<cumulative_dx>(
          "cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
          "Running integral along dim by trapezoids of width dx.", kFunction),
  };
  return rows;
}

}  // namespace treadle
