// Tables of vectors: embedding, sums of bags of them, one-hot codes.
#include <algorithm>

#include "engine/ops/nn/util.h"

namespace treadle {
namespace {

void check_indices(const char* op, const Tensor& indices) {
  if (indices.dtype() != DType::int64 && indices.dtype() != DType::int32) {
    fail(ErrorKind::runtime, std::string("Expected tensor for argument #1 'indices' to have one of "
                                         "the following scalar types: Long, Int; but got ") +
                                 scalar_name(indices.dtype()) + " instead (while checking " + op +
                                 ")");
  }
}
void check_dense(const char* op, bool sparse) {
  if (sparse) {
    fail(ErrorKind::not_implemented,
         std::string(op) +
             "(): there are no sparse tensors, hence no sparse gradients; use "
             "sparse=False");
  }
}

// The gradient of rows[i] divided by how often indices[i] occurs.
Tensor divide_by_frequency(const Tensor& rows, const Tensor& indices, std::int64_t size) {
  Tensor share;
  {
    const NoGrad off;
    const Tensor one = ones(indices.shape(), rows.dtype());
    const Tensor counts = scatter_add(zeros({size}, rows.dtype()), 0, indices, one);
    share = reshape(div(one, gather(counts, 0, indices)), {-1, 1});
  }
  const auto same = [](const Tensor& t) { return alias(t); };
  const auto shared = [share](const Tensor& t) { return mul(t, share); };
  return linear_map("EmbeddingBackward0", rows, same, shared);
}

Tensor embedding(const Tensor& weight, const Tensor& indices, std::int64_t padding_idx,
                 bool scale_grad_by_freq, bool sparse) {
  check_dense("embedding", sparse);
  if (weight.dim() != 2) fail(ErrorKind::runtime, "'weight' must be 2-D");
  check_indices("embedding", indices);
  const Tensor flat = reshape(to(detach(indices), DType::int64), {-1});
  Tensor out = index_select(weight, 0, flat);
  if (scale_grad_by_freq) out = divide_by_frequency(out, flat, weight.size(0));
  Dims shape = indices.shape();
  shape.push_back(weight.size(1));
  out = reshape(out, shape);
  if (padding_idx < 0) return out;
  // No gradient for the padding row.
  return where(unsqueeze(eq(indices, Tensor::wrapped(padding_idx)), -1), detach(out), out);
}

Tensor embedding_renorm_(const Tensor& self, const Tensor& indices, double max_norm,
                         double norm_type) {
  check_indices("embedding_renorm_", indices);
  if (self.dim() != 2) fail(ErrorKind::runtime, "'self' must be 2-D");
  const NoGrad off;
  const Tensor flat = reshape(to(indices, DType::int64), {-1});
  const Tensor rows = index_select(self, 0, flat);
  const Tensor size = p_norm(rows, norm_type, {1}, true);
  const Tensor scale =
      where(gt(size, Tensor(max_norm)), div(Tensor(max_norm), add(size, Tensor(1e-7))),
            ones({}, size.dtype()));
  return index_put_(self, {flat}, to(mul(rows, scale), self.dtype()));
}
using Bags = std::tuple<Tensor, Tensor, Tensor, Tensor>;

// For each bag and column the row with the largest element.
Tensor largest_rows(const Tensor& weight, const std::vector<std::vector<std::int64_t>>& bags) {
  const Tensor w = dense(weight);
  const std::int64_t columns = w.size(1);
  const Tensor out = zeros({static_cast<std::int64_t>(bags.size()), columns}, DType::int64);
  visit(w.dtype(), "embedding_bag", [&](auto zero) {
    using T = decltype(zero);
    const T* data = w.data_as<T>();
    for (std::size_t b = 0; b < bags.size(); ++b) {
      std::int64_t* best = out.data_as<std::int64_t>() + static_cast<std::int64_t>(b) * columns;
      for (std::size_t i = 0; i < bags[b].size(); ++i) {
        for (std::int64_t c = 0; c < columns; ++c) {
          if (i == 0 || static_cast<double>(data[bags[b][i] * columns + c]) >
                            static_cast<double>(data[best[c] * columns + c])) {
            best[c] = bags[b][i];
          }
        }
      }
    }
  });
  return out;
}

Bags embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                   bool scale_grad_by_freq, std::int64_t mode, bool sparse,
                   const Tensor& per_sample_weights, bool include_last_offset,
                   std::optional<std::int64_t> padding_idx) {
  check_dense("embedding_bag", sparse);
  check_indices("embedding_bag", indices);
  check_indices("embedding_bag", offsets);
  if (weight.dim() != 2) fail(ErrorKind::runtime, "'weight' must be 2-D");
  if (!is_floating(weight.dtype())) no_implementation(weight.dtype(), "embedding_bag");
  if (indices.dim() != 1 || offsets.dim() != 1) {
    fail(ErrorKind::runtime, "embedding_bag: indices and offsets must be 1-D, but got sizes " +
                                 to_string(indices.shape()) + " and " + to_string(offsets.shape()));
  }
  if (mode < 0 || mode > 2) {
    fail(ErrorKind::runtime, "embedding_bag: mode must be 0 (sum), 1 (mean) or 2 (max), but got " +
                                 std::to_string(mode));
  }
  const std::int64_t rows = weight.size(0), columns = weight.size(1), n = indices.size(0);
  if (per_sample_weights.defined()) {
    if (mode != 0) {
      fail(ErrorKind::runtime, "embedding_bag: per_sample_weights only supported with mode='sum'");
    }
    if (per_sample_weights.dim() != 1 || per_sample_weights.size(0) != n) {
      fail(ErrorKind::runtime,
           "expected per_sample_weights to be a vector of the size of indices, " +
               std::to_string(n) + ", but got " + to_string(per_sample_weights.shape()));
    }
    if (per_sample_weights.dtype() != weight.dtype()) {
      fail(ErrorKind::runtime, "expected scalar type " + scalar_name(weight.dtype()) +
                                   " for per_sample_weights but found " +
                                   scalar_name(per_sample_weights.dtype()));
    }
  }
  std::optional<std::int64_t> padding;
  if (padding_idx && *padding_idx != -1) {
    if (*padding_idx < -rows || *padding_idx >= rows) {
      fail(ErrorKind::runtime, "padding_idx must be within the number of embeddings");
    }
    padding = *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
  }
  const Tensor place = dense(to(detach(indices), DType::int64));
  const Tensor start = dense(to(detach(offsets), DType::int64));
  const std::int64_t* at = place.data_as<std::int64_t>();
  const std::int64_t* first = start.data_as<std::int64_t>();
  const std::int64_t given = start.size(0);
  if (include_last_offset && given < 1) {
    fail(ErrorKind::runtime, "include_last_offset: number of offset should be at least 1");
  }
  const std::int64_t bags = include_last_offset ? given - 1 : given;
  if (given > 0 && first[0] != 0) {
    fail(ErrorKind::runtime,
         "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
         "position 0. However, got " +
             std::to_string(first[0]));
  }
  for (std::int64_t b = 1; b < given; ++b) {
    if (first[b] < first[b - 1]) {
      fail(ErrorKind::runtime, "embedding_bag: offsets must not decrease");
    }
  }
  if (given > 0 && first[given - 1] > n) {
    fail(ErrorKind::runtime, "offsets[-1] can not be greater than input's length (" +
                                 std::to_string(n) + "), but got offsets[-1] of " +
                                 std::to_string(first[given - 1]));
  }
  // What counts: indices within a bag that aren't padding.
  const Tensor bag_of = zeros({n}, DType::int64), sizes = zeros({bags}, DType::int64);
  std::vector<std::vector<std::int64_t>> members(static_cast<std::size_t>(bags));
  std::vector<std::int64_t> used, used_bag;
  for (std::int64_t b = 0; b < bags; ++b) {
    const std::int64_t end = b + 1 < given ? first[b + 1] : n;
    for (std::int64_t i = first[b]; i < end; ++i) {
      if (at[i] < 0 || at[i] >= rows) {
        fail(ErrorKind::runtime,
             "embedding_bag: Expected idx >= 0 && idx < num_embeddings but "
             "found idx to be " +
                 std::to_string(at[i]));
      }
      bag_of.data_as<std::int64_t>()[i] = b;
      if (padding && at[i] == *padding) continue;
      ++sizes.data_as<std::int64_t>()[b];
      members[static_cast<std::size_t>(b)].push_back(at[i]);
      used.push_back(i);
      used_bag.push_back(b);
    }
  }
  const auto list = [](const std::vector<std::int64_t>& v) {
    return from_values(std::span<const std::int64_t>(v), {static_cast<std::int64_t>(v.size())},
                       DType::int64);
  };
  if (mode == 2) {
    const Tensor largest = largest_rows(weight, members);
    const Tensor empty_bag = unsqueeze(eq(sizes, Tensor::wrapped(std::int64_t{0})), 1);
    const Tensor out = weight.size(0) == 0
                           ? zeros({bags, columns}, weight.dtype())
                           : masked_fill(gather(weight, 0, largest), empty_bag, Tensor(0.0));
    return {out, bag_of, sizes, largest};
  }
  const Tensor which = list(used), chosen = index_select(place, 0, which);
  Tensor each = index_select(weight, 0, chosen);
  if (scale_grad_by_freq) each = divide_by_frequency(each, chosen, rows);
  if (per_sample_weights.defined()) {
    each = mul(each, unsqueeze(index_select(per_sample_weights, 0, which), 1));
  }
  const DType wide = compute_dtype(weight.dtype());
  Tensor out = index_put_(zeros({bags, columns}, wide), {list(used_bag)}, to(each, wide), true);
  if (mode == 1) {
    const Tensor count = to(maximum(sizes, Tensor::wrapped(std::int64_t{1})), wide);
    out = div(out, unsqueeze(count, 1));
  }
  return {to(out, weight.dtype()), bag_of, sizes, zeros({mode == 1 ? bags : 0}, DType::int64)};
}
Bags embedding_bag_plain(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                         bool scale_grad_by_freq, std::int64_t mode, bool sparse,
                         const Tensor& per_sample_weights, bool include_last_offset) {
  return embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse,
                       per_sample_weights, include_last_offset, std::nullopt);
}

Tensor one_hot(const Tensor& self, std::int64_t num_classes) {
  if (self.dtype() != DType::int64) {
    fail(ErrorKind::runtime, "one_hot is only applicable to index tensor of type LongTensor.");
  }
  if (self.numel() == 0 && num_classes <= 0) {
    fail(ErrorKind::runtime, "Can not infer total number of classes from empty tensor.");
  }
  const std::uint64_t every = dim_mask({}, self.dim());
  if (self.numel() > 0) {
    if (reduce(Reduction::min, self, every, false).item_int() < 0) {
      fail(ErrorKind::runtime, "Class values must be non-negative.");
    }
    const std::int64_t top = reduce(Reduction::max, self, every, false).item_int();
    if (num_classes == -1) num_classes = top + 1;
    if (top >= num_classes)
      fail(ErrorKind::runtime, "Class values must be smaller than num_classes.");
  }
  return to(eq(unsqueeze(self, -1), arange(0, num_classes, 1, DType::int64)), DType::int64);
}

}  // namespace

std::span<const OpDef> nn_embedding_ops() {
  static constexpr OpDef rows[] = {
      native<embedding>("embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool "
                        "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
                        "Rows of weight; the row padding_idx gets no gradient.", kFunction),
      native<embedding_renorm_>(
          "embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> "
          "Tensor(a!)",
          "Scales the rows of self that indices name down to max_norm; returns self.", kFunction,
          false),
      native<embedding_bag>(
          "embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool "
          "scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool "
          "include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
          "embedding_bag; indices equal to padding_idx don't count.", kFunction),
      native<embedding_bag_plain>(
          "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
          "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? "
          "per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, "
          "Tensor)",
          "Sum (mode 0), mean (1) or maximum (2) of the rows of each bag, which starts at its "
          "offset; and the bag of each index, the size of each bag, and the rows of the maxima.",
          kFunction),
      native<one_hot>("one_hot(Tensor self, int num_classes=-1) -> Tensor",
                      "Zeros with a one at each class index, along a new last dimension.",
                      kFunctional, false),
  };
  return rows;
}

}  // namespace treadle
