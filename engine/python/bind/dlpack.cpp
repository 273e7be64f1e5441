// DLPack (https://dmlc.github.io/dlpack), versions 0.x and 1.x, both ways. The structures below are
// the standard's C layout.
#include <cstdint>
#include <memory>

#include "engine/core/dtype.h"
#include "engine/ops/names.h"
#include "engine/python/bind/create.h"

namespace treadle::bind {
namespace {

struct DLDevice {
  std::int32_t device_type;
  std::int32_t device_id;
};
struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};
struct DLPackVersion {
  std::uint32_t major, minor;
};
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  std::uint64_t flags;
  DLTensor dl_tensor;
};

constexpr std::int32_t kCpu = 1;
constexpr std::uint64_t kReadOnly = 1, kIsCopied = 2;
constexpr const char* kName[] = {"dltensor", "dltensor_versioned"};
constexpr const char* kUsed[] = {"used_dltensor", "used_dltensor_versioned"};

// Codes of DLDataType: 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool.
DLDataType code_of(DType dtype) {
  const DTypeInfo& i = info(dtype);
  std::uint8_t code = 2;
  if (i.category == Category::boolean) code = 6;
  if (i.category == Category::integer) code = i.is_signed ? 0 : 1;
  if (i.category == Category::complex) code = 5;
  if (dtype == DType::bfloat16) code = 4;
  return {code, static_cast<std::uint8_t>(i.size * 8), 1};
}

DType dtype_of(DLDataType t) {
  for (int i = 0; i < kernel::kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const DLDataType have = code_of(dtype);
    if (have.code == t.code && have.bits == t.bits && t.lanes == 1) return dtype;
  }
  fail(ErrorKind::runtime, "Unsupported DLPack dtype: code " + std::to_string(t.code) + ", " +
                               std::to_string(t.bits) + " bits, " + std::to_string(t.lanes) +
                               " lanes");
}

template <class M>
struct Held {
  M managed{};
  Tensor tensor;
  Dims shape, strides;
};

template <class M>
void free_held(M* managed) {
  // May run on a thread that Python doesn't know; the tensor's count takes the GIL itself.
  delete static_cast<Held<M>*>(managed->manager_ctx);
}

template <class M>
void free_capsule(PyObject* capsule) {
  constexpr int versioned = std::is_same_v<M, DLManagedTensorVersioned>;
  if (!PyCapsule_IsValid(capsule, kName[versioned])) return;  // consumed: the consumer owns it
  auto* managed = static_cast<M*>(PyCapsule_GetPointer(capsule, kName[versioned]));
  if (managed && managed->deleter) managed->deleter(managed);
}

template <class M>
nb::object export_capsule(const Tensor& t, bool copied) {
  constexpr int versioned = std::is_same_v<M, DLManagedTensorVersioned>;
  t.impl()->storage->share();
  auto held = std::make_unique<Held<M>>();
  held->tensor = t;
  held->shape = t.shape();
  // Dimensions of one element may have any stride; consumers that look get the usual one.
  held->strides = t.is_contiguous() ? contiguous_strides(t.shape()) : t.strides();
  DLTensor& d = held->managed.dl_tensor;
  d.data = t.data();
  d.device = {kCpu, 0};
  d.ndim = static_cast<std::int32_t>(t.dim());
  d.dtype = code_of(t.dtype());
  d.shape = held->shape.data();
  d.strides = held->strides.data();
  held->managed.manager_ctx = held.get();
  held->managed.deleter = free_held<M>;
  if constexpr (versioned) {
    held->managed.version = {1, 0};
    held->managed.flags =
        (t.impl()->storage->read_only() ? kReadOnly : 0) | (copied ? kIsCopied : 0);
  }
  nb::object capsule = nb::steal(PyCapsule_New(&held->managed, kName[versioned], free_capsule<M>));
  if (!capsule.is_valid()) raise_python();
  (void)held.release();
  return capsule;
}

nb::object to_dlpack(const Tensor& t, nb::handle max_version, nb::handle dl_device,
                     nb::handle copy) {
  const auto pair_of_ints = [](nb::handle o, const char* name) {
    if (o.is_none()) return;
    if (!PyTuple_Check(o.ptr()) || PyTuple_Size(o.ptr()) != 2 ||
        !PyLong_Check(PyTuple_GetItem(o.ptr(), 0)) || !PyLong_Check(PyTuple_GetItem(o.ptr(), 1))) {
      fail(ErrorKind::type, std::string("__dlpack__: ") + name +
                                " must be a tuple of two ints or None, not " + type_name(o.ptr()));
    }
  };
  pair_of_ints(max_version, "max_version");
  pair_of_ints(dl_device, "dl_device");
  if (!dl_device.is_none()) {
    if (nb::cast<int>(nb::object(dl_device[0])) != kCpu) {
      PyErr_SetString(PyExc_BufferError, "this tensor can be exported to the cpu device only");
      raise_python();
    }
  }
  const bool wants_copy = !copy.is_none() && nb::cast<bool>(copy);
  const bool versioned = !max_version.is_none() && nb::cast<int>(nb::object(max_version[0])) >= 1;
  if (!versioned && t.impl()->storage->read_only() && !wants_copy) {
    PyErr_SetString(PyExc_BufferError,
                    "a read-only tensor needs DLPack 1.0 (max_version) or a copy to be exported");
    raise_python();
  }
  const Tensor source = wants_copy ? clone(t) : alias(detach(t));
  return versioned ? export_capsule<DLManagedTensorVersioned>(source, wants_copy)
                   : export_capsule<DLManagedTensor>(source, wants_copy);
}

template <class M>
Tensor import_capsule(PyObject* capsule) {
  constexpr int versioned = std::is_same_v<M, DLManagedTensorVersioned>;
  auto* managed = static_cast<M*>(PyCapsule_GetPointer(capsule, kName[versioned]));
  if (!managed) raise_python();
  bool read_only = false;
  if constexpr (versioned) {
    if (managed->version.major > 1) {
      fail(ErrorKind::runtime, "DLPack version " + std::to_string(managed->version.major) +
                                   " is newer than the 1.x that is supported");
    }
    read_only = managed->flags & kReadOnly;
  }
  const DLTensor& d = managed->dl_tensor;
  if (d.ndim < 0 || d.ndim > Dims::kMaxDims || (d.ndim > 0 && !d.shape)) {
    fail(ErrorKind::runtime, "from_dlpack: the capsule says it has " + std::to_string(d.ndim) +
                                 " dimensions, which isn't from 0 to " +
                                 std::to_string(Dims::kMaxDims) + " with a size for each");
  }
  if (d.device.device_type != kCpu) {
    fail(ErrorKind::runtime,
         "from_dlpack: this build has only the cpu device, and the data is on device type " +
             std::to_string(d.device.device_type));
  }
  const DType dtype = dtype_of(d.dtype);
  const std::int64_t size = item_size(dtype);
  const Dims shape(std::span<const std::int64_t>(d.shape, static_cast<std::size_t>(d.ndim)));
  const Dims strides =
      d.strides ? Dims(std::span<const std::int64_t>(d.strides, static_cast<std::size_t>(d.ndim)))
                : contiguous_strides(shape);
  std::int64_t extent = 1;
  product(shape);  // throws where sizes are negative or overflow
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) extent = 0;
    if (shape[i] > 1 && strides[i] < 0) {
      fail(ErrorKind::value, "from_dlpack: negative strides are not supported");
    }
  }
  for (std::int64_t i = 0; extent && i < shape.size(); ++i) extent += (shape[i] - 1) * strides[i];
  if (extent && misaligned(static_cast<char*>(d.data) + d.byte_offset, dtype)) {
    fail(ErrorKind::runtime, "from_dlpack: the elements aren't aligned: copy the array first");
  }
  // Named "used" before anything else can fail, so that the capsule never frees what we own.
  if (PyCapsule_SetName(capsule, kUsed[versioned]) < 0) raise_python();
  auto* data = static_cast<char*>(d.data) + d.byte_offset;
  const auto release = [](void* context) {
    auto* m = static_cast<M*>(context);
    if (!m->deleter) return;
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();  // the producer's deleter may need it
    const GilHeld others(false);
    m->deleter(m);
    PyGILState_Release(state);
  };
  Ref<Storage> storage(new Storage(data, static_cast<std::size_t>(extent * size), Device{}, release,
                                   managed, read_only));
  return Tensor(Ref<TensorImpl>(new TensorImpl(std::move(storage), 0, shape, strides, dtype)));
}

// A capsule from a producer, asked for as new a protocol as it knows.
nb::object ask_for_capsule(nb::handle producer, nb::handle device, nb::handle copy, bool* copied) {
  nb::dict options;
  if (!device.is_none()) options["dl_device"] = nb::make_tuple(kCpu, 0);
  if (!copy.is_none()) options["copy"] = copy;
  options["max_version"] = nb::make_tuple(1, 0);
  *copied = true;
  try {
    return producer.attr("__dlpack__")(**options);
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) throw;
  }
  *copied = false;  // a producer of before 1.0 shares
  return producer.attr("__dlpack__")();
}

nb::object from_dlpack(nb::handle source, nb::handle device, nb::handle copy) {
  if (!device.is_none()) {
    Device wanted;
    if (!to_device(device.ptr(), &wanted)) {
      fail(ErrorKind::type, std::string("from_dlpack(): argument 'device' must be device, not ") +
                                type_name(device.ptr()));
    }
    if (wanted.kind != Device::Kind::cpu) {
      fail(ErrorKind::not_implemented, "from_dlpack(): this build has only the cpu device");
    }
  }
  nb::object capsule = nb::borrow(source);
  if (!PyCapsule_CheckExact(source.ptr())) {
    if (!nb::hasattr(source, "__dlpack__")) {
      fail(ErrorKind::type, std::string("from_dlpack: an object of type ") +
                                type_name(source.ptr()) +
                                " has no __dlpack__ method and is no DLPack capsule");
    }
    bool copied = false;
    capsule = ask_for_capsule(source, device, copy, &copied);
    if (!copied && !copy.is_none() && nb::cast<bool>(copy)) {
      return from_dlpack(capsule, nb::none(), nb::none()).attr("clone")();
    }
  } else if (!device.is_none() || !copy.is_none()) {
    PyErr_SetString(PyExc_AssertionError,
                    "device and copy kwargs not supported when ext_tensor is already a DLPack "
                    "capsule.");
    raise_python();
  }
  if (PyCapsule_IsValid(capsule.ptr(), kName[1])) {
    return nb::steal(wrap(import_capsule<DLManagedTensorVersioned>(capsule.ptr())));
  }
  if (PyCapsule_IsValid(capsule.ptr(), kName[0])) {
    return nb::steal(wrap(import_capsule<DLManagedTensor>(capsule.ptr())));
  }
  fail(ErrorKind::runtime,
       "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only "
       "once, so "
       "you might have already constructed a tensor from it once.");
}

}  // namespace

void bind_exchange(nb::module_& m) {
  m.def(
      "from_dlpack", &from_dlpack, nb::arg("ext_tensor").none(), nb::kw_only(),
      nb::arg("device") = nb::none(), nb::arg("copy") = nb::none(),
      "A tensor over the memory of any object with __dlpack__, or of a DLPack capsule.\n\n"
      "device: where the result must be. copy: True: in memory of its own; False: never, "
      "BufferError where the producer can't share. Memory that the producer marks read-only gives "
      "a tensor that refuses writes.");
  m.def(
      "_to_dlpack",
      [](nb::handle tensor, nb::handle max_version, nb::handle dl_device, nb::handle copy) {
        const Tensor self = expect_tensor(tensor.ptr(), "self");
        if (self.is_lazy()) {
          PyErr_SetString(PyExc_BufferError,
                          self.impl()->conj ? "Can't export tensors with the conjugate bit set"
                                            : "Can't export tensors with the negative bit set");
          raise_python();
        }
        return to_dlpack(self, max_version, dl_device, copy);
      },
      nb::arg("tensor"), nb::arg("max_version").none(), nb::arg("dl_device").none(),
      nb::arg("copy").none());
}

}  // namespace treadle::bind
