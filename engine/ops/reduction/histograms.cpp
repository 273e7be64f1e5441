// Counting: histc, histogram, histogramdd, bincount.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/core/fractions.h"
#include "engine/ops/native.h"
#include "engine/ops/reduction/util.h"

namespace treadle {
namespace {

using Floats = std::vector<double>;

// How the bin of a value is found: by its share of the range, that corrected by the edges beside
// it, or by searching the edges.
enum class Bins : std::uint8_t { linear, corrected, searched };

Tensor plain(const Tensor& t) {
  const NoGrad off;
  return contiguous(detach(t));
}

void check_histogram(const Tensor& self, const Tensor& weight, const char* op) {
  if (self.dtype() != DType::float32 && self.dtype() != DType::float64)
    no_implementation(self.dtype(), op);
  if (!weight.defined()) return;
  if (weight.dtype() != self.dtype()) {
    fail(ErrorKind::runtime,
         "torch.histogramdd: if weight tensor is provided, input tensor and "
         "weight tensor should have the same dtype, but got input(" +
             std::string(info(self.dtype()).scalar) + "), and weight(" +
             std::string(info(weight.dtype()).scalar) + ")");
  }
}

void check_bins(std::int64_t bins, std::int64_t dimension) {
  if (bins <= 0) {
    fail(ErrorKind::runtime, "torch.histogram(): bins must be > 0, but got " +
                                 std::to_string(bins) + " for dimension " +
                                 std::to_string(dimension));
  }
}

// As streams print it: up to six digits.
std::string shown(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", v);
  return text;
}

// Adds the weights of the samples [count, dims] up in `hist`, whose bins lie between `edges`.
void count_samples(const Tensor& samples, const Tensor& weight, const std::vector<Tensor>& edges,
                   Bins how, const Tensor& hist) {
  const auto dims = static_cast<std::int64_t>(edges.size());
  const std::int64_t count = dims == 0 ? 0 : samples.numel() / dims;
  visit(samples.dtype(), "histogramdd", [&](auto zero) {
    using T = decltype(zero);
    if constexpr (has_fractions<T> && sizeof(T) >= 4) {
      const T* x = samples.data_as<T>();
      const T* w = weight.defined() ? weight.data_as<T>() : nullptr;
      std::vector<double> total(static_cast<std::size_t>(hist.numel()));
      for (std::int64_t i = 0; i < count; ++i) {
        std::int64_t at = 0;
        bool inside = true;
        for (std::int64_t d = 0; d < dims && inside; ++d) {
          const Tensor& bounds = edges[static_cast<std::size_t>(d)];
          const T* e = bounds.data_as<T>();
          const std::int64_t bins = bounds.numel() - 1;
          const T v = x[i * dims + d], low = e[0], high = e[bins];
          inside = v >= low && v <= high;
          if (!inside) break;
          std::int64_t bin = 0;
          if (how != Bins::searched) {
            const T share = (v - low) / (high - low) * static_cast<T>(bins);
            // An infinite range makes it NaN, which goes to the first bin.
            bin = share >= static_cast<T>(bins) ? bins
                  : share > 0                   ? static_cast<std::int64_t>(share)
                                                : 0;
          }
          if (how != Bins::linear) {
            const std::int64_t from =
                how == Bins::searched ? 0 : std::max<std::int64_t>(0, bin - 1);
            const std::int64_t to = how == Bins::searched ? bins + 1 : std::min(bin + 2, bins + 1);
            bin = std::upper_bound(e + from, e + to, v) - e - 1;
          }
          at = at * bins + std::clamp<std::int64_t>(bin, 0, bins - 1);  // the last edge is inside
        }
        if (inside) total[static_cast<std::size_t>(at)] += w ? static_cast<double>(w[i]) : 1.0;
      }
      for (std::size_t k = 0; k < total.size(); ++k)
        hist.data_as<T>()[k] = static_cast<T>(total[k]);
    }
  });
}

// The ends of the range of column `d`, widened if they are equal.
std::pair<double, double> ends_of(const Tensor& samples, std::int64_t d, std::int64_t dims,
                                  const std::optional<Floats>& range) {
  double low = 0, high = 1;
  const auto finite = [&](double v) { return std::isfinite(v); };
  if (range) {
    low = (*range)[static_cast<std::size_t>(2 * d)];
    high = (*range)[static_cast<std::size_t>(2 * d + 1)];
  } else if (samples.numel() > 0) {
    const Tensor column = select(reshape(samples, {-1, dims}), 1, d);
    low = amin(column).item();
    high = amax(column).item();
  }
  if (!finite(low) || !finite(high)) {
    fail(ErrorKind::runtime, "torch.histogramdd: dimension " + std::to_string(d) + "'s range [" +
                                 shown(low) + ", " + shown(high) + "] is not finite");
  }
  if (low > high) {
    fail(ErrorKind::runtime, "torch.histogramdd: min should not exceed max, but got min " +
                                 shown(low) + " max " + shown(high) + " for dimension " +
                                 std::to_string(d));
  }
  if (low == high) return {low - 0.5, high + 0.5};
  return {low, high};
}

Tensor density_of(const Tensor& hist, const std::vector<Tensor>& edges) {
  Tensor out = div(hist, sum(hist));
  for (std::size_t d = 0; d < edges.size(); ++d) {
    const std::int64_t bins = edges[d].numel() - 1;
    const Tensor width = sub(narrow(edges[d], 0, 1, bins), narrow(edges[d], 0, 0, bins));
    Dims shape(hist.dim(), 1);
    shape[static_cast<std::int64_t>(d)] = bins;
    out = div(out, reshape(width, shape));
  }
  return out;
}

// `bins` counts, or `given` edges.
std::tuple<Tensor, std::vector<Tensor>> histogram_of(const Tensor& input, const Dims& bins,
                                                     const std::vector<Tensor>& given,
                                                     const std::optional<Floats>& range,
                                                     const Tensor& weight, bool density,
                                                     std::int64_t dims, const char* op) {
  const NoGrad off;
  check_histogram(input, weight, op);
  const Tensor self = plain(input);
  if (weight.defined()) {
    Dims expected = self.shape();
    if (dims > 1 || std::string(op) == "histogramdd") expected.resize(expected.size() - 1);
    if (weight.shape() != expected) {
      fail(ErrorKind::runtime,
           "torch.histogramdd: if weight tensor is provided it should have the same shape as "
           "the input tensor excluding its innermost dimension, but got input with shape " +
               to_string(self.shape()) + " and weight with shape " + to_string(weight.shape()));
    }
  }
  if (range && static_cast<std::int64_t>(range->size()) != 2 * dims) {
    fail(ErrorKind::runtime, std::string(op) + "(): for a " + std::to_string(dims) +
                                 "-dimensional histogram range should have " +
                                 std::to_string(2 * dims) + " elements, but got " +
                                 std::to_string(range->size()));
  }
  std::vector<Tensor> edges;
  Dims shape;
  for (std::int64_t d = 0; d < dims; ++d) {
    if (given.empty()) {
      check_bins(bins[d], d);
      const auto [low, high] = ends_of(self, d, dims, range);
      edges.push_back(linspace(low, high, bins[d] + 1, self.dtype()));
    } else {
      const Tensor& e = given[static_cast<std::size_t>(d)];
      if (e.dtype() != self.dtype()) {
        fail(ErrorKind::runtime,
             "torch.histogramdd: input tensor and bins tensors should have the same "
             "dtype, but got input with dtype " +
                 std::string(info(self.dtype()).scalar) + " and bins for dimension " +
                 std::to_string(d) + " with dtype " + std::string(info(e.dtype()).scalar));
      }
      if (e.dim() != 1) {
        fail(ErrorKind::runtime,
             "torch.histogramdd: bins tensor should have one dimension, but got " +
                 std::to_string(e.dim()) +
                 " dimensions in the bins tensor "
                 "for dimension " +
                 std::to_string(d));
      }
      if (e.numel() == 0) {
        fail(ErrorKind::runtime,
             "torch.histogramdd: bins tensor should have at least 1 element, but got 0 "
             "elements in the bins tensor for dimension " +
                 std::to_string(d));
      }
      edges.push_back(plain(e));
    }
    shape.push_back(edges.back().numel() - 1);
  }
  product(shape);  // refuses what overflows
  Tensor hist = zeros(shape, self.dtype());
  if (hist.numel() > 0) {
    count_samples(self, weight.defined() ? plain(weight) : Tensor(), edges,
                  given.empty() ? Bins::corrected : Bins::searched, hist);
  }
  if (density) hist = density_of(hist, edges);
  return {hist, edges};
}

std::tuple<Tensor, Tensor> histogram(const Tensor& self, std::int64_t bins,
                                     const std::optional<Floats>& range, const Tensor& weight,
                                     bool density) {
  auto [hist, edges] = histogram_of(self, {bins}, {}, range, weight, density, 1, "histogram");
  return {hist, edges[0]};
}
std::tuple<Tensor, Tensor> histogram_edges(const Tensor& self, const Tensor& bins,
                                           const Tensor& weight, bool density) {
  auto [hist, edges] =
      histogram_of(self, {}, {bins}, std::nullopt, weight, density, 1, "histogram");
  return {hist, edges[0]};
}

using Grid = std::tuple<Tensor, std::vector<Tensor>>;
std::int64_t columns_of(const Tensor& self) {
  if (self.dim() < 2) {
    fail(ErrorKind::runtime,
         "torch.histogramdd: input tensor should have at least 2 dimensions, but got " +
             std::to_string(self.dim()));
  }
  return self.size(-1);
}
void check_columns(std::int64_t expected, std::int64_t given) {
  if (expected == given) return;
  fail(ErrorKind::runtime, "histogramdd(): expected " + std::to_string(expected) +
                               " sequences of bin edges for a " + std::to_string(expected) +
                               "-dimensional histogram but got " + std::to_string(given));
}
Grid histogramdd(const Tensor& self, const Dims& bins, const std::optional<Floats>& range,
                 const Tensor& weight, bool density) {
  const std::int64_t columns = columns_of(self);
  check_columns(columns, bins.size());
  return histogram_of(self, bins, {}, range, weight, density, columns, "histogramdd");
}
Grid histogramdd_count(const Tensor& self, std::int64_t bins, const std::optional<Floats>& range,
                       const Tensor& weight, bool density) {
  return histogramdd(self, Dims(columns_of(self), bins), range, weight, density);
}
Grid histogramdd_edges(const Tensor& self, const std::vector<Tensor>& bins,
                       const std::optional<Floats>& range, const Tensor& weight, bool density) {
  const std::int64_t columns = columns_of(self);
  check_columns(columns, static_cast<std::int64_t>(bins.size()));
  return histogram_of(self, {}, bins, range, weight, density, columns, "histogramdd");
}

Tensor histc(const Tensor& self, std::int64_t bins, const Scalar& min, const Scalar& max) {
  const NoGrad off;
  check_bins(bins, 0);
  if (min.f > max.f) fail(ErrorKind::runtime, "torch.histc: max must be larger than min");
  if (!is_floating(self.dtype())) no_implementation(self.dtype(), "histogram_cpu");
  const bool narrow = is_short_float(self.dtype());
  const Tensor x = plain(narrow ? to(detach(self), DType::float32) : self);
  double low = min.f, high = max.f;
  if (low == high && x.numel() > 0) {
    low = amin(x).item();
    high = amax(x).item();
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  if (!std::isfinite(low) || !std::isfinite(high)) {
    fail(ErrorKind::runtime,
         "torch.histc: range of [" + shown(low) + ", " + shown(high) + "] is not finite");
  }
  const Tensor hist = zeros({bins}, x.dtype());
  count_samples(x, Tensor(), {linspace(low, high, bins + 1, x.dtype())}, Bins::linear, hist);
  return to(hist, self.dtype());
}

Tensor bincount(const Tensor& self, const Tensor& weights, std::int64_t minlength) {
  const NoGrad off;
  if (minlength < 0) fail(ErrorKind::runtime, "minlength should be >= 0");
  if (!is_integral(self.dtype()) || self.dtype() == DType::boolean)
    no_implementation(self.dtype(), "bincount_cpu");
  const DType result = !weights.defined()                  ? DType::int64
                       : weights.dtype() == DType::float32 ? DType::float32
                                                           : DType::float64;
  if (self.dim() == 1 && self.numel() == 0)
    return zeros({minlength}, weights.defined() ? result : DType::int64);
  const Tensor x = to(plain(self), DType::int64);
  if (self.dim() != 1 || amin(x).item_int() < 0)
    fail(ErrorKind::runtime, "bincount only supports 1-d non-negative integral inputs.");
  if (weights.defined() && (weights.dim() != 1 || weights.numel() != x.numel()))
    fail(ErrorKind::runtime, "weights should be 1-d and have the same length as input");
  const std::int64_t top = amax(x).item_int();
  if (top == INT64_MAX) {
    fail(ErrorKind::runtime, "maximum value of input overflowed, it should be < " +
                                 std::to_string(INT64_MAX) + " but got " + std::to_string(top));
  }
  const std::int64_t size = std::max(top + 1, minlength);
  const Tensor out = zeros({size}, result);
  const auto* at = x.data_as<std::int64_t>();
  if (!weights.defined()) {
    for (std::int64_t i = 0; i < x.numel(); ++i) ++out.data_as<std::int64_t>()[at[i]];
    return out;
  }
  const Tensor w = to(plain(weights), result);
  visit(result, "bincount", [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      for (std::int64_t i = 0; i < x.numel(); ++i) out.data_as<T>()[at[i]] += w.data_as<T>()[i];
    }
  });
  return out;
}

constexpr unsigned kBoth = kFunction | kMethod;
constexpr unsigned kAll = kBoth | kOut;

}  // namespace

std::span<const OpDef> histogram_ops() {
  static constexpr OpDef rows[] = {
      native<histc>("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
                    "Elements in each of `bins` equal parts of [min, max]; of the range of the "
                    "data if these are equal.",
                    kAll, false),
      native<histogram_edges>("histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? "
                              "weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
                              "Weights of the elements between the given edges.", kAll, false),
      native<histogram>("histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, "
                        "Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor "
                        "bin_edges)",
                        "Weights of the elements in each of `bins` equal parts of the range.", kAll,
                        false),
      native<histogramdd_count>(
          "histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, "
          "bool density=False) -> (Tensor hist, Tensor[] bin_edges)",
          "histogramdd() with as many bins in every dimension.", kFunction, false),
      native<histogramdd>(
          "histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool "
          "density=False) -> (Tensor hist, Tensor[] bin_edges)",
          "Histogram over several dimensions; the last dimension of self holds the coordinates.",
          kFunction, false),
      native<histogramdd_edges>(
          "histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? "
          "weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)",
          "Histogram over several dimensions with given edges.", kFunction, false),
      native<bincount>("bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor",
                       "How often (or with what weight) each number from 0 on occurs.", kBoth,
                       false),
  };
  return rows;
}

}  // namespace treadle
