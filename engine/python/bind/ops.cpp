// Every op of the table as Python functions, methods and in-place methods. CPython's METH_FASTCALL
// functions carry no data for methods, so that each name gets a small function of its own, made by
// a template over its position; they all lead to `dispatch`.
#include <array>
#include <map>
#include <memory>

#include "engine/ops/elementwise/elementwise.h"
#include "engine/ops/elementwise/map_facts.h"
#include "engine/python/bind/methods.h"
#include "engine/python/bind/override.h"
#include "engine/python/bind/parse.h"

namespace treadle::bind {
namespace {

// All overloads of one name.
struct Callable {
  std::string name;  // "sum", "add_"
  Form form = Form::function;
  std::vector<Signature> overloads;
  std::string doc;
  PyTypeObject* result_type = nullptr;  // of ops with several named results
  PyObject* function = nullptr;         // what Python calls; null for methods
  bool free = false;  // an in-place form that is a function: self is its first argument
};

std::vector<std::unique_ptr<Callable>>& callables() {
  static std::vector<std::unique_ptr<Callable>> all;
  return all;
}

// --- results
// ---------------------------------------------------------------------------------------

PyObject* wrap_tensors(std::vector<Tensor>& tensors) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(tensors.size()));
  if (!tuple) raise_python();
  Py_ssize_t i = 0;
  for (Tensor& t : tensors) PyTuple_SetItem(tuple, i++, wrap(std::move(t)));
  return tuple;
}

PyObject* wrap_value(Value& value) {
  struct Visitor {
    PyObject* operator()(std::monostate) { Py_RETURN_NONE; }
    PyObject* operator()(Tensor& t) { return wrap(std::move(t)); }
    PyObject* operator()(Scalar& s) {
      if (s.kind == Scalar::Kind::boolean) return PyBool_FromLong(s.i != 0);
      return s.kind == Scalar::Kind::integer ? PyLong_FromLongLong(s.i) : PyFloat_FromDouble(s.f);
    }
    PyObject* operator()(std::int64_t i) { return PyLong_FromLongLong(i); }
    PyObject* operator()(double d) { return PyFloat_FromDouble(d); }
    PyObject* operator()(bool b) { return PyBool_FromLong(b); }
    PyObject* operator()(std::string& s) { return PyUnicode_FromString(s.c_str()); }
    PyObject* operator()(DType d) { return wrap(d); }
    PyObject* operator()(Device d) { return wrap(d); }
    PyObject* operator()(Generator*) { Py_RETURN_NONE; }
    PyObject* operator()(Dims& d) { return wrap_tuple(d); }
    PyObject* operator()(std::vector<double>& v) {
      nb::list items;
      for (const double d : v) items.append(d);
      return nb::tuple(items).release().ptr();
    }
    PyObject* operator()(std::vector<Tensor>& v) { return wrap_tensors(v); }
  };
  return std::visit(Visitor{}, value);
}

// The names of several results: "-> (Tensor values, Tensor indices)".
std::vector<std::string> result_names(const char* schema) {
  const std::string_view text = schema;
  const std::size_t arrow = text.rfind("-> (");
  std::vector<std::string> names;
  if (arrow == std::string_view::npos) return names;
  std::string_view rest = text.substr(arrow + 4, text.size() - arrow - 5);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string_view item = rest.substr(0, comma);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    const std::size_t space = item.find(' ');
    if (space == std::string_view::npos) return {};
    names.emplace_back(item.substr(space + 1));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return names;
}

PyTypeObject* result_type(const std::string& name, const std::vector<std::string>& fields) {
  // Both arrays live as long as the type: forever.
  auto* stored = new std::vector<std::string>(fields);
  stored->push_back("treadle.return_types." + name);
  auto* description = new std::vector<PyStructSequence_Field>();
  for (std::size_t i = 0; i < fields.size(); ++i)
    description->push_back({(*stored)[i].c_str(), nullptr});
  description->push_back({nullptr, nullptr});
  PyStructSequence_Desc desc{stored->back().c_str(), nullptr, description->data(),
                             static_cast<int>(fields.size())};
  PyTypeObject* type = PyStructSequence_NewType(&desc);
  if (!type) raise_python();
  return type;
}

PyObject* wrap_results(const Callable& c, Values& results) {
  const auto count = static_cast<Py_ssize_t>(results.size());
  if (count == 0) Py_RETURN_NONE;
  if (count == 1) return wrap_value(results[0]);
  PyObject* made = c.result_type ? PyStructSequence_New(c.result_type) : PyTuple_New(count);
  if (!made) raise_python();
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = wrap_value(results[static_cast<std::size_t>(i)]);
    if (c.result_type) {
      PyStructSequence_SetItem(made, i, item);
    } else {
      PyTuple_SetItem(made, i, item);
    }
  }
  return made;
}

// --- calls
// -----------------------------------------------------------------------------------------

// Small work keeps the GIL: letting it go and taking it again costs more than the op.
bool is_large(std::span<const Value> values) {
  constexpr std::int64_t kLarge = 1 << 14;
  for (const Value& v : values) {
    if (const Tensor* t = std::get_if<Tensor>(&v)) {
      std::int64_t n = 1;
      for (const std::int64_t size : t->shape()) n *= size;
      if (n >= kLarge) return true;
    }
    if (const Dims* d = std::get_if<Dims>(&v)) {  // creation
      std::int64_t n = 1;
      for (const std::int64_t size : *d) n = size > 0 && n < kLarge ? n * size : n;
      if (n >= kLarge) return true;
    }
    if (std::holds_alternative<std::vector<Tensor>>(v)) return true;
  }
  return false;
}

template <class F>
void run(const Values& values, F f) {
  if (is_large(values.span())) {
    const WithoutGil running;
    f();
  } else {
    const GilHeld held;
    f();
  }
}

// zeros(2, out=t) makes what t holds; a dtype given beside out= must be t's.
void take_dtype(const Signature& s, Values& values, DType out) {
  for (std::size_t i = 0; i < s.schema->args.size(); ++i) {
    if (s.schema->args[i].type != ArgType::dtype) continue;
    if (const DType* given = std::get_if<DType>(&values[i]); given && *given != out) {
      fail(ErrorKind::runtime, "dtype " + std::string(info(*given).scalar) +
                                   " does not match dtype of out parameter (" +
                                   std::string(info(out).scalar) + ")");
    }
    values[i] = out;
  }
}

PyObject* call(const Callable& c, const Signature& s, const Call& given, Parsed& parsed) {
  if (c.form == Form::inplace) {
    run(parsed.values, [&] { invoke_inplace(*s.op, parsed.values.span()); });
    Py_INCREF(given.self);
    return given.self;
  }
  if (parsed.out) {
    std::vector<Tensor> outs;
    if (is_tensor(parsed.out)) {
      outs.push_back(tensor_of(parsed.out));
    } else {
      for (nb::handle item : nb::handle(parsed.out))
        outs.push_back(expect_tensor(item.ptr(), "out"));
    }
    if (s.creates && outs.size() == 1) take_dtype(s, parsed.values, outs[0].dtype());
    run(parsed.values, [&] { invoke_out(*s.op, parsed.values.span(), outs); });
    Py_INCREF(parsed.out);
    return parsed.out;
  }
  Values results(static_cast<std::size_t>(s.schema->returns));
  run(parsed.values, [&] { invoke(*s.op, parsed.values.span(), results.span().data()); });
  if (parsed.requires_grad) {
    for (Value& v : results.span()) std::get<Tensor>(v).set_requires_grad(true);
  }
  return wrap_results(c, results);
}

// A call that PyTorch refuses may be one in the spelling of the array API standard: max(x,
// keepdims=True), full(3, 1.0). Those are written in treadle/_array_api.py. Null: not one either.
PyObject* call_as_standard(const Callable& c, const Call& given) {
  thread_local bool inside = false;  // what a standard form calls is meant for PyTorch's
  if (inside || c.form != Form::function) return nullptr;
  inside = true;
  struct Leave {
    ~Leave() { inside = false; }
  } leave;
  nb::list args;
  nb::dict kwargs;
  for (Py_ssize_t i = 0; i < given.nargs; ++i) args.append(nb::handle(given.args[i]));
  const Py_ssize_t keywords = given.kwnames ? PyTuple_Size(given.kwnames) : 0;
  for (Py_ssize_t i = 0; i < keywords; ++i) {
    kwargs[nb::handle(PyTuple_GetItem(given.kwnames, i))] = nb::handle(given.args[given.nargs + i]);
  }
  try {
    nb::object made = nb::module_::import_("treadle._array_api")
                          .attr("call")(c.name.c_str(), nb::tuple(args), kwargs);
    return made.is(nb::handle(Py_NotImplemented)) ? nullptr : made.release().ptr();
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) throw;
    return nullptr;
  }
}

[[noreturn]] void no_overload(const Callable& c, const Call& given) {
  std::string why;
  if (c.overloads.size() == 1) {
    Parsed parsed(c.overloads[0]);
    parse(c.overloads[0], c.form, given, &parsed, &why);
    fail(ErrorKind::type, why);
  }
  why = c.name + "() received an invalid combination of arguments - got " + describe_call(given) +
        ", but expected one of:\n";
  for (const Signature& s : c.overloads) {
    std::string reason;
    Parsed parsed(s);
    parse(s, c.form, given, &parsed, &reason);
    why += " * " + s.text(c.form) + "\n      didn't match: " + reason + "\n";
  }
  fail(ErrorKind::type, why);
}

[[gnu::noinline]] PyObject* ask_override(const Callable& c, const Call& given) {
  const nb::object method =
      c.function ? nb::borrow(c.function)
                 : nb::handle(reinterpret_cast<PyObject*>(types.tensor)).attr(c.name.c_str());
  PyObject* made = call_override(method.ptr(), given.self, given.args, given.nargs, given.kwnames);
  if (made || !random_override()) return made;
  const auto draws = [](const Signature& s) {
    return std::any_of(s.schema->args.begin(), s.schema->args.end(),
                       [](const Arg& a) { return a.type == ArgType::generator; });
  };
  if (std::none_of(c.overloads.begin(), c.overloads.end(), draws)) return nullptr;
  nb::list positional;
  nb::dict named;
  if (given.self) positional.append(nb::handle(given.self));
  for (Py_ssize_t i = 0; i < given.nargs; ++i) positional.append(nb::handle(given.args[i]));
  const Py_ssize_t keywords = given.kwnames ? PyTuple_Size(given.kwnames) : 0;
  for (Py_ssize_t i = 0; i < keywords; ++i) {
    named[nb::handle(PyTuple_GetItem(given.kwnames, i))] = nb::handle(given.args[given.nargs + i]);
  }
  return nb::handle(random_override())(method, nb::tuple(positional), named).release().ptr();
}

constexpr std::size_t kMostCallables = 2048;
const Callable* called[kMostCallables];  // what callables() owns

PyObject* dispatch(std::size_t which, PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                   PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    const Callable& c = *called[which];
    Call given{c.form == Form::function ? nullptr : self, args, nargs, kwnames};
    if (c.free) {
      if (nargs == 0 || !is_tensor(args[0])) {
        fail(ErrorKind::type, c.name + "(): argument 'input' (position 1) must be Tensor" +
                                  (nargs == 0 ? "" : std::string(", not ") + type_name(args[0])));
      }
      given = {args[0], args + 1, nargs - 1, kwnames};
    }
    if (overrides_exist) [[unlikely]] {
      if (PyObject* made = ask_override(c, given)) return made;
    }
    for (const Signature& s : c.overloads) {
      Parsed parsed(s);
      if (parse(s, c.form, given, &parsed, nullptr)) return call(c, s, given, parsed);
    }
    // Objects that stand for tensors without being any.
    if (PyObject* made = ask_override(c, given)) return made;
    if (PyObject* made = call_as_standard(c, given)) return made;
    no_overload(c, given);
  });
}

template <std::size_t I>
PyObject* trampoline(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return dispatch(I, self, args, nargs, kwnames);
}

using Fast = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
template <std::size_t... I>
constexpr std::array<Fast, sizeof...(I)> make_trampolines(std::index_sequence<I...>) {
  return {&trampoline<I>...};
}
constexpr auto kTrampolines = make_trampolines(std::make_index_sequence<kMostCallables>{});

// --- building the tables
// ---------------------------------------------------------------------------

// Where the array API standard names arguments otherwise than the schema: the call that
// inspect.signature() shows. PyTorch's functions show none.
constexpr std::pair<std::string_view, std::string_view> kStandardSignatures[] = {
    {"arange", "(start, /, stop=None, step=1, *, dtype=None, device=None)"},
    {"clip", "(x, /, min=None, max=None)"},
    {"concat", "(arrays, /, *, axis=0)"},
    {"empty", "(shape, *, dtype=None, device=None)"},
    {"eye", "(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)"},
    {"fft_fftfreq", "(n, /, *, d=1.0, dtype=None, device=None)"},
    {"fft_rfftfreq", "(n, /, *, d=1.0, dtype=None, device=None)"},
    {"full", "(shape, fill_value, *, dtype=None, device=None)"},
    {"linspace", "(start, stop, /, num, *, dtype=None, device=None, endpoint=True)"},
    {"meshgrid", "(*arrays, indexing='ij')"},
    {"moveaxis", "(x, source, destination, /)"},
    {"ones", "(shape, *, dtype=None, device=None)"},
    {"roll", "(x, /, shift, *, axis=None)"},
    {"squeeze", "(x, /, axis=None)"},
    {"take", "(x, indices, /, *, axis=None)"},
    {"tile", "(x, repetitions, /)"},
    {"where", "(condition, x1, x2, /)"},
    {"zeros", "(shape, *, dtype=None, device=None)"},
};

std::string doc_of(const Callable& c, std::string_view prefix) {
  std::string doc;
  for (const auto& [name, signature] : kStandardSignatures) {
    if (c.form != Form::function || c.name != name) continue;
    // CPython takes it off the docstring, which must start with the name that Python sees.
    doc += c.name.substr(prefix.size()) + std::string(signature) + "\n--\n\n";
  }
  for (const Signature& s : c.overloads) {
    doc += c.name + s.text(c.form) + "\n";
    if (&s == &c.overloads.back()) doc += std::string("\n") + s.op->doc + "\n";
  }
  if (c.form == Form::inplace)
    doc += "\nWrites the result into the tensor itself and returns it.\n";
  return doc;
}

std::vector<std::pair<std::string, PyTypeObject*>>& result_types() {
  static std::vector<std::pair<std::string, PyTypeObject*>> all;
  return all;
}

// Adds a callable for the overloads that have `variant`; returns its number, or npos.
std::size_t add_callable(std::span<const OpDef> overloads, unsigned variant, Form form,
                         std::string_view prefix = "") {
  auto c = std::make_unique<Callable>();
  c->form = form;
  for (const OpDef& op : overloads) {
    // nn.functional's in-place forms aren't methods.
    if (variant == kInplace && (op.variants & kFunctional)) continue;
    if ((op.variants & variant) == variant) c->overloads.emplace_back(op);
  }
  if (c->overloads.empty()) return std::string::npos;
  c->name = std::string(c->overloads[0].schema->name) + (form == Form::inplace ? "_" : "");
  c->doc = doc_of(*c, prefix);
  for (const Signature& s : c->overloads) {
    const std::vector<std::string> names = result_names(s.op->schema);
    if (names.empty()) continue;
    static std::map<std::string, PyTypeObject*> known;
    PyTypeObject*& type = known[std::string(s.schema->name)];
    if (!type) {
      type = result_type(std::string(s.schema->name), names);
      result_types().emplace_back(s.schema->name, type);
    }
    c->result_type = type;
  }
  if (callables().size() == kMostCallables) {
    fail(ErrorKind::runtime,
         "the op table has more names than ops.cpp has trampolines: raise kMostCallables");
  }
  called[callables().size()] = c.get();
  callables().push_back(std::move(c));
  return callables().size() - 1;
}

PyMethodDef definition(std::size_t i) {
  const Callable& c = *callables()[i];
  return {c.name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(kTrampolines[i])),
          METH_FASTCALL | METH_KEYWORDS, c.doc.c_str()};
}

template <class F>
void for_each_name(F f) {
  const std::span<const OpDef> table = op_table();
  for (std::size_t i = 0; i < table.size();) {
    const std::span<const OpDef> overloads = find_op(schema_of(table[i]).name);
    f(overloads);
    i += overloads.size();
  }
}

// Whether PyTorch has the in-place form as a function beside the method (treadle.exp_(x)): that of
// ops of one tensor, and a few others.
bool writes_as_function(std::span<const OpDef> overloads) {
  const Schema& schema = schema_of(overloads[0]);
  static constexpr std::string_view kOthers[] = {"clamp", "clip", "gcd", "lcm", "ldexp", "xlogy"};
  if (std::find(std::begin(kOthers), std::end(kOthers), schema.name) != std::end(kOthers)) {
    return true;
  }
  if (overloads[0].variants & kFunctional) return true;
  const auto tensors = std::count_if(schema.args.begin(), schema.args.end(), [](const Arg& a) {
    return a.type == ArgType::tensor || a.type == ArgType::tensors;
  });
  return tensors == 1 && schema.args[0].name == "self";
}

// `prefix`: only the names that start with it, without it.
void add_functions(nb::module_& target, unsigned variant, std::string_view prefix = "",
                   Form form = Form::function) {
  for_each_name([&](std::span<const OpDef> overloads) {
    if (!schema_of(overloads[0]).name.starts_with(prefix)) return;
    if (form == Form::inplace && !writes_as_function(overloads)) return;
    const std::size_t i = add_callable(overloads, variant, form, prefix);
    if (i == std::string::npos) return;
    callables()[i]->free = form == Form::inplace;
    auto* def = new PyMethodDef(definition(i));  // lives as long as the module: forever
    def->ml_name += prefix.size();
    const nb::object module_name = target.attr("__name__");
    const nb::object fn = nb::steal(PyCFunction_NewEx(def, nullptr, module_name.ptr()));
    if (!fn.is_valid()) raise_python();
    target.attr(def->ml_name) = fn;
    callables()[i]->function = fn.ptr();  // the module keeps it
  });
}

}  // namespace

PyMethodDef* tensor_methods() {
  static std::vector<PyMethodDef> methods;
  if (!methods.empty()) return methods.data();
  const std::span<const PyMethodDef> own = own_methods();
  methods.assign(own.begin(), own.end());
  for_each_name([&](std::span<const OpDef> overloads) {
    for (const auto& [variant, form] : {std::pair{unsigned{kMethod}, Form::method},
                                        std::pair{unsigned{kInplace}, Form::inplace}}) {
      const std::size_t i = add_callable(overloads, variant, form);
      if (i == std::string::npos) continue;
      const bool hidden = std::any_of(own.begin(), own.end(), [&](const PyMethodDef& m) {
        return callables()[i]->name == m.ml_name;
      });
      if (!hidden) methods.push_back(definition(i));
    }
  });
  methods.push_back({nullptr, nullptr, 0, nullptr});
  return methods.data();
}

void bind_ops(nb::module_& m) {
  add_functions(m, kFunction);
  add_functions(m, kFunction | kInplace, "", Form::inplace);
  nb::module_ nn =
      m.def_submodule("_nn", "Ops of nn.functional that aren't functions of the package.");
  add_functions(nn, kFunctional);
  add_functions(nn, kFunctional | kInplace, "", Form::inplace);
  // The functions of treadle.linalg, treadle.fft and treadle.special.
  for (const std::string name : {"linalg", "fft", "special"}) {
    nb::module_ part = m.def_submodule(("_" + name).c_str());
    add_functions(part, kSubmodule, name + "_");
  }
  m.attr("_LinAlgError") = nb::borrow(linalg_error());
  nb::dict named;
  for (const auto& [name, type] : result_types()) {
    named[name.c_str()] = nb::handle(reinterpret_cast<PyObject*>(type));
  }
  m.attr("_return_types") = named;
  // For the stub generator, the documentation and the tests.
  m.def("_op_table", [] {
    nb::list rows;
    for (const OpDef& op : op_table()) {
      nb::dict row;
      row["schema"] = op.schema;
      row["doc"] = op.doc;
      row["variants"] = op.variants;
      row["differentiable"] = op.differentiable;
      row["elementwise"] = is_elementwise(op);
      if (const functor::Info* info = map_info(op.schema)) {
        row["domain"] = nb::make_tuple(info->domain.low, info->domain.high);
        row["ulp"] = nb::make_tuple(info->ulp32, info->ulp64);
        row["floor"] = info->floor;
        row["kinds"] = static_cast<int>(info->kinds);
      }
      row["numbers"] = op.numbers;
      row["writes_as_function"] = writes_as_function(find_op(schema_of(op).name));
      rows.append(row);
    }
    return rows;
  });
}

}  // namespace treadle::bind
