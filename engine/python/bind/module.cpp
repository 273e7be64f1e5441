// The extension module treadle._C: put together from the other files of this folder.
#include <chrono>
#include <thread>

#include "engine/python/bind/bind.h"
#include "engine/python/bind/override.h"

namespace treadle::bind {
namespace {

// References that C++ drops or takes while its object belongs to Python. After the interpreter is
// gone there is nothing left to count.
void inc_ref(void* object) noexcept {
  if (GilHeld::here()) {
    Py_INCREF(static_cast<PyObject*>(object));
    return;
  }
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  Py_INCREF(static_cast<PyObject*>(object));
  PyGILState_Release(state);
}
void dec_ref(void* object) noexcept {
  if (GilHeld::here()) {
    auto* py = static_cast<PyObject*>(object);
    const GilHeld held(Py_REFCNT(py) > 1);  // the object's end may run anything
    Py_DECREF(py);
    return;
  }
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF(static_cast<PyObject*>(object));
  PyGILState_Release(state);
}

void pause() noexcept {
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  {
    const WithoutGil released;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  PyGILState_Release(state);
}

// Without the GIL: a count that only we hold doesn't change.
std::uintptr_t ref_count(void* o) noexcept {
  return static_cast<std::uintptr_t>(Py_REFCNT(static_cast<PyObject*>(o)));
}

void translate(const std::exception_ptr& e, void*) {
  try {
    std::rethrow_exception(e);
  } catch (const Error&) {
    set_python_error();
  }
}

}  // namespace
}  // namespace treadle::bind

NB_MODULE(_C, m) {
  using namespace treadle::bind;
  treadle::set_py_hooks({inc_ref, dec_ref, pause, ref_count});
  // Objects that Python keeps until after the module is gone aren't leaks of ours.
  nb::set_leak_warnings(false);
  nb::register_exception_translator(translate);
  bind_types(m);
  bind_random(m);
  bind_tensor(m);
  bind_ops(m);
  bind_create(m);
  bind_exchange(m);
  bind_buffers(m);
  bind_autograd(m);
  bind_tape(m);
  bind_override(m);
  bind_gc();
  bind_config(m);
}
