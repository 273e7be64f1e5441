// Handing an object's reference count over to Python.
#include "engine/core/ref.h"

namespace treadle {

PyHooks py_hooks;

void RefCounted::set_py_object(void* py_object) noexcept {
  // Each reference that C++ holds becomes one of the PyObject. Caller holds the GIL and a
  // reference, so the count can only grow meanwhile on other C++ threads; the loop takes those
  // along.
  std::uintptr_t state = state_.load(std::memory_order_acquire);
  std::uintptr_t moved = 0;
  while (true) {
    for (; moved < (state >> 1); ++moved) py_hooks.inc_ref(py_object);
    for (; moved > (state >> 1); --moved) py_hooks.dec_ref(py_object);
    if (state_.compare_exchange_weak(state, reinterpret_cast<std::uintptr_t>(py_object),
                                     std::memory_order_acq_rel)) {
      return;
    }
  }
}

}  // namespace treadle
