// Values to and from PyObject*, and exceptions to Python's. To add a kind of value: a pair of
// functions here, declared in bind.h.
#include <cmath>
#include <new>

#include "engine/core/visit.h"
#include "engine/python/bind/bind.h"

namespace treadle::bind {

Types types;

PyObject* linalg_error() {
  // Lives as long as the process, like the module.
  static PyObject* const type = PyErr_NewExceptionWithDoc(
      "treadle.linalg.LinAlgError",
      "A matrix that lacks what the operation needs: it is singular, isn't positive definite, ...",
      PyExc_RuntimeError, nullptr);
  return type;
}

void raise_python() { throw nb::python_error(); }

void set_python_error() noexcept {
  try {
    throw;
  } catch (nb::python_error& e) {
    e.restore();
  } catch (const Error& e) {
    PyObject* type = PyExc_RuntimeError;
    switch (e.kind()) {
      case ErrorKind::runtime:
        type = PyExc_RuntimeError;
        break;
      case ErrorKind::value:
        type = PyExc_ValueError;
        break;
      case ErrorKind::type:
        type = PyExc_TypeError;
        break;
      case ErrorKind::index:
        type = PyExc_IndexError;
        break;
      case ErrorKind::not_implemented:
        type = PyExc_NotImplementedError;
        break;
      case ErrorKind::memory:
        type = PyExc_MemoryError;
        break;
      case ErrorKind::linalg:
        type = linalg_error();
        break;
    }
    PyErr_SetString(type, e.what());
  } catch (const nb::builtin_exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "an unknown C++ exception reached Python");
  }
}

const char* type_name(PyObject* o) {
  // tp_name isn't in the limited API; nanobind's borrowed UTF-8 lives as long as the type.
  thread_local std::string name;
  const nb::object qualified = nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(o))).attr("__name__");
  name = string_of(qualified.ptr());
  return name.c_str();  // NOLINT(clang-analyzer-cplusplus.InnerPointer): of the new text
}

// --- tensors
// ---------------------------------------------------------------------------------------

PyObject* wrap_as(PyTypeObject* type, const Tensor& t) { return hand_over(type, t.impl()); }

PyObject* wrap(const Tensor& t) {
  if (!t.defined()) Py_RETURN_NONE;
  if (void* known = t.impl()->py_object()) {
    auto* object = static_cast<PyObject*>(known);
    Py_INCREF(object);
    return object;
  }
  return wrap_as(types.tensor, t);
}

PyObject* wrap(Tensor&& t) {
  if (!t.defined() || !t.impl()->unique()) return wrap(static_cast<const Tensor&>(t));
  PyObject* object = make_box(types.tensor, t.impl());
  t.release()->give_to_py_object(object);
  return object;
}

Tensor expect_tensor(PyObject* o, const char* what) {
  if (!is_tensor(o)) {
    fail(ErrorKind::type, std::string(what) + " must be a Tensor, not " + type_name(o));
  }
  return tensor_of(o);
}

// --- numbers
// ---------------------------------------------------------------------------------------

std::string string_of(PyObject* unicode) {
  Py_ssize_t length = 0;
  const char* text = PyUnicode_AsUTF8AndSize(unicode, &length);
  if (!text) raise_python();
  return {text, static_cast<std::size_t>(length)};
}

// A Python int that has to be an int64.
static std::int64_t int64_of(PyObject* integer) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(integer, &overflow);
  if (overflow != 0) fail(ErrorKind::value, "Overflow when unpacking long long");
  if (value == -1 && PyErr_Occurred()) raise_python();
  return value;
}

bool to_int(PyObject* o, std::int64_t* out) {
  if (Py_TYPE(o) == &PyLong_Type) {  // the rest is for what has __index__
    *out = int64_of(o);
    return true;
  }
  if (PyFloat_Check(o) || !PyIndex_Check(o)) return false;
  if (is_tensor(o) && !is_integral(impl_of(o)->dtype)) return false;
  PyObject* index = PyNumber_Index(o);
  if (!index) {
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {  // a tensor of many elements, for one
      PyErr_Clear();
      return false;
    }
    raise_python();
  }
  const nb::object owned = nb::steal(index);
  *out = int64_of(index);
  return true;
}

bool to_scalar(PyObject* o, Scalar* out) {
  if (PyBool_Check(o)) {
    *out = Scalar(o == Py_True);
    return true;
  }
  if (PyFloat_Check(o)) {
    *out = Scalar(PyFloat_AsDouble(o));
    return true;
  }
  if (is_tensor(o)) {
    const Tensor t = tensor_of(o);
    if (t.dim() != 0 || t.requires_grad()) return false;
    if (t.dtype() == DType::boolean) {
      *out = Scalar(t.item_int() != 0);
    } else if (is_complex(t.dtype())) {
      *out = Scalar(t.item_complex());
    } else {
      *out = is_integral(t.dtype()) ? Scalar(t.item_int()) : Scalar(t.item());
    }
    return true;
  }
  std::int64_t integer = 0;
  if (Py_TYPE(o) == &PyLong_Type) {
    int overflow = 0;
    integer = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (!overflow) {
      *out = Scalar(integer);
      return true;
    }
    const std::uint64_t large = PyLong_AsUnsignedLongLong(o);
    if (PyErr_Occurred()) raise_python();
    *out = Scalar(large);
    return true;
  }
  if (PyUnicode_Check(o)) return false;
  if (PyComplex_Check(o)) {
    *out = Scalar(std::complex<double>(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
    return true;
  }
  if (to_int(o, &integer)) {
    *out = Scalar(integer);
    return true;
  }
  // NumPy's floating scalars and the like. Sequences have no __float__, arrays of several elements
  // raise TypeError.
  if (PySequence_Check(o)) return false;
  PyObject* number = PyNumber_Float(o);
  if (!number) {
    PyErr_Clear();
    return false;
  }
  const bool ok = to_scalar(number, out);
  Py_DECREF(number);
  return ok;
}

bool to_dims(PyObject* o, Dims* out) {
  const bool tuple = PyTuple_Check(o);
  if (!tuple && !PyList_Check(o)) return false;
  const Py_ssize_t count = tuple ? PyTuple_Size(o) : PyList_Size(o);
  Dims dims;
  for (Py_ssize_t i = 0; i < count; ++i) {
    // Owned: an item's __index__ may take it out of the list.
    const nb::object item = nb::borrow(tuple ? PyTuple_GetItem(o, i) : PyList_GetItem(o, i));
    std::int64_t value = 0;
    if (!item.is_valid()) raise_python();
    try {
      if (!to_int(item.ptr(), &value)) return false;
    } catch (const Error& e) {
      fail(ErrorKind::type, "failed to unpack the object at pos " + std::to_string(i + 1) +
                                " with error \"" + e.what() + "\"");
    }
    dims.push_back(value);
  }
  *out = std::move(dims);
  return true;
}

bool to_dtype(PyObject* o, DType* out) {
  if (Py_TYPE(o) == types.dtype) {
    *out = nb::inst_ptr<PyDType>(nb::handle(o))->value;
  } else if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) {
    *out = DType::float64;
  } else if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) {
    *out = DType::int64;
  } else if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) {
    *out = DType::boolean;
  } else {
    return false;
  }
  return true;
}

bool to_device(PyObject* o, Device* out) {
  if (Py_TYPE(o) == types.device) {
    *out = nb::inst_ptr<PyDevice>(nb::handle(o))->value;
    return true;
  }
  if (!PyUnicode_Check(o)) return false;
  nb::object made = nb::handle(reinterpret_cast<PyObject*>(types.device))(nb::handle(o));
  *out = nb::inst_ptr<PyDevice>(made)->value;
  return true;
}

bool to_memory_format(PyObject* o, std::int64_t* out) {
  if (Py_TYPE(o) != types.memory_format) return false;
  *out = nb::inst_ptr<PyMemoryFormat>(nb::handle(o))->value;
  return true;
}

bool to_layout(PyObject* o, std::int64_t* out) {
  if (Py_TYPE(o) != types.layout) return false;
  *out = nb::inst_ptr<PyLayout>(nb::handle(o))->value;
  if (*out != 0) fail(ErrorKind::not_implemented, "treadle has only strided tensors");
  return true;
}

// --- results
// ---------------------------------------------------------------------------------------

PyObject* wrap(DType dtype) {
  PyObject* object = types.dtypes[static_cast<int>(dtype)];
  Py_INCREF(object);
  return object;
}

PyObject* wrap(Device device) {
  return nb::cast(PyDevice{device, device.kind != Device::Kind::cpu}).release().ptr();
}

static void fill(PyObject* tuple, const Dims& dims) {
  for (std::int64_t i = 0; i < dims.size(); ++i) {
    PyObject* item = PyLong_FromLongLong(dims[i]);
    if (!item || PyTuple_SetItem(tuple, i, item) < 0) {
      Py_DECREF(tuple);
      raise_python();
    }
  }
}

PyObject* wrap_size(const Dims& dims) {
  PyObject* tuple = PyType_GenericAlloc(types.size, dims.size());
  if (!tuple) raise_python();
  fill(tuple, dims);
  return tuple;
}

PyObject* wrap_tuple(const Dims& dims) {
  PyObject* tuple = PyTuple_New(dims.size());
  if (!tuple) raise_python();
  fill(tuple, dims);
  return tuple;
}

PyObject* wrap_number(const Tensor& t) {
  if (t.numel() != 1) {
    fail(ErrorKind::runtime,
         "a Tensor with " + std::to_string(t.numel()) + " elements cannot be converted to Scalar");
  }
  if (t.dtype() == DType::boolean) return PyBool_FromLong(t.item_int() != 0);
  if (t.dtype() == DType::uint64) {
    return PyLong_FromUnsignedLongLong(static_cast<unsigned long long>(t.item_int()));
  }
  if (is_integral(t.dtype())) return PyLong_FromLongLong(t.item_int());
  if (is_complex(t.dtype())) {
    const std::complex<double> z = t.item_complex();
    return PyComplex_FromDoubles(z.real(), z.imag());
  }
  return PyFloat_FromDouble(t.item());
}

}  // namespace treadle::bind
