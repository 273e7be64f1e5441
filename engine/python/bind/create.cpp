// tensor(), as_tensor(), Tensor(): from Python data to a tensor. Lists are walked twice, once for
// shape and dtype, once to fill; arrays go through the buffer protocol without NumPy.
#include "engine/python/bind/create.h"

#include <nanobind/stl/optional.h>

#include <utility>

#include "engine/core/visit.h"
#include "engine/ops/names.h"

namespace treadle::bind {
namespace {

constexpr int kMaxNesting = static_cast<int>(Dims::kMaxDims);

bool is_list(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o); }

// Any other sequence (range, deque of numbers) is read as a list.
nb::object as_list(PyObject* o) {
  if (is_list(o)) return nb::borrow(o);
  nb::object list = nb::steal(PySequence_List(o));
  if (!list.is_valid() && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    fail(ErrorKind::value,
         std::string("could not determine the shape of object type '") + type_name(o) + "'");
  }
  if (!list.is_valid()) raise_python();
  return list;
}

Py_ssize_t list_size(PyObject* o) { return PyList_Check(o) ? PyList_Size(o) : PyTuple_Size(o); }
// Owned: a number's __float__ may take it out of the list. Raises IndexError past the end.
nb::object list_item(PyObject* o, Py_ssize_t i) {
  nb::object item = nb::borrow(PyList_Check(o) ? PyList_GetItem(o, i) : PyTuple_GetItem(o, i));
  if (!item.is_valid()) raise_python();
  return item;
}

[[noreturn]] void not_a_number(PyObject* o) {
  if (PyUnicode_Check(o)) fail(ErrorKind::type, "new(): invalid data type 'str'");
  fail(ErrorKind::runtime, std::string("Could not infer dtype of ") + type_name(o));
}

bool has(PyObject* o, const char* name) { return nb::hasattr(nb::handle(o), name); }

// What has a shape and a dtype of its own: NumPy's arrays and scalars, memory views. Other buffers
// (bytearray, array.array) are sequences of numbers, as for PyTorch.
bool is_array(PyObject* o) {
  return PyObject_CheckBuffer(o) && !PyBytes_Check(o) && !PyByteArray_Check(o) &&
         (PyMemoryView_Check(o) || has(o, "__array_interface__"));
}

bool is_nested(PyObject* o) {
  return is_list(o) || (PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o) &&
                        !is_tensor(o) && !is_array(o));
}

// A producer of DLPack capsules that isn't known in another way.
bool is_producer(PyObject* o) {
  return !is_list(o) && !PyLong_Check(o) && !PyFloat_Check(o) && !PyUnicode_Check(o) &&
         has(o, "__dlpack__");
}

Tensor from_producer(PyObject* o) {
  const nb::object made = nb::handle(types.module).attr("from_dlpack")(nb::handle(o));
  return tensor_of(made.ptr());
}

// A Python int of any size: one that fits in no integer dtype keeps its value as a double.
Scalar read_number(PyObject* o) {
  Scalar s;
  if (PyLong_CheckExact(o)) {
    int overflow = 0;
    PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) {
      PyLong_AsUnsignedLongLong(o);
      if (PyErr_Occurred()) {
        PyErr_Clear();
        const double value = PyLong_AsDouble(o);
        if (PyErr_Occurred()) raise_python();
        s.kind = Scalar::Kind::integer;
        s.f = value;
        s.i = 0;  // no integer has this sign and this value
        return s;
      }
    }
  }
  if (!to_scalar(o, &s)) not_a_number(o);
  return s;
}

// What all numbers of the data have in common.
class Inference {
 public:
  void number(const Scalar& s) {
    if (s.kind == Scalar::Kind::floating) floating_ = true;
    if (s.kind == Scalar::Kind::complex) complex_ = true;
    if (s.kind == Scalar::Kind::integer) integer_ = true;
    any_ = true;
  }
  void tensor(DType dtype) {
    dtype_ = dtype_ ? promote_types(*dtype_, dtype) : dtype;
    any_ = true;
  }
  DType result() const {
    const DType numbers = complex_             ? to_complex(default_dtype())
                          : floating_ || !any_ ? default_dtype()
                          : integer_           ? DType::int64
                                               : DType::boolean;
    if (!dtype_) return numbers;
    return complex_ || floating_ || integer_ ? promote_types(*dtype_, numbers) : *dtype_;
  }

 private:
  bool complex_ = false, floating_ = false, integer_ = false, any_ = false;
  std::optional<DType> dtype_;
};

struct Shape {
  Dims dims;
  Inference inference;

  void walk(PyObject* o, int depth) {
    if (depth > kMaxNesting) fail(ErrorKind::value, "too many dimensions in nested sequence");
    if (is_tensor(o)) {
      // In a list a tensor is a number, whatever its dimensions are.
      const Tensor t = tensor_of(o);
      if (t.numel() != 1) {
        fail(ErrorKind::value, "only one element tensors can be converted to Python scalars");
      }
      leaf(depth);
      inference.tensor(t.dtype());
      return;
    }
    if (is_nested(o)) {
      const nb::object list = as_list(o);
      const Py_ssize_t size = list_size(list.ptr());
      level(depth, size);
      for (Py_ssize_t i = 0; i < size; ++i) {
        const nb::object item = list_item(list.ptr(), i);
        if (item.ptr() == o) {
          fail(ErrorKind::type, "new(): self-referential lists are incompatible");
        }
        walk(item.ptr(), depth + 1);
      }
      return;
    }
    Scalar s;
    if (PyBool_Check(o) || PyLong_Check(o) || PyComplex_CheckExact(o) ||
        PyFloat_CheckExact(o)) {  // not NumPy's float64, a PyFloat
      s = read_number(o);
      inference.number(s);
      leaf(depth);
      return;
    }
    if (is_array(o) || is_producer(o)) {
      const Tensor t = is_array(o) ? share_buffer(o, "tensor()") : from_producer(o);
      enter(t.shape(), depth);
      inference.tensor(t.dtype());
      return;
    }
    if (!to_scalar(o, &s)) not_a_number(o);
    inference.number(s);
    leaf(depth);
  }

 private:
  bool closed_ = false;  // the number of dimensions is known

  void level(int depth, std::int64_t size) {
    if (depth < dims.size()) {
      if (dims[depth] != size) {
        fail(ErrorKind::value, "expected sequence of length " + std::to_string(dims[depth]) +
                                   " at dim " + std::to_string(depth) + " (got " +
                                   std::to_string(size) + ")");
      }
      return;
    }
    if (closed_)
      fail(ErrorKind::value,
           "expected a number at dim " + std::to_string(depth) + ", but got a sequence");
    dims.push_back(size);
    if (size == 0) closed_ = true;
  }
  void leaf(int depth) {
    if (depth < dims.size()) {
      fail(ErrorKind::type, "not a sequence: expected a sequence of length " +
                                std::to_string(dims[depth]) + " at dim " + std::to_string(depth) +
                                ", but got a number");
    }
    closed_ = true;
  }
  void enter(const Dims& shape, int depth) {
    for (std::int64_t i = 0; i < shape.size(); ++i) level(depth + static_cast<int>(i), shape[i]);
    leaf(depth + static_cast<int>(shape.size()));
  }
};

template <class T>
class Filler {
 public:
  Filler(T* out, std::int64_t count) : out_(out), end_(out + count) {}

  // The data was measured before: the numbers' own code, or other threads, may have changed it.
  void fill(PyObject* o) {
    walk(o, 0);
    if (out_ != end_) changed();
  }
  void set_dtype(DType dtype) { dtype_ = dtype; }

 private:
  T* out_;
  T* end_;
  DType dtype_{};

  [[noreturn]] static void changed() {
    fail(ErrorKind::runtime, "tensor(): the data changed while it was read");
  }
  void put(T value) {
    if (out_ == end_) changed();
    *out_++ = value;
  }

  void walk(PyObject* o, int depth) {
    if (is_nested(o)) {
      if (depth > kMaxNesting) changed();
      const nb::object list = as_list(o);
      const Py_ssize_t size = list_size(list.ptr());
      for (Py_ssize_t i = 0; i < size; ++i) walk(list_item(list.ptr(), i).ptr(), depth + 1);
      return;
    }
    const bool number = PyFloat_Check(o) || PyComplex_Check(o);
    if (is_tensor(o) || (!number && (is_array(o) || is_producer(o)))) {
      const Tensor t = is_tensor(o)  ? tensor_of(o)
                       : is_array(o) ? share_buffer(o, "tensor()")
                                     : from_producer(o);
      const Tensor flat = contiguous(to(detach(t), dtype_));
      const T* values = flat.data_as<T>();
      for (std::int64_t i = 0; i < flat.numel(); ++i) put(values[i]);
      return;
    }
    put(convert(read_number(o)));
  }
  static std::string type_word() {
    return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(sizeof(T) * 8);
  }
  static T convert(const Scalar& s) {
    if constexpr (functor::is_complex<T>) {
      return treadle::convert<T>(Complex128(s.f, s.im));
    } else if (std::is_same_v<T, bool> && s.kind == Scalar::Kind::complex) {
      return T(s.f != 0 || s.im != 0);
    } else if (s.kind == Scalar::Kind::complex) {
      fail(ErrorKind::type, "must be real number, not complex");
    } else if constexpr (std::is_same_v<T, bool>) {
      return s.kind == Scalar::Kind::floating ? s.f != 0 : s.i != 0 || s.f != 0;
    } else if constexpr (!functor::is_integer<T>) {
      return treadle::convert<T>(s.f);
    } else {
      if (s.kind == Scalar::Kind::floating) {
        // The largest int64 and uint64 round up to numbers that don't fit.
        const double most = static_cast<double>(std::numeric_limits<T>::max());
        if (!(s.f >= static_cast<double>(std::numeric_limits<T>::min()) &&
              (sizeof(T) < 8 ? s.f <= most : s.f < most))) {
          fail(ErrorKind::runtime,
               "value cannot be converted to type " + type_word() + " without overflow");
        }
        return static_cast<T>(s.f);
      }
      if (s.beyond_int64() || (s.i == 0 && s.f != 0)) {
        if (std::is_same_v<T, std::uint64_t> && s.i != 0) return static_cast<T>(s.i);
        fail(ErrorKind::value, "Overflow when unpacking long long");
      }
      if (std::is_same_v<T, std::uint64_t> && s.i >= 0) return static_cast<T>(s.i);
      // -1 in an unsigned type is its largest number, as in PyTorch.
      if (!std::is_signed_v<T> && s.i < 0 && sizeof(T) < 8 &&
          s.i >= -static_cast<std::int64_t>(std::numeric_limits<T>::max())) {
        return static_cast<T>(s.i);
      }
      if (std::cmp_less(s.i, std::numeric_limits<T>::min()) ||
          std::cmp_greater(s.i, std::numeric_limits<T>::max())) {
        fail(ErrorKind::runtime,
             "value cannot be converted to type " + std::string(type_word()) + " without overflow");
      }
      return static_cast<T>(s.i);
    }
  }
};

std::optional<DType> dtype_of(nb::handle o, const char* function) {
  if (o.is_none()) return std::nullopt;
  DType dtype{};
  if (!to_dtype(o.ptr(), &dtype)) {
    fail(ErrorKind::type, std::string(function) + "(): argument 'dtype' must be " + "dtype, not " +
                              type_name(o.ptr()));
  }
  return dtype;
}

void check_device(nb::handle o, const char* function) {
  if (o.is_none()) return;
  Device device;
  if (!to_device(o.ptr(), &device)) {
    fail(ErrorKind::type,
         std::string(function) + "(): argument 'device' must be device, not " + type_name(o.ptr()));
  }
  if (device.kind != Device::Kind::cpu) {
    fail(ErrorKind::not_implemented,
         std::string(function) + "(): this build has only the cpu device");
  }
}

// Tensor(), Tensor(2, 3), Tensor([1, 2]), Tensor(other), as old code has it. With a dtype: that of
// FloatTensor and the like.
Tensor legacy_tensor(PyObject* args, const nb::kwargs& kwargs, std::optional<DType> dtype) {
  const DType made = dtype.value_or(default_dtype());
  for (const auto& [name, value] : kwargs) {
    if (string_of(name.ptr()) != "device") {
      fail(ErrorKind::type,
           "new() received an invalid combination of arguments - got an unexpected keyword "
           "argument '" +
               string_of(name.ptr()) + "', but expected sizes, a sequence or a Tensor, and device");
    }
    check_device(value, "new");
  }
  const Py_ssize_t count = PyTuple_Size(args);
  if (count == 1 && is_tensor(PyTuple_GetItem(args, 0)) && !kwargs.empty()) {
    fail(ErrorKind::runtime,
         "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not "
         "supported. Use torch.tensor(...) or torch.as_tensor(...) instead.");
  }
  if (count == 0) return empty({0}, made);
  PyObject* first = PyTuple_GetItem(args, 0);
  Dims shape;
  if (count == 1 && !PyIndex_Check(first)) {
    if (Py_TYPE(first) == types.size && to_dims(first, &shape)) return empty(shape, made);
    if (PyUnicode_Check(first)) fail(ErrorKind::type, "new(): invalid data type 'str'");
    if (!PySequence_Check(first)) {
      fail(ErrorKind::type,
           std::string("new(): data must be a sequence (got ") + type_name(first) + ")");
    }
    return tensor_from_data(first, made);
  }
  if (count == 1 && is_tensor(first)) {
    const Tensor other = tensor_of(first);
    if (dtype && other.dtype() != *dtype) {
      fail(ErrorKind::type,
           "expected a tensor of dtype " + repr(*dtype) + " (got " + repr(other.dtype()) + ")");
    }
    return alias(detach(other));
  }
  if (count == 1 && is_array(first)) return tensor_from_data(first, made);
  if (!to_dims(args, &shape)) {
    fail(ErrorKind::type,
         "new(): argument 'size' must be ints, or one sequence of numbers, but found element of "
         "another type");
  }
  return empty(shape, made);
}

void warn_of_arrays_in_list(PyObject* data) {
  if (!is_list(data) || list_size(data) == 0) return;
  const nb::object first = list_item(data, 0);
  if (is_tensor(first.ptr()) || is_list(first.ptr()) || !is_array(first.ptr()) ||
      !PySequence_Check(first.ptr())) {
    return;
  }
  if (PyErr_WarnEx(PyExc_UserWarning,
                   "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please "
                   "consider converting the list to a single numpy.ndarray with numpy.array() "
                   "before converting to a tensor.",
                   1) < 0) {
    raise_python();
  }
}

}  // namespace

Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype) {
  if (is_tensor(data)) {
    const Tensor source = detach(tensor_of(data));
    return to(source, dtype.value_or(source.dtype()), true);
  }
  if (is_array(data)) {
    const Tensor shared = share_buffer(data, "tensor()");
    return to(shared, dtype.value_or(shared.dtype()), true);
  }
  warn_of_arrays_in_list(data);
  Shape shape;
  shape.walk(data, 0);
  const DType chosen = dtype.value_or(shape.inference.result());
  Tensor result = Tensor::empty(shape.dims, chosen);
  visit_stored(chosen, "tensor", [&](auto zero) {
    Filler<decltype(zero)> filler(result.data_as<decltype(zero)>(), result.numel());
    filler.set_dtype(chosen);
    filler.fill(data);
  });
  return result;
}

Tensor tensor_from_index(PyObject* data) {
  if (is_list(data) && list_size(data) == 0) return Tensor::empty({0}, DType::int64);
  return tensor_from_data(data, std::nullopt);
}

void bind_create(nb::module_& m) {
  m.def(
      "tensor",
      [](nb::handle data, nb::handle dtype, nb::handle device, bool requires_grad,
         bool pin_memory) {
        (void)pin_memory;  // nothing to pin for: there is no other device
        check_device(device, "tensor");
        Tensor made = tensor_from_data(data.ptr(), dtype_of(dtype, "tensor"));
        if (requires_grad) {
          if (!is_differentiable(made.dtype())) {
            fail(ErrorKind::runtime,
                 "Only Tensors of floating point and complex dtype can require gradients");
          }
          made.set_requires_grad(true);
        }
        return nb::steal(wrap(std::move(made)));
      },
      nb::arg("data").none(), nb::kw_only(), nb::arg("dtype") = nb::none(),
      nb::arg("device") = nb::none(), nb::arg("requires_grad") = false,
      nb::arg("pin_memory") = false,
      "A new leaf tensor with a copy of `data`: a number, nested sequences, an array or a "
      "tensor.\n\n"
      "dtype: default is that of the data (Python floats: the default dtype). Raises ValueError "
      "for ragged "
      "sequences, RuntimeError for what isn't a number.");
  m.def(
      "as_tensor",
      [](nb::handle data, nb::handle dtype, nb::handle device) {
        check_device(device, "as_tensor");
        const std::optional<DType> wanted = dtype_of(dtype, "as_tensor");
        if (is_tensor(data.ptr())) {
          if (!wanted || *wanted == impl_of(data.ptr())->dtype) return nb::borrow(data);
          return nb::steal(wrap(to(tensor_of(data.ptr()), *wanted)));
        }
        if (is_array(data.ptr())) {
          Tensor shared = share_buffer(data.ptr(), "as_tensor()");
          return nb::steal(wrap(wanted ? to(shared, *wanted) : shared));
        }
        return nb::steal(wrap(tensor_from_data(data.ptr(), wanted)));
      },
      nb::arg("data").none(), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      "Like tensor(), but shares memory with a tensor or array of the right dtype.");
  m.def(
      "from_numpy",
      [](nb::handle ndarray) {
        nb::object numpy = nb::module_::import_("sys").attr("modules").attr("get")("numpy");
        if (numpy.is_none() || !nb::isinstance(ndarray, numpy.attr("ndarray"))) {
          fail(ErrorKind::type,
               std::string("expected np.ndarray (got ") + type_name(ndarray.ptr()) + ")");
        }
        const Tensor shared = share_buffer(ndarray.ptr(), "from_numpy()", false);
        if (shared.impl()->storage->read_only() &&
            PyErr_WarnEx(PyExc_UserWarning,
                         "The given NumPy array is not writable: the tensor over it refuses to be "
                         "written in place. Copy the array, or make it writable, if that isn't "
                         "wanted.",
                         1) < 0) {
          raise_python();
        }
        return nb::steal(wrap(shared));
      },
      nb::arg("ndarray"),
      "A tensor over the memory of a NumPy array; read-only arrays give tensors that refuse "
      "writes.\n\n"
      "ValueError for negative strides or a foreign byte order, TypeError for dtypes that have no "
      "equal.");
  m.def("_legacy_tensor", [](const nb::args& args, const nb::kwargs& kwargs) {
    return nb::steal(wrap(legacy_tensor(args.ptr(), kwargs, std::nullopt)));
  });
  // The same for types that stand for a dtype: FloatTensor(2, 3).
  m.def("_legacy_typed", [](nb::handle dtype, const nb::args& args, const nb::kwargs& kwargs) {
    return nb::steal(wrap(legacy_tensor(args.ptr(), kwargs, dtype_of(dtype, "new"))));
  });
  m.def(
      "_make_subclass",
      [](const nb::type_object& cls, nb::handle data, bool requires_grad) {
        if (!PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls.ptr()), types.tensor)) {
          fail(ErrorKind::type, "cls must be a type that inherits from Tensor");
        }
        const Tensor made = detach(expect_tensor(data.ptr(), "data"));
        if (requires_grad) made.set_requires_grad(true);
        return nb::steal(wrap_as(reinterpret_cast<PyTypeObject*>(cls.ptr()), made));
      },
      nb::arg("cls"), nb::arg("data"), nb::arg("requires_grad") = false);
}

}  // namespace treadle::bind
