// The one body of all elementwise ops.
#include "engine/ops/elementwise/map.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "engine/backend/cpu/dispatch.h"
#include "engine/backend/cpu/pool.h"
#include "engine/core/context.h"
#include "engine/core/iter.h"
#include "engine/ops/elementwise/map_node.h"
#include "engine/ops/out.h"

namespace treadle {
namespace {

using functor::Params;
using functor::Result;
using Family = MapOp::Family;

constexpr std::size_t kInputs = MapNode::kInputs;

std::size_t index_of(DType t) { return static_cast<std::size_t>(t); }

[[noreturn, gnu::noinline]] void no_kernel(const MapOp& op, DType dtype) {
  fail(ErrorKind::not_implemented, '"' + std::string(op.name()) + "\" not implemented for '" +
                                       std::string(info(dtype).scalar) + "'");
}

inline kernel::MapFn forward_kernel(const MapOp& op, DType dtype) {
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
  if (!fn) no_kernel(op, dtype);
  return fn;
}

struct Types {
  DType compute;
  DType result;
  bool wrapped = false;  // all inputs are Python numbers, so the result stands for one too
};

// PyTorch's promotion over inputs that differ.
[[gnu::noinline]] DType promote(Inputs in, bool* wrapped) {
  *wrapped =
      std::all_of(in.begin(), in.end(), [](const Tensor* t) { return t->impl()->wrapped_number; });
  if (*wrapped) {
    DType dtype = DType::boolean;
    for (const Tensor* t : in) dtype = promote_types(dtype, t->dtype());
    return dtype;
  }
  Promotion p;
  for (const Tensor* t : in) p.add(*t);
  return p.result();
}

// The dtype of the computation. The usual cases without a look at PyTorch's lattice: tensors of one
// dtype, and a tensor beside a Python number of no higher category.
inline DType common_dtype(Inputs in, bool* wrapped) {
  const TensorImpl* a = in[0]->impl();
  if (in.size() == 1 && !a->wrapped_number) return a->dtype;
  if (in.size() == 2) {
    const TensorImpl* b = in[1]->impl();
    if (a->wrapped_number) std::swap(a, b);
    if (!a->wrapped_number) {
      const bool lower = info(b->dtype).category <= info(a->dtype).category;
      if (b->wrapped_number ? lower : a->dtype == b->dtype) return a->dtype;
    }
  }
  return promote(in, wrapped);
}

[[noreturn, gnu::noinline]] void bad_condition(const MapOp& op, DType dtype) {
  fail(ErrorKind::runtime,
       std::string(op.name()) +
           " expected condition to be a boolean tensor, but got a tensor with dtype " +
           std::string(info(dtype).scalar));
}

inline Types types_of(const MapOp& op, Inputs in) {
  Types t{};
  t.compute = common_dtype(op.condition_first ? in.subspan(1) : in, &t.wrapped);
  if (op.condition_first && t.wrapped) {  // where(mask, 1., 2) is of the default dtype
    if (t.compute == DType::float64) t.compute = default_dtype();
    if (t.compute == DType::complex128 && default_dtype() != DType::float64) {
      t.compute = DType::complex64;
    }
    t.wrapped = false;
  }
  if (op.result == Result::number && t.compute == DType::boolean) t.compute = DType::int64;
  if (op.result == Result::floating && is_integral(t.compute)) {
    t.compute = t.wrapped ? DType::float64 : default_dtype();
  }
  t.result = op.result == Result::boolean ? DType::boolean : t.compute;
  if (op.condition_first && in[0]->dtype() != DType::boolean) bad_condition(op, in[0]->dtype());
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

// The common case: each input is in the dtype of the computation and contiguous, and all have one
// shape or are single numbers. Then there is nothing to cast, to broadcast or to walk: the kernel
// is called once, over n elements.
class Dense {
 public:
  explicit Dense(const MapOp& op) : scalars_(op.scalars) { clear_inputs(args_); }
  // False if the operands aren't like that.
  bool set(const MapOp& op, Inputs in, DType compute) {
    for (std::size_t k = 0; k < in.size(); ++k) {
      const TensorImpl& t = *in[k]->impl();
      const char* data = t.storage->data();
      if (!data) return false;  // a meta tensor
      const std::int64_t item = item_size(t.dtype);
      if (t.dtype != compute && !(k == 0 && op.condition_first)) {
        if (!t.wrapped_number || (compute != DType::float32 && compute != DType::float64)) {
          return false;
        }
        put_number(k, *in[k], compute);
        continue;
      }
      args_.in[k] = data + t.offset * item;
      if (t.shape.empty()) continue;
      if (!shape_) {
        if (!in[k]->is_contiguous()) return false;
        shape_ = &t.shape;
        args_.size[0] = in[k]->numel();
      } else if (t.shape != *shape_ || !in[k]->is_contiguous()) {
        return false;
      }
      args_.in_stride[k][0] = item;
    }
    if (!shape_) {
      shape_ = &in[0]->shape();
      args_.size[0] = 1;
    }
    return args_.size[0] <= kGrain;
  }
  const Dims& shape() const { return *shape_; }

  Tensor run(kernel::MapFn fn, const Params& p, DType result) {
    Tensor out = Tensor::empty(*shape_, result);
    write(fn, p, out);
    return out;
  }
  // `out` has shape() and is contiguous.
  void write(kernel::MapFn fn, const Params& p, const Tensor& out) {
    if (args_.size[0] == 0) return;
    args_.out = out.data();
    args_.out_stride[0] = item_size(out.dtype());
    std::copy_n(p.value, scalars_, args_.param);
    check_map_status(fn(args_));
  }

 private:
  void put_number(std::size_t k, const Tensor& t, DType compute) {
    const double value = t.item();
    if (compute == DType::float32) {
      const float narrow = static_cast<float>(value);
      std::memcpy(number_[k], &narrow, sizeof narrow);
    } else {
      std::memcpy(number_[k], &value, sizeof value);
    }
    args_.in[k] = number_[k];
  }

  const Dims* shape_ = nullptr;
  std::size_t scalars_;  // the kernel reads no more of args_.param
  kernel::MapArgs args_;
  alignas(double) char number_[kInputs][sizeof(double)];
};

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

[[noreturn, gnu::noinline]] void missing_input(const MapOp& op) {
  fail(ErrorKind::type, std::string(op.name()) + "(): expected a Tensor, got None");
}

inline void check_defined(const MapOp& op, Inputs in) {
  for (const Tensor* t : in) {
    if (!t->defined()) missing_input(op);
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

// Apart from map_call, which then needs no room for an Iter.
[[gnu::noinline]] Tensor call_general(const MapOp& op, Inputs in, const Params& p, Types types,
                                      kernel::MapFn fn) {
  Dims buffer;
  const Dims& shape = common_shape(in, buffer);
  const Cast cast(op, in, types.compute);
  Tensor out = allocate_like(shape, types.result, cast.span());
  check_map_status(Iter(out, cast.span()).map(fn, p.value));
  return out;
}

// Into a tensor that is there, through a conversion if it is of another dtype.
[[gnu::noinline]] void write_general(const MapOp& op, Inputs in, const Params& p, Types types,
                                     kernel::MapFn fn, const Tensor& out) {
  const Cast cast(op, in, types.compute);
  if (types.result == out.dtype()) {
    check_map_status(Iter(out, cast.span()).map(fn, p.value));
    return;
  }
  const Tensor temporary = allocate_like(out.shape(), types.result, cast.span());
  check_map_status(Iter(temporary, cast.span()).map(fn, p.value));
  cast_into(out, temporary);
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
  Dense dense(op);
  const bool is_dense = dense.set(op, in, types.compute);
  Tensor out = is_dense ? dense.run(fn, p, types.result) : call_general(op, in, p, types, fn);
  out.impl()->wrapped_number = types.wrapped;
  if (MapNode::wanted(op, in)) {
    Ref<MapNode> node = Ref<MapNode>::make(op, p, in, out.shape(), types.result);
    node->save_inputs(in);
    if (node->reads_output()) node->save_output(out);
    set_history(out, std::move(node));
  }
  return out;
}

void map_inplace(const MapOp& op, Inputs in, const Params& p) {
  check_defined(op, in);
  const Tensor& self = *in[0];
  check_inplace(self, in.subspan(1));
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
  Ref<Node> overwriting;
  if (!op.differentiable()) {
    overwriting = overwriting_node("OverwriteBackward0", self);
  } else if (MapNode::wanted(op, in)) {
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
  Dense dense(op);
  if (types.result == self.dtype() && dense.set(op, in, types.compute) && self.is_contiguous()) {
    dense.write(fn, p, self);
  } else {
    write_general(op, in, p, types, fn, self);
  }
  self.impl()->storage->bump();
  if (node) {
    if (node->reads_output()) node->save_output(self);
    rebase_history(self, std::move(node));
  } else if (overwriting) {
    rebase_history(self, std::move(overwriting));
  }
}

void map_out(const MapOp& op, Inputs in, const Params& p, Tensor& out) {
  check_defined(op, in);
  check_out(op.name(), op.differentiable() ? in : Inputs(), {&out, 1});
  const Types types = types_of(op, in);
  check_out_dtype(types.result, out);
  if (op.inputs == 1 && op.result == Result::same && types.result != out.dtype()) {
    fail(ErrorKind::runtime, "Found dtype " + std::string(info(out.dtype()).scalar) +
                                 " but expected " + std::string(info(types.result).scalar));
  }
  Dims buffer;
  resize_out(out, common_shape(in, buffer));
  check_overlap(out, in);
  write_general(op, in, p, types, forward_kernel(op, types.compute), out);
  out.impl()->storage->bump();
}

}  // namespace treadle
