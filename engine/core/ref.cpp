// Handing an object's reference count over to Python.
#include "engine/core/ref.h"

#include <thread>

namespace treadle {

namespace {
constinit PyHooks py_hooks;
}

void set_py_hooks(const PyHooks& hooks) { py_hooks = hooks; }
void py_inc_ref(void* py_object) noexcept { py_hooks.inc_ref(py_object); }
void py_dec_ref(void* py_object) noexcept { py_hooks.dec_ref(py_object); }
std::uintptr_t py_ref_count(void* py_object) noexcept { return py_hooks.ref_count(py_object); }
void py_pause() noexcept {
  if (py_hooks.pause) {
    py_hooks.pause();
  } else {
    std::this_thread::yield();
  }
}

void RefCounted::set_py_object(void* py_object) noexcept {
  // Each reference that C++ holds becomes one of the PyObject. Caller holds the GIL and a
  // reference, so the count can only grow meanwhile on other C++ threads; the loop takes those
  // along.
  std::uintptr_t state = state_.load(std::memory_order_acquire);
  std::uintptr_t moved = 0;
  while (true) {
    for (; moved < (state >> 1); ++moved) py_inc_ref(py_object);
    for (; moved > (state >> 1); --moved) py_hooks.dec_ref(py_object);
    if (state_.compare_exchange_weak(state, reinterpret_cast<std::uintptr_t>(py_object),
                                     std::memory_order_acq_rel)) {
      return;
    }
  }
}

}  // namespace treadle
