// Indexing with PyTorch's rules: ints, slices, None, Ellipsis and bools make views; tensors, lists
// and arrays gather. The basic part is applied first, then the tensors in one step.
#include "engine/python/bind/index.h"

#include "engine/ops/names.h"
#include "engine/python/bind/create.h"

namespace treadle::bind {
namespace {

struct Indexed {
  Tensor view;  // after the basic part
  std::vector<Tensor>
      tensors;  // one for each dimension up to the last indexed one; undefined: whole
  bool advanced = false;
  bool copied = false;  // view is self itself: a getter has to make an alias
};

bool is_sequence_index(PyObject* o) {
  return !PyTuple_Check(o) && !PyUnicode_Check(o) && (PyList_Check(o) || PyObject_CheckBuffer(o)) &&
         !is_tensor(o);
}

std::optional<std::int64_t> slice_bound(PyObject* slice, const char* which) {
  const nb::object bound = nb::handle(slice).attr(which);
  if (bound.is_none()) return std::nullopt;
  std::int64_t value = 0;
  if (!to_int(bound.ptr(), &value)) {
    fail(ErrorKind::type, "slice indices must be integers or None or have an __index__ method");
  }
  return value;
}

// How many dimensions of self an item uses up.
std::int64_t consumes(PyObject* item) {
  if (item == Py_None || item == Py_Ellipsis || PyBool_Check(item)) return 0;
  if (is_tensor(item) && impl_of(item)->dtype == DType::boolean) return impl_of(item)->shape.size();
  return 1;
}

Indexed apply_index(const Tensor& self, PyObject* index) {
  std::vector<nb::object> items;
  if (PyTuple_Check(index)) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(index); ++i) {
      items.push_back(nb::borrow(PyTuple_GetItem(index, i)));
    }
  } else {
    items.push_back(nb::borrow(index));
  }
  std::int64_t used = 0;
  for (nb::object& item : items) {
    if (is_sequence_index(item.ptr())) item = nb::steal(wrap(tensor_from_index(item.ptr())));
    used += consumes(item.ptr());
  }
  if (used > self.dim()) {
    fail(ErrorKind::index,
         self.dim() == 0 && items.size() == 1
             ? "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to "
               "convert a 0-dim tensor to a number"
             : "too many indices for tensor of dimension " + std::to_string(self.dim()));
  }

  Indexed r;
  r.view = self;
  r.copied = true;
  std::int64_t dim = 0;
  const auto add_tensor = [&](const Tensor& t) {
    while (static_cast<std::int64_t>(r.tensors.size()) < dim) r.tensors.emplace_back();
    r.tensors.push_back(t);
    r.advanced = true;
  };
  for (const nb::object& item : items) {
    PyObject* o = item.ptr();
    if (o == Py_Ellipsis) {
      dim += self.dim() - used;
      continue;
    }
    if (o == Py_None) {
      r.view = unsqueeze(r.view, dim++);
      r.copied = false;
      continue;
    }
    if (PyBool_Check(o)) {
      r.view = unsqueeze(r.view, dim);
      add_tensor(full({1}, Scalar(o == Py_True), DType::boolean));
      ++dim;
      continue;
    }
    if (PySlice_Check(o)) {
      const std::optional<std::int64_t> step = slice_bound(o, "step");
      const auto start = slice_bound(o, "start"), stop = slice_bound(o, "stop");
      if (step && *step <= 0) {
        fail(ErrorKind::value,
             *step == 0 ? "step cannot be zero" : "step must be greater than zero");
      }
      if (start || stop || step.value_or(1) != 1) {
        r.view = slice(r.view, dim, start, stop, step.value_or(1));
        r.copied = false;
      }
      ++dim;
      continue;
    }
    if (is_tensor(o)) {
      const Tensor t = tensor_of(o);
      if (t.dim() == 0 && is_integral(t.dtype()) && t.dtype() != DType::boolean) {
        r.view = select(r.view, dim, t.item_int());
        r.copied = false;
      } else {
        if (t.dtype() == DType::boolean && t.dim() == 0) r.view = unsqueeze(r.view, dim);
        const bool mask = t.dtype() == DType::boolean;
        add_tensor(mask && t.dim() == 0 ? reshape(t, {1}) : t);
        dim += mask ? std::max<std::int64_t>(t.dim(), 1) : 1;
      }
      continue;
    }
    std::int64_t i = 0;
    if (to_int(o, &i)) {
      const std::int64_t size = r.view.shape()[dim];
      if (i < -size || i >= size) {
        fail(ErrorKind::index, "index " + std::to_string(i) + " is out of bounds for dimension " +
                                   std::to_string(dim) + " with size " + std::to_string(size));
      }
      r.view = select(r.view, dim, i);
      r.copied = false;
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

}  // namespace

PyObject* get_item(PyObject* self, PyObject* index) {
  return guarded([&] {
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
        return wrap(select(*t, 0, i));
      }
    }
    Indexed r = apply_index(tensor_of(self), index);
    if (r.advanced) return wrap(treadle::index(r.view, r.tensors));
    return wrap(r.copied ? alias(r.view) : std::move(r.view));
  });
}

int set_item(PyObject* self, PyObject* index, PyObject* value) {
  return guarded_int([&] {
    if (!value) fail(ErrorKind::type, "cannot delete elements of a Tensor");
    const Indexed r = apply_index(tensor_of(self), index);
    Scalar number;
    const bool is_number = !is_tensor(value) && to_scalar(value, &number);
    if (is_number && !r.advanced) {
      fill_(r.view, number);
      return 0;
    }
    Tensor source;
    if (is_number) {
      source = full({}, number, r.view.dtype());
    } else if (is_tensor(value)) {
      source = tensor_of(value);
    } else if (is_sequence_index(value) || PyTuple_Check(value)) {
      source = tensor_from_data(value, r.view.dtype());
    } else {
      fail(ErrorKind::type, std::string("can't assign a ") + type_name(value) + " to a " +
                                repr(r.view.dtype()) + " tensor");
    }
    if (r.advanced) {
      if (source.dtype() != r.view.dtype()) source = to(source, r.view.dtype());
      index_put_(r.view, r.tensors, source);
    } else {
      copy_(r.view, without_leading_ones(std::move(source), r.view.dim()));
    }
    return 0;
  });
}

}  // namespace treadle::bind
