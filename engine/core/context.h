// What the calling thread is doing: grad mode, inference mode. A plain thread-local struct; the
// guards below restore it.
#pragma once

#pragma GCC visibility push(default)
namespace treadle {

class SavedHooks;  // autograd/node.h
class Tensor;

struct Context {
  bool grad_enabled = true;
  bool inference = false;
  SavedHooks* saved_hooks = nullptr;  // what saved tensors are handed to; null: kept as they are
  // Called with what an in-place op is about to write; null: nobody asks.
  void (*before_write)(const Tensor& written) = nullptr;
};
Context& context();

// torch.no_grad / enable_grad / set_grad_enabled for a C++ scope.
class GradMode {
 public:
  explicit GradMode(bool enabled) : saved_(context().grad_enabled) {
    context().grad_enabled = enabled;
  }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;
  ~GradMode() { context().grad_enabled = saved_; }

 private:
  bool saved_;
};
struct NoGrad : GradMode {
  NoGrad() : GradMode(false) {}
};

// torch.inference_mode: no tape, and what is made inside can't be used by autograd later.
class InferenceMode {
 public:
  explicit InferenceMode(bool enabled = true) : saved_(context()) {
    context().inference = enabled;
    context().grad_enabled = !enabled;
  }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;
  ~InferenceMode() { context() = saved_; }

 private:
  Context saved_;
};

}  // namespace treadle
#pragma GCC visibility pop
