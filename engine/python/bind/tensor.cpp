// The Tensor type: slots, attributes and the methods that aren't ops. Ops come from the table
// (ops.cpp), what isn't on a hot path from treadle/_tensor.py.
#include "engine/core/dtype.h"
#include "engine/ops/names.h"
#include "engine/python/bind/bind.h"
#include "engine/python/bind/gc.h"
#include "engine/python/bind/index.h"
#include "engine/python/bind/methods.h"
#include "engine/python/bind/number.h"
#include "engine/python/bind/override.h"

namespace treadle::bind {
namespace {

Py_ssize_t tensor_dict_offset = 0;

// --- garbage collection
// ----------------------------------------------------------------------------

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (const int stop = visit_dict(self, tensor_dict_offset, visit, arg)) return stop;
  if (!nb::inst_ready(nb::handle(self))) return 0;
  return visit_graph(*impl_of(self), visit, arg);
}

int clear(PyObject* self) {
  clear_dict(self, tensor_dict_offset);
  if (nb::inst_ready(nb::handle(self)) && impl_of(self)) {
    // Only the collector comes here, so no C++ code is using this tensor.
    delete std::exchange(impl_of(self)->grad_meta, nullptr);
  }
  return 0;
}

// --- construction: Tensor(), Tensor(2, 3), Tensor([1, 2]) as old code has it
// --------------------------

PyObject* new_tensor(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    const nb::object made = nb::steal(
        PyObject_Call(nb::handle(types.module).attr("_legacy_tensor").ptr(), args, kwargs));
    if (!made.is_valid()) raise_python();
    if (type == types.tensor) return nb::object(made).release().ptr();
    return wrap_as(type, alias(detach(tensor_of(made.ptr()))));
  });
}

int init_tensor(PyObject*, PyObject*, PyObject*) { return 0; }  // all is done in new_tensor

// --- attributes
// -------------------------------------------------------------------------------------

PyObject* get_shape(PyObject* self, void*) {
  return guarded([&] { return wrap_size(impl_of(self)->shape); });
}
PyObject* get_dtype(PyObject* self, void*) { return wrap(impl_of(self)->dtype); }
PyObject* get_device(PyObject* self, void*) {
  return guarded([&] { return wrap(impl_of(self)->storage->device()); });
}
PyObject* get_ndim(PyObject* self, void*) {
  return PyLong_FromLongLong(impl_of(self)->shape.size());
}
PyObject* get_itemsize(PyObject* self, void*) {
  return PyLong_FromLongLong(item_size(impl_of(self)->dtype));
}
PyObject* get_nbytes(PyObject* self, void*) {
  return guarded([&] {
    const Borrowed t(self);
    return PyLong_FromLongLong(t->numel() * item_size(t->dtype()));
  });
}
PyObject* get_requires_grad(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(Borrowed(self)->requires_grad()); });
}
int set_requires_grad(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    if (!value || !PyBool_Check(value)) fail(ErrorKind::runtime, "requires_grad must be a bool");
    Borrowed(self)->set_requires_grad(value == Py_True);
    return 0;
  });
}
PyObject* get_grad(PyObject* self, void*) {
  return guarded([&] {
    if (overrides_exist) [[unlikely]] {
      if (PyObject* made = call_attribute_override("grad", self)) return made;
    }
    const Borrowed t(self);
    const GradMeta* meta = t->impl()->grad_meta;
    if (meta && meta->grad_fn && !meta->slot && !meta->grad.defined()) {
      constexpr const char* text =
          "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
          "attribute won't be populated during autograd.backward(). If you indeed want the .grad "
          "field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. "
          "If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor "
          "instead. See github.com/pytorch/pytorch/pull/30531 for more informations.";
      if (PyErr_WarnEx(PyExc_UserWarning, text, 1) < 0) raise_python();
    }
    return wrap(t->grad());
  });
}
int set_grad(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    if (!value || value == Py_None) {
      Borrowed(self)->set_grad(Tensor());
    } else {
      Borrowed(self)->set_grad(expect_tensor(value, "assigned grad"));
    }
    return 0;
  });
}
PyObject* get_grad_fn(PyObject* self, void*) {
  return guarded([&] { return wrap(grad_fn(*Borrowed(self))); });
}
PyObject* get_is_leaf(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(Borrowed(self)->is_leaf()); });
}
PyObject* get_retains_grad(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(retains_grad(*Borrowed(self))); });
}
PyObject* get_output_nr(PyObject* self, void*) {
  const GradMeta* meta = impl_of(self)->grad_meta;
  return PyLong_FromUnsignedLong(meta ? meta->output_nr : 0);
}
PyObject* get_version(PyObject* self, void*) {
  return PyLong_FromUnsignedLong(impl_of(self)->storage->version());
}
PyObject* get_base(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const GradMeta* meta = impl_of(self)->grad_meta;
    return wrap(meta && meta->view ? meta->view->base : Tensor());
  });
}
// Shares storage without history, and writes through it aren't seen by the tape.
PyObject* get_data(PyObject* self, void*) {
  return guarded([&] {
    if (overrides_exist) [[unlikely]] {
      if (PyObject* made = call_attribute_override("data", self)) return made;
    }
    const Tensor made = detach(*Borrowed(self));
    made.impl()->storage = Ref<Storage>::make(made.impl()->storage, 0u);
    return wrap(made);
  });
}
int set_data(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    if (!value) fail(ErrorKind::runtime, "cannot delete .data");
    const Tensor source = expect_tensor(value, "Variable data");
    TensorImpl* impl = impl_of(self);
    if (impl->grad_meta && impl->grad_meta->requires_grad && !is_differentiable(source.dtype())) {
      fail(ErrorKind::runtime,
           "data set to a tensor that requires gradients must be floating point or complex dtype");
    }
    impl->storage = Ref<Storage>::make(source.impl()->storage, impl->storage);
    impl->offset = source.impl()->offset;
    impl->shape = source.shape();
    impl->strides = source.strides();
    impl->dtype = source.dtype();
    impl->conj = source.impl()->conj;
    impl->neg = source.impl()->neg;
    return 0;
  });
}
PyObject* get_t(PyObject* self, void*) {
  return guarded([&] {
    if (overrides_exist) [[unlikely]] {
      if (PyObject* made = call_attribute_override("T", self)) return made;
    }

    const Borrowed t(self);
    Dims order;
    for (std::int64_t i = t->dim(); i-- > 0;) order.push_back(i);
    return wrap(permute(*t, order));
  });
}
PyObject* get_mt(PyObject* self, void*) {
  return guarded([&] {
    if (overrides_exist) [[unlikely]] {
      if (PyObject* made = call_attribute_override("mT", self)) return made;
    }

    const Borrowed t(self);
    if (t->dim() == 1) {
      fail(ErrorKind::runtime,
           "tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.");
    }
    return wrap(t->dim() == 0 ? alias(*t) : transpose(*t, -2, -1));
  });
}
PyObject* get_h(PyObject* self, void*) {
  return guarded([&] {
    if (overrides_exist) [[unlikely]] {
      if (PyObject* made = call_attribute_override("H", self)) return made;
    }

    const Borrowed t(self);
    if (t->dim() != 2 && t->dim() != 0) {
      fail(ErrorKind::runtime,
           "tensor.H is only supported on matrices (2-D tensors). Got " + std::to_string(t->dim()) +
               "-D tensor." +
               (t->dim() > 2 ? " For batches of matrices, consider using tensor.mH" : ""));
    }
    return wrap(t->dim() == 0 ? lazy_conj(*t) : lazy_conj(transpose(*t, 0, 1)));
  });
}
PyObject* get_mh(PyObject* self, void*) {
  return guarded([&] {
    if (overrides_exist) [[unlikely]] {
      if (PyObject* made = call_attribute_override("mH", self)) return made;
    }

    const Borrowed t(self);
    if (t->dim() == 1) {
      fail(ErrorKind::runtime,
           "tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor.");
    }
    return wrap(t->dim() == 0 ? lazy_conj(*t) : lazy_conj(transpose(*t, -2, -1)));
  });
}
// The parts of complex numbers; assigning writes them.
PyObject* get_real(PyObject* self, void*) {
  return guarded([&] {
    if (overrides_exist) [[unlikely]] {
      if (PyObject* made = call_attribute_override("real", self)) return made;
    }
    return wrap(real(*Borrowed(self)));
  });
}
PyObject* get_imag(PyObject* self, void*) {
  return guarded([&] {
    if (overrides_exist) [[unlikely]] {
      if (PyObject* made = call_attribute_override("imag", self)) return made;
    }

    const Borrowed t(self);
    if (!is_complex(t->dtype())) {
      fail(ErrorKind::type, "imag is not implemented for tensors with non-complex dtypes.");
    }
    return wrap(imag(*t));
  });
}
int write_part(const Tensor& part, PyObject* value, const char* name) {
  if (!value) fail(ErrorKind::runtime, std::string("cannot delete .") + name);
  Scalar number;
  if (is_tensor(value)) {
    copy_(part, *Borrowed(value));
  } else if (to_scalar(value, &number)) {
    fill_(part, number);
  } else {
    fail(ErrorKind::type,
         std::string(name) + " must be set to a Tensor or a number, not " + type_name(value));
  }
  return 0;
}
int set_real(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] { return write_part(real(*Borrowed(self)), value, "real"); });
}
int set_imag(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] { return write_part(imag(*Borrowed(self)), value, "imag"); });
}
PyObject* get_layout(PyObject*, void*) {
  Py_INCREF(types.strided);
  return types.strided;
}
PyObject* get_false(PyObject*, void*) { Py_RETURN_FALSE; }
PyObject* get_is_cpu(PyObject* self, void*) {
  return PyBool_FromLong(impl_of(self)->storage->device().kind == Device::Kind::cpu);
}
PyObject* get_is_cuda(PyObject* self, void*) {
  return PyBool_FromLong(impl_of(self)->storage->device().kind == Device::Kind::cuda);
}

PyGetSetDef attributes[] = {
    {"shape", get_shape, nullptr, "Size of each dimension, as a Size.", nullptr},
    {"dtype", get_dtype, nullptr, "Type of the elements.", nullptr},
    {"device", get_device, nullptr, "Where the elements are.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of dimensions.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad,
     "Whether backward() computes a gradient for this tensor. RuntimeError when set on a dtype "
     "that has "
     "none, or cleared on a tensor that isn't a leaf.",
     nullptr},
    {"grad", get_grad, set_grad, "The gradient that backward() has summed up here, or None.",
     nullptr},
    {"grad_fn", get_grad_fn, nullptr,
     "The step of the tape that made this tensor; None for leaves.", nullptr},
    {"is_leaf", get_is_leaf, nullptr, "Whether no recorded op made this tensor.", nullptr},
    {"retains_grad", get_retains_grad, nullptr, "Whether retain_grad() was called.", nullptr},
    {"output_nr", get_output_nr, nullptr, "Which result of grad_fn this tensor is.", nullptr},
    {"data", get_data, set_data,
     "The same memory without history. Assigning takes over memory, shape and dtype of another "
     "tensor.",
     nullptr},
    {"T", get_t, nullptr, "A view with the dimensions reversed.", nullptr},
    {"mT", get_mt, nullptr, "A view with the last two dimensions swapped.", nullptr},
    {"H", get_h, nullptr, "The conjugate transpose of a matrix.", nullptr},
    {"mH", get_mh, nullptr, "The conjugate transpose of each matrix.", nullptr},
    {"real", get_real, set_real, "A view of the real parts; of a real tensor itself.", nullptr},
    {"imag", get_imag, set_imag,
     "A view of the imaginary parts. TypeError for dtypes that have none.", nullptr},
    {"layout", get_layout, nullptr, "strided: the only layout there is.", nullptr},
    {"is_cpu", get_is_cpu, nullptr, nullptr, nullptr},
    {"is_cuda", get_is_cuda, nullptr, nullptr, nullptr},
    {"is_sparse", get_false, nullptr, nullptr, nullptr},
    {"is_sparse_csr", get_false, nullptr, nullptr, nullptr},
    {"is_nested", get_false, nullptr, nullptr, nullptr},
    {"is_mkldnn", get_false, nullptr, nullptr, nullptr},
    {"is_quantized", get_false, nullptr, nullptr, nullptr},
    {"is_meta", get_false, nullptr, nullptr, nullptr},
    {"_version", get_version, nullptr, "How often an in-place op has written to the memory.",
     nullptr},
    {"_base", get_base, nullptr, "The tensor that this one is a view of, or None.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

// --- conversions
// ------------------------------------------------------------------------------------

// int() and float() speak of values: ValueError where item() has RuntimeError, as in PyTorch.
nb::object single_number(PyObject* self) {
  const Borrowed t(self);
  if (t->numel() != 1) {
    fail(ErrorKind::value, "only one element tensors can be converted to Python scalars");
  }
  return nb::steal(wrap_number(*t));
}
// The same for a real number: of a complex one the real part, if the other is 0.
nb::object real_number(PyObject* self) {
  nb::object number = single_number(self);
  if (!PyComplex_Check(number.ptr())) return number;
  if (PyComplex_ImagAsDouble(number.ptr()) != 0) {
    fail(ErrorKind::runtime, "value cannot be converted to type double without overflow");
  }
  return nb::steal(PyFloat_FromDouble(PyComplex_RealAsDouble(number.ptr())));
}
PyObject* to_float(PyObject* self) {
  return guarded([&] { return PyNumber_Float(real_number(self).ptr()); });
}
PyObject* to_long(PyObject* self) {
  return guarded([&] { return PyNumber_Long(real_number(self).ptr()); });
}
PyObject* to_index(PyObject* self) {
  return guarded([&] {
    const Borrowed t(self);
    if (!is_integral(t->dtype()) || t->numel() != 1) {
      fail(ErrorKind::type,
           "only integer tensors of a single element can be converted to an index");
    }
    return PyLong_FromLongLong(t->item_int());
  });
}
int to_bool(PyObject* self) {
  return guarded_int([&] {
    const Borrowed t(self);
    if (t->numel() != 1) {
      fail(ErrorKind::runtime,
           t->numel() == 0 ? "Boolean value of Tensor with no values is ambiguous"
                           : "Boolean value of Tensor with more than one value is ambiguous");
    }
    return is_integral(t->dtype()) ? t->item_int() != 0 : t->item() != 0;
  });
}
Py_ssize_t length(PyObject* self) {
  const TensorImpl* impl = impl_of(self);
  if (impl->shape.empty()) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  return impl->shape[0];
}
PyObject* iterate(PyObject* self) {
  return guarded([&] {
    const Borrowed t(self);
    if (t->dim() == 0) fail(ErrorKind::type, "iteration over a 0-d tensor");
    const std::vector<Tensor> rows = unbind(*t, 0);
    nb::list items;
    for (const Tensor& row : rows) items.append(nb::steal(wrap(row)));
    return PyObject_GetIter(items.ptr());
  });
}
// Defining comparisons takes away the inherited hash; identity is the right one for dict keys.
Py_hash_t hash(PyObject* self) {
  const auto address = reinterpret_cast<std::uintptr_t>(self);
  return static_cast<Py_hash_t>((address >> 4) | (address << 60));
}

PyType_Slot own_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_new, reinterpret_cast<void*>(new_tensor)},
    {Py_tp_init, reinterpret_cast<void*>(init_tensor)},
    {Py_tp_getset, attributes},
    {Py_tp_methods, nullptr},  // filled by bind_tensor
    {Py_tp_hash, reinterpret_cast<void*>(hash)},
    {Py_tp_iter, reinterpret_cast<void*>(iterate)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare_slot)},
    {Py_nb_float, reinterpret_cast<void*>(to_float)},
    {Py_nb_int, reinterpret_cast<void*>(to_long)},
    {Py_nb_index, reinterpret_cast<void*>(to_index)},
    {Py_nb_bool, reinterpret_cast<void*>(to_bool)},
    {Py_mp_length, reinterpret_cast<void*>(length)},
    {Py_sq_length, reinterpret_cast<void*>(length)},
    {Py_mp_subscript, reinterpret_cast<void*>(get_item)},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(set_item)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
};

}  // namespace

void bind_tensor(nb::module_& m) {
  static std::vector<PyType_Slot> slots(std::begin(own_slots), std::end(own_slots));
  for (PyType_Slot& slot : slots) {
    if (slot.slot == Py_tp_methods) slot.pfunc = tensor_methods();
  }
  const std::span<const PyType_Slot> number = number_slots();
  slots.insert(slots.end(), number.begin(), number.end());
  slots.push_back({0, nullptr});
  auto c = nb::class_<TensorBox>(m, "Tensor", nb::pooled(256), nb::dynamic_attr(),
                                 nb::is_weak_referenceable(), nb::type_slots(slots.data()),
                                 "An n-dimensional array of one dtype, with gradients.");
  types.tensor = reinterpret_cast<PyTypeObject*>(c.ptr());
  c.attr("__module__") = "treadle";
  tensor_dict_offset = dict_offset_of(types.tensor);
  const nb::object first = nb::inst_alloc(c);  // never marked ready, so nothing is destroyed
  types.box_offset =
      reinterpret_cast<char*>(nb::inst_ptr<void>(first)) - reinterpret_cast<char*>(first.ptr());
}

}  // namespace treadle::bind
