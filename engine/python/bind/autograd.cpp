// The tape as Python sees it: grad mode, Node (grad_fn), hooks, backward() and grad(), and the node
// behind autograd.Function. The Python half is treadle/autograd/function.py.
#include "engine/autograd/engine.h"
#include "engine/ops/names.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <unordered_map>

#include "engine/core/context.h"
#include "engine/python/bind/bind.h"
#include "engine/python/bind/gc.h"

namespace treadle::bind {
namespace {

// A Python callable inside a std::function; gets None for a gradient that didn't arrive. Copies
// share one reference, so that copying needs no GIL; giving it up takes the GIL as needed, since
// graphs are freed on any thread.
class PyHook {
 public:
  explicit PyHook(PyObject* fn) {
    Py_INCREF(fn);
    fn_ = std::shared_ptr<PyObject>(fn, [](PyObject* f) { py_dec_ref(f); });
  }

  Tensor operator()(const Tensor& grad) const {
    const nb::gil_scoped_acquire gil;
    const nb::object result = call(grad);
    if (result.is_none()) return Tensor();
    return resolve(expect_tensor(result.ptr(), "the result of a hook"));
  }

 protected:
  nb::object call(const Tensor& argument) const {
    const nb::object wrapped = nb::steal(wrap(argument));
    nb::object result = nb::steal(PyObject_CallFunctionObjArgs(fn_.get(), wrapped.ptr(), nullptr));
    if (!result.is_valid()) raise_python();
    return result;
  }

 private:
  std::shared_ptr<PyObject> fn_;
};

class PyAccumulatedHook : public PyHook {
 public:
  using PyHook::PyHook;
  void operator()(const Tensor& leaf) const {
    const nb::gil_scoped_acquire gil;
    if (!call(leaf).is_none()) {
      fail(ErrorKind::runtime, "Tensor post accumulate grad hooks should return None.");
    }
  }
};

std::vector<Tensor> tensors_of(nb::handle sequence, const char* what, bool none_allowed) {
  std::vector<Tensor> result;
  if (is_tensor(sequence.ptr())) {
    result.push_back(tensor_of(sequence.ptr()));
    if (none_allowed) result[0] = resolve(result[0]);  // gradients
    return result;
  }
  for (nb::handle item : sequence) {
    if (item.is_none() && none_allowed) {
      result.emplace_back();
    } else {
      const Tensor t = expect_tensor(item.ptr(), what);
      result.push_back(none_allowed ? resolve(t) : t);
    }
  }
  return result;
}

nb::tuple tuple_of(const std::vector<Tensor>& tensors) {
  nb::list items;
  for (const Tensor& t : tensors) items.append(nb::steal(wrap(t)));
  return nb::tuple(items);
}

// --- nodes
// -----------------------------------------------------------------------------------------

// The node of one call of an autograd.Function. Its Python object is the `ctx` that the user's
// forward and backward get; what it saves, and which outputs it knows, live here.
class FunctionNode final : public Node {
 public:
  FunctionNode(std::string name, std::uint32_t edges) : Node(edges), name_(std::move(name)) {}

  std::string name() const override { return name_; }

  Gradients apply(Gradients grads) override {
    const nb::gil_scoped_acquire gil;
    if (released_) released_error();
    const nb::object ctx = nb::borrow(static_cast<PyObject*>(py_object()));
    const nb::object result = ctx.attr("_run_backward")(tuple_of(grads));
    return tensors_of(result, "a gradient", true);
  }

  bool runs_without_gradient() const override { return true; }

  void release() override {
    const nb::gil_scoped_acquire gil;
    for (Saved& s : saved_) s.reset();
    released_ = !saved_.empty();
  }

  void references(ReferenceVisitor& visitor) const override {
    for (const Saved& s : saved_) s.references(visitor);
  }

  void save(std::vector<Saved> saved) { saved_ = std::move(saved); }
  std::vector<Tensor> saved_tensors() {
    if (released_) released_error();
    std::vector<Tensor> result;
    for (const Saved& s : saved_) result.push_back(s.defined() ? s.get(this) : Tensor());
    return result;
  }

 private:
  std::string name_;
  std::vector<Saved> saved_;
  bool released_ = false;
};

using FunctionBox = Box<FunctionNode>;

// nanobind gives each of its types a __dict__ slot of its own, also one that derives from another.
Py_ssize_t node_dict_offset = 0, function_dict_offset = 0;

template <Py_ssize_t* DictOffset>
int node_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (const int stop = visit_dict(self, *DictOffset, visit, arg)) return stop;
  if (!nb::inst_ready(nb::handle(self))) return 0;
  return visit_graph(*node_of(self), visit, arg);
}

template <Py_ssize_t* DictOffset>
int node_clear(PyObject* self) {
  clear_dict(self, *DictOffset);
  if (!nb::inst_ready(nb::handle(self))) return 0;
  Node& node = *node_of(self);
  node.clear_hooks();
  node.release();
  for (std::uint32_t i = 0; i < node.edge_count(); ++i) node.edge(i) = Edge{};
  return 0;
}

template <Py_ssize_t* DictOffset>
PyType_Slot* node_slots() {
  static PyType_Slot slots[] = {
      {Py_tp_traverse, reinterpret_cast<void*>(&node_traverse<DictOffset>)},
      {Py_tp_clear, reinterpret_cast<void*>(&node_clear<DictOffset>)},
      {0, nullptr},
  };
  return slots;
}

void bind_node(nb::module_& m) {
  auto node =
      nb::class_<NodeBox>(m, "Node", nb::dynamic_attr(), nb::is_weak_referenceable(),
                          nb::type_slots(node_slots<&node_dict_offset>()), "One step of the tape.");
  types.node = reinterpret_cast<PyTypeObject*>(node.ptr());
  node_dict_offset = dict_offset_of(types.node);
  node.def("name", [](NodeBox& n) { return n.object->name(); })
      .def("__repr__",
           [](NodeBox& n) {
             char address[32];
             std::snprintf(address, sizeof address, "%p", static_cast<void*>(n.object));
             return "<" + n.object->name() + " object at " + address + ">";
           })
      .def_prop_ro("next_functions",
                   [](NodeBox& n) {
                     nb::list items;
                     for (std::uint32_t i = 0; i < n.object->edge_count(); ++i) {
                       const Edge& e = n.object->edge(i);
                       nb::object target = nb::none();
                       if (e.leaf) {
                         target = nb::handle(types.module)
                                      .attr("_AccumulateGrad")(
                                          nb::steal(wrap(Tensor(Ref<TensorImpl>(e.tensor())))));
                       } else if (e) {
                         target = nb::steal(wrap(Ref<Node>(e.node())));
                       }
                       items.append(nb::make_tuple(target, e.nr));
                     }
                     return nb::tuple(items);
                   })
      .def(
          "__call__",
          [](NodeBox& n, const nb::args& given) -> nb::object {
            Node& node = *n.object;
            if (given.size() != node.output_count()) {
              fail(ErrorKind::type, "expected " + std::to_string(node.output_count()) +
                                        " arguments, got " + std::to_string(given.size()) +
                                        " instead");
            }
            Gradients grads = tensors_of(given, "a gradient", true);
            {
              const WithoutGil running;
              grads = node.apply(std::move(grads));
            }
            const nb::tuple results = tuple_of(grads);
            return grads.size() == 1 ? nb::object(results[0]) : nb::object(results);
          },
          "The gradients of the op's inputs, from those of its outputs. Hooks don't run.")
      .def("_sequence_nr", [](NodeBox& n) { return n.object->sequence(); })
      .def("_set_sequence_nr",
           [](NodeBox& n, std::uint64_t sequence) { n.object->set_sequence(sequence); });

  auto function = nb::class_<FunctionBox>(m, "_FunctionBase", node,
                                          nb::type_slots(node_slots<&function_dict_offset>()),
                                          "What autograd.Function's ctx is.");
  function_dict_offset = dict_offset_of(reinterpret_cast<PyTypeObject*>(function.ptr()));
  function
      .def_static(
          "_make",
          [](const nb::type_object& type, const std::string& name, nb::handle inputs) {
            auto* cls = reinterpret_cast<PyTypeObject*>(type.ptr());
            if (!PyType_IsSubtype(cls,
                                  reinterpret_cast<PyTypeObject*>(nb::type<FunctionBox>().ptr())))
              fail(ErrorKind::type, "type must inherit from _FunctionBase");
            const std::vector<Tensor> tensors = tensors_of(inputs, "an input", false);
            auto* node = new FunctionNode(name, static_cast<std::uint32_t>(tensors.size()));
            const Ref<Node> owner(node);
            std::uint32_t i = 0;
            for (const Tensor& t : tensors) node->edge(i++) = gradient_edge(t);
            return nb::steal(hand_over<Node>(reinterpret_cast<PyTypeObject*>(type.ptr()), node));
          },
          "A ctx of `type` with an edge for each tensor.")
      .def("_drop_edges",
           [](FunctionBox& b) {
             for (std::uint32_t i = 0; i < b.object->edge_count(); ++i) b.object->edge(i) = Edge{};
           })
      .def("_needs", [](FunctionBox& b, std::uint32_t i) { return b.object->needs(i); })
      .def("_save",
           [](FunctionBox& b, nb::handle tensors, const std::vector<std::int64_t>& output_numbers) {
             std::vector<Saved> saved;
             std::size_t i = 0;
             for (nb::handle t : tensors) {
               if (i == output_numbers.size())
                 fail(ErrorKind::value, "_save: fewer output numbers than tensors");
               const std::int64_t nr = output_numbers[i++];
               if (t.is_none()) {
                 saved.emplace_back();
               } else {
                 const Tensor tensor =
                     expect_tensor(t.ptr(), "save_for_backward(): every argument");
                 saved.push_back(nr >= 0 ? Saved::output(tensor, static_cast<std::uint32_t>(nr))
                                         : Saved(tensor));
               }
             }
             b.object->save(std::move(saved));
           })
      .def("_saved", [](FunctionBox& b) { return tuple_of(b.object->saved_tensors()); })
      .def_static(
          "_restrict_view",
          [](nb::handle output, bool several) {
            const Tensor view = expect_tensor(output.ptr(), "an output");
            GradMeta& meta = grad_meta(view);
            if (!meta.view) return;
            meta.view->creation =
                several ? ViewInfo::Creation::multi_output : ViewInfo::Creation::custom_function;
          },
          "Says that a view came out of a Function, one of `several` outputs: no in-place ops.")
      .def("_set_history",
           [](FunctionBox& b, nb::handle output, std::uint32_t nr) {
             set_history(expect_tensor(output.ptr(), "an output"), Ref<Node>(b.object), nr);
           })
      .def("_rebase_history", [](FunctionBox& b, nb::handle output) {
        rebase_history(expect_tensor(output.ptr(), "an output"), Ref<Node>(b.object));
      });
}

// --- hooks and running
// -------------------------------------------------------------------------------

void bind_hooks(nb::module_& m) {
  m.def("_add_hook", [](nb::handle t, nb::handle fn) {
    const Tensor tensor = expect_tensor(t.ptr(), "register_hook(): self");
    if (!tensor.requires_grad()) {
      fail(ErrorKind::runtime, "cannot register a hook on a tensor that doesn't require gradient");
    }
    return add_hook(tensor, PyHook(fn.ptr()), fn.ptr());
  });
  m.def("_add_accumulated_hook", [](nb::handle t, nb::handle fn) {
    return add_accumulated_hook(expect_tensor(t.ptr(), "self"), PyAccumulatedHook(fn.ptr()),
                                fn.ptr());
  });
  m.def("_remove_hook",
        [](nb::handle t, std::int64_t id) { remove_hook(expect_tensor(t.ptr(), "self"), id); });
}

// retain_graph: None, or anything with a truth value. (A handle, not std::optional<bool>: gcc warns
// of uninitialised memory in nanobind's caster for that.)
BackwardOptions options_of(nb::handle retain_graph, bool create_graph) {
  BackwardOptions options;
  if (!retain_graph.is_none()) {
    const int truth = PyObject_IsTrue(retain_graph.ptr());
    if (truth < 0) raise_python();
    options.retain_graph = truth == 1;
  }
  options.create_graph = create_graph;
  return options;
}

// Tensors, and graph.GradientEdge tuples of a node (or _AccumulateGrad) and a number.
std::vector<End> ends_of(nb::handle given, const char* what) {
  std::vector<End> result;
  const auto add = [&](nb::handle item) {
    if (is_tensor(item.ptr())) {
      result.emplace_back(tensor_of(item.ptr()));
    } else if (PyTuple_Check(item.ptr()) && nb::hasattr(item, "output_nr")) {
      const nb::object node = item[0];
      const auto nr = nb::cast<std::uint32_t>(item[1]);
      if (is_node(node.ptr())) {
        result.emplace_back(Edge{Ref<RefCounted>(node_of(node.ptr())), nr, false});
      } else {
        const Tensor leaf =
            expect_tensor(nb::object(node.attr("variable")).ptr(), "the variable of an edge");
        result.emplace_back(Edge{Ref<RefCounted>(leaf.impl()), 0, true});
      }
    } else {
      expect_tensor(item.ptr(), what);
    }
  };
  if (is_tensor(given.ptr()) || nb::hasattr(given, "_fields")) {
    add(given);
  } else {
    for (nb::handle item : given) add(item);
  }
  return result;
}

void bind_running(nb::module_& m) {
  m.def(
      "_backward",
      [](nb::handle tensors, nb::handle grads, nb::handle retain_graph, bool create_graph,
         nb::handle inputs) {
        const auto t = ends_of(tensors, "tensors");
        const auto g =
            grads.is_none() ? std::vector<Tensor>() : tensors_of(grads, "grad_tensors", true);
        const auto in = inputs.is_none() ? std::vector<End>() : ends_of(inputs, "inputs");
        if (!inputs.is_none() && in.empty()) {
          fail(ErrorKind::runtime, "`inputs` argument to `backward()` cannot be empty.");
        }
        const BackwardOptions options = options_of(retain_graph, create_graph);
        const KeepSavedHooks hooks;
        const WithoutGil running;
        backward(t, g, options, in);
      },
      nb::arg("tensors"), nb::arg("grads").none(), nb::arg("retain_graph").none(),
      nb::arg("create_graph"), nb::arg("inputs").none());
  m.def(
      "_grad",
      [](nb::handle outputs, nb::handle inputs, nb::handle grads, nb::handle retain_graph,
         bool create_graph, bool allow_unused) {
        const auto out = ends_of(outputs, "outputs");
        const auto in = ends_of(inputs, "inputs");
        const auto g =
            grads.is_none() ? std::vector<Tensor>() : tensors_of(grads, "grad_outputs", true);
        const BackwardOptions options = options_of(retain_graph, create_graph);
        std::vector<Tensor> result;
        {
          const KeepSavedHooks hooks;
          const WithoutGil running;
          result = grad(out, in, g, options, allow_unused);
        }
        return tuple_of(result);
      },
      nb::arg("outputs"), nb::arg("inputs"), nb::arg("grads").none(),
      nb::arg("retain_graph").none(), nb::arg("create_graph"), nb::arg("allow_unused"));
}

void bind_modes(nb::module_& m) {
  m.def(
      "is_grad_enabled", [] { return context().grad_enabled; }, "Whether ops are recorded.");
  m.def("is_inference_mode_enabled", [] { return context().inference; });
  m.def("_set_grad_enabled", [](bool on) { return std::exchange(context().grad_enabled, on); });
  m.def("_set_inference", [](bool on) { return std::exchange(context().inference, on); });
}

// A subclass of Node for each name of nodes, as programs that print graphs expect.
PyTypeObject* node_type(const std::string& name) {
  static auto* made = new std::unordered_map<std::string, PyTypeObject*>;
  PyTypeObject*& type = (*made)[name];
  if (!type) {
    const nb::handle base(reinterpret_cast<PyObject*>(types.node));
    nb::dict members;
    members["__module__"] = base.attr("__module__");
    members["__slots__"] = nb::tuple();
    const nb::handle meta(reinterpret_cast<PyObject*>(Py_TYPE(base.ptr())));
    type = reinterpret_cast<PyTypeObject*>(
        nb::object(meta(name, nb::make_tuple(base), members)).release().ptr());
  }
  return type;
}

}  // namespace

PyObject* wrap(const Ref<Node>& node) {
  if (!node) Py_RETURN_NONE;
  if (void* known = node->py_object()) {
    auto* object = static_cast<PyObject*>(known);
    Py_INCREF(object);
    return object;
  }
  return hand_over(node_type(node->name()), node.get());
}

void bind_autograd(nb::module_& m) {
  bind_modes(m);
  bind_node(m);
  bind_hooks(m);
  bind_running(m);
}

}  // namespace treadle::bind
