// Sets and ordered search: unique, unique_consecutive, isin, searchsorted, bucketize.
#include <algorithm>
#include <numeric>

#include "engine/backend/cpu/pool.h"
#include "engine/backend/cpu/sort.h"
#include "engine/core/warn.h"
#include "engine/ops/native.h"
#include "engine/ops/reduction/util.h"

namespace treadle {
namespace {

using OptInt = std::optional<std::int64_t>;

// --- unique -------------------------------------------------------------------------------------

// Rows of `width` elements, in the order `order`: which of them begins a new group, as the groups'
// numbers; and how many groups there are.
template <class T>
std::int64_t group_rows(const T* x, std::int64_t width, const std::vector<std::int64_t>& order,
                        std::vector<std::int64_t>& group) {
  std::int64_t groups = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool same = i > 0 && std::equal(x + order[i] * width, x + (order[i] + 1) * width,
                                          x + order[i - 1] * width);
    groups += same ? 0 : 1;
    group[i] = groups - 1;
  }
  return groups;
}

// The order of the rows by their elements from the left, NaN the largest.
template <class T>
void sort_rows(const T* x, std::int64_t width, std::vector<std::int64_t>& order) {
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    for (std::int64_t k = 0; k < width; ++k) {
      const auto p = sort_key(x[a * width + k]), q = sort_key(x[b * width + k]);
      if (p != q) return p < q;
    }
    return false;
  });
}

// What unique() and unique_consecutive() return: one tensor, or those asked for.
Value unique_of(const Tensor& input, bool sorted, bool return_inverse, bool return_counts,
                OptInt dim, const char* op) {
  const NoGrad off;
  const Tensor self = detach(input);
  Tensor rows;  // [n, width]
  std::int64_t d = 0;
  if (dim) {
    d = wrap_dim(*dim, self.dim());
    if (self.dim() == 0) {
      fail(ErrorKind::index,
           "Dimension specified as " + std::to_string(*dim) + " but tensor has no dimensions");
    }
    if (self.numel() == 0) {
      for (std::int64_t k = 0; k < self.dim(); ++k) {
        if (k != d && self.shape()[k] == 0 && self.shape()[d] != 0) {
          fail(ErrorKind::runtime,
               std::string(op) +
                   "(): There are 0 sized dimensions, and they aren't selected, so "
                   "unique cannot be applied");
        }
      }
      rows = zeros({self.shape()[d], 0}, self.dtype());
    } else {
      rows = reshape(contiguous(movedim(self, {d}, {0})), {self.shape()[d], -1});
    }
  } else {
    rows = reshape(contiguous(self), {self.numel(), 1});
  }
  const std::int64_t n = rows.size(0), width = rows.size(1);
  std::vector<std::int64_t> order(static_cast<std::size_t>(n)), group(order.size());
  std::iota(order.begin(), order.end(), 0);
  std::int64_t groups = 0;
  visit(self.dtype(), op, [&](auto zero) {
    using T = decltype(zero);
    const T* x = rows.data_as<T>();
    if (sorted && width == 1) {
      if (n > 0) sort_lines(self.dtype(), rows.data(), 1, n, false, n, order.data());
    } else if (sorted) {
      sort_rows(x, width, order);
    }
    groups = group_rows(x, width, order, group);
  });
  const Tensor first = Tensor::empty({groups}, DType::int64);
  const Tensor inverse = Tensor::empty({n}, DType::int64);
  const Tensor counts = zeros({groups}, DType::int64);
  auto* f = first.data_as<std::int64_t>();
  auto* inv = inverse.data_as<std::int64_t>();
  auto* c = counts.data_as<std::int64_t>();
  for (std::size_t i = order.size(); i-- > 0;) f[group[i]] = order[i];
  for (std::size_t i = 0; i < order.size(); ++i) {
    inv[order[i]] = group[i];
    ++c[group[i]];
  }
  std::vector<Tensor> results;
  if (dim) {
    results.push_back(index_select(self, d, first));
  } else {
    results.push_back(index_select(reshape(rows, {-1}), 0, first));
  }
  if (return_inverse) results.push_back(dim ? inverse : reshape(inverse, self.shape()));
  if (return_counts) results.push_back(counts);
  if (results.size() == 1) return results[0];
  return results;
}
Value unique(const Tensor& self, bool, bool return_inverse, bool return_counts, OptInt dim) {
  return unique_of(self, true, return_inverse, return_counts, dim, "unique");
}
Value unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts, OptInt dim) {
  return unique_of(self, false, return_inverse, return_counts, dim, "unique_consecutive");
}

// --- membership and position --------------------------------------------------------------------

Tensor dense_in(const Tensor& t, DType dtype) {
  const NoGrad off;
  return contiguous(to(detach(t), dtype));
}

Tensor isin(const Tensor& elements, const Tensor& test_elements, bool, bool invert) {
  Promotion promotion;
  promotion.add(elements);
  promotion.add(test_elements);
  const DType dtype = promotion.result();
  for (const DType d : {elements.dtype(), test_elements.dtype()}) {
    if (d == DType::boolean || is_complex(d)) {
      fail(ErrorKind::not_implemented,
           "Unsupported input type encountered for isin(): " + std::string(info(d).scalar));
    }
  }
  const Tensor x = dense_in(elements, dtype), set = dense_in(test_elements, dtype);
  const Tensor out = Tensor::empty(elements.shape(), DType::boolean);
  visit(dtype, "isin", [&](auto zero) {
    using T = decltype(zero);
    std::vector<KeyType<T>> keys;
    for (std::int64_t i = 0; i < set.numel(); ++i) {
      const T v = set.data_as<T>()[i];
      if (v == v) keys.push_back(sort_key(v));  // NaN is in no set
    }
    std::sort(keys.begin(), keys.end());
    const T* from = x.data_as<T>();
    bool* to = out.data_as<bool>();
    parallel_for(0, out.numel(), kGrain / 8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const bool found =
            from[i] == from[i] && std::binary_search(keys.begin(), keys.end(), sort_key(from[i]));
        to[i] = found != invert;
      }
    });
  });
  return out;
}
Tensor isin_element(const Tensor& elements, const Scalar& test, bool unique_given, bool invert) {
  return isin(elements, test.tensor(), unique_given, invert);
}
Tensor element_isin(const Scalar& element, const Tensor& test, bool unique_given, bool invert) {
  return isin(element.tensor(), test, unique_given, invert);
}

// Where each of `values` belongs in a sorted line; `right`: behind elements that equal it.
// PyTorch's comparisons, in which a NaN among the values is larger than everything.
Tensor positions(const Tensor& sequence, const Tensor& values, bool int32, bool right,
                 const Tensor& sorter) {
  const Tensor edges = dense_in(sequence, sequence.dtype());
  const Tensor x = dense_in(values, sequence.dtype());
  const Tensor by = sorter.defined() ? dense_in(sorter, DType::int64) : Tensor();
  const Tensor out = Tensor::empty(values.shape(), int32 ? DType::int32 : DType::int64);
  const std::int64_t n = edges.dim() == 0 ? 1 : edges.size(-1);
  const bool shared = edges.dim() <= 1;
  const std::int64_t line = shared || x.dim() == 0 ? x.numel() : x.size(-1);
  if (int32 && n > INT32_MAX) {
    fail(ErrorKind::runtime,
         "torch.searchsorted(): the size of boundaries' last dimension should be less than " +
             std::to_string(INT32_MAX) + ", but we got " + std::to_string(n));
  }
  if (x.numel() == 0) return out;
  if (sequence.dtype() == DType::boolean)
    no_implementation(sequence.dtype(), "searchsorted_out_cpu");
  visit(sequence.dtype(), "searchsorted", [&](auto zero) {
    using T = decltype(zero);
    parallel_for(0, x.numel(), kGrain / 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t start = shared ? 0 : i / line * n;
        const T* e = edges.data_as<T>() + start;
        const std::int64_t* order = by.defined() ? by.data_as<std::int64_t>() + start : nullptr;
        const T v = x.data_as<T>()[i];
        std::int64_t low = 0, high = n;
        while (low < high) {
          const std::int64_t middle = low + (high - low) / 2;
          const T m = e[order ? order[middle] : middle];
          const bool after = right ? !(m > v) : !(m >= v);
          (after ? low : high) = after ? middle + 1 : middle;
        }
        if (int32) {
          out.data_as<std::int32_t>()[i] = static_cast<std::int32_t>(low);
        } else {
          out.data_as<std::int64_t>()[i] = low;
        }
      }
    });
  });
  return out;
}

[[noreturn]] void refuse(const std::string& why) {
  fail(ErrorKind::runtime, "torch.searchsorted(): " + why);
}

void warn_of_copy(const Tensor& t, const std::string& what, WarnOnce& once) {
  if (t.is_contiguous()) return;
  once("torch.searchsorted(): " + what +
       " tensor is non-contiguous, this will lower the performance due to extra data copy when "
       "converting non-contiguous tensor to contiguous, please use contiguous " +
       what + " tensor if possible. This message will only appear once per program.");
}

Tensor searchsorted(const Tensor& sequence, const Tensor& values, bool int32, bool right,
                    const std::optional<std::string>& side, const Tensor& sorter) {
  if (side && *side != "left" && *side != "right") {
    refuse("side can only be 'left' or 'right' but got " + *side);
  }
  if (side && right && *side == "left") {
    refuse("side and right can't be set to opposites, got side of left while right was True");
  }
  if (sequence.dim() == 0 && sequence.numel() == 1 && values.dim() > 0)
    refuse("boundaries tensor should have positive dimension, but got 0 dimension");
  if (sequence.dim() == 0)
    refuse(
        "input value can be a scalar only when boundaries tensor dimension is 1, but we got "
        "boundaries tensor dim(0) and input value's dim(" +
        std::to_string(values.dim()) + ") numel(" + std::to_string(values.numel()) + ")");
  if (values.dim() == 0 && sequence.dim() != 1) {
    refuse(
        "input value can be a scalar only when boundaries tensor dimension is 1, but we got "
        "boundaries tensor dim(" +
        std::to_string(sequence.dim()) + ") and input value's dim(0) numel(1)");
  }
  if (sequence.dim() > 1) {
    bool fits = sequence.dim() == values.dim();
    for (std::int64_t d = 0; fits && d + 1 < sequence.dim(); ++d)
      fits = sequence.shape()[d] == values.shape()[d];
    if (!fits) {
      refuse(
          "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
          "tensor and input value tensor must match, but we got boundaries tensor " +
          to_string(sequence.shape()) + " and input value tensor " + to_string(values.shape()));
    }
  }
  if (sorter.defined()) {
    if (sorter.shape() != sequence.shape()) {
      refuse("boundary and sorter must have the same size, but got boundary tensor " +
             to_string(sequence.shape()) + " and got sorter tensor " + to_string(sorter.shape()));
    }
    if (sorter.dtype() != DType::int64) {
      refuse("sorter must be a tensor of long dtype but got dtype " +
             std::string(info(sorter.dtype()).scalar));
    }
    if (sorter.numel() > 0) {
      const NoGrad off;
      if (amin(sorter).item_int() < 0 || amax(sorter).item_int() >= sequence.size(-1))
        refuse("sorter index out of range");
    }
  }
  static WarnOnce of_values, of_sequence, of_sorter;
  warn_of_copy(values, "input value", of_values);
  warn_of_copy(sequence, "boundary", of_sequence);
  if (sorter.defined()) warn_of_copy(sorter, "sorter", of_sorter);
  if (values.dtype() != sequence.dtype()) {
    const DType dtype = result_type(sequence, values);
    return positions(to(sequence, dtype), to(values, dtype), int32,
                     right || (side && *side == "right"), sorter);
  }
  return positions(sequence, values, int32, right || (side && *side == "right"), sorter);
}
// A number is taken in the dtype that it and the sequence promote to.
Tensor searchsorted_number(const Tensor& sequence, const Scalar& value, bool int32, bool right,
                           const std::optional<std::string>& side, const Tensor& sorter) {
  const Tensor number = value.tensor();
  const DType dtype = result_type(sequence, number);
  return searchsorted(to(sequence, dtype), to(number, dtype), int32, right, side, sorter);
}
Tensor bucketize(const Tensor& self, const Tensor& boundaries, bool int32, bool right) {
  if (boundaries.dim() != 1) {
    fail(ErrorKind::runtime, "bucketize(): boundaries tensor must be 1 dimension, but got dim(" +
                                 std::to_string(boundaries.dim()) + ")");
  }
  return searchsorted(boundaries, self, int32, right, std::nullopt, Tensor());
}
Tensor bucketize_number(const Scalar& self, const Tensor& boundaries, bool int32, bool right) {
  const Tensor number = self.tensor();
  const DType dtype = result_type(boundaries, number);
  return bucketize(to(number, dtype), to(boundaries, dtype), int32, right);
}

constexpr unsigned kBoth = kFunction | kMethod;

}  // namespace

std::span<const OpDef> set_ops() {
  static constexpr OpDef rows[] = {
      native<unique>("unique(Tensor self, bool sorted=True, bool return_inverse=False, bool "
                     "return_counts=False, int? dim=None) -> Tensor",
                     "The distinct elements (or slices along dim), always sorted. With "
                     "return_inverse and return_counts a tuple: also where each element of self "
                     "went, and how often each occurs.",
                     kBoth, false),
      native<unique_consecutive>(
          "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, "
          "int? dim=None) -> Tensor",
          "Without the elements (or slices along dim) that equal the one before. With "
          "return_inverse and return_counts a tuple, as unique().",
          kBoth, false),
      native<isin>("isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool "
                   "assume_unique=False, bool invert=False) -> Tensor",
                   "Whether each element is one of test_elements.", kFunction | kOut, false),
      native<isin_element>("isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool "
                           "assume_unique=False, bool invert=False) -> Tensor",
                           "Whether each element is test_element.", kFunction | kOut, false),
      native<element_isin>("isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool "
                           "assume_unique=False, bool invert=False) -> Tensor",
                           "Whether the number is one of test_elements.", kFunction | kOut, false),
      native<searchsorted>(
          "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool "
          "right=False, str? side=None, Tensor? sorter=None) -> Tensor",
          "Where each value would go into the sorted last dimension of sorted_sequence: before "
          "(right: behind) elements that equal it.",
          kFunction | kOut, false),
      native<searchsorted_number>(
          "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool "
          "right=False, str? side=None, Tensor? sorter=None) -> Tensor",
          "Where the number would go into the sorted sequence.", kFunction | kOut, false),
      native<bucketize>("bucketize.Tensor(Tensor self, Tensor boundaries, *, bool "
                        "out_int32=False, bool right=False) -> Tensor",
                        "Which of the intervals between the sorted boundaries each value is in.",
                        kFunction | kOut, false),
      native<bucketize_number>("bucketize.Scalar(Scalar self, Tensor boundaries, *, bool "
                               "out_int32=False, bool right=False) -> Tensor",
                               "Which of the intervals between the sorted boundaries the number "
                               "is in.",
                               kFunction | kOut, false),
  };
  return rows;
}

}  // namespace treadle
