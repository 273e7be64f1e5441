// einsum: the equation is read into labels per operand, every operand gets all labels as dimensions
// (size 1 where it lacks one), and operands are multiplied two at a time by one bmm each.
#include <algorithm>
#include <array>
#include <string>

#include "engine/core/iter.h"
#include "engine/ops/linalg/util.h"

namespace treadle {
namespace {

constexpr int kLetters = 52;
constexpr int kEllipsis = kLetters;  // stands for all dimensions of "..."

[[noreturn]] void bad(const std::string& text) { fail(ErrorKind::runtime, "einsum(): " + text); }
int label_of(char c) { return c >= 'a' ? c - 'a' + 26 : c - 'A'; }
char letter_of(int label) { return static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26); }

struct Equation {
  std::vector<std::vector<int>> operands;
  std::vector<int> output;
  bool has_output = false;
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The labels of one operand, or of the output, from text[from, to).
std::vector<int> read_labels(const std::string& text, std::size_t from, std::size_t to,
                             const std::string& whose) {
  std::vector<int> labels;
  for (std::size_t i = from; i < to; ++i) {
    if (text[i] == ' ') continue;
    if (text[i] == '.') {
      if (std::find(labels.begin(), labels.end(), kEllipsis) != labels.end()) {
        bad("found '.' for " + whose + " for which an ellipsis was already found");
      }
      if (i + 2 >= to || text[i + 1] != '.' || text[i + 2] != '.') {
        bad("found '.' for " + whose + " that is not part of any ellipsis");
      }
      i += 2;
      labels.push_back(kEllipsis);
      continue;
    }
    if (!is_letter(text[i])) {
      bad("invalid subscript given at index " + std::to_string(i) +
          " in the equation string, subscripts must be in [a-zA-Z]");
    }
    labels.push_back(label_of(text[i]));
  }
  return labels;
}

Equation read_equation(const std::string& text) {
  Equation e;
  const std::size_t arrow = text.find("->");
  const std::size_t end = std::min(arrow, text.size());
  std::size_t from = 0;
  while (true) {
    const std::size_t comma = std::min(text.find(',', from), end);
    e.operands.push_back(
        read_labels(text, from, comma, "operand " + std::to_string(e.operands.size())));
    if (comma == end) break;
    from = comma + 1;
  }
  if (arrow != std::string::npos) {
    e.has_output = true;
    e.output = read_labels(text, arrow + 2, text.size(), "the output");
  }
  return e;
}

// a and b have the same dimensions, of size 1 where they broadcast. Sums the products over the
// dimensions of `summed`, which stay with size 1.
Tensor multiply_pair(Tensor a, Tensor b, const std::vector<bool>& summed) {
  const std::int64_t rank = a.dim();
  // In both and kept; in a alone; in b alone; summed.
  std::array<Dims, 4> groups;
  Dims shape = Dims(rank, 1);
  for (std::int64_t d = 0; d < rank; ++d) {
    const bool in_a = a.size(d) != 1, in_b = b.size(d) != 1;
    if (summed[static_cast<std::size_t>(d)]) {
      if (in_a && in_b) {
        if (a.size(d) != b.size(d)) {
          fail(ErrorKind::runtime, "non-broadcast dimensions must match");
        }
        groups[3].push_back(d);
      } else if (in_a) {
        a = to(sum(a, {d}, true), a.dtype());
      } else if (in_b) {
        b = to(sum(b, {d}, true), b.dtype());
      }
      continue;
    }
    shape[d] = std::max(a.size(d), b.size(d));
    if (in_a != in_b) shape[d] = in_a ? a.size(d) : b.size(d);
    groups[in_a && in_b ? 0 : in_a ? 1 : in_b ? 2 : 0].push_back(d);
  }
  if (groups[3].empty()) return mul(a, b);  // no products to add up
  const auto arranged = [&](const Tensor& t, std::array<int, 3> order) {
    Dims dims, sizes;
    for (const int g : order) {
      std::int64_t size = 1;
      for (const std::int64_t d : groups[static_cast<std::size_t>(g)]) {
        dims.push_back(d);
        size *= t.size(d);
      }
      sizes.push_back(size);
    }
    for (std::int64_t d = 0; d < rank; ++d) {  // of size 1
      if (std::find(dims.begin(), dims.end(), d) == dims.end()) dims.push_back(d);
    }
    return reshape(permute(t, dims), sizes);
  };
  const Tensor out = bmm(arranged(a, {0, 1, 3}), arranged(b, {0, 3, 2}));
  // Back to the order of the dimensions.
  Dims order, sizes, back = Dims(rank, 0);
  for (const std::size_t g : {0u, 1u, 2u}) {
    for (const std::int64_t d : groups[g]) {
      order.push_back(d);
      sizes.push_back(shape[d]);
    }
  }
  for (const std::int64_t d : groups[3]) order.push_back(d), sizes.push_back(1);
  for (std::int64_t d = 0; d < rank; ++d) {
    if (std::find(order.begin(), order.end(), d) == order.end()) {
      order.push_back(d), sizes.push_back(1);
    }
  }
  for (std::int64_t i = 0; i < rank; ++i) back[order[i]] = i;
  return permute(reshape(out, sizes), back);
}

Tensor einsum(const std::string& text, const std::vector<Tensor>& tensors,
              const std::optional<Dims>& path) {
  if (tensors.empty()) bad("must provide at least one operand");
  const Equation e = read_equation(text);
  if (e.operands.size() > tensors.size()) {
    bad("fewer operands were provided than specified in the equation");
  }
  if (e.operands.size() < tensors.size()) {
    bad("more operands were provided than specified in the equation");
  }
  // How many dimensions "..." stands for: the most that any operand has left.
  std::int64_t ellipsis = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::vector<int>& labels = e.operands[i];
    const bool dots = std::find(labels.begin(), labels.end(), kEllipsis) != labels.end();
    const auto named = static_cast<std::int64_t>(labels.size()) - (dots ? 1 : 0);
    const std::int64_t rank = tensors[i].dim();
    if (dots ? named > rank : named != rank) {
      bad("the number of subscripts in the equation (" + std::to_string(named) +
          (dots ? ") is more than the number of dimensions ("
                : ") does not match the number of dimensions (") +
          std::to_string(rank) + ") for operand " + std::to_string(i) +
          (dots ? "" : " and no ellipsis was given"));
    }
    if (dots) ellipsis = std::max(ellipsis, rank - named);
  }
  // Positions of labels: those of the output first.
  std::array<int, kLetters + 1> count{};
  for (const std::vector<int>& labels : e.operands) {
    for (const int l : labels) ++count[static_cast<std::size_t>(l)];
  }
  std::array<std::int64_t, kLetters + 1> position;
  position.fill(-1);
  std::int64_t next = 0;
  const auto place = [&](int label) {
    position[static_cast<std::size_t>(label)] = next;
    next += label == kEllipsis ? ellipsis : 1;
  };
  if (e.has_output) {
    for (const int l : e.output) {
      if (position[static_cast<std::size_t>(l)] >= 0) {
        bad(std::string("output subscript ") + letter_of(l) +
            " appears more than once in the output");
      }
      if (l != kEllipsis && count[static_cast<std::size_t>(l)] == 0) {
        bad(std::string("output subscript ") + letter_of(l) +
            " does not appear in the equation for any input operand");
      }
      place(l);
    }
  } else {
    if (count[kEllipsis] > 0) place(kEllipsis);
    for (int l = 0; l < kLetters; ++l) {
      if (count[static_cast<std::size_t>(l)] == 1) place(l);
    }
  }
  const std::int64_t out_rank = next;
  for (int l = 0; l <= kLetters; ++l) {
    if (count[static_cast<std::size_t>(l)] > 0 && position[static_cast<std::size_t>(l)] < 0) {
      place(l);
    }
  }
  const std::int64_t rank = next;
  if (rank > Dims::kMaxDims) {
    bad("more than " + std::to_string(Dims::kMaxDims) + " different dimensions");
  }
  // Every operand with all `rank` dimensions.
  std::vector<Tensor> operands;
  std::vector<std::int64_t> seen(static_cast<std::size_t>(rank), 1);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Tensor t = tensors[i];
    const std::vector<int>& labels = e.operands[i];
    const std::int64_t dots =
        t.dim() - static_cast<std::int64_t>(labels.size()) +
        (std::find(labels.begin(), labels.end(), kEllipsis) != labels.end() ? 1 : 0);
    std::vector<std::int64_t> dim_of(static_cast<std::size_t>(rank), -1);  // in t
    std::int64_t d = 0;
    for (const int l : labels) {
      const std::int64_t p = position[static_cast<std::size_t>(l)];
      if (l == kEllipsis) {
        for (std::int64_t j = 0; j < dots; ++j) {
          dim_of[static_cast<std::size_t>(p + ellipsis - dots + j)] = d++;
        }
        continue;
      }
      std::int64_t& here = dim_of[static_cast<std::size_t>(p)];
      if (here < 0) {
        here = d++;
        continue;
      }
      if (t.size(here) != t.size(d)) {
        bad(std::string("subscript ") + letter_of(l) + " is repeated for operand " +
            std::to_string(i) + " but the sizes don't match, " + std::to_string(t.size(d)) +
            " != " + std::to_string(t.size(here)));
      }
      t = movedim(diagonal_view(t, 0, here, d), {-1}, {here});
    }
    Dims order;
    Dims sizes = Dims(rank, 1);
    for (std::int64_t p = 0; p < rank; ++p) {
      const std::int64_t from = dim_of[static_cast<std::size_t>(p)];
      if (from < 0) continue;
      order.push_back(from);
      const std::int64_t size = sizes[p] = t.size(from);
      std::int64_t& known = seen[static_cast<std::size_t>(p)];
      if (size != 1 && known != 1 && known != size) {
        const auto label = std::find(position.begin(), position.end(), p) - position.begin();
        bad(std::string("subscript ") +
            (label < kLetters ? std::string(1, letter_of(static_cast<int>(label))) : "...") +
            " has size " + std::to_string(size) + " for operand " + std::to_string(i) +
            " which does not broadcast with previously seen size " + std::to_string(known));
      }
      if (size != 1) known = size;
    }
    operands.push_back(reshape(permute(t, order), sizes));
  }
  const auto finish = [&](Tensor t) {
    // What products have summed already has size 1, of which there is nothing to add up.
    Dims summed, left;
    for (std::int64_t d = out_rank; d < rank; ++d) (t.size(d) == 1 ? left : summed).push_back(d);
    if (!summed.empty()) t = to(sum(t, summed, true), t.dtype());
    for (const std::int64_t d : summed) left.push_back(d);
    return left.empty() ? t : squeeze(t, left);
  };
  if (operands.size() == 1) return finish(operands[0]);
  // Which two are multiplied next: as `path` says, else the result so far with the next operand.
  std::size_t step = 0;
  while (operands.size() > 1) {
    std::size_t i = 0, j = 1;
    if (path) {
      if (path->size() != 2 * (static_cast<std::int64_t>(tensors.size()) - 1)) {
        bad("expected contraction path given in path parameter to have size " +
            std::to_string(2 * (tensors.size() - 1)) + " but got " + std::to_string(path->size()));
      }
      const std::int64_t x = (*path)[static_cast<std::int64_t>(2 * step)];
      const std::int64_t y = (*path)[static_cast<std::int64_t>(2 * step + 1)];
      const auto left = static_cast<std::int64_t>(operands.size());
      if (x == y || x < 0 || y < 0 || x >= left || y >= left) {
        bad("invalid contraction (" + std::to_string(x) + ", " + std::to_string(y) +
            ") in the path");
      }
      i = static_cast<std::size_t>(std::min(x, y));
      j = static_cast<std::size_t>(std::max(x, y));
    }
    const Tensor a = operands[i], b = operands[j];
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(j));
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(i));
    // A dimension is summed once no other operand has it.
    std::vector<bool> summed(static_cast<std::size_t>(rank), false);
    for (std::int64_t d = out_rank; d < rank; ++d) {
      summed[static_cast<std::size_t>(d)] = std::all_of(
          operands.begin(), operands.end(), [d](const Tensor& t) { return t.size(d) == 1; });
    }
    const Tensor made = multiply_pair(a, b, summed);
    operands.insert(path ? operands.end() : operands.begin(), made);
    ++step;
  }
  return finish(operands[0]);
}

}  // namespace

std::span<const OpDef> einsum_ops() {
  static constexpr OpDef rows[] = {
      native<einsum>("_einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
                     "einsum() of an equation and a list.", kFunction),
  };
  return rows;
}

}  // namespace treadle
