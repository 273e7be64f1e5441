// Tensor: a handle to storage + offset + shape + strides + dtype + grad meta. Copies share. The
// public C++ type; every op is a free function in ops/names.h or an entry of the op table.
#pragma once
#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "engine/backend/kernel.h"
#include "engine/core/dims.h"
#include "engine/core/dtype.h"
#include "engine/core/error.h"
#include "engine/core/pool.h"
#include "engine/core/ref.h"
#include "engine/core/storage.h"

#pragma GCC visibility push(default)
namespace treadle {

struct GradMeta;  // autograd/node.h: requires_grad, grad, the edge that made it, hooks

// Sizes and strides count elements, as in PyTorch; byte offsets appear only in Iter and kernels.
class TensorImpl final : public RefCounted, public Pooled {
 public:
  TensorImpl(Ref<Storage> storage, std::int64_t offset, Dims shape, Dims strides, DType dtype);
  // Contiguous. No size may be negative.
  TensorImpl(Ref<Storage> storage, const Dims& shape, DType dtype);
  ~TensorImpl() override;

  Ref<Storage> storage;
  std::int64_t offset = 0;  // elements
  Dims shape, strides;
  DType dtype;
  // A 0-d tensor that stands for a Python number takes part in promotion as PyTorch's "wrapped
  // number".
  bool wrapped_number = false;
  bool inference = false;  // made in inference mode: autograd can't use it
  // The elements are the conjugate, or the negative, of what lies in memory: what conj() of a
  // complex tensor gives, and imag() of that. Only ops that make views, copies and resolve() know
  // it: invoke() resolves the arguments of all others.
  bool conj = false, neg = false;
  GradMeta* grad_meta = nullptr;  // owned; null: doesn't require grad and never did
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}
  // A new tensor over uninitialised memory, contiguous. Throws Error{memory} naming the size.
  static Tensor empty(const Dims& shape, DType dtype = default_dtype(), Device device = {});
  // Wrapped numbers: what `1 - y * y` in a derivative formula means when V is Tensor.
  explicit Tensor(double value);
  explicit Tensor(int value);
  static Tensor wrapped(bool value);
  static Tensor wrapped(std::int64_t value);
  static Tensor wrapped(std::uint64_t value);  // one that int64 can't hold
  static Tensor wrapped(std::complex<double> value);

  bool defined() const { return static_cast<bool>(impl_); }
  TensorImpl* impl() const { return impl_.get(); }
  // Gives this handle's reference to the caller (for handing a fresh result to Python).
  TensorImpl* release() { return impl_.release(); }

  std::int64_t dim() const { return impl_->shape.size(); }
  const Dims& shape() const { return impl_->shape; }
  const Dims& strides() const { return impl_->strides; }
  std::int64_t size(std::int64_t dim) const;  // negative counts from the end
  std::int64_t numel() const {
    std::int64_t n = 1;
    for (const std::int64_t d : impl_->shape) n *= d;
    return n;
  }
  DType dtype() const { return impl_->dtype; }
  bool is_lazy() const { return impl_->conj || impl_->neg; }
  Device device() const { return impl_->storage->device(); }
  bool is_contiguous() const {
    std::int64_t expected = 1;
    const std::int64_t* sizes = impl_->shape.data();
    const std::int64_t* steps = impl_->strides.data();
    for (std::int64_t i = dim() - 1; i >= 0; --i) {
      if (sizes[i] == 0) return true;
      if (sizes[i] == 1) continue;
      if (steps[i] != expected) return is_empty();
      expected *= sizes[i];
    }
    return true;
  }
  std::uint32_t version() const { return impl_->storage->version(); }

  // First byte of element 0. Writing through it doesn't bump the version: call storage->bump().
  char* data() const {
    char* base = impl_->storage->data();
    return base ? base + impl_->offset * item_size(impl_->dtype) : nullptr;
  }
  template <class T>
  T* data_as() const {
    return reinterpret_cast<T*>(data());
  }

  bool requires_grad() const { return impl_->grad_meta && grad_meta_requires_grad(); }
  bool is_leaf() const;
  Tensor grad() const;  // undefined if none
  // Throws Error{runtime} for a tensor that isn't a leaf or isn't of floating point.
  void set_requires_grad(bool value) const;
  // Throws Error{runtime} when shape or dtype differ from the tensor's.
  void set_grad(const Tensor& grad) const;

  // Number in a tensor of exactly one element. Only item_complex() takes complex dtypes;
  // item_int() of uint64 gives its bits.
  double item() const;
  std::int64_t item_int() const;
  std::complex<double> item_complex() const;

  friend bool same(const Tensor& a, const Tensor& b) {
    return a.impl_ == b.impl_;
  }  // the same object

 private:
  bool is_empty() const;
  bool grad_meta_requires_grad() const;

  Ref<TensorImpl> impl_;
};

}  // namespace treadle
#pragma GCC visibility pop
