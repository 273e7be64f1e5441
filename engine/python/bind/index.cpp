// Indexing with PyTorch's rules: ints, slices, None, Ellipsis and bools make views; tensors, lists
// and arrays gather. The basic part is applied first, then the tensors in one step.
#include "engine/python/bind/index.h"

#include "engine/python/bind/override.h"

#include "engine/ops/names.h"
#include "engine/python/bind/create.h"

namespace treadle::bind {
namespace {

// What is indexed after the basic part of the index: `self` itself, or a view of it. (Not a copy of
// self's handle: counting a reference to a tensor that Python knows takes the GIL.)
class Indexed {
 public:
  explicit Indexed(const Tensor& self) : self_(self) {}
  const Tensor& at() const { return view_.defined() ? view_ : self_; }
  void set(Tensor view) { view_ = std::move(view); }
  // As a result of its own.
  Tensor take() { return view_.defined() ? std::move(view_) : alias(self_); }

  std::vector<Tensor>
      tensors;  // one for each dimension up to the last indexed one; undefined: whole
  bool advanced = false;

 private:
  const Tensor& self_;
  Tensor view_;
};

bool is_sequence_index(PyObject* o) {
  if (Py_TYPE(o) == &PyLong_Type || PySlice_Check(o)) return false;  // the usual ones, quickly
  return !PyUnicode_Check(o) && !PyBytes_Check(o) &&
         (PySequence_Check(o) || PyObject_CheckBuffer(o)) && !is_tensor(o);
}

bool is_mask(DType dtype) { return dtype == DType::boolean || dtype == DType::uint8; }

// How many dimensions of self an item uses up.
std::int64_t consumes(PyObject* item) {
  if (item == Py_None || item == Py_Ellipsis || PyBool_Check(item)) return 0;
  if (is_tensor(item) && is_mask(impl_of(item)->dtype)) return impl_of(item)->shape.size();
  return 1;
}

// One index along `dim`, which was dimension `original` of the whole.
Tensor at(const Tensor& t, std::int64_t dim, std::int64_t index, std::int64_t original) {
  const std::int64_t size = t.shape()[dim];
  if (index < -size || index >= size) {
    fail(ErrorKind::index, "index " + std::to_string(index) + " is out of bounds for dimension " +
                               std::to_string(original) + " with size " + std::to_string(size));
  }
  const GilHeld held;
  return select(t, dim, index);
}

// A list that holds anything but numbers counts as a tuple: x[[i, j]] is x[i, j], as PyTorch (no
// longer NumPy) has it.
bool is_tuple_in_disguise(PyObject* index) {
  constexpr Py_ssize_t kMost = 32;
  if (!PyList_Check(index) || PyList_Size(index) >= kMost) return false;
  for (Py_ssize_t i = 0; i < PyList_Size(index); ++i) {
    PyObject* item = PyList_GetItem(index, i);
    if (item == Py_None || item == Py_Ellipsis || PySlice_Check(item) || is_tensor(item) ||
        is_sequence_index(item)) {
      return true;
    }
  }
  return false;
}

Indexed apply_index(const Tensor& self, PyObject* index) {
  nb::object unpacked;
  if (is_tuple_in_disguise(index)) {
    unpacked = nb::steal(PySequence_Tuple(index));
    if (!unpacked.is_valid()) raise_python();
    index = unpacked.ptr();
  }
  const bool tuple = PyTuple_Check(index);
  const Py_ssize_t count = tuple ? PyTuple_Size(index) : 1;
  std::vector<nb::object> converted;  // lists and arrays, by their position
  const auto item_at = [&](Py_ssize_t i) {
    const auto at = static_cast<std::size_t>(i);
    if (at < converted.size() && converted[at].is_valid()) return converted[at].ptr();
    return tuple ? PyTuple_GetItem(index, i) : index;
  };
  std::int64_t used = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = item_at(i);
    if (is_sequence_index(item)) {
      converted.resize(static_cast<std::size_t>(count));
      converted[static_cast<std::size_t>(i)] = nb::steal(wrap(tensor_from_index(item)));
    }
    used += consumes(item_at(i));
  }
  if (used > self.dim()) {
    fail(ErrorKind::index,
         self.dim() == 0 && count == 1
             ? "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to "
               "convert a 0-dim tensor to a number"
             : "too many indices for tensor of dimension " + std::to_string(self.dim()));
  }

  Indexed r(self);
  std::int64_t dim = 0, original = 0;  // of what is left, and of self
  const auto add_tensor = [&](const Tensor& t) {
    while (static_cast<std::int64_t>(r.tensors.size()) < dim) r.tensors.emplace_back();
    r.tensors.push_back(t);
    r.advanced = true;
  };
  for (Py_ssize_t n = 0; n < count; ++n) {
    PyObject* o = item_at(n);
    if (o == Py_Ellipsis) {
      dim += self.dim() - used;
      original += self.dim() - used;
      continue;
    }
    if (o == Py_None) {
      r.set(unsqueeze(r.at(), dim++));
      continue;
    }
    if (PyBool_Check(o)) {
      r.set(unsqueeze(r.at(), dim));
      add_tensor(full({1}, Scalar(o == Py_True), DType::boolean));
      ++dim;
      continue;
    }
    if (PySlice_Check(o)) {
      Py_ssize_t start = 0, stop = 0, step = 0;
      if (PySlice_Unpack(o, &start, &stop, &step) < 0) raise_python();
      if (step < 0) fail(ErrorKind::value, "step must be greater than zero");
      if (start != 0 || stop != PY_SSIZE_T_MAX || step != 1) {
        const GilHeld held;
        r.set(slice(r.at(), dim, start, stop, step));
      }
      ++dim;
      ++original;
      continue;
    }
    if (is_tensor(o)) {
      Tensor t = tensor_of(o);
      if (t.is_lazy()) t = resolve(t);
      if (t.dtype() == DType::uint8) {
        if (PyErr_WarnEx(PyExc_UserWarning,
                         "indexing with dtype torch.uint8 is now deprecated, please use a dtype "
                         "torch.bool instead.",
                         1) < 0) {
          raise_python();
        }
        t = to(t, DType::boolean);
      }
      if (t.dim() == 0 && is_integral(t.dtype()) && t.dtype() != DType::boolean) {
        r.set(at(r.at(), dim, t.item_int(), original++));
      } else {
        if (t.dtype() == DType::boolean && t.dim() == 0) r.set(unsqueeze(r.at(), dim));
        const bool mask = t.dtype() == DType::boolean;
        add_tensor(mask && t.dim() == 0 ? reshape(t, {1}) : t);
        dim += mask ? std::max<std::int64_t>(t.dim(), 1) : 1;
        original += consumes(o);
      }
      continue;
    }
    std::int64_t i = 0;
    if (to_int(o, &i)) {
      r.set(at(r.at(), dim, i, original++));
      continue;
    }
    if (PyUnicode_Check(o)) fail(ErrorKind::type, "new(): invalid data type 'str'");
    fail(ErrorKind::index,
         std::string(
             "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
             "valid indices (got ") +
             type_name(o) + ")");
  }
  return r;
}

// Leading dimensions of size 1 of the value don't count: x[0] = ones(1, 1, 3).
Tensor without_leading_ones(Tensor value, std::int64_t rank) {
  while (value.dim() > rank && value.shape()[0] == 1) value = select(value, 0, 0);
  return value;
}

// x[mask] = one element, which is converted. (More of them must have x's dtype.)
bool fills_mask(const std::vector<Tensor>& indices, const Tensor& value) {
  return value.numel() == 1 && indices.size() == 1 && indices[0].defined() &&
         indices[0].dtype() == DType::boolean;
}

// Leading ones don't count here either: x[mask] = ones(1, 1, n).
void put(const Tensor& at, const std::vector<Tensor>& indices, Tensor value) {
  std::int64_t rank = at.dim();
  std::int64_t wide = 0;
  for (const Tensor& t : indices) {
    if (!t.defined()) continue;
    const bool mask = t.dtype() == DType::boolean;
    rank -= mask ? t.dim() : 1;
    wide = std::max<std::int64_t>(wide, mask ? 1 : t.dim());
  }
  index_put_(at, indices, without_leading_ones(std::move(value), rank + wide));
}

}  // namespace

PyObject* get_item(PyObject* self, PyObject* index) {
  return guarded([&] {
    if (overrides_exist) [[unlikely]] {
      if (PyObject* made = call_override("__getitem__", self, index)) return made;
    }
    // One int is the commonest index by far.
    if (PyLong_Check(index) && !PyBool_Check(index)) {
      const Borrowed t(self);
      std::int64_t i = 0;
      to_int(index, &i);
      if (t->dim() > 0) {
        const std::int64_t size = t->shape()[0];
        if (i < -size || i >= size) {
          fail(ErrorKind::index, "index " + std::to_string(i) +
                                     " is out of bounds for dimension 0 with size " +
                                     std::to_string(size));
        }
        Tensor row;
        {
          const GilHeld held;
          row = select(*t, 0, i);
        }
        return wrap(std::move(row));
      }
    }
    const Borrowed t(self);
    Indexed r = apply_index(*t, index);
    return wrap(r.advanced ? treadle::index(resolve(r.at()), r.tensors) : r.take());
  });
}

int set_item(PyObject* self, PyObject* index, PyObject* value) {
  return guarded_int([&] {
    if (!value) fail(ErrorKind::type, "cannot delete elements of a Tensor");
    if (overrides_exist) [[unlikely]] {
      if (PyObject* none = call_override("__setitem__", self, index, value)) {
        Py_DECREF(none);
        return 0;
      }
    }
    const Borrowed t(self);
    const Indexed r = apply_index(*t, index);
    const Tensor& at = r.at();
    Scalar number;
    const bool is_number = !is_tensor(value) && to_scalar(value, &number);
    if (is_number && !r.advanced) {
      fill_(at, number);
      return 0;
    }
    Tensor source;
    if (is_number) {
      source = full({}, number, at.dtype());
    } else if (is_tensor(value)) {
      source = tensor_of(value);
    } else if (is_sequence_index(value) || PyTuple_Check(value)) {
      source = tensor_from_data(value, at.dtype());
    } else {
      fail(ErrorKind::type, std::string("can't assign a ") + type_name(value) + " to a " +
                                repr(at.dtype()) + " tensor");
    }
    if (r.advanced) {
      if (source.dtype() != at.dtype() && fills_mask(r.tensors, source))
        source = to(source, at.dtype());
      source = resolve(source);
      if (at.is_lazy()) {
        const Tensor value = resolve(at);
        put(value, r.tensors, std::move(source));
        copy_(at, value);
      } else {
        put(at, r.tensors, std::move(source));
      }
    } else {
      copy_(at, without_leading_ones(std::move(source), at.dim()));
    }
    return 0;
  });
}

}  // namespace treadle::bind
