// Intrusive reference counts that Python can take over. While only C++ holds an object the count is
// here; once Python has seen it, its PyObject's count is the only one, so that identity, attributes
// and subclasses (`p is p`, nn.Parameter) survive any trip through C++.
#pragma once
#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

#pragma GCC visibility push(default)
namespace treadle {

// Set once by the Python module; never called while no object has a PyObject. They take the GIL as
// needed.
struct PyHooks {
  void (*inc_ref)(void* py_object) noexcept = nullptr;
  void (*dec_ref)(void* py_object) noexcept = nullptr;
  // Waits a moment without the GIL.
  void (*pause)() noexcept = nullptr;
  std::uintptr_t (*ref_count)(void* py_object) noexcept = nullptr;
};
void set_py_hooks(const PyHooks& hooks);
void py_inc_ref(void* py_object) noexcept;
void py_dec_ref(void* py_object) noexcept;
std::uintptr_t py_ref_count(void* py_object) noexcept;
void py_pause() noexcept;  // a plain yield without Python

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  // Compare-and-swap, not fetch_add: another thread may hand the object to Python between the load
  // and the update, and a blind add would then hit the pointer.
  void inc_ref() const noexcept {
    std::uintptr_t s = state_.load(std::memory_order_relaxed);
    while (s & 1) {
      if (state_.compare_exchange_weak(s, s + 2, std::memory_order_relaxed)) return;
    }
    py_inc_ref(reinterpret_cast<void*>(s));
  }
  void dec_ref() const noexcept {
    std::uintptr_t s = state_.load(std::memory_order_acquire);
    if (s == kOne) {  // the caller's reference is the last: nobody is left to race with
      delete this;
      return;
    }
    while (s & 1) {
      if (state_.compare_exchange_weak(s, s - 2, std::memory_order_acq_rel)) {
        if (s == kOne) delete this;
        return;
      }
    }
    py_dec_ref(reinterpret_cast<void*>(s));
  }
  // True if the caller's reference is the only one and Python has none.
  bool unique() const noexcept { return state_.load(std::memory_order_acquire) == kOne; }
  // References that C++ holds; 0 once Python counts them.
  std::uintptr_t use_count() const noexcept {
    const std::uintptr_t s = state_.load(std::memory_order_acquire);
    return s & 1 ? s >> 1 : 0;
  }
  // References that anybody holds. Exact only if it is as low as what the caller knows of: nobody
  // else can change it then.
  std::uintptr_t total_count() const noexcept {
    const std::uintptr_t s = state_.load(std::memory_order_acquire);
    return s & 1 ? s >> 1 : py_ref_count(reinterpret_cast<void*>(s));
  }
  void* py_object() const noexcept {
    const std::uintptr_t s = state_.load(std::memory_order_acquire);
    return s & 1 ? nullptr : reinterpret_cast<void*>(s);
  }
  // Hands the count over: `py_object` gets one reference for each that C++ holds.
  void set_py_object(void* py_object) noexcept;
  // The same for an object with one reference, the caller's, which becomes the one that
  // `py_object` was made with.
  void give_to_py_object(void* py_object) noexcept {
    state_.store(reinterpret_cast<std::uintptr_t>(py_object), std::memory_order_release);
  }

 protected:
  virtual ~RefCounted() = default;

 private:
  template <class T>
  friend class Ref;
  static constexpr std::uintptr_t kOne = 3;
  void first_ref() noexcept { state_.store(kOne, std::memory_order_relaxed); }

  mutable std::atomic<std::uintptr_t> state_{1};  // (count << 1) | 1, or a PyObject*
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(T* p) noexcept : p_(p) {  // NOLINT: implicit, as for any smart pointer of ours
    // clang-analyzer doesn't follow counts, and sees objects freed by other references.
    if (p_) p_->inc_ref();  // NOLINT(clang-analyzer-*)
  }
  Ref(const Ref& o) noexcept : Ref(o.p_) {}
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <class U>
  requires std::is_convertible_v<U*, T*> Ref(Ref<U> o)
  noexcept : p_(o.release()) {}  // NOLINT: a derived reference is one to its base
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() {
    if (p_) p_->dec_ref();  // NOLINT(clang-analyzer-*)
  }
  // A new object. Cheaper than Ref(new T(...)): nobody else can count yet.
  template <class... A>
  static Ref make(A&&... arguments) {
    Ref made;
    made.p_ = new T(std::forward<A>(arguments)...);
    static_cast<RefCounted*>(made.p_)->first_ref();
    return made;
  }
  T* get() const noexcept { return p_; }
  T* release() noexcept { return std::exchange(p_, nullptr); }  // the caller now owns the reference
  // NOLINTNEXTLINE(clang-analyzer-*): likewise
  T* operator->() const noexcept { return p_; }
  T& operator*() const noexcept { return *p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) noexcept { return a.p_ == b.p_; }

 private:
  T* p_ = nullptr;
};

}  // namespace treadle
#pragma GCC visibility pop
