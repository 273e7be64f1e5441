// The tape. A Node computes the gradients of an op's inputs from those of its outputs; its edges
// lead to the nodes that made the inputs, or to leaf tensors, whose .grad they add to. Graphs are
// freed without recursion, however deep.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/autograd/references.h"
#include "engine/core/tensor.h"

#pragma GCC visibility push(default)
namespace treadle {

class Node;

// Where a gradient goes: input `nr` of a node, or (leaf) the .grad of a tensor. Empty: nowhere.
struct Edge {
  Ref<RefCounted> target;
  std::uint32_t nr = 0;
  bool leaf = false;

  explicit operator bool() const { return static_cast<bool>(target); }
  Node* node() const;
  TensorImpl* tensor() const { return leaf ? static_cast<TensorImpl*>(target.get()) : nullptr; }
};

// An undefined result leaves the gradient as it is; `grad` is undefined where none arrived.
using TensorHook = std::function<Tensor(const Tensor& grad)>;
using Gradients = std::vector<Tensor>;  // undefined entry: zero, or not asked for

struct HookEntry {
  std::int64_t id;
  std::uint32_t nr;  // which output of the node; 0 for a leaf
  TensorHook hook;
  void* python = nullptr;  // the Python callable inside, for the garbage collector
};

// A hook on a whole node. Before apply() it may change the gradients that came in; after it those
// that go out (`arrived`: what came in).
using NodeHook = std::function<void(Gradients& changed, const Gradients& arrived)>;
struct NodeHookEntry {
  std::int64_t id;
  bool after;
  NodeHook hook;
  void* python = nullptr;  // as in HookEntry
};

class Saved;

// .grad of a non-leaf tensor on which retain_grad() was called; shared by the tensor and its node,
// so that neither needs a weak pointer to the other.
struct GradSlot final : RefCounted, Pooled {
  Tensor grad;
};

class Node : public RefCounted, public Pooled {
 public:
  explicit Node(std::uint32_t edges);
  ~Node() override;

  virtual std::string name() const = 0;  // "MulBackward0"
  // `grads` has one entry for each output of the op. Returns one for each edge. Runs with grad mode
  // on exactly when create_graph was asked for.
  virtual Gradients apply(Gradients grads) = 0;
  // Frees what was saved for apply(); a later apply() throws the "second time" error. A node that
  // saved nothing can run again.
  virtual void release() {}
  // Whether apply() is to run although no gradient arrived: else the inputs' are undefined, too.
  virtual bool runs_without_gradient() const { return false; }
  // Reports the tensors and nodes it holds besides its edges, for visit_references.
  virtual void references(ReferenceVisitor&) const {}

  std::uint32_t edge_count() const { return edge_count_; }
  // One more than the highest number of an output that set_history() has told it of.
  std::uint32_t output_count() const { return output_count_; }
  void note_output(std::uint32_t nr) {
    if (nr >= output_count_) output_count_ = nr + 1;
  }
  Edge& edge(std::uint32_t i) { return edges_[i]; }
  const Edge& edge(std::uint32_t i) const { return edges_[i]; }
  // Is the gradient of input i wanted at all?
  bool needs(std::uint32_t i) const { return static_cast<bool>(edges_[i]); }
  // How many the process has made so far.
  static std::uint64_t made();
  // Later nodes have higher numbers; backward visits in descending order.
  std::uint64_t sequence() const { return sequence_; }
  void set_sequence(std::uint64_t sequence) { sequence_ = sequence; }
  // What was saved under PyTorch's name for it ("self", "result"); null if nothing was, or if the
  // node doesn't know its saved tensors by name. Throws the "second time" error once released.
  virtual Saved* saved(std::string_view) { return nullptr; }

  // Hooks on gradients that arrive at output `nr`. The returned id removes it.
  std::int64_t add_hook(std::uint32_t nr, TensorHook hook, void* python = nullptr);
  std::int64_t add_node_hook(bool after, NodeHook hook, void* python = nullptr);
  void remove_hook(std::int64_t id);
  std::vector<HookEntry> hooks() const;  // a snapshot
  std::vector<NodeHookEntry> node_hooks() const;
  // Anomaly mode: where the forward pass made this node, and the node whose backward did (null:
  // none).
  void set_origin(std::string trace, Ref<Node> maker);
  std::pair<std::string, Ref<Node>> origin() const;
  void retain(std::uint32_t nr, Ref<GradSlot> slot);
  void drop_retained(std::uint32_t nr, const GradSlot* slot);  // the tensor got another grad_fn
  std::vector<std::pair<std::uint32_t, Ref<GradSlot>>> retained() const;
  void clear_hooks();
  bool has_extras() const { return extras_.load(std::memory_order_acquire) != nullptr; }

 private:
  friend void visit_references(const Node& node, ReferenceVisitor& visitor);
  struct Extras;
  Extras& extras();
  static constexpr std::uint32_t kInlineEdges = 3;
  Edge inline_[kInlineEdges];
  Edge* edges_ = inline_;
  std::uint32_t edge_count_;
  std::uint32_t output_count_ = 0;
  std::uint64_t sequence_;
  std::atomic<Extras*> extras_{nullptr};
};

inline Node* Edge::node() const { return leaf ? nullptr : static_cast<Node*>(target.get()); }

// What a saved tensor became in the hands of saved_tensors_hooks.
class Packed : public RefCounted {
 public:
  virtual Tensor unpack() = 0;
  virtual void* python() const { return nullptr; }  // what it holds, for the garbage collector
};
class SavedHooks : public RefCounted {
 public:
  virtual Ref<Packed> pack(const Tensor& tensor) = 0;
};

// A tensor kept for backward, with the version it had. get() throws if an in-place op has changed
// it since.
class Saved {
 public:
  Saved() = default;
  explicit Saved(const Tensor& input);
  Saved(const Saved& o)
      : version_(o.version_), nr_(o.nr_), output_(o.output_), attached_(o.attached_) {
    if (reported(o)) return;
    tensor_ = o.tensor_;
    packed_ = o.packed_;
  }
  Saved(Saved&&) noexcept = default;
  Saved& operator=(const Saved&) = default;
  Saved& operator=(Saved&&) noexcept = default;
  ~Saved() = default;
  // A result of the op itself: kept without its tape, else tensor and node would own each other.
  static Saved output(const Tensor& result, std::uint32_t nr = 0);

  bool defined() const { return tensor_.defined() || packed_; }
  // Hands the tensor to `hooks`; throws if that was done already.
  void pack(SavedHooks& hooks);
  // `owner` is the node that saved it: outputs get it back as their grad_fn.
  Tensor get(Node* owner) const;
  Tensor get_data(const char* node_name) const;  // version-checked, without tape
  void reset() {
    tensor_ = Tensor();
    packed_ = nullptr;
  }
  void references(ReferenceVisitor& visitor) const {
    if (tensor_.defined()) visitor.tensor(*tensor_.impl());
    if (packed_) packed_references(visitor);
  }
  // Reports every Saved inside `closure`. Lambdas don't say what they capture, but copying one
  // copies each of its captures: while this runs, a copy of a Saved is reported and stays empty.
  template <class F>
  static void references_of(const F& closure, ReferenceVisitor& visitor) {
    const Report running(visitor);
    const F copy(closure);
    (void)copy;
  }
  // Whether the closure has any Saved that isn't empty.
  template <class F>
  static bool any_in(const F& closure) {
    Search search;
    references_of(closure, search);
    return search.found;
  }

 private:
  struct Search final : ReferenceVisitor {
    void tensor(const TensorImpl&) override { found = true; }
    void node(const Node&) override { found = true; }
    void python(void*) override { found = true; }
    bool found = false;
  };
  class Report {
   public:
    explicit Report(ReferenceVisitor& visitor);
    Report(const Report&) = delete;
    Report& operator=(const Report&) = delete;
    ~Report();

   private:
    ReferenceVisitor* outer_;
  };
  static bool reported(const Saved& original);  // false unless a Report is running

  // In place of tensor_, with where the gradient of the original goes.
  struct Pack final : RefCounted {
    Ref<Packed> content;
    Edge edge;
  };
  void packed_references(ReferenceVisitor& visitor) const;
  Tensor unpacked(Node* owner) const;

  Tensor tensor_;
  Ref<Pack> packed_;
  std::uint32_t version_ = 0;
  std::uint32_t nr_ = 0;
  bool output_ = false;
  bool attached_ = false;  // the input was no leaf
};

// What a view remembers of where it comes from. An in-place op through any view rewrites the
// history of the base; the view's own is made anew when the version has moved.
struct ViewInfo {
  Tensor base;  // never itself a view
  std::uint32_t version = 0;
  enum class Creation : std::uint8_t {
    normal,
    custom_function,  // returned by a Function
    multi_output,
    no_grad,
    inference
  } creation = Creation::normal;
};

struct GradMeta : Pooled {
  bool requires_grad = false;  // set by the user, leaves only
  std::uint32_t output_nr = 0;
  Ref<Node> grad_fn;
  Tensor grad;
  Ref<GradSlot> slot;  // retain_grad()
  std::optional<ViewInfo> view;
  std::unique_ptr<std::vector<HookEntry>> hooks;  // leaf: on the arriving gradient
  std::unique_ptr<std::vector<HookEntry>>
      accumulated_hooks;  // leaf: after .grad was written; hook(tensor)
  std::unique_ptr<std::vector<NodeHookEntry>> node_hooks;  // leaf: around the writing of .grad
  ~GradMeta();
};

GradMeta& grad_meta(const Tensor& t);  // made at first use
// The node of a tensor (null for leaves). Renews a view's history if its base was changed in place.
Ref<Node> grad_fn(const Tensor& t);
Edge gradient_edge(const Tensor& t);  // empty if t doesn't require grad

// Does the op being called need a node: grad mode is on and an input requires grad.
bool needs_tape(std::initializer_list<const Tensor*> inputs);
// Makes `result` output `nr` of `node`.
void set_history(const Tensor& result, Ref<Node> node, std::uint32_t nr = 0);
// In-place ops. check: throws what PyTorch throws for leaves and views that can't be written, also
// if only `others`, the op's further operands, require grad.
// rebase: makes `node` (its edge 0 is self's old history) the new history of self and, for a view,
// of its base; call after the data was written and the version bumped.
void check_inplace(const Tensor& self, std::span<const Tensor* const> others = {});
void rebase_history(const Tensor& self, Ref<Node> node);
// Marks `view` as a view of `base`, for in-place tracking.
void set_view(const Tensor& view, const Tensor& base,
              ViewInfo::Creation creation = ViewInfo::Creation::normal);

// torch.Tensor.detach_: the tensor becomes a leaf. Throws Error{runtime} for views, whose base
// would not.
void detach_in_place(const Tensor& t);

// Names the tensor for hooks and .grad; used by the Python layer.
// `python`: the callable inside the hook, if it is Python's.
std::int64_t add_hook(const Tensor& t, TensorHook hook, void* python = nullptr);
std::int64_t add_accumulated_hook(const Tensor& leaf, std::function<void(const Tensor&)> hook,
                                  void* python = nullptr);
std::int64_t add_leaf_node_hook(const Tensor& leaf, bool after, NodeHook hook,
                                void* python = nullptr);
void remove_hook(const Tensor& t, std::int64_t id);
// Whether a leaf ever got a hook: only hooks can tell in which order a backward pass comes by.
bool leaves_have_hooks();
void retain_grad(const Tensor& t);
bool retains_grad(const Tensor& t);

// "Trying to backward through the graph a second time ..."
[[noreturn]] void released_error();
std::int64_t new_hook_id();
// Holds one of a few mutexes, chosen by the object's address: guards short updates of nodes and
// leaves, never user code. Waiting for it lets the GIL go, since its holder may need the GIL to
// count a reference to what Python has.
class ObjectLock {
 public:
  explicit ObjectLock(const void* object);
  ObjectLock(const ObjectLock&) = delete;
  ObjectLock& operator=(const ObjectLock&) = delete;
  ~ObjectLock() { mutex_.unlock(); }

 private:
  std::mutex& mutex_;
};

// A node whose backward is a closure over Saved tensors and plain values:
//   record("MmBackward0", out, {&a, &b}, [sa = Saved(a), sb = Saved(b)](Node& n, const Gradients&
//   g) {
//     return Gradients{n.needs(0) ? mm(g[0], sb.get(&n).t()) : Tensor(), ...};
//   });
// Backward closures are written with differentiable ops, so create_graph works to any order.
template <class F>
class FnNode final : public Node {
 public:
  FnNode(const char* name, std::uint32_t edges, F f)
      : Node(edges), name_(name), f_(Ref<Closure>::make(std::move(f))) {}
  std::string name() const override { return name_; }
  Gradients apply(Gradients grads) override {
    Ref<Closure> f;  // a reference: another thread may release the graph meanwhile
    {
      const ObjectLock lock(this);
      f = f_;
    }
    if (!f) released_error();
    return f->f(static_cast<Node&>(*this), grads);
  }
  void release() override {
    if constexpr (std::is_trivially_destructible_v<F>) return;  // nothing saved
    Ref<Closure> f;                                             // freed after the lock
    const ObjectLock lock(this);
    if (f_ && Saved::any_in(f_->f)) std::swap(f, f_);
  }
  void references(ReferenceVisitor& visitor) const override {
    const ObjectLock lock(this);
    if (f_) Saved::references_of(f_->f, visitor);
  }

 private:
  struct Closure final : RefCounted, Pooled {
    explicit Closure(F closure) : f(std::move(closure)) {}
    F f;
  };

  const char* name_;
  Ref<Closure> f_;
};

template <class F>
Ref<Node> make_node(const char* name, std::initializer_list<const Tensor*> inputs, F f) {
  Ref<Node> node =
      Ref<FnNode<F>>::make(name, static_cast<std::uint32_t>(inputs.size()), std::move(f));
  std::uint32_t i = 0;
  for (const Tensor* t : inputs) node->edge(i++) = gradient_edge(*t);
  return node;
}

template <class F>
void record(const char* name, const Tensor& result, std::initializer_list<const Tensor*> inputs,
            F f) {
  set_history(result, make_node(name, inputs, std::move(f)));
}

}  // namespace treadle
#pragma GCC visibility pop
