// The small types of the module: dtype, device, Size. Each is immutable and compares by value.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <charconv>

#include "engine/core/dtype.h"
#include "engine/python/bind/bind.h"

namespace treadle::bind {
namespace {

const char* const kDeviceNames[] = {"cpu", "cuda", "meta"};

PyDevice parse_device(const std::string& text) {
  if (text.empty()) fail(ErrorKind::runtime, "Device string must not be empty");
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  for (int k = 0; k < 3; ++k) {
    if (kind != kDeviceNames[k]) continue;
    PyDevice device{{static_cast<Device::Kind>(k), 0}, false};
    if (colon == std::string::npos) return device;
    int index = -1;
    const char* first = text.data() + colon + 1;
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(first, last, index);
    const bool zero_first = last - first > 1 && *first == '0';
    if (error != std::errc{} || end != last || index < 0 || index > 127 || zero_first) {
      fail(ErrorKind::runtime, "Invalid device string: '" + text + "'");
    }
    device.value.index = static_cast<std::int8_t>(index);
    device.has_index = true;
    return device;
  }
  fail(ErrorKind::runtime,
       "Expected one of cpu, cuda, meta device type at start of device string: " + text);
}

std::string device_text(const PyDevice& d) {
  std::string text = kDeviceNames[static_cast<int>(d.value.kind)];
  if (d.has_index) text += ":" + std::to_string(d.value.index);
  return text;
}

void bind_dtype(nb::module_& m) {
  auto c = nb::class_<PyDType>(m, "dtype", nb::is_final(),
                               "Type of the elements of a tensor: float32, int64, bool, ...");
  types.dtype = reinterpret_cast<PyTypeObject*>(c.ptr());
  c.attr("__module__") = "treadle";  // where it is public
  c.def_prop_ro(
       "itemsize", [](PyDType d) { return item_size(d.value); }, "bytes of one element")
      .def_prop_ro("is_floating_point", [](PyDType d) { return is_floating(d.value); })
      .def_prop_ro("is_complex", [](PyDType d) { return is_complex(d.value); })
      .def_prop_ro("is_signed", [](PyDType d) { return info(d.value).is_signed; })
      .def(
          "to_complex",
          [](PyDType d) {
            if (is_integral(d.value)) {
              fail(ErrorKind::runtime,
                   "Unknown Complex ScalarType for " + std::string(info(d.value).scalar));
            }
            return nb::steal(wrap(to_complex(d.value)));
          },
          "the complex dtype whose parts are of this one")
      .def(
          "to_real", [](PyDType d) { return nb::steal(wrap(to_real(d.value))); },
          "the dtype of the parts of this complex one; of others itself")
      .def("__repr__", [](PyDType d) { return repr(d.value); })
      // A string: pickle finds the object under this name in the module, so that copies stay the
      // same object.
      .def("__reduce__", [](PyDType d) { return std::string(info(d.value).name); });
  for (int i = 0; i < kernel::kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    types.dtypes[i] = nb::cast(PyDType{dtype}).release().ptr();
    m.attr(std::string(info(dtype).name).c_str()) = nb::handle(types.dtypes[i]);
  }
  const std::pair<const char*, DType> aliases[] = {
      {"float", DType::float32},   {"double", DType::float64},   {"half", DType::float16},
      {"int", DType::int32},       {"long", DType::int64},       {"short", DType::int16},
      {"chalf", DType::complex32}, {"cfloat", DType::complex64}, {"cdouble", DType::complex128},
  };
  for (const auto& [name, dtype] : aliases) {
    m.attr(name) = nb::handle(types.dtypes[static_cast<int>(dtype)]);
  }
  m.def("_dtype", [](const std::string& name) {
    const std::optional<DType> dtype = parse_dtype(name);
    if (!dtype) fail(ErrorKind::value, "unknown dtype '" + name + "'");
    return nb::steal(wrap(*dtype));
  });
  m.def(
      "get_default_dtype", [] { return nb::steal(wrap(default_dtype())); },
      "The dtype of new floating-point tensors; float32 unless set.");
  m.def(
      "set_default_dtype",
      [](nb::handle d) {
        DType dtype{};
        if (!to_dtype(d.ptr(), &dtype)) {
          fail(ErrorKind::type,
               "invalid dtype object: only floating-point types are supported as the default type");
        }
        set_default_dtype(dtype);
      },
      nb::arg("d").none(),
      "Sets the dtype of new floating-point tensors. TypeError unless floating.");
  m.def(
      "promote_types",
      [](nb::handle a, nb::handle b) {
        DType x{}, y{};
        if (Py_TYPE(a.ptr()) == types.dtype && Py_TYPE(b.ptr()) == types.dtype &&
            to_dtype(a.ptr(), &x) && to_dtype(b.ptr(), &y)) {
          return nb::steal(wrap(promote_types(x, y)));
        }
        return nb::object(nb::module_::import_("treadle._dtypes").attr("promote_named")(a, b));
      },
      nb::arg("type1"), nb::arg("type2"), "The smallest dtype that both convert to.");
  m.def(
      "_can_cast",
      [](nb::handle from, PyDType to) {
        DType dtype{};
        if (is_tensor(from.ptr())) {
          dtype = impl_of(from.ptr())->dtype;
        } else if (!to_dtype(from.ptr(), &dtype)) {
          fail(ErrorKind::type, std::string("can_cast(): argument 'from_' must be a dtype or a "
                                            "Tensor, not ") +
                                    type_name(from.ptr()));
        }
        return can_cast(dtype, to.value);
      },
      nb::arg("from_"), nb::arg("to"),
      "Whether a conversion of a dtype, or of a tensor's, is allowed under the rules of "
      "promotion.");
}

void bind_device(nb::module_& m) {
  auto c = nb::class_<PyDevice>(m, "device", nb::is_final(),
                                "Where a tensor lives: device('cpu'), device('cuda', 1).");
  types.device = reinterpret_cast<PyTypeObject*>(c.ptr());
  c.attr("__module__") = "treadle";
  c.def(
       "__init__",
       [](PyDevice* self, nb::handle type, std::optional<int> index) {
         if (Py_TYPE(type.ptr()) == types.device) {
           if (index) {
             fail(ErrorKind::type,
                  "device(): argument 'type' (position 1) must be str, not device, where an index "
                  "is given");
           }
           new (self) PyDevice(*nb::inst_ptr<PyDevice>(type));
           return;
         }
         if (PyLong_CheckExact(type.ptr()) && !index) {  // of the accelerator, as in PyTorch
           const int number = nb::cast<int>(type);
           if (number < 0 || number > 127) {
             fail(ErrorKind::runtime, "Device index must not be negative");
           }
           new (self) PyDevice{{Device::Kind::cuda, static_cast<std::int8_t>(number)}, true};
           return;
         }
         if (!PyUnicode_Check(type.ptr())) {
           fail(ErrorKind::type, std::string("device(): type must be a str or device, not ") +
                                     type_name(type.ptr()));
         }
         PyDevice d = parse_device(string_of(type.ptr()));
         if (index) {
           if (d.has_index) {
             fail(ErrorKind::runtime,
                  "type (string) must not include an index because index was passed "
                  "explicitly: " +
                      string_of(type.ptr()));
           }
           if (*index < 0 || *index > 127)
             fail(ErrorKind::runtime, "Device index must not be negative");
           d.value.index = static_cast<std::int8_t>(*index);
           d.has_index = true;
         }
         new (self) PyDevice(d);
       },
       nb::arg("type").none(), nb::arg("index") = nb::none())
      .def_prop_ro("type",
                   [](const PyDevice& d) { return kDeviceNames[static_cast<int>(d.value.kind)]; })
      .def_prop_ro("index",
                   [](const PyDevice& d) {
                     return d.has_index ? std::optional<int>(d.value.index) : std::nullopt;
                   })
      .def("__str__", device_text)
      .def("__repr__",
           [](const PyDevice& d) {
             std::string text =
                 "device(type='" + std::string(kDeviceNames[static_cast<int>(d.value.kind)]);
             text += "'";
             if (d.has_index) text += ", index=" + std::to_string(d.value.index);
             return text + ")";
           })
      .def(
          "__eq__",
          [](const PyDevice& a, nb::handle other) {
            if (Py_TYPE(other.ptr()) != types.device) return false;
            const PyDevice& b = *nb::inst_ptr<PyDevice>(other);
            return a.value == b.value && a.has_index == b.has_index;
          },
          nb::arg("other").none())
      .def("__hash__",
           [](const PyDevice& d) {
             return static_cast<int>(d.value.kind) * 256 + (d.has_index ? d.value.index + 1 : 0);
           })
      .def("__reduce__", [](const PyDevice& d) {
        const char* type = kDeviceNames[static_cast<int>(d.value.kind)];
        return nb::make_tuple(nb::handle(reinterpret_cast<PyObject*>(types.device)),
                              d.has_index ? nb::make_tuple(type, static_cast<int>(d.value.index))
                                          : nb::make_tuple(type));
      });
}

// A type of a few named constants, which live in the module and pickle as their names.
template <class T, std::size_t N>
PyTypeObject* bind_names(nb::module_& m, const char* type, const char* doc,
                         const char* const (&names)[N]) {
  auto c = nb::class_<T>(m, type, nb::is_final(), doc);
  c.def("__repr__", [&names](const T& x) {
     const std::string text = repr(DType::boolean);  // the module's name, as dtypes print it
     return text.substr(0, text.find('.') + 1) + names[x.value];
   }).def("__reduce__", [&names](const T& x) { return std::string(names[x.value]); });
  for (std::size_t i = 0; i < N; ++i) {
    m.attr(names[i]) = nb::cast(T{static_cast<std::int64_t>(i)});
  }
  return reinterpret_cast<PyTypeObject*>(c.ptr());
}

const char* const kMemoryFormats[] = {"contiguous_format", "preserve_format", "channels_last",
                                      "channels_last_3d"};
const char* const kLayouts[] = {"strided",    "sparse_coo", "sparse_csr",
                                "sparse_csc", "sparse_bsr", "sparse_bsc"};

// --- Size: a tuple of ints that prints as one and stays one when sliced, joined or repeated
// ----------

PyObject* as_size(PyObject* tuple) {
  if (!tuple) return nullptr;
  PyObject* made =
      PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(types.size), tuple, nullptr);
  Py_DECREF(tuple);
  return made;
}

PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  auto base = reinterpret_cast<newfunc>(PyType_GetSlot(&PyTuple_Type, Py_tp_new));
  PyObject* made = base(type, args, kwargs);
  if (!made) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_Size(made); ++i) {
    PyObject* item = PyTuple_GetItem(made, i);
    if (!PyIndex_Check(item)) {
      return guarded([&]() -> PyObject* {
        const std::string name = type_name(item);
        Py_DECREF(made);
        const std::string module = repr(DType::boolean);
        fail(ErrorKind::type, module.substr(0, module.find('.')) +
                                  ".Size() takes an iterable of 'int' (item " + std::to_string(i) +
                                  " is '" + name + "')");
      });
    }
    if (PyLong_CheckExact(item)) continue;
    // Of bool and other kinds of int the plain one.
    PyObject* number = PyLong_Check(item) ? PyNumber_Positive(item) : PyNumber_Index(item);
    if (!number || PyTuple_SetItem(made, i, number) < 0) {
      Py_DECREF(made);
      return nullptr;
    }
  }
  return made;
}

PyObject* size_repr(PyObject* self) {
  return guarded([&] {
    std::string text = repr(DType::boolean);
    text = text.substr(0, text.find('.')) + ".Size([";  // the module's name, as dtypes print it
    for (Py_ssize_t i = 0; i < PyTuple_Size(self); ++i) {
      const nb::object item = nb::steal(PyObject_Str(PyTuple_GetItem(self, i)));
      if (!item.is_valid()) raise_python();
      text += (i ? ", " : "") + string_of(item.ptr());
    }
    return PyUnicode_FromString((text + "])").c_str());
  });
}

PyObject* size_subscript(PyObject* self, PyObject* index) {
  auto base = reinterpret_cast<binaryfunc>(PyType_GetSlot(&PyTuple_Type, Py_mp_subscript));
  PyObject* result = base(self, index);
  return result && PyTuple_Check(result) ? as_size(result) : result;
}

PyObject* size_concat(PyObject* self, PyObject* other) {
  auto base = reinterpret_cast<binaryfunc>(PyType_GetSlot(&PyTuple_Type, Py_sq_concat));
  return as_size(base(self, other));
}

// (1, 2) + Size too: Python asks the right operand first if it is of a subclass.
PyObject* size_add(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a)) Py_RETURN_NOTIMPLEMENTED;
  if (!PyTuple_Check(b)) {
    return guarded([&]() -> PyObject* {
      const std::string text = repr(DType::boolean);
      fail(ErrorKind::type, std::string("can only concatenate tuple (not ") + type_name(b) +
                                ") to " + text.substr(0, text.find('.')) + ".Size");
    });
  }
  return size_concat(a, b);
}

PyObject* size_repeat(PyObject* self, Py_ssize_t n) {
  auto base = reinterpret_cast<ssizeargfunc>(PyType_GetSlot(&PyTuple_Type, Py_sq_repeat));
  return as_size(base(self, n));
}

PyObject* size_numel(PyObject* self, PyObject*) {
  return guarded([&] {
    Dims dims;
    to_dims(self, &dims);
    return PyLong_FromLongLong(product(dims));
  });
}

PyObject* size_reduce(PyObject* self, PyObject*) {
  PyObject* plain = PyTuple_GetSlice(self, 0, PyTuple_Size(self));
  if (!plain) return nullptr;
  return Py_BuildValue("(O(N))", types.size, plain);
}

void bind_size(nb::module_& m) {
  static PyMethodDef methods[] = {
      {"numel", size_numel, METH_NOARGS, "Number of elements of a tensor of this size."},
      {"__reduce__", size_reduce, METH_NOARGS, nullptr},
      {nullptr, nullptr, 0, nullptr},
  };
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("Shape of a tensor: a tuple of ints.")},
      {Py_tp_new, reinterpret_cast<void*>(size_new)},
      {Py_tp_repr, reinterpret_cast<void*>(size_repr)},
      {Py_mp_subscript, reinterpret_cast<void*>(size_subscript)},
      {Py_sq_concat, reinterpret_cast<void*>(size_concat)},
      {Py_nb_add, reinterpret_cast<void*>(size_add)},
      {Py_sq_repeat, reinterpret_cast<void*>(size_repeat)},
      {Py_tp_methods, methods},
      {0, nullptr},
  };
  static PyType_Spec spec{"treadle.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  const nb::object bases = nb::make_tuple(nb::handle(reinterpret_cast<PyObject*>(&PyTuple_Type)));
  PyObject* type = PyType_FromSpecWithBases(&spec, bases.ptr());
  if (!type) raise_python();
  types.size = reinterpret_cast<PyTypeObject*>(type);
  m.attr("Size") = nb::handle(type);
}

}  // namespace

void bind_types(nb::module_& m) {
  types.module = m.ptr();
  bind_dtype(m);
  bind_device(m);
  bind_size(m);
  types.memory_format = bind_names<PyMemoryFormat>(
      m, "memory_format", "Order of the dimensions in memory.", kMemoryFormats);
  types.layout = bind_names<PyLayout>(
      m, "layout", "How elements are stored. Tensors here are all strided.", kLayouts);
  types.strided = nb::object(m.attr("strided")).release().ptr();
}

}  // namespace treadle::bind
