// Methods of Tensor that aren't ops: what it is (size, stride, ...), its numbers (item, tolist) and
// the tape's switches. METH_FASTCALL functions over the raw API: they are called in inner loops.
#include "engine/python/bind/methods.h"

#include <nanobind/stl/string.h>

#include "engine/core/visit.h"
#include "engine/ops/names.h"
#include "engine/ops/view/layout.h"

namespace treadle::bind {
namespace {

PyObject* dim(PyObject* self, PyObject*) {
  return PyLong_FromLongLong(impl_of(self)->shape.size());
}

PyObject* numel(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromLongLong(Borrowed(self)->numel()); });
}

// The optional argument `dim` of size() and stride(): null if not given or None.
PyObject* dim_argument(const char* function, PyObject* const* args, Py_ssize_t nargs,
                       PyObject* kwnames) {
  const Py_ssize_t keywords = kwnames ? PyTuple_Size(kwnames) : 0;
  if (nargs + keywords > 1) {
    fail(ErrorKind::type, std::string(function) + "() takes at most 1 argument (" +
                              std::to_string(nargs + keywords) + " given)");
  }
  if (keywords && string_of(PyTuple_GetItem(kwnames, 0)) != "dim") {
    fail(ErrorKind::type, std::string(function) + "() got an unexpected keyword argument '" +
                              string_of(PyTuple_GetItem(kwnames, 0)) + "'");
  }
  return nargs + keywords && args[0] != Py_None ? args[0] : nullptr;
}

PyObject* one_of(const char* function, const Dims& dims, PyObject* index) {
  std::int64_t i = 0;
  if (!to_int(index, &i)) {
    fail(ErrorKind::type, std::string(function) +
                              "(): argument 'dim' (position 1) must be int, not " +
                              type_name(index));
  }
  if (dims.empty()) {
    fail(ErrorKind::index,
         "Dimension specified as " + std::to_string(i) + " but tensor has no dimensions");
  }
  return PyLong_FromLongLong(dims[wrap_dim(i, dims.size())]);
}

PyObject* size(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    PyObject* index = dim_argument("size", args, nargs, kwnames);
    return index ? one_of("size", impl_of(self)->shape, index) : wrap_size(impl_of(self)->shape);
  });
}

PyObject* stride(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    PyObject* index = dim_argument("stride", args, nargs, kwnames);
    return index ? one_of("stride", impl_of(self)->strides, index)
                 : wrap_tuple(impl_of(self)->strides);
  });
}

PyObject* storage_offset(PyObject* self, PyObject*) {
  return PyLong_FromLongLong(impl_of(self)->offset);
}
PyObject* element_size(PyObject* self, PyObject*) {
  return PyLong_FromLongLong(item_size(impl_of(self)->dtype));
}
PyObject* data_ptr(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromVoidPtr(Borrowed(self)->data()); });
}
PyObject* is_floating_point_(PyObject* self, PyObject*) {
  return PyBool_FromLong(is_floating(impl_of(self)->dtype));
}
PyObject* is_complex_(PyObject* self, PyObject*) {
  return PyBool_FromLong(is_complex(impl_of(self)->dtype));
}
PyObject* is_signed(PyObject* self, PyObject*) {
  return PyBool_FromLong(info(impl_of(self)->dtype).is_signed);
}
PyObject* is_inference(PyObject* self, PyObject*) {
  return PyBool_FromLong(impl_of(self)->inference);
}
PyObject* is_contiguous_(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                         PyObject* kwnames) {
  return guarded([&] {
    const Py_ssize_t keywords = kwnames ? PyTuple_Size(kwnames) : 0;
    if (nargs + keywords > 1 ||
        (keywords && string_of(PyTuple_GetItem(kwnames, 0)) != "memory_format")) {
      fail(ErrorKind::type, "is_contiguous() takes one argument, memory_format");
    }
    if (nargs + keywords == 0) return PyBool_FromLong(Borrowed(self)->is_contiguous());
    std::int64_t format = 0;
    if (!to_memory_format(args[0], &format)) {
      fail(ErrorKind::type,
           std::string("is_contiguous(): argument 'memory_format' must be memory_format, not ") +
               type_name(args[0]));
    }
    return PyBool_FromLong(is_contiguous(*Borrowed(self), memory_format(format)));
  });
}

PyObject* item(PyObject* self, PyObject*) {
  return guarded([&] {
    const Borrowed t(self);
    return t->is_lazy() ? wrap_number(resolve(*t)) : wrap_number(*t);
  });
}

// --- tolist
// ------------------------------------------------------------------------------------------

template <class T>
PyObject* number(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return PyBool_FromLong(value);
  } else if constexpr (functor::is_complex<T>) {
    return PyComplex_FromDoubles(static_cast<double>(value.re), static_cast<double>(value.im));
  } else if constexpr (!functor::is_integer<T>) {
    return PyFloat_FromDouble(static_cast<double>(value));
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return PyLong_FromUnsignedLongLong(value);
  } else {
    return PyLong_FromLongLong(static_cast<long long>(value));
  }
}

template <class T>
PyObject* nested_list(const T* at, const Dims& shape, const Dims& strides, std::int64_t dim) {
  if (dim == shape.size()) return number(*at);
  PyObject* list = PyList_New(shape[dim]);
  if (!list) raise_python();
  for (std::int64_t i = 0; i < shape[dim]; ++i) {
    PyObject* entry = nested_list(at + i * strides[dim], shape, strides, dim + 1);
    if (!entry) {
      Py_DECREF(list);
      raise_python();
    }
    PyList_SetItem(list, i, entry);
  }
  return list;
}

PyObject* tolist(PyObject* self, PyObject*) {
  return guarded([&] {
    const Borrowed given(self);
    const Tensor lazy = given->is_lazy() ? resolve(*given) : Tensor();
    const Tensor& t = lazy.defined() ? lazy : *given;
    return visit_stored(t.dtype(), "tolist", [&](auto zero) {
      using T = decltype(zero);
      return nested_list(t.data_as<const T>(), t.shape(), t.strides(), 0);
    });
  });
}

// --- the tape's switches
// -----------------------------------------------------------------------------

PyObject* requires_grad_(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                         PyObject* kwnames) {
  return guarded([&] {
    const Py_ssize_t keywords = kwnames ? PyTuple_Size(kwnames) : 0;
    if (nargs + keywords > 1 ||
        (keywords && string_of(PyTuple_GetItem(kwnames, 0)) != "requires_grad")) {
      fail(ErrorKind::type, "requires_grad_() takes one argument, requires_grad=True");
    }
    const bool on = nargs + keywords == 0 || PyObject_IsTrue(args[0]) == 1;
    Borrowed(self)->set_requires_grad(on);
    Py_INCREF(self);
    return self;
  });
}

PyObject* retain_grad_(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    retain_grad(*Borrowed(self));
    Py_RETURN_NONE;
  });
}

// What NumPy needs to make an array over the memory: its array interface, version 3.
PyObject* array_interface(PyObject* self, PyObject*) {
  return guarded([&] {
    const Borrowed t(self);
    if (t->is_lazy()) {
      const std::string bit = t->impl()->conj ? "conj" : "neg";
      fail(ErrorKind::runtime, "Can't call numpy() on Tensor that has " +
                                   std::string(bit == "conj" ? "conjugate" : "negative") +
                                   " bit set. Use tensor.resolve_" + bit + "().numpy() instead.");
    }
    const DTypeInfo& i = info(t->dtype());
    t->impl()->storage->share();
    const char* kind = "f";
    if (i.category == Category::boolean) kind = "b";
    if (i.category == Category::integer) kind = i.is_signed ? "i" : "u";
    if (i.category == Category::complex) kind = "c";
    if (t->dtype() == DType::bfloat16 || t->dtype() == DType::complex32) {
      fail(ErrorKind::type, "Got unsupported ScalarType " + std::string(info(t->dtype()).scalar));
    }
    Dims strides = t->strides();
    for (std::int64_t& s : strides) s *= i.size;
    nb::dict d;
    d["version"] = 3;
    d["shape"] = nb::steal(wrap_tuple(t->shape()));
    d["strides"] = nb::steal(wrap_tuple(strides));
    d["typestr"] = (i.size == 1 ? "|" : "<") + std::string(kind) + std::to_string(i.size);
    d["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(t->data()),
                               t->impl()->storage->read_only());
    return d.release().ptr();
  });
}

template <class F>
PyCFunction method(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}
constexpr int kFast = METH_FASTCALL | METH_KEYWORDS;

}  // namespace

std::span<const PyMethodDef> own_methods() {
  static const PyMethodDef methods[] = {
      {"dim", dim, METH_NOARGS, "dim() -> int\n\nNumber of dimensions."},
      {"ndimension", dim, METH_NOARGS, "ndimension() -> int\n\nThe same as dim()."},
      {"numel", numel, METH_NOARGS, "numel() -> int\n\nNumber of elements."},
      {"nelement", numel, METH_NOARGS, "nelement() -> int\n\nThe same as numel()."},
      {"size", method(size), kFast,
       "size(dim=None) -> Size or int\n\nThe shape, or the size of one dimension. IndexError if "
       "there is no "
       "such dimension."},
      {"stride", method(stride), kFast,
       "stride(dim=None) -> tuple or int\n\nDistance in elements between neighbours along each "
       "dimension."},
      {"storage_offset", storage_offset, METH_NOARGS,
       "storage_offset() -> int\n\nPosition of the first element in the memory, in elements."},
      {"element_size", element_size, METH_NOARGS, "element_size() -> int\n\nBytes of one element."},
      {"data_ptr", data_ptr, METH_NOARGS, "data_ptr() -> int\n\nAddress of the first element."},
      {"is_floating_point", is_floating_point_, METH_NOARGS, "is_floating_point() -> bool"},
      {"is_complex", is_complex_, METH_NOARGS, "is_complex() -> bool"},
      {"is_signed", is_signed, METH_NOARGS, "is_signed() -> bool"},
      {"is_inference", is_inference, METH_NOARGS,
       "is_inference() -> bool\n\nWhether the tensor was made in inference mode."},
      {"is_contiguous", method(is_contiguous_), kFast,
       "is_contiguous(memory_format=contiguous_format) -> bool\n\nWhether the elements lie row by "
       "row without gaps."},
      {"item", item, METH_NOARGS,
       "item() -> int, float or bool\n\nThe number in a tensor of one element. RuntimeError for "
       "any other."},
      {"tolist", tolist, METH_NOARGS,
       "tolist() -> list or number\n\nThe elements as nested lists; a number for a 0-d tensor."},
      {"requires_grad_", method(requires_grad_), kFast,
       "requires_grad_(requires_grad=True) -> Tensor\n\nSets requires_grad and returns self."},
      {"retain_grad", retain_grad_, METH_NOARGS,
       "retain_grad() -> None\n\nMakes backward() fill .grad of a tensor that isn't a leaf."},
      {"_array_interface", array_interface, METH_NOARGS, nullptr},
  };
  return methods;
}

}  // namespace treadle::bind
