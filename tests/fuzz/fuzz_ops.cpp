// Every op of the engine's table with arguments made of the bytes: a few tensors of any dtype,
// shape and layout (zero sizes, overlapping windows, lazy conjugates, NaN payloads,
// memory that isn't ours), then calls in all forms with numbers, sizes and indices that mean harm,
// whose results are arguments of the next. An Error is a right answer. A result whose elements lie
// outside its storage aborts, and what reads or writes outside is AddressSanitizer's to find: each
// block is allocated by itself, to the byte.
//
// Sizes that no machine has come back as Error{memory}: run with ASAN_OPTIONS
// allocator_may_return_null=1:max_allocation_size_mb=64 (ci/fuzz.py sets them).
// To make a new kind of argument: a case in `Maker::value`.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>

#include "engine/backend/cpu/pool.h"
#include "engine/treadle.h"

namespace {

using namespace treadle;

// Tensors with more elements are not handed on: a call may take time in proportion to its elements.
constexpr std::int64_t kMostElements = 4096;

class Reader {
 public:
  Reader(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
  bool empty() const { return at_ == end_; }
  std::uint8_t byte() { return empty() ? std::uint8_t{0} : *at_++; }
  std::size_t pick(std::size_t n) {
    const std::size_t low = byte();
    return (n > 256 ? low | static_cast<std::size_t>(byte()) << 8 : low) % n;
  }
  bool chance(unsigned one_in) { return byte() % one_in == 1; }
  template <class T, std::size_t N>
  const T& of(const T (&list)[N]) {
    return list[pick(N)];
  }

 private:
  const std::uint8_t *at_, *end_;
};

constexpr std::int64_t kSizes[] = {0, 1, 2, 3, 4, 2, 3, 5, 7, 1, 33, 3};
constexpr std::int64_t kIntegers[] = {0,
                                      1,
                                      -1,
                                      2,
                                      3,
                                      -2,
                                      4,
                                      5,
                                      -3,
                                      7,
                                      16,
                                      64,
                                      1000,
                                      1,
                                      1 << 20,
                                      1 << 31,
                                      INT64_MAX,
                                      INT64_MIN,
                                      INT64_MAX - 1,
                                      2,
                                      1L << 62,
                                      -(1L << 62),
                                      65,
                                      -64,
                                      0x7FFFFFFF,
                                      1L << 32,
                                      0,
                                      1};
constexpr double kNumbers[] = {0.0,
                               1.0,
                               -1.0,
                               0.5,
                               2.0,
                               -0.0,
                               3.0,
                               1e-3,
                               1e300,
                               1e-45,
                               -1e30,
                               1e19,
                               0.1,
                               1.5,
                               std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity()};
constexpr const char* kWords[] = {"none",
                                  "mean",
                                  "sum",
                                  "constant",
                                  "reflect",
                                  "replicate",
                                  "circular",
                                  "bilinear",
                                  "linear",
                                  "bicubic",
                                  "nearest",
                                  "area",
                                  "trilinear",
                                  "zeros",
                                  "border",
                                  "reflection",
                                  "tanh",
                                  "floor",
                                  "trunc",
                                  "lower",
                                  "midpoint",
                                  "higher",
                                  "fro",
                                  "nuc",
                                  "ij",
                                  "xy",
                                  "prod",
                                  "amax",
                                  "amin",
                                  "same",
                                  "valid",
                                  "left",
                                  "right",
                                  "reduced",
                                  "complete",
                                  "r",
                                  "L",
                                  "U",
                                  "ortho",
                                  "forward",
                                  "max",
                                  "nearest-exact",
                                  "backward",
                                  "ij,jk->ik",
                                  "...i->...",
                                  "ii->i",
                                  "",
                                  "gels",
                                  "gelsd",
                                  "gelss",
                                  "gelsy",
                                  "compute_mode",
                                  "use_mm_for_euclid_dist",
                                  "\xff",
                                  "i,j->ij"};

// (3, *shape): the first dimension's elements share memory.
Dims widened(const Tensor& t) {
  Dims shape{3};
  for (const std::int64_t size : t.shape()) shape.push_back(size);
  return shape;
}

void release(void* block) { std::free(block); }

// Shape and strides must stay inside the storage, whatever a call was given.
void check_inside(const Tensor& t) {
  if (!t.defined() || t.device().kind != Device::Kind::cpu || t.numel() == 0) return;
  std::int64_t low = t.impl()->offset, high = low;
  for (std::int64_t d = 0; d < t.dim(); ++d) {
    const std::int64_t reach = (t.shape()[d] - 1) * t.strides()[d];
    (reach < 0 ? low : high) += reach;
  }
  const auto bytes = static_cast<std::int64_t>(t.impl()->storage->bytes());
  if (low < 0 || (high + 1) * item_size(t.dtype()) > bytes) std::abort();
}

class Maker {
 public:
  explicit Maker(Reader& in) : in_(in) {}
  // What only Python's collector finds by itself: a gradient that has a graph of its own leads back
  // to its leaf, and what was saved of a tensor that was then written leads back to it.
  ~Maker() {
    for (const Tensor& t : leaves_) t.set_grad(Tensor());
    std::vector<Ref<Node>> nodes;
    std::set<Node*> found;
    const auto add = [&](Node* node) {
      if (node && found.insert(node).second) nodes.emplace_back(node);
    };
    for (const Tensor& t : seen_) {
      if (t.requires_grad()) add(gradient_edge(t).node());
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (std::uint32_t k = 0; k < nodes[i]->edge_count(); ++k) add(nodes[i]->edge(k).node());
    }
    for (const Ref<Node>& node : nodes) node->release();
  }
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;

  void add_leaf(const Tensor& like) {
    const Tensor leaf = detach(like);
    leaf.set_requires_grad(true);
    leaves_.push_back(leaf);
    add(leaf);
  }

  // A tensor over a block of its own, filled with what the bytes say.
  Tensor fresh() {
    const auto dtype = static_cast<DType>(in_.pick(kernel::kDTypes));
    Dims shape;
    std::int64_t n = 1;
    for (std::size_t rank = in_.pick(5); rank > 0; --rank) {
      const std::int64_t size = in_.of(kSizes);
      shape.push_back(n * size > kMostElements / 4 ? 1 : size);
      n *= shape.back();
    }
    const std::size_t bytes = static_cast<std::size_t>(n * item_size(dtype));
    auto* block = static_cast<char*>(std::malloc(bytes));
    if (!block) std::abort();
    fill(block, static_cast<std::size_t>(n), dtype);
    const bool read_only = in_.chance(16);
    return Tensor(Ref<TensorImpl>(
        new TensorImpl(Ref<Storage>(new Storage(block, bytes, Device{}, release, block, read_only)),
                       shape, dtype)));
  }

  // Another window on a tensor of the pool: the ways in which arguments come to share memory.
  Tensor window(const Tensor& t) {
    switch (in_.pick(8)) {
      case 0:
        return t.dim() > 1 ? transpose(t, 0, -1) : t;
      case 1:
        return t.dim() > 0 ? slice(t, 0, 0, INT64_MAX, 2) : t;
      case 2:
        return t.dim() > 0 && t.shape()[0] > 1 ? slice(t, 0, 1, INT64_MAX, 1) : t;
      case 3:
        return expand(unsqueeze(t, 0), widened(t));
      case 4:
        return conj(t);
      case 5:
        return detach(t);
      default:
        return t;
    }
  }

  void add(const Tensor& t) {
    check_inside(t);
    if (t.defined()) seen_.push_back(t);
    if (!t.defined() || t.numel() > kMostElements || t.dim() > 8) return;
    if (pool_.size() < 12) {
      pool_.push_back(t);
    } else {
      pool_[in_.pick(pool_.size())] = t;
    }
  }
  const Tensor& tensor() { return pool_[in_.pick(pool_.size())]; }
  std::int64_t integer() { return in_.of(kIntegers); }

  Dims ints(std::int64_t wanted) {
    Dims list;
    std::size_t n = wanted > 0 && !in_.chance(8) ? static_cast<std::size_t>(wanted) : in_.pick(6);
    for (; n > 0; --n)
      list.push_back(in_.chance(6) ? integer() : static_cast<std::int64_t>(in_.pick(5)) - 1);
    return list;
  }

  Value value(const Arg& arg) {
    if (arg.optional && in_.chance(2)) return std::monostate();
    switch (arg.type) {
      case ArgType::tensor:
        if (in_.chance(8)) return number();
        return tensor();
      case ArgType::scalar:
        return number();
      case ArgType::layout:
      case ArgType::memory_format:
        return static_cast<std::int64_t>(in_.pick(5));
      case ArgType::integer:
        return in_.chance(3) ? integer() : static_cast<std::int64_t>(in_.pick(5)) - 1;
      case ArgType::floating:
        return in_.of(kNumbers);
      case ArgType::boolean:
        return in_.chance(2);
      case ArgType::string:
        return std::string(in_.of(kWords));
      case ArgType::dtype:
        return static_cast<DType>(in_.pick(kernel::kDTypes));
      case ArgType::device:
        return Device{static_cast<Device::Kind>(in_.chance(16) ? 1 + in_.pick(2) : 0), 0};
      case ArgType::generator:
        return &default_generator();
      case ArgType::ints:
        return ints(arg.list_size);
      case ArgType::floats: {
        std::vector<double> list;
        for (std::size_t n = in_.pick(5); n > 0; --n) list.push_back(in_.of(kNumbers));
        return list;
      }
      case ArgType::bools: {
        Dims list;
        for (std::size_t n = in_.pick(4); n > 0; --n) list.push_back(in_.chance(2));
        return list;
      }
      case ArgType::tensors: {
        std::vector<Tensor> list;
        for (std::size_t n = in_.pick(5); n > 0; --n) {
          list.push_back(arg.optional_elements && in_.chance(4) ? Tensor() : tensor());
        }
        return list;
      }
    }
    return std::monostate();
  }

 private:
  Value number() {
    switch (in_.pick(4)) {
      case 0:
        return Scalar(integer());
      case 1:
        return Scalar(in_.of(kNumbers));
      case 2:
        return Scalar(std::complex<double>(in_.of(kNumbers), in_.of(kNumbers)));
      default:
        return Scalar(in_.chance(2));
    }
  }

  void fill(char* to, std::size_t n, DType dtype) {
    const auto item = static_cast<std::size_t>(item_size(dtype));
    const std::size_t how = in_.pick(4);
    if (how == 0) {  // any bits: NaN payloads, denormals, whatever
      for (std::size_t i = 0; i < n * item; ++i)
        to[i] = static_cast<char>(i < 64 ? in_.byte() : i * 37);
      if (dtype == DType::boolean) {
        for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<char>(to[i] & 1);
      }
      return;
    }
    const Tensor numbers = empty({static_cast<std::int64_t>(n)}, DType::complex128);
    for (std::size_t i = 0; i < n; ++i) {
      const double small = static_cast<double>((i * 7 + how) % 5) - (how == 3 ? 2 : 0);
      numbers.data_as<double>()[2 * i] = how == 2 && i % 3 == 0 ? in_.of(kNumbers) : small;
      numbers.data_as<double>()[2 * i + 1] = small;
    }
    const Tensor same = treadle::to(is_complex(dtype) ? numbers : contiguous(real(numbers)), dtype);
    std::memcpy(to, same.data(), n * item);
  }

  Reader& in_;
  std::vector<Tensor> pool_, leaves_, seen_;
};

void keep(Maker& maker, const Value& result) {
  if (const auto* t = std::get_if<Tensor>(&result)) maker.add(*t);
  if (const auto* list = std::get_if<std::vector<Tensor>>(&result)) {
    for (std::size_t i = 0; i < list->size(); ++i) maker.add((*list)[i]);
  }
}

void call(Reader& in, Maker& maker) {
  const auto table = op_table();
  const OpDef& op = table[in.pick(table.size())];
  const Schema& schema = schema_of(op);
  std::vector<Value> args;
  for (const Arg& arg : schema.args) {
    args.push_back(arg.has_default && in.chance(2) ? default_value(op, arg) : maker.value(arg));
  }
  const std::size_t form = in.pick(4);
  if (form == 0 && op.call_inplace) {
    invoke_inplace(op, args);
    return keep(maker, args[0]);
  }
  if (form == 1 && op.call_out) {
    std::vector<Tensor> outs;
    for (int i = 0; i < std::max(schema.returns, 1); ++i) outs.push_back(maker.tensor());
    invoke_out(op, args, outs);
    for (const Tensor& t : outs) maker.add(t);
    return;
  }
  std::vector<Value> results(static_cast<std::size_t>(std::max(schema.returns, 1)));
  invoke(op, args, results.data());
  for (const Value& result : results) keep(maker, result);
}

// The gradient of what a call made, sometimes so that it can be differentiated again.
void differentiate(Reader& in, Maker& maker) {
  const Tensor& y = maker.tensor();
  if (!y.requires_grad()) return;
  BackwardOptions options;
  options.create_graph = in.chance(3);
  const Tensor loss = sum(is_complex(y.dtype()) ? real(y) : y);
  backward(std::vector<Tensor>{loss}, {}, options);
}

template <class F>
void expect_result_or_error(F&& f) {
  try {
    f();
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool once = (set_num_threads(1), true);
  (void)once;
  default_generator().manual_seed(1);
  Reader in(data, size);
  Maker maker(in);
  for (std::size_t n = 2 + in.pick(4); n > 0; --n) {
    const Tensor t = maker.fresh();
    maker.add(t);
    expect_result_or_error([&] {
      const Tensor other = maker.window(t);
      if (in.chance(2) && is_differentiable(other.dtype())) return maker.add_leaf(other);
      maker.add(other);
    });
  }
  for (int n = 0; n < 6 && (n == 0 || !in.empty()); ++n) {
    expect_result_or_error([&] { call(in, maker); });
    if (in.chance(2)) expect_result_or_error([&] { differentiate(in, maker); });
  }
  return 0;
}
