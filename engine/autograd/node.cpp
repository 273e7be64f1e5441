// Nodes: making them, their hooks, and freeing deep graphs without recursion.
#include "engine/autograd/node.h"

#include <algorithm>

#include "engine/autograd/anomaly.h"
#include "engine/core/context.h"
#include "engine/core/export.h"

namespace treadle {
namespace {

constinit std::atomic<std::uint64_t> next_sequence{1};
constinit std::atomic<std::int64_t> next_hook{1};

constexpr std::size_t kLocks = 16;
constinit std::mutex locks[kLocks];

// References to nodes whose release waits until the one in progress is done, so that freeing a
// chain doesn't recurse.
class Deferred {
 public:
  void push(Ref<RefCounted> target) {
    if (count_ < kInline) {
      inline_[count_++] = std::move(target);
    } else {
      more_.push_back(std::move(target));
    }
  }
  bool empty() const { return count_ == 0; }
  Ref<RefCounted> pop() {
    if (more_.empty()) return std::move(inline_[--count_]);
    Ref<RefCounted> last = std::move(more_.back());
    more_.pop_back();
    return last;
  }

 private:
  static constexpr std::size_t kInline = 4;  // the graph of one op frees no more at a time
  Ref<RefCounted> inline_[kInline];
  std::size_t count_ = 0;
  std::vector<Ref<RefCounted>> more_;  // only while inline_ is full
};
TREADLE_FAST_TLS constinit thread_local Deferred* deferred = nullptr;

void drop(Ref<RefCounted> target) {
  if (!target) return;
  // Surely not the last reference: plain decrement. What Python has may be at its last one.
  if (!target->unique() && !target->py_object()) return;
  if (deferred) {
    deferred->push(std::move(target));
    return;
  }
  Deferred mine;
  deferred = &mine;
  target = nullptr;  // frees it, which may push more
  while (!mine.empty()) {
    target = mine.pop();
    target = nullptr;
  }
  deferred = nullptr;
}

}  // namespace

ObjectLock::ObjectLock(const void* object)
    : mutex_(locks[(reinterpret_cast<std::uintptr_t>(object) >> 6) % kLocks]) {
  while (!mutex_.try_lock()) py_pause();
}

std::int64_t new_hook_id() { return next_hook.fetch_add(1, std::memory_order_relaxed); }

struct Node::Extras {
  std::vector<HookEntry> hooks;
  std::vector<NodeHookEntry> node_hooks;
  std::string trace;  // anomaly mode
  Ref<Node> maker;
  std::vector<std::pair<std::uint32_t, Ref<GradSlot>>> retained;
};

Node::Node(std::uint32_t edges)
    : edge_count_(edges), sequence_(next_sequence.fetch_add(1, std::memory_order_relaxed)) {
  if (edges > kInlineEdges) edges_ = new Edge[edges];
  if (anomaly().enabled.load(std::memory_order_relaxed)) [[unlikely]]
    anomaly().note(*this);
}

std::uint64_t Node::made() { return next_sequence.load(std::memory_order_relaxed) - 1; }

Node::~Node() {
  for (std::uint32_t i = 0; i < edge_count_; ++i) {
    if (edges_[i]) drop(std::move(edges_[i].target));
  }
  if (edges_ != inline_) delete[] edges_;
  delete extras_.load(std::memory_order_relaxed);
}

GradMeta::~GradMeta() {
  if (grad_fn) drop(std::move(grad_fn));
}

Node::Extras& Node::extras() {  // under the lock
  if (!extras_.load(std::memory_order_relaxed))
    extras_.store(new Extras, std::memory_order_release);
  return *extras_.load(std::memory_order_relaxed);
}

std::int64_t Node::add_hook(std::uint32_t nr, TensorHook hook, void* python) {
  const ObjectLock lock(this);
  const std::int64_t id = new_hook_id();
  extras().hooks.push_back({id, nr, std::move(hook), python});
  return id;
}

std::int64_t Node::add_node_hook(bool after, NodeHook hook, void* python) {
  const ObjectLock lock(this);
  const std::int64_t id = new_hook_id();
  extras().node_hooks.push_back({id, after, std::move(hook), python});
  return id;
}

namespace {

// Moves the hook with this id from `all` to `removed`.
template <class Entry>
void take(std::vector<Entry>& all, std::int64_t id, std::vector<Entry>& removed) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const Entry& h) { return h.id == id; });
  if (at == all.end()) return;
  removed.push_back(std::move(*at));
  all.erase(at);
}

}  // namespace

void Node::remove_hook(std::int64_t id) {
  std::vector<HookEntry> removed;  // destroyed after the lock: a hook may own Python objects
  std::vector<NodeHookEntry> removed_too;
  const ObjectLock lock(this);
  take(extras().hooks, id, removed);
  take(extras().node_hooks, id, removed_too);
}

void Node::set_origin(std::string trace, Ref<Node> maker) {
  const ObjectLock lock(this);
  extras().trace = std::move(trace);
  extras().maker = std::move(maker);
}

std::pair<std::string, Ref<Node>> Node::origin() const {
  const ObjectLock lock(this);
  const Extras* e = extras_.load(std::memory_order_relaxed);
  return e ? std::pair{e->trace, e->maker} : std::pair<std::string, Ref<Node>>();
}

void Node::clear_hooks() {
  if (!has_extras()) return;
  std::vector<HookEntry> removed;  // destroyed after the lock
  std::vector<NodeHookEntry> removed_too;
  const ObjectLock lock(this);
  std::swap(removed, extras().hooks);
  std::swap(removed_too, extras().node_hooks);
}

std::vector<NodeHookEntry> Node::node_hooks() const {
  const ObjectLock lock(this);
  const Extras* e = extras_.load(std::memory_order_relaxed);
  return e ? e->node_hooks : std::vector<NodeHookEntry>();
}

std::vector<HookEntry> Node::hooks() const {
  const ObjectLock lock(this);
  const Extras* e = extras_.load(std::memory_order_relaxed);
  return e ? e->hooks : std::vector<HookEntry>();
}

void Node::retain(std::uint32_t nr, Ref<GradSlot> slot) {
  const ObjectLock lock(this);
  extras().retained.emplace_back(nr, std::move(slot));
}

void Node::drop_retained(std::uint32_t nr, const GradSlot* slot) {
  const ObjectLock lock(this);
  std::erase_if(extras().retained,
                [&](const auto& r) { return r.first == nr && r.second.get() == slot; });
}

std::vector<std::pair<std::uint32_t, Ref<GradSlot>>> Node::retained() const {
  const ObjectLock lock(this);
  const Extras* e = extras_.load(std::memory_order_relaxed);
  return e ? e->retained : std::vector<std::pair<std::uint32_t, Ref<GradSlot>>>();
}

void released_error() {
  fail(ErrorKind::runtime,
       "Trying to backward through the graph a second time (or directly access saved tensors after "
       "they "
       "have already been freed). Saved intermediate values of the graph are freed when you call "
       ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through "
       "the "
       "graph a second time or if you need to access saved tensors after calling backward.");
}

Saved::Saved(const Tensor& input) : tensor_(input) {
  if (!input.defined()) return;
  if (input.impl()->inference) {
    fail(ErrorKind::runtime,
         "Inference tensors cannot be saved for backward. To work around you can make a clone to "
         "get a "
         "normal tensor and use it in autograd.");
  }
  version_ = input.version();
  attached_ = input.impl()->grad_meta && input.impl()->grad_meta->grad_fn;
  if (SavedHooks* hooks = context().saved_hooks) [[unlikely]] {
    if (!input.impl()->wrapped_number) pack(*hooks);
  }
}

namespace {
// The same memory without history.
Tensor bare(const Tensor& t) {
  const TensorImpl& i = *t.impl();
  return Tensor(Ref<TensorImpl>::make(i.storage, i.offset, i.shape, i.strides, i.dtype));
}
}  // namespace

void Saved::pack(SavedHooks& hooks) {
  if (packed_) {
    fail(ErrorKind::runtime,
         "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only "
         "one pair of hooks is allowed at a time.");
  }
  if (!tensor_.defined()) {
    fail(ErrorKind::runtime,
         "Calling register_hooks on a saved tensor with value None is forbidden");
  }
  // What has no history and is no output is handed over as it is, so that its user finds it again.
  const Tensor data = output_ || tensor_.requires_grad() ? bare(tensor_) : tensor_;
  const std::uint32_t before = data.version();
  Ref<Pack> made(new Pack);
  if (!output_) made->edge = gradient_edge(tensor_);
  {
    const NoGrad off;
    made->content = hooks.pack(data);
  }
  if (data.version() != before) {
    fail(ErrorKind::runtime,
         "A saved tensor pack hook is modifying its input in place. Tensors provided as input to "
         "pack hook can not be modified by in-place operations as this can lead to unexpected "
         "side-effects. Please open an issue if you need to perform in-place operations on the "
         "input to a pack hook.");
  }
  packed_ = std::move(made);
  tensor_ = Tensor();
}

Tensor Saved::unpacked(Node* owner) const {
  const Tensor content = packed_->content->unpack();
  if (!output_ && !packed_->edge && !content.requires_grad()) return content;
  const Tensor again = bare(content);
  if (output_) {
    if (owner) set_history(again, Ref<Node>(owner), nr_);
  } else if (Node* node = packed_->edge.node()) {
    set_history(again, Ref<Node>(node), packed_->edge.nr);
  } else if (packed_->edge.leaf) {
    const Tensor leaf{Ref<TensorImpl>(packed_->edge.tensor())};
    record("AliasBackward0", again, {&leaf}, [](Node&, const Gradients& g) { return g; });
  }
  return again;
}

void Saved::packed_references(ReferenceVisitor& visitor) const {
  if (!packed_->unique()) return;  // another Saved has it, too
  const Edge& e = packed_->edge;
  if (e.leaf) visitor.tensor(*e.tensor());
  if (!e.leaf && e) visitor.node(*e.node());
  if (packed_->content->unique() && packed_->content->python()) {
    visitor.python(packed_->content->python());
  }
}

namespace {
TREADLE_FAST_TLS constinit thread_local ReferenceVisitor* reporting = nullptr;
}

Saved::Report::Report(ReferenceVisitor& visitor) : outer_(std::exchange(reporting, &visitor)) {}
Saved::Report::~Report() { reporting = outer_; }

bool Saved::reported(const Saved& original) {
  if (!reporting) return false;
  original.references(*reporting);
  return true;
}

void visit_references(const Node& node, ReferenceVisitor& visitor) {
  for (std::uint32_t i = 0; i < node.edge_count(); ++i) {
    const Edge& e = node.edge(i);
    if (!e) continue;
    if (e.leaf) {
      visitor.tensor(*e.tensor());
    } else {
      visitor.node(*e.node());
    }
  }
  node.references(visitor);
  if (!node.has_extras()) return;
  const Node::Extras& extras = *node.extras_.load(std::memory_order_relaxed);
  for (const HookEntry& h : extras.hooks) {
    if (h.python) visitor.python(h.python);
  }
  for (const NodeHookEntry& h : extras.node_hooks) {
    if (h.python) visitor.python(h.python);
  }
  if (extras.maker) visitor.node(*extras.maker);
}

Saved Saved::output(const Tensor& result, std::uint32_t nr) {
  const TensorImpl& r = *result.impl();
  Saved s;
  s.tensor_ = Tensor(Ref<TensorImpl>::make(r.storage, r.offset, r.shape, r.strides, r.dtype));
  s.version_ = result.version();
  s.nr_ = nr;
  s.output_ = true;
  if (SavedHooks* hooks = context().saved_hooks) [[unlikely]]
    s.pack(*hooks);
  return s;
}

Tensor Saved::get_data(const char* node_name) const {
  if (packed_) [[unlikely]]
    return bare(packed_->content->unpack());
  if (!tensor_.defined()) return tensor_;
  if (const std::uint32_t now = tensor_.version(); now != version_) {
    std::string text =
        "one of the variables needed for gradient computation has been modified by an inplace "
        "operation: [" +
        repr(tensor_.dtype()) + "Tensor " + to_string(tensor_.shape()) + "], which is ";
    text += output_ ? "output " + std::to_string(nr_) + " of " + node_name
                    : std::string("saved by ") + node_name;
    text += ", is at version " + std::to_string(now) + "; expected version " +
            std::to_string(version_) +
            " instead. Hint: the backtrace further above shows the operation that failed to "
            "compute its "
            "gradient. The variable in question was changed in there or anywhere later. Good luck!";
    fail(ErrorKind::runtime, std::move(text));
  }
  if (attached_ && !tensor_.impl()->grad_meta->grad_fn) {
    fail(ErrorKind::runtime,
         "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This "
         "is not supported, please use out-of-place `.detach()` instead");
  }
  return tensor_;
}

Tensor Saved::get(Node* owner) const {
  if (packed_) [[unlikely]]
    return unpacked(owner);
  const Tensor data = get_data(owner->name().c_str());
  if (!output_ || !data.defined()) return data;
  const TensorImpl& d = *data.impl();
  Tensor again(Ref<TensorImpl>::make(d.storage, d.offset, d.shape, d.strides, d.dtype));
  set_history(again, Ref<Node>(owner), nr_);
  return again;
}

}  // namespace treadle
