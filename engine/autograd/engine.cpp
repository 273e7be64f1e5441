// The backward pass. Nodes are numbered in the order in which they were made, and a node's
// consumers are always made later, so popping the highest number first visits the graph in
// topological order without counting dependencies. Leaves come last, when their gradient is
// complete.
#include "engine/autograd/engine.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <queue>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "engine/autograd/anomaly.h"
#include "engine/core/context.h"
#include "engine/core/export.h"
#include "engine/core/iter.h"
#include "engine/ops/names.h"

namespace treadle {
namespace {

struct Task {
  Ref<Node> node;
  Gradients grads;
};

// Where grad() picks up a gradient instead of letting it flow into .grad.
struct Capture {
  Edge edge;
  std::size_t index;
};

class Run {
 public:
  Run(const BackwardOptions& o, bool accumulate)
      : create_graph_(o.create_graph),
        keep_(o.retain_graph.value_or(o.create_graph)),
        accumulate_(accumulate) {}

  void seed(const Edge& edge, const Tensor& grad) { send(edge, grad); }

  // Only paths to these are followed.
  void restrict_to(std::span<const End> inputs, std::vector<Tensor>* captured) {
    captured_ = captured;
    targets_ = inputs;
    restricted_ = true;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Edge& e = inputs[i].edge;
      if (e.leaf)
        leaf_captures_[e.tensor()].push_back(i);
      else if (e && captured)
        node_captures_[e.node()].push_back({e, i});
      else if (e) {  // runs, and .grad gets what arrives
        node_captures_.try_emplace(e.node());
        if (inputs[i].tensor.defined()) retain_grad(inputs[i].tensor);
      }
    }
  }
  void find_needed(std::span<const Edge> roots);
  void set_roots(std::vector<Edge> roots) {
    roots_ = std::move(roots);
    if (leaves_have_hooks()) count_arrivals();
  }
  bool will_execute(const Edge& edge);

  void execute();

  std::int64_t id() const { return id_; }
  Node* node() const { return node_; }
  bool restricted() const { return restricted_; }
  void call_at_end(std::function<void()> callback) { callbacks_.push_back(std::move(callback)); }

 private:
  void work();
  void count_arrivals();
  void send(const Edge& edge, const Tensor& grad);
  void visit(Task task);
  void finish_leaf(std::size_t index);
  void finish_complete();
  void add(Tensor& sum, const Tensor& grad);

  bool create_graph_, keep_, accumulate_, restricted_ = false;
  struct Later {
    bool operator()(const Ref<Node>& a, const Ref<Node>& b) const {
      return a->sequence() < b->sequence();
    }
  };
  std::priority_queue<Ref<Node>, std::vector<Ref<Node>>, Later> ready_;
  std::unordered_map<Node*, Gradients> pending_;
  std::vector<std::pair<Ref<TensorImpl>, Tensor>> leaves_;  // in order of first arrival
  std::unordered_map<TensorImpl*, std::size_t> leaf_index_;
  // For leaves with hooks, which want them as soon as their gradient is complete: how many
  // gradients are still to come, and what is complete. Empty: all leaves are finished at the end.
  std::unordered_map<TensorImpl*, std::size_t> arrivals_;
  std::vector<std::size_t> complete_;
  std::unordered_map<TensorImpl*, std::vector<std::size_t>> leaf_captures_;
  std::unordered_map<Node*, std::vector<Capture>> node_captures_;
  std::unordered_map<Node*, bool> needed_;
  std::vector<Tensor>* captured_ = nullptr;
  std::span<const End> targets_;  // of restrict_to
  std::int64_t id_ = next_id.fetch_add(1, std::memory_order_relaxed);
  Node* node_ = nullptr;  // whose apply() runs
  std::vector<std::function<void()>> callbacks_;
  std::vector<Edge> roots_;
  std::unordered_set<RefCounted*> reachable_;  // from roots_; filled when first asked for
  static inline std::atomic<std::int64_t> next_id{0};
};

TREADLE_FAST_TLS constinit thread_local Run* running = nullptr;
TREADLE_FAST_TLS constinit thread_local int depth = 0;  // of backward passes inside each other

void accumulate_grad(const Tensor& leaf, const Tensor& grad, bool create_graph,
                     std::uintptr_t known);

// Marks the nodes from which an input can be reached; depth first with its own stack.
void Run::find_needed(std::span<const Edge> roots) {
  struct Frame {
    Node* node;
    std::uint32_t next;
    bool needed;
  };
  std::vector<Frame> stack;
  auto reaches = [&](const Edge& e) { return e.leaf && leaf_captures_.contains(e.tensor()); };
  for (const Edge& root : roots) {
    if (!root || root.leaf || needed_.contains(root.node())) continue;
    stack.push_back({root.node(), 0, false});
    needed_[root.node()] = false;
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.node->edge_count()) {
        const Edge& e = top.node->edge(top.next++);
        if (!e) continue;
        if (e.leaf) {
          top.needed |= reaches(e);
        } else if (const auto seen = needed_.find(e.node()); seen != needed_.end()) {
          top.needed |= seen->second;
        } else {
          needed_[e.node()] = false;
          stack.push_back({e.node(), 0, false});
        }
        continue;
      }
      const Frame done = top;
      stack.pop_back();
      const bool needed = done.needed || node_captures_.contains(done.node);
      needed_[done.node] = needed;
      if (!stack.empty()) stack.back().needed |= needed;
    }
  }
}

bool Run::will_execute(const Edge& edge) {
  if (restricted_) {
    if (edge.leaf) return leaf_captures_.contains(edge.tensor());
    const auto n = needed_.find(edge.node());
    return n != needed_.end() && n->second;
  }
  if (reachable_.empty()) {
    std::vector<Node*> stack;
    const auto reach = [&](const Edge& e) {
      if (e && reachable_.insert(e.target.get()).second && !e.leaf) stack.push_back(e.node());
    };
    for (const Edge& root : roots_) reach(root);
    while (!stack.empty()) {
      const Node& n = *stack.back();
      stack.pop_back();
      for (std::uint32_t i = 0; i < n.edge_count(); ++i) reach(n.edge(i));
    }
  }
  return reachable_.contains(edge.target.get());
}

void Run::add(Tensor& sum, const Tensor& grad) {
  if (!sum.defined())
    sum = grad;
  else
    sum = treadle::add(sum, grad);
}

void Run::send(const Edge& edge, const Tensor& grad) {
  if (!edge) return;
  if (edge.leaf) {
    TensorImpl* leaf = edge.tensor();
    if (restricted_ && !leaf_captures_.contains(leaf)) return;
    const auto [at, fresh] = leaf_index_.try_emplace(leaf, leaves_.size());
    if (fresh) leaves_.emplace_back(Ref<TensorImpl>(leaf), Tensor());
    if (grad.defined()) add(leaves_[at->second].second, grad);
    if (const auto left = arrivals_.find(leaf); left != arrivals_.end() && --left->second == 0) {
      complete_.push_back(at->second);
    }
    return;
  }
  Node* node = edge.node();
  if (restricted_) {
    const auto n = needed_.find(node);
    if (n == needed_.end() || !n->second) return;
  }
  const auto [at, fresh] = pending_.try_emplace(node);
  if (fresh) ready_.push(Ref<Node>(node));
  Gradients& grads = at->second;
  if (grads.size() <= edge.nr) grads.resize(edge.nr + 1);
  if (grad.defined()) add(grads[edge.nr], grad);
}

// How many gradients will be sent to each leaf.
void Run::count_arrivals() {
  std::vector<Node*> stack;
  std::unordered_set<Node*> seen;
  const auto reach = [&](const Edge& e) {
    if (!e) return;
    if (e.leaf) {
      ++arrivals_[e.tensor()];
      return;
    }
    if (restricted_) {
      const auto n = needed_.find(e.node());
      if (n == needed_.end() || !n->second) return;
    }
    if (seen.insert(e.node()).second) stack.push_back(e.node());
  };
  for (const Edge& root : roots_) reach(root);
  while (!stack.empty()) {
    const Node& n = *stack.back();
    stack.pop_back();
    for (std::uint32_t i = 0; i < n.edge_count(); ++i) reach(n.edge(i));
  }
}

// Makes `run` the thread's current one.
class Running {
 public:
  explicit Running(Run& run) : before_(std::exchange(running, &run)) { ++depth; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    running = before_;
    --depth;
  }

 private:
  Run* before_;
};

void Run::work() {
  const Running current(*this);
  const GradMode mode(create_graph_);
  finish_complete();
  while (!ready_.empty()) {
    Ref<Node> node = ready_.top();
    ready_.pop();
    auto at = pending_.extract(node.get());
    visit({std::move(node), std::move(at.mapped())});
    finish_complete();
  }
  for (std::size_t i = 0; i < leaves_.size(); ++i) finish_leaf(i);
  for (std::size_t i = 0; i < callbacks_.size(); ++i) {  // one may add more
    const std::function<void()> callback = std::move(callbacks_[i]);
    callback();
  }
}

// A backward function may run backward() itself, to any depth: every so often that goes to a new
// thread, which has a stack of its own.
void Run::execute() {
  constexpr int kMostOnOneStack = 60;
  if (depth < kMostOnOneStack) return work();
  std::exception_ptr error;
  const Context here = context();
  std::thread([&] {
    context() = here;
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}

void Run::visit(Task task) {
  Node& node = *task.node;
  if (task.grads.size() < node.output_count()) task.grads.resize(node.output_count());
  if (node.has_extras()) {
    for (const HookEntry& h : node.hooks()) {
      if (h.nr >= task.grads.size()) continue;
      Tensor changed = h.hook(task.grads[h.nr]);
      if (changed.defined()) task.grads[h.nr] = std::move(changed);
    }
    if (accumulate_) {
      for (const auto& [nr, slot] : node.retained()) {
        if (nr >= task.grads.size() || !task.grads[nr].defined()) continue;
        const ObjectLock lock(&node);
        if (slot->grad.defined())
          slot->grad = treadle::add(slot->grad, task.grads[nr]);
        else
          slot->grad = task.grads[nr];
      }
    }
  }
  if (const auto c = node_captures_.find(&node); captured_ && c != node_captures_.end()) {
    for (const Capture& capture : c->second) {
      if (capture.edge.nr < task.grads.size())
        (*captured_)[capture.index] = task.grads[capture.edge.nr];
    }
    // Nothing beyond this node is asked for.
    bool beyond = false;
    for (std::uint32_t i = 0; i < node.edge_count() && !beyond; ++i) {
      const Edge& e = node.edge(i);
      if (!e) continue;
      if (e.leaf)
        beyond = leaf_captures_.contains(e.tensor());
      else if (const auto n = needed_.find(e.node()); n != needed_.end())
        beyond = n->second;
    }
    if (!beyond) return;
  }
  std::vector<NodeHookEntry> hooks;
  Gradients arrived;
  if (node.has_extras()) {
    hooks = node.node_hooks();
    for (const NodeHookEntry& h : hooks) {
      if (!h.after) h.hook(task.grads, {});
    }
    if (!hooks.empty()) arrived = task.grads;
  }
  Node* const outer = std::exchange(node_, &node);
  const bool nothing = std::none_of(task.grads.begin(), task.grads.end(),
                                    [](const Tensor& g) { return g.defined(); });
  Gradients results = nothing && !node.runs_without_gradient() ? Gradients(node.edge_count())
                      : anomaly().enabled.load(std::memory_order_relaxed)
                          ? anomaly().apply(node, std::move(task.grads))
                          : node.apply(std::move(task.grads));
  node_ = outer;
  if (results.size() != node.edge_count()) {
    fail(ErrorKind::runtime,
         "Function " + node.name() + " returned an invalid number of gradients - expected " +
             std::to_string(node.edge_count()) + ", but got " + std::to_string(results.size()));
  }
  for (const NodeHookEntry& h : hooks) {
    if (h.after) h.hook(results, arrived);
  }
  for (std::uint32_t i = 0; i < node.edge_count(); ++i) send(node.edge(i), results[i]);
  if (!keep_) node.release();
}

// Whether the gradient is laid out as PyTorch has .grad: like the leaf if that is dense, else row
// by row. Optimizers that walk both at once count on it.
bool fits_layout(const Tensor& grad, const Tensor& leaf) {
  if (!is_dense(leaf)) return grad.is_contiguous();
  for (std::int64_t i = 0; i < leaf.dim(); ++i) {
    if (leaf.shape()[i] > 1 && grad.strides()[i] != leaf.strides()[i]) return false;
  }
  return true;
}

// A copy in that layout; on the tape if that is on.
Tensor copy_for(const Tensor& leaf, const Tensor& grad) {
  const bool dense = is_dense(leaf);
  const Dims strides = dense ? leaf.strides() : contiguous_strides(leaf.shape());
  return copy_(empty_strided(leaf.shape(), strides, grad.dtype()), grad);
}

// `known`: how many references to the gradient the caller has, besides `grad`.
//
// With create_graph the sum is a new tensor with a history; else it is added in place, as PyTorch
// does, so that views of .grad (flat buffers of optimizers) stay valid.
void accumulate_grad(const Tensor& leaf, const Tensor& grad, bool create_graph,
                     std::uintptr_t known) {
  GradMeta& m = grad_meta(leaf);
  const Tensor old = leaf.grad();
  Tensor result;
  if (!old.defined()) {
    // A private copy unless the gradient is ours alone: its storage may be a saved or user tensor.
    const bool mine = !create_graph && grad.impl()->total_count() <= 1 + known &&
                      grad.impl()->storage->unique() && fits_layout(grad, leaf);
    result = mine ? detach(grad) : copy_for(leaf, grad);
  } else if (create_graph) {
    result = treadle::add(old, grad);
  } else {
    const NoGrad off;
    const ObjectLock lock(leaf.impl());
    add_(old, grad);
    return;
  }
  const ObjectLock lock(leaf.impl());
  if (m.grad.defined() && !old.defined()) {  // another thread was faster
    const NoGrad off;
    m.grad = treadle::add(m.grad, result);
  } else {
    m.grad = result;
  }
}

void Run::finish_complete() {
  for (std::size_t i = 0; i < complete_.size(); ++i) finish_leaf(complete_[i]);
  complete_.clear();
}

void Run::finish_leaf(std::size_t index) {
  Ref<TensorImpl> impl = std::exchange(leaves_[index].first, nullptr);
  if (!impl) return;
  Tensor grad = std::exchange(leaves_[index].second, Tensor());
  const Tensor leaf{impl};
  GradMeta& m = grad_meta(leaf);
  std::vector<HookEntry> hooks, after;
  std::vector<NodeHookEntry> node_hooks;
  {
    const ObjectLock lock(leaf.impl());
    if (m.node_hooks) node_hooks = *m.node_hooks;
    if (m.hooks) hooks = *m.hooks;
    if (m.accumulated_hooks) after = *m.accumulated_hooks;
  }
  for (const HookEntry& h : hooks) {
    Tensor changed = h.hook(grad);
    if (changed.defined()) grad = std::move(changed);
  }
  if (captured_) {
    if (const auto c = leaf_captures_.find(impl.get()); c != leaf_captures_.end()) {
      for (const std::size_t i : c->second) (*captured_)[i] = grad;
    }
    return;
  }
  if (!grad.defined()) return;
  Gradients arrived;
  if (!node_hooks.empty()) {
    Gradients in{grad};
    for (const NodeHookEntry& h : node_hooks) {
      if (!h.after) h.hook(in, {});
    }
    grad = in[0];
    if (!grad.defined()) return;
    arrived = std::move(in);
  }
  if (grad.shape() != leaf.shape()) {
    fail(ErrorKind::runtime, "a gradient has shape " + to_string(grad.shape()) +
                                 " but its leaf tensor has shape " + to_string(leaf.shape()));
  }
  if (grad.dtype() != leaf.dtype()) grad = to(grad, leaf.dtype());
  accumulate_grad(leaf, grad, create_graph_, arrived.empty() ? 0 : 1);
  grad = Tensor();
  for (const HookEntry& h : after) h.hook(leaf);
  Gradients nothing;
  for (const NodeHookEntry& h : node_hooks) {
    if (h.after) h.hook(nothing, arrived);
  }
}

// As Python prints a shape.
std::string size_repr(const Dims& shape) {
  const std::string dtype = repr(DType::float32);
  return dtype.substr(0, dtype.find('.')) + ".Size(" + to_string(shape) + ")";
}

// Checks one output and makes the gradient it starts with.
Tensor root_grad(const End& end, const Tensor& given, std::size_t i, bool create_graph) {
  if (!end.edge) {
    fail(ErrorKind::runtime, "element " + std::to_string(i) +
                                 " of tensors does not require grad and does not have a grad_fn");
  }
  const Tensor& out = end.tensor;
  if (!out.defined()) {  // only its place is known
    if (!given.defined()) {
      fail(ErrorKind::runtime, "grad can be implicitly created only for scalar outputs");
    }
    return create_graph ? given : detach(given);
  }
  if (!given.defined()) {
    if (out.numel() != 1) {
      fail(ErrorKind::runtime, "grad can be implicitly created only for scalar outputs");
    }
    if (is_complex(out.dtype())) {
      fail(ErrorKind::runtime,
           "grad can be implicitly created only for real scalar outputs but got " +
               repr(out.dtype()));
    }
    return ones_like(out);
  }
  if (given.shape() != out.shape()) {
    fail(ErrorKind::runtime, "Mismatch in shape: grad_output[" + std::to_string(i) +
                                 "] has a shape of " + size_repr(given.shape()) + " and output[" +
                                 std::to_string(i) + "] has a shape of " + size_repr(out.shape()) +
                                 ".");
  }
  if (is_complex(given.dtype()) != is_complex(out.dtype())) {
    fail(ErrorKind::runtime,
         "For complex Tensors, both grad_output and output are required to have the same dtype. "
         "Mismatch in dtype: grad_output[" +
             std::to_string(i) + "] has a dtype of " + repr(given.dtype()) + " and output[" +
             std::to_string(i) + "] has a dtype of " + repr(out.dtype()) + ".");
  }
  Tensor g = create_graph ? given : detach(given);
  return g.dtype() == out.dtype() ? g : to(g, out.dtype());
}

void seed_all(Run& run, std::span<const End> outputs, std::span<const Tensor> grads,
              bool create_graph, bool restricted) {
  if (!grads.empty() && grads.size() != outputs.size()) {
    fail(ErrorKind::runtime, "got " + std::to_string(outputs.size()) + " tensors and " +
                                 std::to_string(grads.size()) + " gradients");
  }
  std::vector<Edge> roots;
  std::vector<Tensor> start;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    start.push_back(root_grad(outputs[i], grads.empty() ? Tensor() : grads[i], i, create_graph));
    roots.push_back(outputs[i].edge);
  }
  if (restricted) run.find_needed(roots);
  const GradMode mode(create_graph);
  run.set_roots(std::move(roots));
  for (std::size_t i = 0; i < outputs.size(); ++i) run.seed(outputs[i].edge, start[i]);
}

std::vector<End> ends_of(std::span<const Tensor> tensors) {
  std::vector<End> ends;
  for (const Tensor& t : tensors) ends.emplace_back(t);
  return ends;
}

void check_inputs(std::span<const End> inputs) {
  for (const End& e : inputs) {
    if (!e.edge) {
      fail(ErrorKind::runtime, "One of the differentiated Tensors does not require grad");
    }
  }
}

}  // namespace

void backward(std::span<const End> ends, std::span<const Tensor> grads,
              const BackwardOptions& options, std::span<const End> inputs) {
  Run run(options, true);
  check_inputs(inputs);
  if (!inputs.empty()) run.restrict_to(inputs, nullptr);
  seed_all(run, ends, grads, options.create_graph, !inputs.empty());
  run.execute();
}

void backward(std::span<const Tensor> tensors, std::span<const Tensor> grads,
              const BackwardOptions& options, std::span<const Tensor> inputs) {
  const std::vector<End> ends = ends_of(tensors), targets = ends_of(inputs);
  backward(ends, grads, options, targets);
}

void backward(const Tensor& loss, const BackwardOptions& options) {
  backward({&loss, 1}, {}, options);
}

std::vector<Tensor> grad(std::span<const End> outputs, std::span<const End> inputs,
                         std::span<const Tensor> grad_outputs, const BackwardOptions& options,
                         bool allow_unused) {
  check_inputs(inputs);
  std::vector<Tensor> result(inputs.size());
  Run run(options, false);
  run.restrict_to(inputs, &result);
  seed_all(run, outputs, grad_outputs, options.create_graph, true);
  run.execute();
  if (!allow_unused) {
    for (const Tensor& t : result) {
      if (!t.defined()) {
        fail(ErrorKind::runtime,
             "One of the differentiated Tensors appears to not have been used in the graph. Set "
             "allow_unused=True if this is the desired behavior.");
      }
    }
  }
  return result;
}

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> grad_outputs, const BackwardOptions& options,
                         bool allow_unused) {
  const std::vector<End> from = ends_of(outputs), to = ends_of(inputs);
  return grad(from, to, grad_outputs, options, allow_unused);
}

std::int64_t current_run() { return running ? running->id() : -1; }
Node* current_node() { return running ? running->node() : nullptr; }
bool visits_everything() { return !running || !running->restricted(); }
bool will_execute(const Edge& edge) {
  if (!running) {
    fail(ErrorKind::runtime, "this can only be asked inside a backward pass");
  }
  return running->will_execute(edge);
}
void call_at_end(std::function<void()> callback) {
  if (!running) {
    fail(ErrorKind::runtime, "Final callbacks can only be installed during backward pass.");
  }
  running->call_at_end(std::move(callback));
}

}  // namespace treadle
