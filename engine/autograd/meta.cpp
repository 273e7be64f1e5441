// What a tensor knows of its gradient: requires_grad, grad, history, views and in-place rules,
// hooks. Error texts are PyTorch's, since people search for them.
#include <algorithm>
#include <atomic>

#include "engine/autograd/node.h"
#include "engine/core/context.h"
#include "engine/ops/names.h"
#include "engine/ops/view/strided.h"

namespace treadle {

TensorImpl::~TensorImpl() { delete grad_meta; }

GradMeta& grad_meta(const Tensor& t) {
  TensorImpl& impl = *t.impl();
  if (!impl.grad_meta) impl.grad_meta = new GradMeta;
  return *impl.grad_meta;
}

bool Tensor::grad_meta_requires_grad() const {
  const GradMeta& m = *impl_->grad_meta;
  return m.requires_grad || m.grad_fn || (m.view && m.view->base.requires_grad());
}

bool Tensor::is_leaf() const { return !grad_fn(*this); }

Tensor Tensor::grad() const {
  const GradMeta* m = impl_->grad_meta;
  if (!m) return Tensor();
  const ObjectLock lock(impl_.get());
  return m->slot ? m->slot->grad : m->grad;
}

void Tensor::set_requires_grad(bool value) const {
  if (!value) {
    if (!is_leaf()) {
      fail(ErrorKind::runtime,
           "you can only change requires_grad flags of leaf variables. If you want to use a "
           "computed "
           "variable in a subgraph that doesn't require differentiation use "
           "var_no_grad = var.detach().");
    }
    if (impl_->grad_meta) impl_->grad_meta->requires_grad = false;
    return;
  }
  if (!is_differentiable(dtype())) {
    fail(ErrorKind::runtime,
         "only Tensors of floating point and complex dtype can require gradients");
  }
  if (impl_->inference && !context().inference) {
    fail(ErrorKind::runtime,
         "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  }
  if (is_leaf())
    treadle::grad_meta(*this).requires_grad = true;  // a non-leaf already requires grad
}

void Tensor::set_grad(const Tensor& grad) const {
  if (grad.defined()) {
    if (same(grad, *this)) fail(ErrorKind::runtime, "can't assign Variable as its own grad");
    if (grad.dtype() != dtype()) {
      fail(ErrorKind::type, "assigned grad has data of a different type: expected " +
                                repr(dtype()) + ", got " + repr(grad.dtype()));
    }
    if (grad.shape() != shape()) {
      fail(ErrorKind::runtime, "assigned grad has data of a different size: expected " +
                                   to_string(shape()) + ", got " + to_string(grad.shape()));
    }
  }
  GradMeta& m = treadle::grad_meta(*this);
  Tensor old = grad;  // freed after the lock
  const ObjectLock lock(impl_.get());
  std::swap(m.slot ? m.slot->grad : m.grad, old);
}

namespace {

constinit std::atomic<bool> leaf_hooks{false};

// Throws if the tape can't follow a write into the view, or (`indirect`) into what it looks at.
void check_view(const GradMeta& m, bool indirect) {
  using Creation = ViewInfo::Creation;
  const Creation creation = m.view->creation;
  if (creation == Creation::normal) return;
  const std::string output = m.grad_fn ? "Output " + std::to_string(m.output_nr) + " of " +
                                             m.grad_fn->name() + " is a view"
                                       : "";
  const std::string what = indirect ? "its base or another view of its base has been" : "is being";
  std::string text;
  if (creation == Creation::inference || creation == Creation::no_grad || !m.grad_fn) {
    text = m.grad_fn ? output + " of a view which was created in" : "A view was created in";
    const bool inference = creation == Creation::inference;
    text += (inference ? " inference mode and " : " no_grad mode and ") + what +
            " modified inplace " + (inference ? "in normal mode" : "with grad mode enabled") +
            ". Given that this use case is ambiguous and error-prone, it is forbidden. You can "
            "clarify your code by moving both the view and the inplace either both inside the " +
            (inference ? "inference_mode" : "no_grad") +
            " block (if you don't want the inplace to be tracked) or both outside (if you want the "
            "inplace to be tracked).";
  } else {
    text = output + " and " + what + " modified inplace.";
  }
  if (creation == Creation::multi_output) {
    text +=
        " This view is the output of a function that returns multiple views. Such functions do not "
        "allow the output views to be modified inplace. You should replace the inplace operation "
        "by an out-of-place one.";
  }
  if (creation == Creation::custom_function) {
    text +=
        " This view was created inside a custom Function (or because an input was returned as-is) "
        "and the autograd logic to handle view+inplace would override the custom backward "
        "associated with the custom Function, leading to incorrect gradients. This behavior is "
        "forbidden. You can fix this by cloning the output of the custom Function.";
  }
  fail(ErrorKind::runtime, std::move(text));
}

// .grad of a tensor that keeps it comes from its new node from now on.
void move_retained(GradMeta& m, const Ref<Node>& old_node, std::uint32_t old_nr) {
  if (!m.slot) return;
  if (old_node) old_node->drop_retained(old_nr, m.slot.get());
  m.grad_fn->retain(m.output_nr, m.slot);
}

void renew_history(const Tensor& t, GradMeta& m) {
  if (!m.view || m.view->version == t.version()) return;
  if (!m.grad_fn && !m.view->base.requires_grad()) return;
  check_view(m, true);
  if (!m.view->base.requires_grad()) return;
  // The base was written through this or another view: the view's history is now that of a window
  // into the new base.
  const Tensor base = m.view->base;
  const Ref<Node> old = m.grad_fn;
  const std::uint32_t old_nr = m.output_nr;
  m.grad_fn = as_strided_node(base, t);
  m.grad_fn->note_output(0);
  m.output_nr = 0;
  move_retained(m, old, old_nr);
  m.view->version = t.version();
}

}  // namespace

Ref<Node> grad_fn(const Tensor& t) {
  GradMeta* m = t.impl()->grad_meta;
  if (!m) return nullptr;
  renew_history(t, *m);
  return m->grad_fn;
}

Edge gradient_edge(const Tensor& t) {
  if (!t.defined() || !t.impl()->grad_meta) return {};
  GradMeta& m = *t.impl()->grad_meta;
  renew_history(t, m);
  if (m.grad_fn) return {Ref<RefCounted>(m.grad_fn.get()), m.output_nr, false};
  if (m.requires_grad) return {Ref<RefCounted>(t.impl()), 0, true};
  return {};
}

bool needs_tape(std::initializer_list<const Tensor*> inputs) {
  if (!context().grad_enabled) return false;
  return std::any_of(inputs.begin(), inputs.end(), [](const Tensor* t) {
    return t->defined() && t->requires_grad() && !t->impl()->inference;
  });
}

void set_history(const Tensor& result, Ref<Node> node, std::uint32_t nr) {
  if (!is_differentiable(result.dtype())) return;
  GradMeta& m = grad_meta(result);
  node->note_output(nr);
  m.grad_fn = std::move(node);
  m.output_nr = nr;
  if (m.view) m.view->version = result.version();  // this history is of the view as it is now
}

void set_view(const Tensor& view, const Tensor& base, ViewInfo::Creation creation) {
  const Context& now = context();
  if (base.impl()->inference) return;
  const GradMeta* b = base.impl()->grad_meta;
  if (!now.grad_enabled) creation = ViewInfo::Creation::no_grad;
  if (now.inference) creation = ViewInfo::Creation::inference;
  if (b && b->view && creation == ViewInfo::Creation::normal) creation = b->view->creation;
  grad_meta(view).view.emplace(
      ViewInfo{b && b->view ? b->view->base : base, view.version(), creation});
}

void check_inplace(const Tensor& self, std::span<const Tensor* const> others) {
  if (self.impl()->inference && !context().inference) {
    fail(ErrorKind::runtime,
         "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a "
         "clone to "
         "get a normal tensor before doing inplace update.");
  }
  if (self.impl()->storage->read_only()) {
    fail(ErrorKind::runtime,
         "the tensor's memory is read-only (it wraps a read-only array); clone() it first");
  }
  if (context().before_write) [[unlikely]]
    context().before_write(self);
  const GradMeta* m = self.impl()->grad_meta;
  if (!m || !context().grad_enabled) return;
  if (!m->view) {
    if (m->requires_grad && !m->grad_fn) {
      fail(ErrorKind::runtime,
           "a leaf Variable that requires grad is being used in an in-place operation.");
    }
    return;
  }
  const bool wanted = self.requires_grad();
  if (!wanted && std::none_of(others.begin(), others.end(),
                              [](const Tensor* t) { return t->defined() && t->requires_grad(); })) {
    return;
  }
  check_view(*m, false);
  const GradMeta* b = m->view->base.impl()->grad_meta;
  if (wanted && b && b->requires_grad && !b->grad_fn) {
    fail(ErrorKind::runtime,
         "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  }
}
namespace {

// The history of a base that was written through a view: the gradient outside the window passes on
// as it is, the part inside goes through the node of the op.
class CopySlices final : public Node {
 public:
  CopySlices(const Tensor& base, const Tensor& view, Ref<Node> inner)
      : Node(inner->edge_count()),
        shape_(base.shape()),
        strides_(base.strides()),
        start_(base.impl()->offset % 2),
        window_(base, view),
        inner_(std::move(inner)) {
    edge(0) = gradient_edge(base);
    for (std::uint32_t i = 1; i < edge_count(); ++i) edge(i) = inner_->edge(i);
    // The inner node computes the gradient of the slice exactly if the base wants one.
    inner_->edge(0) = edge(0);
  }
  std::string name() const override { return "CopySlices"; }
  void release() override { inner_->release(); }
  void references(ReferenceVisitor& visitor) const override { visitor.node(*inner_); }
  Gradients apply(Gradients grads) override {
    if (!grads[0].defined()) return Gradients(edge_count());
    // A copy in the base's own layout, so that the view's geometry applies to it; at an odd place
    // if the base is, so that pairs of numbers are complex numbers where they were.
    Dims shape = shape_;
    std::int64_t elements = start_ + 1;
    for (std::int64_t i = 0; i < shape.size(); ++i)
      elements += shape[i] > 0 ? (shape[i] - 1) * strides_[i] : 0;
    const Tensor all = as_strided(empty({elements}, grads[0].dtype()), shape, strides_, start_);
    copy_(all, grads[0]);
    const Tensor slice = window_.look(all, start_);
    Gradients result = inner_->apply({clone(slice)});
    if (needs(0)) {
      if (result[0].defined())
        copy_(slice, result[0]);
      else
        zero_(slice);
      result[0] = all;
    }
    return result;
  }

 private:
  Dims shape_, strides_;
  std::int64_t start_;
  Window window_;
  Ref<Node> inner_;
};

}  // namespace

void rebase_history(const Tensor& self, Ref<Node> node) {
  GradMeta& m = grad_meta(self);
  if (m.view) {
    const Tensor base = m.view->base;
    GradMeta& b = grad_meta(base);
    const Ref<Node> old = b.grad_fn;
    const std::uint32_t old_nr = b.output_nr;
    b.grad_fn = Ref<Node>(new CopySlices(base, self, std::move(node)));
    b.grad_fn->note_output(0);
    b.output_nr = 0;
    move_retained(b, old, old_nr);
    m.view->version = self.version() - 1;  // stale: grad_fn() renews it from the base
    return;
  }
  const Ref<Node> old = m.grad_fn;
  const std::uint32_t old_nr = m.output_nr;
  m.grad_fn = std::move(node);
  m.grad_fn->note_output(0);
  m.output_nr = 0;
  move_retained(m, old, old_nr);
}

std::int64_t add_hook(const Tensor& t, TensorHook hook, void* python) {
  if (!t.requires_grad()) {
    fail(ErrorKind::runtime, "cannot register a hook on a tensor that doesn't require gradient");
  }
  if (const Ref<Node> node = grad_fn(t))
    return node->add_hook(grad_meta(t).output_nr, std::move(hook), python);
  leaf_hooks.store(true, std::memory_order_relaxed);
  GradMeta& m = grad_meta(t);
  const ObjectLock lock(t.impl());
  if (!m.hooks) m.hooks = std::make_unique<std::vector<HookEntry>>();
  m.hooks->push_back({new_hook_id(), 0, std::move(hook), python});
  return m.hooks->back().id;
}

std::int64_t add_accumulated_hook(const Tensor& leaf, std::function<void(const Tensor&)> hook,
                                  void* python) {
  if (!leaf.requires_grad()) {
    fail(ErrorKind::runtime, "cannot register a hook on a tensor that doesn't require gradient");
  }
  if (!leaf.is_leaf()) {
    fail(ErrorKind::runtime, "post accumulate grad hooks cannot be registered on non-leaf tensors");
  }
  leaf_hooks.store(true, std::memory_order_relaxed);
  GradMeta& m = grad_meta(leaf);
  const ObjectLock lock(leaf.impl());
  if (!m.accumulated_hooks) m.accumulated_hooks = std::make_unique<std::vector<HookEntry>>();
  m.accumulated_hooks->push_back({new_hook_id(), 0,
                                  [f = std::move(hook)](const Tensor& t) {
                                    f(t);
                                    return Tensor();
                                  },
                                  python});
  return m.accumulated_hooks->back().id;
}

std::int64_t add_leaf_node_hook(const Tensor& leaf, bool after, NodeHook hook, void* python) {
  leaf_hooks.store(true, std::memory_order_relaxed);
  GradMeta& m = grad_meta(leaf);
  const ObjectLock lock(leaf.impl());
  if (!m.node_hooks) m.node_hooks = std::make_unique<std::vector<NodeHookEntry>>();
  m.node_hooks->push_back({new_hook_id(), after, std::move(hook), python});
  return m.node_hooks->back().id;
}

bool leaves_have_hooks() { return leaf_hooks.load(std::memory_order_relaxed); }

void remove_hook(const Tensor& t, std::int64_t id) {
  GradMeta& m = grad_meta(t);
  if (m.grad_fn) m.grad_fn->remove_hook(id);
  std::vector<HookEntry> removed;  // destroyed after the lock
  std::vector<NodeHookEntry> removed_too;
  const ObjectLock lock(t.impl());
  for (auto* list : {m.hooks.get(), m.accumulated_hooks.get()}) {
    if (!list) continue;
    const auto at =
        std::find_if(list->begin(), list->end(), [&](const HookEntry& h) { return h.id == id; });
    if (at == list->end()) continue;
    removed.push_back(std::move(*at));
    list->erase(at);
  }
  if (!m.node_hooks) return;
  const auto at = std::find_if(m.node_hooks->begin(), m.node_hooks->end(),
                               [&](const NodeHookEntry& h) { return h.id == id; });
  if (at == m.node_hooks->end()) return;
  removed_too.push_back(std::move(*at));
  m.node_hooks->erase(at);
}

void detach_in_place(const Tensor& t) {
  GradMeta* m = t.impl()->grad_meta;
  if (!m) return;
  if (m->view) {
    fail(ErrorKind::runtime,
         "Can't detach views in-place. Use detach() instead. If you are using "
         "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as True, "
         "gradients are views of DDP buckets, and hence detach_() cannot be called on these "
         "gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
         "torch/optim/optimizer.py as a solution.");
  }
  const Ref<Node> old = std::exchange(m->grad_fn, nullptr);
  if (old && m->slot) old->drop_retained(m->output_nr, m->slot.get());
  m->slot = nullptr;
  m->requires_grad = false;
  m->output_nr = 0;
}

void retain_grad(const Tensor& t) {
  if (!t.requires_grad()) {
    fail(ErrorKind::runtime, "can't retain_grad on Tensor that has requires_grad=False");
  }
  const Ref<Node> node = grad_fn(t);
  if (!node || retains_grad(t)) return;  // leaves always keep theirs
  GradMeta& m = grad_meta(t);
  m.slot = Ref<GradSlot>(new GradSlot);
  node->retain(m.output_nr, m.slot);
}

bool retains_grad(const Tensor& t) {
  const GradMeta* m = t.impl()->grad_meta;
  return m && m->slot;
}

void visit_references(const TensorImpl& tensor, ReferenceVisitor& visitor) {
  const GradMeta* m = tensor.grad_meta;
  if (!m) return;
  if (m->grad_fn) visitor.node(*m->grad_fn);
  if (m->grad.defined()) visitor.tensor(*m->grad.impl());
  if (m->view) visitor.tensor(*m->view->base.impl());
  for (const auto* hooks : {m->hooks.get(), m->accumulated_hooks.get()}) {
    if (!hooks) continue;
    for (const HookEntry& h : *hooks) {
      if (h.python) visitor.python(h.python);
    }
  }
  if (!m->node_hooks) return;
  for (const NodeHookEntry& h : *m->node_hooks) {
    if (h.python) visitor.python(h.python);
  }
}

}  // namespace treadle
