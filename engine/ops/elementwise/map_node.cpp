// What a node of an elementwise op saves, and its two ways of running backward: the fused gradient
// kernel, or, under create_graph and where there is none, the derivative on Tensors.
#include "engine/ops/elementwise/map_node.h"

#include "engine/backend/cpu/dispatch.h"
#include "engine/core/context.h"
#include "engine/core/iter.h"
#include "engine/ops/out.h"

namespace treadle {
namespace {

using functor::Params;
using Family = MapOp::Family;

constexpr std::size_t kInputs = MapNode::kInputs;

// Null where only the derivative on Tensors exists.
kernel::MapFn gradient_kernel(const MapOp& op, std::uint32_t input, DType dtype) {
  const kernel::Table& t = table();
  const auto id = static_cast<std::size_t>(op.id), type = static_cast<std::size_t>(dtype);
  switch (op.family) {
    case Family::unary:
      return t.unary_grad[id][type];
    case Family::binary:
      return t.binary_grad[input][id][type];
    case Family::ternary:
      return t.ternary_grad[input][id][type];
    case Family::compare:
      break;
  }
  return nullptr;
}

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

}  // namespace

void check_map_status(std::uint32_t status) {
  if (status & kernel::kDivisionByZero) fail(ErrorKind::runtime, "ZeroDivisionError");
}

bool MapNode::wanted(const MapOp& op, Inputs in) {
  if (!context().grad_enabled) return false;
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (op.derive[k] && in[k]->requires_grad() && !in[k]->impl()->inference) return true;
  }
  return false;
}

MapNode::MapNode(const MapOp& op, const Params& p, Inputs in, const Dims& shape, DType result)
    : Node(static_cast<std::uint32_t>(in.size())), op_(op), params_(p) {
  bool undo = false;
  for (std::uint32_t k = 0; k < in.size(); ++k) {
    if (op.derive[k]) edge(k) = gradient_edge(*in[k]);
    if (needs(k)) read_ |= reads(op, k);
    if (needs(k) && (in[k]->shape() != shape || in[k]->dtype() != result)) undo = true;
  }
  if (undo) {
    undo_ = std::make_unique<Undo>();
    for (std::size_t k = 0; k < in.size(); ++k) {
      undo_->shape[k] = in[k]->shape();
      undo_->dtype[k] = in[k]->dtype();
    }
  }
}

std::string MapNode::name() const { return node_name(op_.name()); }

Saved* MapNode::saved(std::string_view name) {
  if (released_) released_error();
  if (name == "result") return read_ & 8 ? &saved_[kInputs] : nullptr;
  std::size_t k = 0;
  for (const Arg& arg : parse_schema(op_.schema).args) {
    if (arg.type != ArgType::tensor) continue;
    if (arg.name == name) return read_ >> k & 1 ? &saved_[k] : nullptr;
    ++k;
  }
  return nullptr;
}

void MapNode::release() {
  std::array<Saved, kInputs + 1> dropped;  // freed after the lock
  const ObjectLock lock(this);
  std::swap(dropped, saved_);
  released_ = read_ != 0;
}

Gradients MapNode::apply(Gradients grads) {
  Gradients result(edge_count());
  const Tensor& g = grads[0];
  if (!g.defined()) return result;
  std::array<Saved, kInputs + 1> saved;
  if (read_ != 0) {
    const ObjectLock lock(this);
    if (released_) released_error();
    saved = saved_;
  }
  const bool graph = context().grad_enabled;
  const std::string own = name();
  std::array<Tensor, kInputs> x;
  for (std::size_t k = 0; k < edge_count(); ++k) {
    if (!saved[k].defined()) continue;
    x[k] = graph ? saved[k].get(this) : saved[k].get_data(own.c_str());
    if (x[k].dtype() != g.dtype() && !(k == 0 && op_.condition_first)) {
      const bool number = x[k].impl()->wrapped_number;
      x[k] = graph ? to(x[k], g.dtype()) : cast(x[k], g.dtype());
      x[k].impl()->wrapped_number = number;  // what is computed of it isn't packed by hooks either
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

Tensor MapNode::one(std::uint32_t k, const Tensor& g, const std::array<Tensor, kInputs>& x,
                    const Tensor& y, bool graph) const {
  const kernel::MapFn fn = graph ? nullptr : gradient_kernel(op_, k, g.dtype());
  if (!fn) return op_.derive[k](params_, g, x, y);
  std::array<const Tensor*, kernel::kMaxInputs> in{&g};
  std::size_t n = 1;
  for (std::uint32_t i = 0; i < edge_count(); ++i)
    in[n++] = x[i].defined() ? &x[i] : &g;  // never null: a slot that isn't used may be loaded
  if (op_.family != Family::ternary) in[n++] = y.defined() ? &y : &g;
  const Tensor out = allocate_like(g.shape(), g.dtype(), Inputs(&in[0], 1));
  check_map_status(Iter(out, Inputs(in.data(), n)).map(fn, params_.value));
  return out;
}

}  // namespace treadle
