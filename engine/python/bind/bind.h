// What the files of the Python module share: Tensor and its small companions to and from PyObject*,
// and the one place where exceptions are translated. Everything here assumes the GIL.
#pragma once
#include <nanobind/nanobind.h>

#include <cstring>
#include <optional>
#include <string>

#include "engine/autograd/node.h"
#include "engine/core/tensor.h"
#include "engine/ops/schema.h"
#include "engine/python/bind/gil.h"

namespace treadle::bind {

namespace nb = nanobind;

// dtype and device as Python sees them.
struct PyDType {
  DType value;
};
struct PyMemoryFormat {
  std::int64_t value;
};
struct PyLayout {
  std::int64_t value;  // 0: strided
};
struct PyDevice {
  Device value;
  bool has_index;  // "cpu" and "cpu:0" print differently
};

// What a Python tensor or node holds. The object *is* the C++ object's reference count
// (core/ref.h), so when Python frees it, nothing else refers to the C++ object.
template <class T>
struct Box {
  T* object;
  explicit Box(T* o) : object(o) {}
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;
  ~Box() {
    const GilHeld held;  // only Python ends its objects
    delete object;
  }
};
using TensorBox = Box<TensorImpl>;
using NodeBox = Box<Node>;

// The types that conversions test for; filled while the module is initialised, never freed.
struct Types {
  PyTypeObject* tensor = nullptr;
  PyTypeObject* dtype = nullptr;
  PyTypeObject* device = nullptr;
  PyTypeObject* generator = nullptr;
  PyTypeObject* memory_format = nullptr;
  PyTypeObject* layout = nullptr;
  PyObject* strided = nullptr;
  PyTypeObject* size = nullptr;
  PyTypeObject* node = nullptr;
  PyObject* dtypes[kernel::kDTypes] = {};
  PyObject* module = nullptr;
  // From the start of a Python object to its Box. The same for all types whose objects hold a
  // pointer (nanobind puts it behind its header), and found out from the first one, since
  // nb::inst_ptr is a call through a table.
  std::ptrdiff_t box_offset = 0;
};
extern Types types;

template <class T>
Box<T>& box_of(PyObject* o) {
  return *reinterpret_cast<Box<T>*>(reinterpret_cast<char*>(o) + types.box_offset);
}

// Thrown after a CPython function has failed and set its exception.
[[noreturn]] void raise_python();

// treadle.linalg.LinAlgError, a RuntimeError.
PyObject* linalg_error();

// Sets the Python exception that belongs to the C++ exception being handled. Call inside `catch
// (...)`.
void set_python_error() noexcept;

// Runs f, which returns a new reference; a C++ exception becomes a Python one and null.
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}
template <class F>
int guarded_int(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_python_error();
    return -1;
  }
}

// --- tensors
// ---------------------------------------------------------------------------------------

inline bool is_tensor(PyObject* o) {
  return Py_TYPE(o) == types.tensor || PyType_IsSubtype(Py_TYPE(o), types.tensor);
}
// `o` must be a Tensor.
inline TensorImpl* impl_of(PyObject* o) { return box_of<TensorImpl>(o).object; }
inline Tensor tensor_of(PyObject* o) { return Tensor(Ref<TensorImpl>(impl_of(o))); }
// A Tensor over an object that the caller keeps alive, without counting a reference: the count is
// Python's, and changing it from C++ takes the GIL each time.
class Borrowed {
 public:
  explicit Borrowed(PyObject* o) {
    static_assert(sizeof(Tensor) == sizeof(TensorImpl*));  // NOLINT(bugprone-sizeof-expression)
    TensorImpl* impl = impl_of(o);
    // The pointer itself: NOLINTNEXTLINE(bugprone-sizeof-expression)
    std::memcpy(static_cast<void*>(&tensor_), &impl, sizeof impl);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() { tensor_.release(); }
  const Tensor& operator*() const { return tensor_; }
  const Tensor* operator->() const { return &tensor_; }

 private:
  Tensor tensor_;
};
// New reference; None for an undefined tensor. The same object for the same TensorImpl.
PyObject* wrap(const Tensor& t);
PyObject* wrap(Tensor&& t);  // cheaper for fresh results
// As wrap, for a tensor that Python hasn't seen, as an instance of `type` (Tensor or a subclass of
// it).
PyObject* wrap_as(PyTypeObject* type, const Tensor& t);
inline bool is_node(PyObject* o) { return PyType_IsSubtype(Py_TYPE(o), types.node); }
inline Node* node_of(PyObject* o) { return box_of<Node>(o).object; }
PyObject* wrap(const Ref<Node>& node);  // new reference; None for null
// A new Python object of `type` around `object`, which Python hasn't seen. The caller makes it the
// object's reference count.
template <class T>
PyObject* make_box(PyTypeObject* type, T* object) {
  nb::object made = nb::inst_alloc(nb::handle(reinterpret_cast<PyObject*>(type)));
  new (&box_of<T>(made.ptr())) Box<T>(object);
  nb::inst_mark_ready(made);
  return made.release().ptr();
}
// A Python object that takes over the reference count of `object`, besides the caller's reference.
template <class T>
PyObject* hand_over(PyTypeObject* type, T* object) {
  PyObject* made = make_box(type, object);
  object->set_py_object(made);
  return made;
}

// The tensor, or TypeError naming `what`.
Tensor expect_tensor(PyObject* o, const char* what);

// --- numbers, shapes, names
// ------------------------------------------------------------------------

// False without an exception if `o` isn't a number (int, float, bool, or what has
// __index__/__float__).
bool to_scalar(PyObject* o, Scalar* out);
bool to_int(PyObject* o, std::int64_t* out);  // OverflowError is raised as raise_python()
bool to_dims(PyObject* o, Dims* out);         // tuple or list of ints
bool to_dtype(PyObject* o, DType* out);       // dtype, or the types bool, int, float
bool to_device(PyObject* o, Device* out);     // device, "cpu", "cuda:1"
bool to_memory_format(PyObject* o, std::int64_t* out);
// Throws Error{not_implemented} for a layout other than strided.
bool to_layout(PyObject* o, std::int64_t* out);
std::string string_of(PyObject* unicode);

PyObject* wrap(DType dtype);
PyObject* wrap(Device device);
PyObject* wrap_size(const Dims& dims);             // treadle.Size
PyObject* wrap_tuple(const Dims& dims);            // plain tuple
PyObject* wrap_number(const Tensor& one_element);  // int, float or bool; Error for another count
const char* type_name(PyObject* o);

// Puts back at its end which saved_tensors_hooks are on in this thread: those that a backward pass
// enters and doesn't leave must not stay.
class KeepSavedHooks {
 public:
  KeepSavedHooks();
  KeepSavedHooks(const KeepSavedHooks&) = delete;
  KeepSavedHooks& operator=(const KeepSavedHooks&) = delete;
  ~KeepSavedHooks();

 private:
  std::size_t depth_;
};

// --- parts of the module, in order of initialisation
// -----------------------------------------------
void bind_types(nb::module_& m);     // types.cpp: dtype, device, Size, Generator
void bind_tensor(nb::module_& m);    // tensor.cpp
void bind_ops(nb::module_& m);       // ops.cpp: functions and methods of the op table
void bind_create(nb::module_& m);    // create.cpp: tensor, as_tensor, from_numpy
void bind_exchange(nb::module_& m);  // dlpack.cpp
void bind_buffers(nb::module_& m);   // exchange.cpp: frombuffer
void bind_autograd(nb::module_& m);  // autograd.cpp
void bind_tape(nb::module_& m);      // tape.cpp: hooks, saved tensors, anomaly mode
void bind_random(nb::module_& m);    // random.cpp: Generator
void bind_gc();                      // gc.cpp: what the garbage collector is told
void bind_config(nb::module_& m);    // config.cpp: versions, ISA, BLAS, threads

}  // namespace treadle::bind
