// What Python may watch and change of the tape: hooks around nodes, saved tensors and what packs
// them, anomaly mode, the callbacks of a running backward pass. To add one: a function here and its
// Python half in treadle/autograd/graph.py.
#include <nanobind/stl/string.h>

#include <memory>
#include <unordered_set>
#include <vector>

#include "engine/autograd/anomaly.h"
#include "engine/autograd/engine.h"
#include "engine/core/context.h"
#include "engine/core/warn.h"
#include "engine/python/bind/bind.h"

namespace treadle::bind {
namespace {

// A Python object that C++ may copy and drop on any thread, with or without the GIL.
std::shared_ptr<PyObject> shared(PyObject* o) {
  Py_INCREF(o);
  return std::shared_ptr<PyObject>(o, [](PyObject* p) { py_dec_ref(p); });
}

nb::tuple tuple_of(const Gradients& tensors) {
  nb::list items;
  for (const Tensor& t : tensors) items.append(nb::steal(wrap(t)));
  return nb::tuple(items);
}

// --- hooks around a node
// ---------------------------------------------------------------------------

NodeHook node_hook(PyObject* fn, bool after) {
  return [f = shared(fn), after](Gradients& changed, const Gradients& arrived) {
    const nb::gil_scoped_acquire gil;
    const nb::handle hook(f.get());
    nb::object result =
        after ? hook(tuple_of(changed), tuple_of(arrived)) : hook(tuple_of(changed));
    if (result.is_none()) return;
    if (is_tensor(result.ptr())) result = nb::make_tuple(result);
    if (!PyTuple_Check(result.ptr())) {
      fail(ErrorKind::type, std::string("the result of a hook must be a tuple, a Tensor or None, "
                                        "not ") +
                                type_name(result.ptr()));
    }
    const auto count = static_cast<std::size_t>(PyTuple_Size(result.ptr()));
    if (count != changed.size()) {
      fail(ErrorKind::runtime, "hook has returned an incorrect number of values (got " +
                                   std::to_string(count) + ", but expected " +
                                   std::to_string(changed.size()) + ")");
    }
    for (std::size_t i = 0; i < count; ++i) {
      const nb::object item = result[i];
      changed[i] = item.is_none() ? Tensor() : expect_tensor(item.ptr(), "the result of a hook");
    }
  };
}

void bind_node_hooks(nb::module_& m) {
  m.def("_add_node_hook", [](nb::handle node, bool after, nb::handle fn) {
    if (is_tensor(node.ptr())) {
      return add_leaf_node_hook(tensor_of(node.ptr()), after, node_hook(fn.ptr(), after), fn.ptr());
    }
    if (!is_node(node.ptr())) fail(ErrorKind::type, "expected a Node");
    return node_of(node.ptr())->add_node_hook(after, node_hook(fn.ptr(), after), fn.ptr());
  });
  m.def("_remove_node_hook", [](nb::handle node, std::int64_t id) {
    if (is_tensor(node.ptr())) return remove_hook(tensor_of(node.ptr()), id);
    if (is_node(node.ptr())) node_of(node.ptr())->remove_hook(id);
  });
}

// --- saved tensors
// ---------------------------------------------------------------------------------

class PyPacked final : public Packed {
 public:
  PyPacked(std::shared_ptr<PyObject> content, std::shared_ptr<PyObject> unpack)
      : content_(std::move(content)), unpack_(std::move(unpack)) {}
  Tensor unpack() override {
    const nb::gil_scoped_acquire gil;
    // In the forward pass's mode of saving: what the hook computes isn't packed again.
    const nb::object made = nb::handle(unpack_.get())(nb::handle(content_.get()));
    if (!is_tensor(made.ptr())) {
      fail(ErrorKind::type,
           std::string("Output of saved tensor unpack_hook expected to be a Tensor but got result "
                       "of type ") +
               type_name(made.ptr()));
    }
    return tensor_of(made.ptr());
  }
  void* python() const override { return content_.get(); }

 private:
  std::shared_ptr<PyObject> content_, unpack_;
};

class PySavedHooks final : public SavedHooks {
 public:
  PySavedHooks(PyObject* pack, PyObject* unpack) : pack_(shared(pack)), unpack_(shared(unpack)) {}
  Ref<Packed> pack(const Tensor& tensor) override {
    const nb::gil_scoped_acquire gil;
    const nb::object argument = nb::steal(wrap(tensor));
    nb::object content = nb::handle(pack_.get())(argument);
    return Ref<Packed>(new PyPacked(shared(content.ptr()), unpack_));
  }

 private:
  std::shared_ptr<PyObject> pack_, unpack_;
};

// The pairs of hooks that are on in this thread; the last one acts.
std::vector<Ref<SavedHooks>>& hook_stack() {
  thread_local std::vector<Ref<SavedHooks>> stack;
  return stack;
}

Saved& saved_of(nb::handle node, const std::string& name) {
  Saved* saved = is_node(node.ptr()) ? node_of(node.ptr())->saved(name) : nullptr;
  if (!saved) {
    PyErr_SetString(PyExc_AttributeError, ("the node saved no tensor '" + name + "'").c_str());
    raise_python();
  }
  return *saved;
}

void bind_saved(nb::module_& m) {
  m.def("_push_saved_tensors_hooks", [](nb::handle pack, nb::handle unpack) {
    hook_stack().push_back(Ref<SavedHooks>(new PySavedHooks(pack.ptr(), unpack.ptr())));
    context().saved_hooks = hook_stack().back().get();
  });
  m.def("_pop_saved_tensors_hooks", [] {
    if (!hook_stack().empty()) hook_stack().pop_back();
    context().saved_hooks = hook_stack().empty() ? nullptr : hook_stack().back().get();
  });
  m.def("_saved_tensors_hooks_depth", [] { return hook_stack().size(); });
  m.def("_saved_tensor", [](nb::handle node, const std::string& name) {
    Saved& saved = saved_of(node, name);
    return nb::steal(wrap(saved.defined() ? saved.get(node_of(node.ptr())) : Tensor()));
  });
  m.def("_has_saved_tensor", [](nb::handle node, const std::string& name) {
    return is_node(node.ptr()) && node_of(node.ptr())->saved(name);
  });
  m.def("_pack_saved_tensor",
        [](nb::handle node, const std::string& name, nb::handle pack, nb::handle unpack) {
          PySavedHooks hooks(pack.ptr(), unpack.ptr());
          saved_of(node, name).pack(hooks);
        });

  // One function for all threads: which of them ask is in their context.
  static PyObject* on_write = nullptr;
  m.def(
      "_set_before_write",
      [](nb::handle function) {
        if (function.is_none()) {
          context().before_write = nullptr;
          return;
        }
        Py_XDECREF(std::exchange(on_write, nb::borrow(function).release().ptr()));
        context().before_write = [](const Tensor& written) {
          const nb::gil_scoped_acquire gil;
          const auto before = std::exchange(context().before_write, nullptr);
          struct Restore {
            decltype(before) value;
            ~Restore() { context().before_write = value; }
          } restore{before};
          const nb::object argument = nb::steal(wrap(written));
          nb::handle{on_write}(argument);
        };
      },
      nb::arg("function").none());
}

// --- the running pass
// ------------------------------------------------------------------------------

std::string stack_trace() {
  const nb::gil_scoped_acquire gil;
  return nb::cast<std::string>(
      nb::module_::import_("treadle.autograd.anomaly_mode").attr("_stack")());
}

void show_warning(const std::string& text) {
  const nb::gil_scoped_acquire gil;
  // An error is on its way already: a warning that is one, too, is only printed.
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) PyErr_PrintEx(0);
}

void bind_run(nb::module_& m) {
  set_warner(show_warning);
  m.def("_set_anomaly_enabled", [](bool on, bool check_nan) {
    anomaly().trace = stack_trace;
    anomaly().check_nan = check_nan;
    anomaly().enabled = on;
  });
  m.def("is_anomaly_enabled", [] { return anomaly().enabled.load(); });
  m.def("is_anomaly_check_nan_enabled", [] { return anomaly().check_nan.load(); });
  m.def("_is_checkpoint_valid", [] { return visits_everything(); });
  m.def("_detach_in_place", [](nb::handle t) { detach_in_place(expect_tensor(t.ptr(), "self")); });
  m.def("_current_graph_task_id", [] { return current_run(); });
  m.def("_current_autograd_node", [] { return nb::steal(wrap(Ref<Node>(current_node()))); });
  m.def("_queue_callback", [](nb::handle function) {
    call_at_end([f = shared(function.ptr())] {
      const nb::gil_scoped_acquire gil;
      nb::handle{f.get()}();
    });
  });
  m.def("_will_execute", [](nb::handle node) {
    if (is_node(node.ptr())) {
      return will_execute(Edge{Ref<RefCounted>(node_of(node.ptr())), 0, false});
    }
    const Tensor leaf = expect_tensor(nb::object(node.attr("variable")).ptr(), "variable");
    return will_execute(Edge{Ref<RefCounted>(leaf.impl()), 0, true});
  });
  // For leaving a transform: is there anything but the leaves it made itself?
  m.def("_depends_on_others", [](nb::handle tensors, nb::handle leaves) {
    std::unordered_set<const void*> own, seen;
    for (nb::handle leaf : leaves) own.insert(expect_tensor(leaf.ptr(), "a leaf").impl());
    std::vector<Node*> stack;
    bool found = false;
    const auto reach = [&](const Edge& e) {
      if (!e) return;
      if (e.leaf) {
        found = found || !own.contains(e.tensor());
      } else if (seen.insert(e.node()).second) {
        stack.push_back(e.node());
      }
    };
    for (nb::handle t : tensors) reach(gradient_edge(expect_tensor(t.ptr(), "a tensor")));
    while (!stack.empty() && !found) {
      const Node& n = *stack.back();
      stack.pop_back();
      for (std::uint32_t i = 0; i < n.edge_count(); ++i) reach(n.edge(i));
    }
    return found;
  });
  m.def("_storage_address", [](nb::handle t) {
    return reinterpret_cast<std::uintptr_t>(
        expect_tensor(t.ptr(), "tensor").impl()->storage->data());
  });
  m.def("_bump_version",
        [](nb::handle t) { expect_tensor(t.ptr(), "tensor").impl()->storage->bump(); });
  m.def("_set_version", [](nb::handle t, std::uint32_t version) {
    expect_tensor(t.ptr(), "tensor").impl()->storage->set_version(version);
  });
}

}  // namespace

KeepSavedHooks::KeepSavedHooks() : depth_(hook_stack().size()) {}
KeepSavedHooks::~KeepSavedHooks() {
  if (hook_stack().size() <= depth_) return;
  hook_stack().resize(depth_);
  context().saved_hooks = depth_ == 0 ? nullptr : hook_stack().back().get();
}

void bind_tape(nb::module_& m) {
  bind_node_hooks(m);
  bind_saved(m);
  bind_run(m);
}

}  // namespace treadle::bind
