// The graph as Python's garbage collector sees it.
//
// The collector knows objects that Python has seen. Between them lie tensors and nodes that only
// C++ knows: x.grad -> its node -> ... -> x is a cycle that leaks unless tp_traverse of x follows
// it to the end. It may, through an object with a single reference: that one is reached once, so
// what it holds is reported once. An object that several others share would be reported once by
// each of them, and the collector, which subtracts, would free what is in use. Therefore, before a
// full collection, a census counts the references to all such objects, and those whose references
// are all accounted for get a Python object of their own: from then on the collector treats them
// like any other. The rest is held by C++ code that is running, and so not garbage.
//
// The young generations are collected often and graphs can be long: there only objects that Python
// has are followed, which is safe (a reference that isn't reported keeps its object alive).
#include "engine/python/bind/gc.h"

#include <unordered_map>
#include <vector>

namespace treadle::bind {
namespace {

// Whether a full collection is running, and sees through objects that only C++ knows.
bool deep = false;

// Reports to the collector what a tensor or node holds, through objects with a single reference.
class Traversal final : public ReferenceVisitor {
 public:
  Traversal(visitproc visit, void* arg) : visit_(visit), arg_(arg) {}
  void tensor(const TensorImpl& held) override {
    if (follow(held)) tensors_.push_back(&held);
  }
  void node(const Node& held) override {
    if (follow(held)) nodes_.push_back(&held);
  }
  void python(void* callable) override { report(callable); }

  template <class T>
  int run(const T& start) {
    visit_references(start, *this);
    while (stop_ == 0 && !(tensors_.empty() && nodes_.empty())) {
      if (!nodes_.empty()) {
        const Node& n = *nodes_.back();
        nodes_.pop_back();
        visit_references(n, *this);
      } else {
        const TensorImpl& t = *tensors_.back();
        tensors_.pop_back();
        visit_references(t, *this);
      }
    }
    return stop_;
  }

 private:
  void report(void* object) {
    if (stop_ == 0) stop_ = visit_(static_cast<PyObject*>(object), arg_);
  }
  bool follow(const RefCounted& held) {
    if (void* object = held.py_object()) {
      report(object);
      return false;
    }
    return deep && held.unique();
  }

  visitproc visit_;
  void* arg_;
  int stop_ = 0;
  std::vector<const TensorImpl*> tensors_;
  std::vector<const Node*> nodes_;
};

// Counts the references that Python's objects hold, directly or not, to those that only C++ knows.
class Census final : public ReferenceVisitor {
 public:
  void tensor(const TensorImpl& held) override {
    if (!held.py_object() && ++tensors_[&held] == 1) new_tensors_.push_back(&held);
  }
  void node(const Node& held) override {
    if (!held.py_object() && ++nodes_[&held] == 1) new_nodes_.push_back(&held);
  }
  void python(void*) override {}

  template <class T>
  void add(const T& root) {
    visit_references(root, *this);
    while (!(new_tensors_.empty() && new_nodes_.empty())) {
      if (!new_nodes_.empty()) {
        const Node& n = *new_nodes_.back();
        new_nodes_.pop_back();
        visit_references(n, *this);
      } else {
        const TensorImpl& t = *new_tensors_.back();
        new_tensors_.pop_back();
        visit_references(t, *this);
      }
    }
  }

  void expose_shared() const {
    for (const auto& [tensor, count] : tensors_) expose(types.tensor, tensor, count);
    for (const auto& [node, count] : nodes_) expose(types.node, node, count);
  }

 private:
  template <class T>
  static void expose(PyTypeObject* type, const T* object, std::uintptr_t count) {
    if (count < 2 || count != object->use_count()) return;
    Py_DECREF(hand_over(type, const_cast<T*>(object)));
  }

  std::unordered_map<const TensorImpl*, std::uintptr_t> tensors_;
  std::unordered_map<const Node*, std::uintptr_t> nodes_;
  std::vector<const TensorImpl*> new_tensors_;
  std::vector<const Node*> new_nodes_;
};

void take_census() {
  const nb::object objects = nb::module_::import_("gc").attr("get_objects")();
  enum class Kind : char { other, tensor, node };
  std::unordered_map<PyTypeObject*, Kind> kinds;
  Census census;
  const Py_ssize_t count = PyList_Size(objects.ptr());
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* o = PyList_GetItem(objects.ptr(), i);
    const auto [at, fresh] = kinds.try_emplace(Py_TYPE(o), Kind::other);
    if (fresh) at->second = is_tensor(o) ? Kind::tensor : is_node(o) ? Kind::node : Kind::other;
    if (at->second == Kind::other || !nb::inst_ready(nb::handle(o))) continue;
    if (at->second == Kind::tensor) {
      census.add(*impl_of(o));
    } else {
      census.add(*node_of(o));
    }
  }
  // The interpreter's last collection comes when Py_IsInitialized() already says no; the references
  // that are handed over must be counted then, too.
  const GilHeld held;
  census.expose_shared();
}

// One of gc.callbacks: called with "start" or "stop", and a dict with the generation.
PyObject* on_collection(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    deep = false;
    const nb::handle given(args);
    const bool full = nb::cast<int>(given[1]["generation"]) == 2;
    if (string_of(nb::object(given[0]).ptr()) == "start" && full && Node::made() > 0 &&
        WithoutGil::threads() == 0) {  // else C++ may be changing the graph
      take_census();
      deep = true;
    }
    Py_RETURN_NONE;
  });
}

}  // namespace

int visit_graph(const TensorImpl& tensor, visitproc visit, void* arg) noexcept {
  if (!tensor.grad_meta) return 0;
  return Traversal(visit, arg).run(tensor);
}

int visit_graph(const Node& node, visitproc visit, void* arg) noexcept {
  return Traversal(visit, arg).run(node);
}

int visit_dict(PyObject* self, Py_ssize_t dict_offset, visitproc visit, void* arg) {
  Py_VISIT(*reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + dict_offset));
  return 0;
}

void clear_dict(PyObject* self, Py_ssize_t dict_offset) {
  Py_CLEAR(*reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + dict_offset));
}

Py_ssize_t dict_offset_of(PyTypeObject* type) {
  return nb::cast<Py_ssize_t>(nb::handle(reinterpret_cast<PyObject*>(type)).attr("__dictoffset__"));
}

void bind_gc() {
  static PyMethodDef callback{"_treadle_on_collection", on_collection, METH_VARARGS,
                              "Shows the collector the part of the graph that only C++ knows."};
  const nb::object function = nb::steal(PyCFunction_NewEx(&callback, nullptr, nullptr));
  if (!function.is_valid()) raise_python();
  nb::module_::import_("gc").attr("callbacks").attr("append")(function);
}

}  // namespace treadle::bind
