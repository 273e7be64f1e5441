// Memory shared with others, without copies and without importing NumPy: the buffer protocol (PEP
// 3118) in both directions, and what numpy() builds its array from. DLPack is in dlpack.cpp.
#include <memory>

#include "engine/core/dtype.h"
#include "engine/ops/names.h"
#include "engine/python/bind/create.h"
#include "engine/python/bind/index.h"

namespace treadle::bind {
namespace {

struct Format {
  DType dtype;
  const char* code;  // of the struct module, native byte order
};
constexpr Format kFormats[] = {
    {DType::boolean, "?"},    {DType::uint8, "B"},       {DType::int8, "b"},
    {DType::int16, "h"},      {DType::int32, "i"},       {DType::int64, "l"},
    {DType::uint16, "H"},     {DType::uint32, "I"},      {DType::uint64, "L"},
    {DType::float16, "e"},    {DType::float32, "f"},     {DType::float64, "d"},
    {DType::complex64, "Zf"}, {DType::complex128, "Zd"},
};

std::optional<DType> dtype_of_format(const char* format) {
  if (!format) return DType::uint8;
  // '<' is native on every target of ours; '@' and '=' always are. '>' and '!' are refused.
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (std::string_view(format) == "q") return DType::int64;
  if (std::string_view(format) == "Q") return DType::uint64;
  for (const Format& f : kFormats) {
    if (std::string_view(format) == f.code) return f.dtype;
  }
  return std::nullopt;
}

struct HeldBuffer {
  Py_buffer view{};
};

void free_buffer(void* context) {
  auto* held = static_cast<HeldBuffer*>(context);
  if (Py_IsInitialized()) {
    const PyGILState_STATE state = PyGILState_Ensure();
    const GilHeld others(false);  // the exporter's code runs
    PyBuffer_Release(&held->view);
    PyGILState_Release(state);
  }
  delete held;
}

// The shape and strides of an export, alive as long as the view.
struct Export {
  Tensor tensor;
  std::vector<Py_ssize_t> shape, strides;
};

}  // namespace

bool misaligned(const void* data, DType dtype) {
  const std::int64_t part = is_complex(dtype) ? item_size(dtype) / 2 : item_size(dtype);
  return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(part) != 0;
}

Tensor share_buffer(PyObject* exporter, const char* what, bool may_copy) {
  auto held = std::make_unique<HeldBuffer>();
  Py_buffer& view = held->view;
  if (PyObject_GetBuffer(exporter, &view, PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
    // NumPy refuses dtypes that have no format (datetime64, ...) with ValueError.
    PyErr_Clear();
    fail(ErrorKind::type,
         std::string(what) + ": can't convert an object of type " + type_name(exporter) +
             " whose dtype has no counterpart. The only supported types are: float64, "
             "float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, "
             "uint32, uint16, uint8, and bool.");
  }
  // From here on the buffer is released by free_buffer, whatever happens.
  struct Guard {
    HeldBuffer* held;
    ~Guard() {
      if (held) free_buffer(held);
    }
  } guard{held.release()};

  const std::optional<DType> dtype = dtype_of_format(view.format);
  if (!dtype) {
    const std::string format = view.format;
    if (!format.empty() && (format[0] == '>' || format[0] == '!')) {
      fail(ErrorKind::value,
           "given numpy array has byte order different from the native byte order. "
           "Conversion between byte orders is currently not supported.");
    }
    fail(ErrorKind::type, "can't convert np.ndarray of type with format '" + format +
                              "'. The only supported types are: float64, float32, float16, "
                              "complex64, complex128, int64, "
                              "int32, int16, int8, uint64, uint32, uint16, uint8, and bool.");
  }
  const std::int64_t size = item_size(*dtype);
  Dims shape, strides;
  std::int64_t extent = 1;  // elements from the first to the last, inclusive
  bool empty = false;
  for (int i = 0; i < view.ndim; ++i) {
    const std::int64_t count = view.shape[i];
    std::int64_t stride = view.strides[i];
    if (count <= 1) {
      // Never used, so never wrong: NumPy leaves anything here after a flip.
      stride = stride >= 0 && stride % size == 0 ? stride : size;
    }
    if (stride < 0) {
      fail(ErrorKind::value,
           "At least one stride in the given numpy array is negative, and tensors with negative "
           "strides "
           "are not currently supported. (You can probably work around this by making a copy of "
           "your "
           "array  with array.copy().) ");
    }
    if (stride % size != 0) {
      fail(ErrorKind::value,
           "given numpy array strides not a multiple of the element byte size. Copy the "
           "numpy array to reallocate the memory.");
    }
    shape.push_back(count);
    strides.push_back(stride / size);
    empty = empty || count == 0;
    if (count > 1) extent += (count - 1) * (stride / size);
  }
  const std::size_t bytes = empty ? 0 : static_cast<std::size_t>(extent * size);
  if (bytes > 0 && misaligned(view.buf, *dtype)) {
    if (!may_copy) {
      fail(ErrorKind::value,
           "the elements of the given numpy array aren't aligned, which isn't supported: copy it "
           "with array.copy()");
    }
    Ref<Storage> aligned(new Storage(bytes, Device{}));
    std::memcpy(aligned->data(), view.buf, bytes);
    return Tensor(Ref<TensorImpl>(
        new TensorImpl(std::move(aligned), 0, std::move(shape), std::move(strides), *dtype)));
  }
  const bool read_only = view.readonly;
  Ref<Storage> storage(new Storage(view.buf, bytes, Device{}, free_buffer, guard.held, read_only));
  guard.held = nullptr;
  return Tensor(Ref<TensorImpl>(
      new TensorImpl(std::move(storage), 0, std::move(shape), std::move(strides), *dtype)));
}

namespace {

Tensor tensor_over_bytes(PyObject* exporter, DType dtype, std::int64_t count, std::int64_t offset) {
  auto held = std::make_unique<HeldBuffer>();
  Py_buffer& view = held->view;
  if (PyObject_GetBuffer(exporter, &view, PyBUF_SIMPLE) < 0) {
    PyErr_Clear();
    fail(ErrorKind::value, std::string("object does not implement Python buffer protocol. (got ") +
                               type_name(exporter) + ")");
  }
  struct Guard {
    HeldBuffer* held;
    ~Guard() {
      if (held) free_buffer(held);
    }
  } guard{held.release()};
  const std::int64_t size = item_size(dtype);
  const std::int64_t bytes = view.len;
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  if (bytes <= 0 || count == 0) {
    fail(ErrorKind::value,
         "both buffer length (" + text(bytes) + ") and count (" + text(count) + ") must not be 0");
  }
  if (offset < 0 || offset >= bytes) {
    fail(ErrorKind::value, "offset (" + text(offset) +
                               " bytes) must be non-negative and no greater than buffer length (" +
                               text(bytes) + " bytes) minus 1");
  }
  if (count < 0) {
    if ((bytes - offset) % size != 0) {
      fail(ErrorKind::value, "buffer length (" + text(bytes - offset) + " bytes) after offset (" +
                                 text(offset) + " bytes) must be a multiple of element size (" +
                                 text(size) + ")");
    }
    count = (bytes - offset) / size;
  } else if (count > (bytes - offset) / size) {
    fail(ErrorKind::value, "requested buffer length (" + text(count) + " * " + text(size) +
                               " bytes) after offset (" + text(offset) +
                               " bytes) must not be greater than actual buffer length (" +
                               text(bytes) + " bytes)");
  }
  char* data = static_cast<char*>(view.buf) + offset;
  if (misaligned(data, dtype)) {
    fail(ErrorKind::value,
         "the elements would start at an address that isn't a multiple of their "
         "size: copy the bytes from offset " +
             text(offset) + " first");
  }
  Ref<Storage> storage(new Storage(data, static_cast<std::size_t>(count * size), Device{},
                                   free_buffer, guard.held, view.readonly));
  guard.held = nullptr;
  const Dims shape{count};
  const Tensor made(Ref<TensorImpl>(
      new TensorImpl(std::move(storage), 0, shape, contiguous_strides(shape), dtype)));
  return made;
}

}  // namespace

void bind_buffers(nb::module_& m) {
  m.def(
      "frombuffer",
      [](nb::handle buffer, nb::handle dtype, std::int64_t count, std::int64_t offset,
         bool requires_grad) {
        DType wanted{};
        if (!to_dtype(dtype.ptr(), &wanted)) {
          fail(ErrorKind::type, std::string("frombuffer(): argument 'dtype' must be dtype, not ") +
                                    type_name(dtype.ptr()));
        }
        const Tensor made = tensor_over_bytes(buffer.ptr(), wanted, count, offset);
        if (made.impl()->storage->read_only() &&
            PyErr_WarnEx(PyExc_UserWarning,
                         "The given buffer is not writable: the tensor over it refuses to be "
                         "written in place. Copy the buffer, or make it writable, if that isn't "
                         "wanted.",
                         1) < 0) {
          raise_python();
        }
        if (requires_grad) made.set_requires_grad(true);
        return nb::steal(wrap(made));
      },
      nb::arg("buffer"), nb::kw_only(), nb::arg("dtype"), nb::arg("count") = -1,
      nb::arg("offset") = 0, nb::arg("requires_grad") = false,
      "A 1-d tensor over the bytes of an object with a buffer, read as dtype.\n\n"
      "count: number of elements, -1: as many as there are. offset: bytes to skip. A tensor over "
      "read-only memory refuses writes. ValueError if the buffer has too few bytes, none, or (with "
      "count=-1) not whole elements.");
  // All bytes of the memory that a tensor lies in, as a tensor; and from such bytes to another.
  m.def("_storage_bytes", [](nb::handle tensor) {
    const Tensor t = expect_tensor(tensor.ptr(), "self");
    const auto bytes = static_cast<std::int64_t>(t.impl()->storage->bytes());
    return nb::steal(wrap(Tensor(Ref<TensorImpl>(
        new TensorImpl(t.impl()->storage, 0, Dims{bytes}, Dims{1}, DType::uint8)))));
  });
  m.def("_storage_shared", [](nb::handle tensor) {
    return expect_tensor(tensor.ptr(), "self").impl()->storage->shared();
  });
  // The same for all tensors over one piece of memory.
  m.def("_storage_id", [](nb::handle tensor) {
    const Ref<Storage> storage = expect_tensor(tensor.ptr(), "self").impl()->storage;
    return storage->bytes() ? reinterpret_cast<std::uintptr_t>(storage->data())
                            : reinterpret_cast<std::uintptr_t>(storage.get());
  });
  m.def(
      "_over_storage",
      [](nb::handle tensor, nb::handle dtype, std::int64_t offset, nb::handle size,
         nb::handle stride) {
        const Tensor t = expect_tensor(tensor.ptr(), "source");
        DType wanted{};
        Dims shape, strides;
        if (!to_dtype(dtype.ptr(), &wanted) || !to_dims(size.ptr(), &shape)) {
          fail(ErrorKind::type, "set_(): size must be a tuple of ints");
        }
        if (stride.is_none()) {
          strides = contiguous_strides(shape);
        } else if (!to_dims(stride.ptr(), &strides)) {
          fail(ErrorKind::type, "set_(): stride must be a tuple of ints");
        }
        if (misaligned(t.impl()->storage->data(), wanted)) {
          fail(ErrorKind::runtime, "the memory isn't aligned for elements of " + repr(wanted));
        }
        const auto count =
            static_cast<std::int64_t>(t.impl()->storage->bytes()) / item_size(wanted);
        const Tensor whole(
            Ref<TensorImpl>(new TensorImpl(t.impl()->storage, 0, Dims{count}, Dims{1}, wanted)));
        return nb::steal(wrap(detach(as_strided(whole, shape, strides, offset))));
      },
      nb::arg("source"), nb::arg("dtype"), nb::arg("offset"), nb::arg("size"),
      nb::arg("stride").none());
  // The dtype of a buffer's elements, or None.
  m.def("_dtype_of_buffer", [](nb::handle exporter) {
    Py_buffer view{};
    if (PyObject_GetBuffer(exporter.ptr(), &view, PyBUF_FORMAT | PyBUF_STRIDES) < 0) {
      PyErr_Clear();
      return nb::object(nb::none());
    }
    const std::optional<DType> dtype = dtype_of_format(view.format);
    PyBuffer_Release(&view);
    return dtype ? nb::steal(wrap(*dtype)) : nb::object(nb::none());
  });
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  return guarded_int([&] {
    view->obj = nullptr;
    const Tensor t = tensor_of(self);
    const char* format = nullptr;
    for (const Format& f : kFormats) {
      if (f.dtype == t.dtype()) format = f.code;
    }
    const char* refused = nullptr;
    if (t.is_lazy()) {
      refused = "a lazy conjugate or negative has no buffer: call resolve_conj() or resolve_neg()";
    } else if (t.requires_grad()) {
      refused = "a tensor that requires grad has no buffer: call detach() first";
    } else if (!format) {
      refused = "this dtype has no format in the buffer protocol";
    } else if ((flags & PyBUF_WRITABLE) && t.impl()->storage->read_only()) {
      refused = "the tensor's memory is read-only";
    } else if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !t.is_contiguous()) {
      refused = "the tensor isn't contiguous: call contiguous() first";
    } else if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && t.dim() > 1) {
      refused = "the tensor isn't in Fortran order";
    }
    if (refused) {
      PyErr_SetString(PyExc_BufferError, refused);
      return -1;
    }
    t.impl()->storage->share();
    auto held = std::make_unique<Export>();
    const std::int64_t size = item_size(t.dtype());
    for (const std::int64_t n : t.shape()) held->shape.push_back(n);
    for (const std::int64_t n : t.strides()) held->strides.push_back(n * size);
    view->buf = t.data();
    view->len = t.numel() * size;
    view->itemsize = size;
    view->readonly = t.impl()->storage->read_only();
    view->ndim = static_cast<int>(t.dim());
    view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(format) : nullptr;
    view->shape = (flags & PyBUF_ND) ? held->shape.data() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? held->strides.data() : nullptr;
    view->suboffsets = nullptr;
    // The memory belongs to the storage: keep that, not only the tensor, whose .data may be
    // replaced.
    held->tensor = Tensor(Ref<TensorImpl>(
        new TensorImpl(t.impl()->storage, t.impl()->offset, t.shape(), t.strides(), t.dtype())));
    view->internal = held.release();
    Py_INCREF(self);
    view->obj = self;
    return 0;
  });
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Export*>(view->internal); }

}  // namespace treadle::bind
