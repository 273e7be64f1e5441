// The one body of all elementwise ops.
#include "engine/ops/map.h"

#include <algorithm>
#include <memory>

#include "engine/autograd/node.h"
#include "engine/backend/cpu/dispatch.h"
#include "engine/core/context.h"
#include "engine/core/iter.h"
#include "engine/ops/out.h"

namespace treadle {
namespace {

using functor::Params;
using functor::Result;
using Family = MapOp::Family;

constexpr std::size_t kInputs = 3;

std::size_t index_of(DType t) { return static_cast<std::size_t>(t); }

kernel::MapFn forward_kernel(const MapOp& op, DType dtype) {
  const kernel::Table& t = table();
  const auto id = static_cast<std::size_t>(op.id);
  kernel::MapFn fn = nullptr;
  switch (op.family) {
    case Family::unary:
      fn = t.unary[id][index_of(dtype)];
      break;
    case Family::binary:
      fn = t.binary[id][index_of(dtype)];
      break;
    case Family::compare:
      fn = t.compare[id][index_of(dtype)];
      break;
    case Family::ternary:
      fn = t.ternary[id][index_of(dtype)];
      break;
  }
  if (!fn) {
    fail(ErrorKind::not_implemented, '"' + std::string(op.name()) + "\" not implemented for '" +
                                         std::string(info(dtype).scalar) + "'");
  }
  return fn;
}

// Null where only the derivative on Tensors exists.
kernel::MapFn gradient_kernel(const MapOp& op, std::uint32_t input, DType dtype) {
  const kernel::Table& t = table();
  const auto id = static_cast<std::size_t>(op.id);
  switch (op.family) {
    case Family::unary:
      return t.unary_grad[id][index_of(dtype)];
    case Family::binary:
      return t.binary_grad[input][id][index_of(dtype)];
    case Family::ternary:
      return t.ternary_grad[input][id][index_of(dtype)];
    case Family::compare:
      break;
  }
  return nullptr;
}

void check_status(std::uint32_t status) {
  if (status & kernel::kDivisionByZero) fail(ErrorKind::runtime, "ZeroDivisionError");
}

struct Types {
  DType compute;
  DType result;
  bool wrapped = false;  // all inputs are Python numbers, so the result stands for one too
};

Types types_of(const MapOp& op, Inputs in) {
  Types t{};
  const std::size_t first = op.condition_first ? 1 : 0;
  const TensorImpl& a = *in[first]->impl();
  bool alike = true, wrapped = a.wrapped_number;
  for (std::size_t k = first + 1; k < in.size(); ++k) {
    alike &= in[k]->dtype() == a.dtype && !in[k]->impl()->wrapped_number;
    wrapped &= in[k]->impl()->wrapped_number;
  }
  if (wrapped) {
    t.compute = DType::boolean;
    for (std::size_t k = first; k < in.size(); ++k)
      t.compute = promote_types(t.compute, in[k]->dtype());
    t.wrapped = true;
  } else if (alike && !a.wrapped_number) {
    t.compute = a.dtype;
  } else {
    Promotion p;
    for (std::size_t k = first; k < in.size(); ++k) p.add(*in[k]);
    t.compute = p.result();
  }
  if (op.result == Result::floating && is_integral(t.compute)) {
    t.compute = t.wrapped ? DType::float64 : default_dtype();
  }
  t.result = op.result == Result::boolean ? DType::boolean : t.compute;
  if (op.condition_first && in[0]->dtype() != DType::boolean) {
    fail(ErrorKind::runtime,
         std::string(op.name()) +
             " expected condition to be a boolean tensor, but got a tensor with dtype " +
             std::string(info(in[0]->dtype()).scalar));
  }
  return t;
}

// A Python number in the dtype of the computation, without a kernel.
Tensor number(const Tensor& t, DType dtype) {
  const Tensor out = Tensor::empty({}, dtype);
  switch (dtype) {
    case DType::float32:
      *out.data_as<float>() = static_cast<float>(t.item());
      return out;
    case DType::float64:
      *out.data_as<double>() = t.item();
      return out;
    default:
      return cast(t, dtype);
  }
}

// Inputs in the dtype of the computation; owns the casts.
class Cast {
 public:
  Cast(const MapOp& op, Inputs in, DType compute) : count_(in.size()) {
    for (std::size_t k = 0; k < count_; ++k) {
      const bool keep = in[k]->dtype() == compute || (k == 0 && op.condition_first);
      if (!keep)
        owned_[k] = in[k]->impl()->wrapped_number ? number(*in[k], compute) : cast(*in[k], compute);
      pointer_[k] = keep ? in[k] : &owned_[k];
    }
  }
  Inputs span() const { return {pointer_.data(), count_}; }

 private:
  std::size_t count_;
  std::array<Tensor, kInputs> owned_;
  std::array<const Tensor*, kInputs> pointer_{};
};

std::string node_name(std::string_view op) {
  std::string name;
  bool upper = true;
  for (const char c : op) {
    if (c == '_') {
      upper = true;
      continue;
    }
    name += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = false;
  }
  return name + "Backward0";
}

// Which inputs (bit j) and whether the output (bit 3) the derivative for input k reads: it is
// called once on Tensors for each of them with that one missing, which any use refuses. The tape
// keeps no more than that, so that writing a tensor whose value no derivative needs stays allowed.
std::uint32_t reads(const MapOp& op, std::size_t k) {
  constexpr std::uint32_t kKnown = 1u << 31;
  const std::uint32_t cached = op.reads_cache->load(std::memory_order_relaxed);
  if (cached & kKnown) return cached >> (4 * k) & 15;
  const NoGrad off;
  const Tensor one = Tensor::empty({}, DType::float64);
  *one.data_as<double>() = 0.5;
  const Tensor yes = Tensor::wrapped(true);
  std::uint32_t all = kKnown;
  Params p{};
  for (std::size_t i = 0; i < kInputs; ++i) {
    if (!op.derive[i]) continue;
    for (std::uint32_t j = 0; j < 4; ++j) {
      std::array<Tensor, kInputs> x{op.condition_first ? yes : one, one, one};
      Tensor y = one;
      (j < 3 ? x[j] : y) = Tensor();
      try {
        op.derive[i](p, one, x, y);
      } catch (const Error&) {
        all |= 1u << (4 * i + j);
      }
    }
  }
  op.reads_cache->store(all, std::memory_order_relaxed);
  return all >> (4 * k) & 15;
}

class MapNode final : public Node {
 public:
  MapNode(const MapOp& op, const Params& p, Inputs in, const Dims& shape, DType result)
      : Node(static_cast<std::uint32_t>(in.size())), op_(op), params_(p) {
    for (std::uint32_t k = 0; k < in.size(); ++k) {
      if (op.derive[k]) edge(k) = gradient_edge(*in[k]);
      if (needs(k)) read_ |= reads(op, k);
      if (needs(k) && (in[k]->shape() != shape || in[k]->dtype() != result)) undo_needed_ = true;
    }
    if (undo_needed_) {
      undo_ = std::make_unique<Undo>();
      for (std::size_t k = 0; k < in.size(); ++k) {
        undo_->shape[k] = in[k]->shape();
        undo_->dtype[k] = in[k]->dtype();
      }
    }
  }
  void save_inputs(Inputs in) {
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (read_ >> k & 1) saved_[k] = Saved(*in[k]);
    }
  }
  bool reads_inputs() const { return (read_ & 7) != 0; }
  bool reads_output() const { return (read_ & 8) != 0; }
  void save_output(const Tensor& out) { saved_[kInputs] = Saved::output(out); }

  std::string name() const override { return node_name(op_.name()); }

  void release() override {
    std::array<Saved, kInputs + 1> dropped;  // freed after the lock
    const std::lock_guard lock(lock_of(this));
    std::swap(dropped, saved_);
    released_ = read_ != 0;
  }

  Gradients apply(Gradients grads) override {
    Gradients result(edge_count());
    const Tensor& g = grads[0];
    if (!g.defined()) return result;
    std::array<Saved, kInputs + 1> saved;
    if (read_ != 0) {
      const std::lock_guard lock(lock_of(this));
      if (released_) released_error();
      saved = saved_;
    }
    const bool graph = context().grad_enabled;
    const std::string own = name();
    std::array<Tensor, kInputs> x;
    for (std::size_t k = 0; k < edge_count(); ++k) {
      if (!saved[k].defined()) continue;
      x[k] = saved[k].get_data(own.c_str());
      if (x[k].dtype() != g.dtype() && !(k == 0 && op_.condition_first)) {
        x[k] = graph ? to(x[k], g.dtype()) : cast(x[k], g.dtype());
      }
    }
    Tensor y;
    if (saved[kInputs].defined()) {
      y = graph ? saved[kInputs].get(this) : saved[kInputs].get_data(own.c_str());
    }
    for (std::uint32_t k = 0; k < edge_count(); ++k) {
      if (!needs(k)) continue;
      result[k] = one(k, g, x, y, graph);
      if (undo_) {
        result[k] = sum_to(result[k], undo_->shape[k]);
        if (result[k].dtype() != undo_->dtype[k]) result[k] = to(result[k], undo_->dtype[k]);
      }
    }
    return result;
  }

 private:
  struct Undo {  // of broadcasting and promotion
    Dims shape[kInputs];
    DType dtype[kInputs];
  };

  Tensor one(std::uint32_t k, const Tensor& g, const std::array<Tensor, kInputs>& x,
             const Tensor& y, bool graph) const {
    const kernel::MapFn fn = graph ? nullptr : gradient_kernel(op_, k, g.dtype());
    if (!fn) return op_.derive[k](params_, g, x, y);
    std::array<const Tensor*, kernel::kMaxInputs> in{&g};
    std::size_t n = 1;
    for (std::uint32_t i = 0; i < edge_count(); ++i)
      in[n++] = x[i].defined() ? &x[i] : &g;  // never null: a slot that isn't used may be loaded
    if (op_.family != Family::ternary) in[n++] = y.defined() ? &y : &g;
    const Tensor out = allocate_like(g.shape(), g.dtype(), Inputs(&in[0], 1));
    check_status(Iter(out, Inputs(in.data(), n)).map(fn, params_.value));
    return out;
  }

  const MapOp& op_;
  Params params_;
  std::array<Saved, kInputs + 1> saved_;  // inputs, output
  std::uint32_t read_ = 0;                // bit k: input k, bit 3: the output
  bool undo_needed_ = false;
  bool released_ = false;
  std::unique_ptr<Undo> undo_;
};

bool wants_node(const MapOp& op, Inputs in) {
  if (!context().grad_enabled) return false;
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (op.derive[k] && in[k]->requires_grad()) return true;
  }
  return false;
}

void check_defined(const MapOp& op, Inputs in) {
  for (const Tensor* t : in) {
    if (!t->defined())
      fail(ErrorKind::type, std::string(op.name()) + "(): expected a Tensor, got None");
  }
}

// The shape of the inputs together, without a copy where they agree.
const Dims& common_shape(Inputs in, Dims& buffer) {
  const Dims& first = in[0]->shape();
  for (std::size_t k = 1; k < in.size(); ++k) {
    if (in[k]->dim() != 0 && in[k]->shape() != first) return buffer = broadcast_shapes(in);
  }
  return first;
}

}  // namespace

std::string_view MapOp::name() const {
  const std::string_view s = schema;
  return s.substr(0, s.find_first_of(".("));
}

Tensor map_call(const MapOp& op, Inputs in, const Params& p) {
  check_defined(op, in);
  const Types types = types_of(op, in);
  const kernel::MapFn fn = forward_kernel(op, types.compute);
  Dims buffer;
  const Dims& shape = common_shape(in, buffer);
  const Cast cast(op, in, types.compute);
  const Tensor out = allocate_like(shape, types.result, cast.span());
  check_status(Iter(out, cast.span()).map(fn, p.value));
  out.impl()->wrapped_number = types.wrapped;
  if (wants_node(op, in)) {
    Ref<MapNode> node(new MapNode(op, p, in, shape, types.result));
    node->save_inputs(in);
    if (node->reads_output()) node->save_output(out);
    set_history(out, std::move(node));
  }
  return out;
}

void map_inplace(const MapOp& op, Inputs in, const Params& p) {
  check_defined(op, in);
  const Tensor& self = *in[0];
  check_inplace(self);
  const Types types = types_of(op, in);
  if (!can_cast(types.result, self.dtype())) {
    fail(ErrorKind::runtime, "result type " + std::string(info(types.result).scalar) +
                                 " can't be cast to the desired output type " +
                                 std::string(info(self.dtype()).scalar));
  }
  Dims buffer;
  const Dims& shape = common_shape(in, buffer);
  if (shape != self.shape()) {
    fail(ErrorKind::runtime, "output with shape " + to_string(self.shape()) +
                                 " doesn't match the broadcast shape " + to_string(shape));
  }
  check_overlap(self, in);
  const kernel::MapFn fn = forward_kernel(op, types.compute);
  Ref<MapNode> node;
  if (wants_node(op, in)) {
    node = Ref<MapNode>(new MapNode(op, p, in, shape, types.result));
    if (node->reads_inputs()) {
      // The old value is overwritten; a copy of it is what the derivative needs.
      Tensor old;
      {
        const NoGrad off;
        old = clone(self);
      }
      if (Edge e = gradient_edge(self)) {
        GradMeta& m = grad_meta(old);
        if (e.leaf)
          m.requires_grad = true;
        else
          m.grad_fn = Ref<Node>(e.node()), m.output_nr = e.nr;
      }
      std::array<const Tensor*, kInputs> saved{&old};
      for (std::size_t k = 1; k < in.size(); ++k) saved[k] = same(*in[k], self) ? &old : in[k];
      node->save_inputs({saved.data(), in.size()});
    }
  }
  const Cast cast(op, in, types.compute);
  if (types.result == self.dtype()) {
    check_status(Iter(self, cast.span()).map(fn, p.value));
  } else {
    const Tensor temporary = allocate_like(shape, types.result, cast.span());
    check_status(Iter(temporary, cast.span()).map(fn, p.value));
    cast_into(self, temporary);
  }
  self.impl()->storage->bump();
  if (node) {
    if (node->reads_output()) node->save_output(self);
    rebase_history(self, std::move(node));
  }
}

void map_out(const MapOp& op, Inputs in, const Params& p, Tensor& out) {
  check_defined(op, in);
  check_out(op.name(), in, {&out, 1});
  const Types types = types_of(op, in);
  check_out_dtype(types.result, out);
  Dims buffer;
  resize_out(out, common_shape(in, buffer));
  check_overlap(out, in);
  const Cast cast(op, in, types.compute);
  const kernel::MapFn fn = forward_kernel(op, types.compute);
  if (types.result == out.dtype()) {
    check_status(Iter(out, cast.span()).map(fn, p.value));
  } else {
    const Tensor temporary = allocate_like(out.shape(), types.result, cast.span());
    check_status(Iter(temporary, cast.span()).map(fn, p.value));
    cast_into(out, temporary);
  }
  out.impl()->storage->bump();
}

}  // namespace treadle
