// See override.h.
#include "engine/python/bind/override.h"

#include <nanobind/stl/string.h>

#include <utility>
#include <vector>

#include "engine/core/export.h"
#include "engine/ops/names.h"

namespace treadle::bind {

bool overrides_exist = false;

namespace {

constexpr const char* kHook = "__torch_function__";

TREADLE_FAST_TLS constinit thread_local int disabled = 0;  // depth of _disable_overrides blocks

// A strong reference.
TREADLE_FAST_TLS constinit thread_local PyObject* on_random = nullptr;

// The modes this thread has entered (a list, or null); those from active_modes on are running.
TREADLE_FAST_TLS constinit thread_local PyObject* modes = nullptr;
TREADLE_FAST_TLS constinit thread_local Py_ssize_t active_modes = 0;

// _C._disabled_torch_function_impl: what a class has that doesn't want to be asked.
PyObject* disabled_hook = nullptr;

bool type_takes_over(PyTypeObject* type) {
  if (type == types.tensor || type == &PyLong_Type || type == &PyFloat_Type ||
      type == &PyBool_Type || type == &PyUnicode_Type || type == &PySlice_Type ||
      type == types.dtype || type == types.size || type == types.device) {
    return false;
  }
  PyObject* hook = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), kHook);
  if (!hook) {
    PyErr_Clear();
    return false;
  }
  Py_DECREF(hook);
  return hook != disabled_hook;
}

// The arguments with an override, one of each type, subclasses before their bases.
class Overriding {
 public:
  void look(PyObject* o) {
    if (!o || o == Py_None) return;
    PyTypeObject* type = Py_TYPE(o);
    if (PyTuple_Check(o) || PyList_Check(o)) {
      const Py_ssize_t n = PySequence_Size(o);
      for (Py_ssize_t i = 0; i < n; ++i) {
        const nb::object item = nb::steal(PySequence_GetItem(o, i));
        if (!item.is_valid()) raise_python();
        // Not the strings of a list of strings, nor lists in lists without end.
        if (!PyTuple_Check(item.ptr()) && !PyList_Check(item.ptr())) look(item.ptr());
      }
      return;
    }
    if (!type_takes_over(type)) return;
    std::size_t at = found_.size();
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (Py_TYPE(found_[i].ptr()) == type) return;
      if (at == found_.size() && PyType_IsSubtype(type, Py_TYPE(found_[i].ptr()))) at = i;
    }
    found_.insert(found_.begin() + static_cast<std::ptrdiff_t>(at), nb::borrow(o));
  }
  bool none() const { return found_.empty(); }

  nb::tuple types() const {
    nb::list all;
    for (const nb::object& o : found_) all.append(o.type());
    return nb::tuple(all);
  }

  // The first override that doesn't answer NotImplemented.
  PyObject* call(nb::handle func, nb::handle args, nb::handle kwargs) const {
    const nb::tuple all = types();
    for (const nb::object& o : found_) {
      nb::object result = o.attr(kHook)(func, all, args, kwargs);
      if (!result.is(nb::handle(Py_NotImplemented))) return result.release().ptr();
    }
    std::string text = "no implementation found for '" + name_of(func) +
                       "' on types that implement __torch_function__: [";
    for (const nb::object& o : found_) {
      if (text.back() != '[') text += ", ";
      text += type_name(o.ptr());
    }
    fail(ErrorKind::type, text + "]");
  }

 private:
  std::vector<nb::object> found_;

  static std::string name_of(nb::handle func) {
    for (const char* attribute : {"__qualname__", "__name__"}) {
      if (nb::hasattr(func, attribute)) {
        return nb::cast<std::string>(nb::str(func.attr(attribute)));
      }
    }
    return nb::cast<std::string>(nb::repr(func));
  }
};

// The innermost mode's answer; null if there is none. The mode is off while it runs, so that it can
// call what it stands for.
PyObject* ask_mode(nb::handle func, const Overriding& overriding, nb::handle args,
                   nb::handle kwargs) {
  if (!active_modes) return nullptr;
  struct Off {
    Off() { --active_modes; }
    ~Off() { ++active_modes; }
  } off;
  const nb::object mode = nb::borrow(PyList_GetItem(modes, active_modes));
  nb::object made = mode.attr(kHook)(func, overriding.types(), args, kwargs);
  return made.is(nb::handle(Py_NotImplemented)) ? nullptr : made.release().ptr();
}

PyObject* ask(nb::handle func, const Overriding& overriding, nb::handle args, nb::handle kwargs) {
  if (PyObject* made = ask_mode(func, overriding, args, kwargs)) return made;
  return overriding.none() ? nullptr : overriding.call(func, args, kwargs);
}

nb::object method_of(const char* name) {
  return nb::handle(reinterpret_cast<PyObject*>(types.tensor)).attr(name);
}

}  // namespace

bool takes_over(PyObject* o) { return !disabled && type_takes_over(Py_TYPE(o)); }

PyObject* call_override(PyObject* func, PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                        PyObject* kwnames) {
  if (disabled && !active_modes) return nullptr;
  const Py_ssize_t keywords = kwnames ? PyTuple_Size(kwnames) : 0;
  Overriding overriding;
  if (!disabled) {
    overriding.look(self);
    for (Py_ssize_t i = 0; i < nargs + keywords; ++i) overriding.look(args[i]);
  }
  if (overriding.none() && !active_modes) return nullptr;
  nb::list positional;
  if (self) positional.append(nb::handle(self));
  for (Py_ssize_t i = 0; i < nargs; ++i) positional.append(nb::handle(args[i]));
  nb::dict named;
  for (Py_ssize_t i = 0; i < keywords; ++i) {
    named[nb::handle(PyTuple_GetItem(kwnames, i))] = nb::handle(args[nargs + i]);
  }
  return ask(func, overriding, nb::tuple(positional), named);
}

PyObject* call_override(const char* method, PyObject* self, PyObject* argument) {
  if (disabled && !active_modes) return nullptr;
  return call_override(method_of(method).ptr(), self, &argument, 1, nullptr);
}

PyObject* call_override(const char* method, PyObject* self, PyObject* first, PyObject* second) {
  if (disabled && !active_modes) return nullptr;
  PyObject* args[] = {first, second};
  return call_override(method_of(method).ptr(), self, args, 2, nullptr);
}

PyObject* call_override(const char* method, PyObject* self) {
  if (disabled && !active_modes) return nullptr;
  return call_override(method_of(method).ptr(), self, nullptr, 0, nullptr);
}

PyObject* call_attribute_override(const char* attribute, PyObject* self) {
  if (disabled && !active_modes) return nullptr;
  const nb::object get = method_of(attribute).attr("__get__");
  return call_override(get.ptr(), self, nullptr, 0, nullptr);
}

PyObject* random_override() { return disabled ? nullptr : on_random; }

namespace {

void bind_modes(nb::module_& m) {
  m.def("_push_mode", [](nb::handle mode) {
    if (!modes) modes = PyList_New(0);
    if (!modes || PyList_Insert(modes, active_modes, mode.ptr()) < 0) raise_python();
    ++active_modes;
    overrides_exist = true;
  });
  m.def("_pop_mode", [] {
    if (!active_modes) fail(ErrorKind::runtime, "no mode is entered");
    --active_modes;
    if (PyList_SetSlice(modes, active_modes, active_modes + 1, nullptr) < 0) raise_python();
  });
  m.def("_set_active_modes", [](Py_ssize_t count) {
    if (count < 0 || count > (modes ? PyList_Size(modes) : 0)) {
      fail(ErrorKind::value, "no such number of modes");
    }
    return std::exchange(active_modes, count);
  });
}

}  // namespace

void bind_override(nb::module_& m) {
  m.def(
      "_set_random_override",
      [](nb::object function) {
        nb::object before = on_random ? nb::steal(on_random) : nb::none();
        on_random = function.is_none() ? nullptr : function.release().ptr();
        return before;
      },
      nb::arg("function").none());
  m.def("_overrides_exist", [] { overrides_exist = true; });
  m.def("_disable_overrides", [](int change) { return disabled += change; });
  bind_modes(m);
  m.def("_has_torch_function", [](nb::handle objects) {
    if (active_modes) return true;
    Overriding overriding;
    if (!disabled) {
      for (nb::handle o : objects) overriding.look(o.ptr());
    }
    return !overriding.none();
  });
  m.def("_handle_torch_function",
        [](nb::handle func, nb::handle relevant, const nb::args& args, const nb::kwargs& kwargs) {
          Overriding overriding;
          if (!disabled) {
            for (nb::handle o : relevant) overriding.look(o.ptr());
          }
          if (PyObject* made = ask_mode(func, overriding, args, kwargs)) return nb::steal(made);
          return nb::steal(overriding.call(func, args, kwargs));
        });
  m.def(
      "_disabled_torch_function_impl",
      [](nb::handle func, nb::handle, nb::handle args, nb::handle kwargs) {
        struct Depth {
          Depth() { ++disabled; }
          ~Depth() { --disabled; }
        } depth;
        const nb::tuple positional(args);
        return nb::steal(
            PyObject_Call(func.ptr(), positional.ptr(), kwargs.is_none() ? nullptr : kwargs.ptr()));
      },
      nb::arg("func"), nb::arg("types"), nb::arg("args") = nb::make_tuple(),
      nb::arg("kwargs") = nb::none());
  disabled_hook = nb::object(m.attr("_disabled_torch_function_impl")).release().ptr();
  m.def(
      "_as_subclass",
      [](nb::handle tensor, const nb::type_object& cls) {
        auto* type = reinterpret_cast<PyTypeObject*>(cls.ptr());
        if (!PyType_IsSubtype(type, types.tensor)) {
          fail(ErrorKind::type, "cls must be a type that inherits from Tensor");
        }
        return nb::steal(wrap_as(type, alias(expect_tensor(tensor.ptr(), "self"))));
      },
      nb::arg("tensor"), nb::arg("cls"));
}

}  // namespace treadle::bind
