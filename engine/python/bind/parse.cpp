// See parse.h. To add an argument type: ArgType in ops/schema.h, then `convert` here.
#include "engine/python/bind/parse.h"

#include <algorithm>

#include "engine/core/random.h"
#include "engine/ops/names.h"
#include "engine/python/bind/create.h"

namespace treadle::bind {
namespace {

// Arguments where PyTorch takes a number for a tensor: what the op says, else operands that
// broadcast.
bool takes_number(const OpDef& op, const Schema& schema, std::size_t i) {
  const Arg& arg = schema.args[i];
  if (arg.type != ArgType::tensor) return false;
  if (op.numbers >= 0) {  // tensors come first in such an op
    return i < 7 && (op.numbers >> i & 1) != 0;
  }
  static constexpr std::string_view kOperands[] = {"self",  "other", "exponent", "value",
                                                   "input", "x",     "n"};
  if (std::find(std::begin(kOperands), std::end(kOperands), arg.name) == std::end(kOperands))
    return false;
  static constexpr std::string_view kNotBroadcast[] = {
      "matmul",      "expand_as", "view_as", "reshape_as", "type_as",  "equal",  "isclose",
      "dot",         "inner",     "outer",   "kron",       "cross",    "linear", "allclose",
      "sum_to_size", "max",       "min",     "vdot",       "tensordot"};
  if (schema.name.starts_with("linalg_")) return false;
  const bool broadcasts = std::find(std::begin(kNotBroadcast), std::end(kNotBroadcast),
                                    schema.name) == std::end(kNotBroadcast);
  // A lone operand has nothing to broadcast with: tanh(1.0) is an error.
  const auto operands = std::count_if(schema.args.begin(), schema.args.end(), [](const Arg& a) {
    return a.type == ArgType::tensor &&
           std::find(std::begin(kOperands), std::end(kOperands), a.name) != std::end(kOperands);
  });
  return broadcasts && operands >= 2;
}

// Ops that take two numbers, too: add(1, 2) is tensor(3), as in PyTorch.
bool takes_only_numbers(const OpDef& op) {
  return op.numbers >= 0 && (op.numbers & OpDef::kOnlyNumbers) != 0;
}

// Functions of any number of tensors, that PyTorch writes as *tensors.
bool takes_tensors_one_by_one(const Schema& schema) {
  static constexpr std::string_view kOps[] = {"broadcast_tensors", "block_diag", "meshgrid",
                                              "cartesian_prod"};
  return std::find(std::begin(kOps), std::end(kOps), schema.name) != std::end(kOps) ||
         (schema.name.starts_with("atleast_") && schema.args[0].type == ArgType::tensors);
}

struct Alias {
  std::string_view name, alias;
};
constexpr Alias kAliases[] = {{"self", "input"},       {"self", "x"},       {"self", "x1"},
                              {"dim", "axis"},         {"dim", "axes"},     {"dims", "axis"},
                              {"dims", "axes"},        {"shifts", "shift"}, {"other", "x2"},
                              {"keepdim", "keepdims"}, {"size", "shape"}};

}  // namespace

Signature::Signature(const OpDef& definition) : op(&definition), schema(&schema_of(definition)) {
  bool has_dtype = false, has_device = false;
  for (std::size_t i = 0; i < schema->args.size(); ++i) {
    const Arg& arg = schema->args[i];
    if (arg.name == "self" || (self < 0 && arg.type == ArgType::tensor)) self = static_cast<int>(i);
    if (!arg.keyword_only) {
      ++positional[0];
      ++positional[1];
    }
    has_dtype = has_dtype || arg.type == ArgType::dtype;
    has_device = has_device || arg.type == ArgType::device;
    defaults.push_back(arg.has_default ? default_value(definition, arg) : Value());
    number_ok.push_back(takes_number(definition, *schema, i));
    names.push_back(PyUnicode_InternFromString(std::string(arg.name).c_str()));
  }
  if (self >= 0) --positional[1];
  creates = has_dtype && has_device;
  for (const bool method : {false, true}) {
    for (std::size_t i = 0; i < schema->args.size() && positional[method] == 1; ++i) {
      const Arg& arg = schema->args[i];
      if ((method && static_cast<int>(i) == self) || arg.keyword_only) continue;
      if ((arg.type == ArgType::ints && arg.list_size < 1) || takes_tensors_one_by_one(*schema))
        varargs[method] = static_cast<int>(i);
      break;
    }
  }
  if (schema->args.size() > Values::kMost) {
    fail(ErrorKind::runtime, std::string(schema->name) + ": the schema has more than " +
                                 std::to_string(Values::kMost) + " arguments");
  }
}

std::string Signature::python_name(std::size_t i, Form form) const {
  const std::string_view name = schema->args[i].name;
  if (name == "self" && form == Form::function) return "input";
  return std::string(name);
}

std::string Signature::text(Form form) const {
  std::string text = "(";
  bool star = false;
  for (std::size_t i = 0; i < schema->args.size(); ++i) {
    const Arg& arg = schema->args[i];
    if (form != Form::function && static_cast<int>(i) == self) continue;
    if (text.size() > 1) text += ", ";
    if (arg.keyword_only && !star) {
      text += "*, ";
      star = true;
    }
    text += std::string(type_text(arg.type)) + " " + python_name(i, form);
    if (arg.has_default) text += " = " + std::string(arg.default_text);
  }
  if (form == Form::function && op->call_out) {
    text += std::string(text.size() > 1 ? ", " : "") + (star ? "" : "*, ") + "Tensor out = None";
  }
  return text + ")";
}

namespace {

// Fills values[i]; false if the object isn't of the argument's type.
bool convert(const Arg& arg, bool number_ok, PyObject* o, Values& values, std::size_t i) {
  if (o == Py_None) return arg.optional;  // None is what a fresh Value is
  Value* out = &values[i];
  switch (arg.type) {
    case ArgType::tensor: {
      if (is_tensor(o)) {
        values.borrow(i, o);
        return true;
      }
      Scalar number;
      if (!number_ok || !to_scalar(o, &number)) return false;
      *out = number;
      return true;
    }
    case ArgType::scalar: {
      Scalar number;
      if (!to_scalar(o, &number)) return false;
      *out = number;
      return true;
    }
    case ArgType::integer: {
      std::int64_t value = 0;
      if (PyBool_Check(o)) return false;
      // Of tensors only those of no dimension; a vector of one element is something else.
      if (is_tensor(o) && (!impl_of(o)->shape.empty() || impl_of(o)->dtype == DType::boolean)) {
        return false;
      }
      if (!to_int(o, &value)) return false;
      *out = value;
      return true;
    }
    case ArgType::floating: {
      Scalar number;
      if (PyBool_Check(o) || !to_scalar(o, &number) || number.kind == Scalar::Kind::complex) {
        return false;
      }
      *out = number.f;
      return true;
    }
    case ArgType::boolean:
      if (!PyBool_Check(o)) return false;
      *out = o == Py_True;
      return true;
    case ArgType::string:
      if (!PyUnicode_Check(o)) return false;
      *out = string_of(o);
      return true;
    case ArgType::dtype: {
      DType dtype{};
      if (!to_dtype(o, &dtype)) return false;
      *out = dtype;
      return true;
    }
    case ArgType::device: {
      Device device;
      if (!to_device(o, &device)) return false;
      *out = device;
      return true;
    }
    case ArgType::layout:
    case ArgType::memory_format: {
      std::int64_t value = 0;
      if (arg.type == ArgType::layout ? !to_layout(o, &value) : !to_memory_format(o, &value)) {
        return false;
      }
      *out = value;
      return true;
    }
    case ArgType::generator:
      if (!PyType_IsSubtype(Py_TYPE(o), types.generator)) return false;
      *out = nb::inst_ptr<Generator>(nb::handle(o));
      return true;
    case ArgType::ints: {
      Dims dims;
      std::int64_t value = 0;
      if (to_dims(o, &dims)) {
        *out = std::move(dims);
        return true;
      }
      if (arg.list_size < 1 || PyBool_Check(o) || !to_int(o, &value)) return false;
      *out = Dims(arg.list_size, value);
      return true;
    }
    case ArgType::floats:
    case ArgType::bools:
    case ArgType::tensors:
      break;
  }
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  std::vector<Tensor> tensors;
  std::vector<double> floats;
  Dims bools;
  for (nb::handle item : nb::handle(o)) {
    if (arg.type == ArgType::tensors) {
      if (item.is_none() && arg.optional_elements) {
        tensors.emplace_back();
      } else if (is_tensor(item.ptr())) {
        tensors.push_back(tensor_of(item.ptr()));
      } else {
        return false;
      }
    } else if (arg.type == ArgType::floats) {
      Scalar number;
      if (!to_scalar(item.ptr(), &number) || number.kind == Scalar::Kind::complex) return false;
      floats.push_back(number.f);
    } else {
      if (!PyBool_Check(item.ptr())) return false;
      bools.push_back(item.ptr() == Py_True);
    }
  }
  if (arg.type == ArgType::tensors) {
    *out = std::move(tensors);
  } else if (arg.type == ArgType::floats) {
    *out = std::move(floats);
  } else {
    *out = std::move(bools);
  }
  return true;
}

// "not float", or for a list the element that is wrong.
std::string what_instead(const Arg& arg, PyObject* o) {
  const auto name = [](PyObject* x) {
    return x == Py_None ? std::string("NoneType") : std::string(type_name(x));
  };
  if (PyTuple_Check(o) || PyList_Check(o)) {
    const Py_ssize_t count = PySequence_Size(o);
    for (Py_ssize_t i = 0; i < count; ++i) {
      const nb::object item = nb::steal(PySequence_GetItem(o, i));
      if (!item.is_valid()) raise_python();
      std::int64_t value = 0;
      const bool right = arg.type == ArgType::ints      ? to_int(item.ptr(), &value)
                         : arg.type == ArgType::tensors ? is_tensor(item.ptr())
                                                        : true;
      if (!right)
        return "but found element of type " + name(item.ptr()) + " at pos " + std::to_string(i);
    }
  }
  return "not " + name(o);
}

bool same_name(PyObject* given, PyObject* interned, std::string_view name) {
  return given == interned || string_of(given) == name;
}

// Position of a keyword among the arguments, or -1.
int find_argument(const Signature& s, Form form, PyObject* keyword) {
  const std::vector<Arg>& args = s.schema->args;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (form != Form::function && static_cast<int>(i) == s.self) continue;
    if (same_name(keyword, s.names[i], args[i].name)) return static_cast<int>(i);
  }
  const std::string given = string_of(keyword);
  for (const Alias& alias : kAliases) {
    if (given != alias.alias) continue;
    // max(x, axis=0, keepdims=True) is the array API standard's: the values alone (_array_api.py).
    const bool extremum = s.schema->name == "max" || s.schema->name == "min";
    if (extremum && form == Form::function && alias.alias == "keepdims") continue;
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (form != Form::function && static_cast<int>(i) == s.self) continue;
      if (args[i].name == alias.name) return static_cast<int>(i);
    }
  }
  return -1;
}

std::string op_name(const Signature& s, Form form) {
  return std::string(s.schema->name) + (form == Form::inplace ? "_" : "") + "()";
}

// Keywords that aren't in the schema. Returns false if it isn't one of them.
bool extra_keyword(const Signature& s, Form form, PyObject* keyword, PyObject* value,
                   Parsed* parsed) {
  const std::string name = string_of(keyword);
  if (name == "out" && form == Form::function && s.op->call_out) {
    parsed->out = value == Py_None ? nullptr : value;
    return value == Py_None || is_tensor(value) || PyTuple_Check(value) || PyList_Check(value);
  }
  if (!s.creates) return false;
  if (name == "requires_grad" && PyBool_Check(value)) {
    parsed->requires_grad = value == Py_True;
    return true;
  }
  std::int64_t layout = 0;
  if (name == "layout") return value == Py_None || to_layout(value, &layout);
  return name == "pin_memory" && (PyBool_Check(value) || value == Py_None);
}

// The objects given for each argument; null: none. False if a name is wrong or given twice.
// `positional` are the call's, or the tuple of them.
bool match(const Signature& s, Form form, const Call& call, std::span<PyObject* const> positional,
           PyObject** given, Parsed* parsed, std::string* why) {
  const std::vector<Arg>& args = s.schema->args;
  const bool method = form != Form::function;
  std::size_t next = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const bool takes = next < positional.size() && !(method && static_cast<int>(i) == s.self);
    given[i] = takes ? positional[next++] : nullptr;
  }
  const Py_ssize_t keywords = call.kwnames ? PyTuple_Size(call.kwnames) : 0;
  for (Py_ssize_t k = 0; k < keywords; ++k) {
    PyObject* keyword = PyTuple_GetItem(call.kwnames, k);
    PyObject* value = call.args[call.nargs + k];
    const int i = find_argument(s, form, keyword);
    if (i < 0) {
      if (extra_keyword(s, form, keyword, value, parsed)) continue;
      if (why)
        *why =
            op_name(s, form) + " got an unexpected keyword argument '" + string_of(keyword) + "'";
      return false;
    }
    // Set above for every argument.
    if (given[static_cast<std::size_t>(i)]) {  // NOLINT(clang-analyzer-core.uninitialized.*)
      if (why)
        *why = op_name(s, form) + " got multiple values for argument '" + string_of(keyword) + "'";
      return false;
    }
    given[static_cast<std::size_t>(i)] = value;
  }
  return true;
}

}  // namespace

bool parse(const Signature& s, Form form, const Call& call, Parsed* parsed, std::string* why) {
  const std::vector<Arg>& args = s.schema->args;
  const bool method = form != Form::function;
  std::span<PyObject* const> positional(call.args, static_cast<std::size_t>(call.nargs));
  // x.view(2, 3): ints in place of the one list of ints. Likewise the tensors of broadcast_tensors.
  nb::object packed;
  PyObject* only = nullptr;
  const auto unpacked = [&](PyObject* first) {
    const bool tensors = args[static_cast<std::size_t>(s.varargs[method])].type == ArgType::tensors;
    if (is_tensor(first)) {
      const TensorImpl& i = *impl_of(first);
      const bool integer = is_integral(i.dtype) && i.dtype != DType::boolean && i.shape.empty();
      return tensors || integer;
    }
    return !tensors && PyIndex_Check(first) && !PyBool_Check(first);
  };
  if (s.varargs[method] >= 0 && !positional.empty() && unpacked(positional[0])) {
    packed = nb::steal(PyTuple_New(call.nargs));
    if (!packed.is_valid()) raise_python();
    for (Py_ssize_t i = 0; i < call.nargs; ++i) {
      Py_INCREF(call.args[i]);
      PyTuple_SetItem(packed.ptr(), i, call.args[i]);
    }
    only = packed.ptr();
    positional = {&only, 1};
  }
  if (call.nargs == 0 && !method && takes_tensors_one_by_one(*s.schema)) {  // none of them
    packed = nb::steal(PyTuple_New(0));
    only = packed.ptr();
    positional = {&only, 1};
  }
  const int most = s.positional[method];
  if (static_cast<int>(positional.size()) > most) {
    if (why) {
      *why = op_name(s, form) + " takes " + std::to_string(most) + " positional argument" +
             (most == 1 ? "" : "s") + " but " + std::to_string(positional.size()) +
             (positional.size() == 1 ? " was" : " were") + " given";
    }
    return false;
  }
  PyObject* given[Values::kMost];
  if (!match(s, form, call, positional, given, parsed, why)) return false;

  std::string missing;
  int missing_count = 0;
  Py_ssize_t position = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (method && static_cast<int>(i) == s.self) {
      parsed->values.borrow(i, call.self);
      continue;
    }
    ++position;
    if (!given[i]) {  // NOLINT(clang-analyzer-core.uninitialized.*): match() set them all
      if (args[i].has_default) {
        if (s.defaults[i].index() != 0) parsed->values[i] = s.defaults[i];
      } else {
        missing += std::string(missing_count++ ? ", " : "") + "\"" + s.python_name(i, form) + "\"";
      }
      continue;
    }
    if (convert(args[i], s.number_ok[i], given[i], parsed->values, i)) continue;
    if (why) {
      *why = op_name(s, form) + ": argument '" + s.python_name(i, form) + "' " +
             (args[i].keyword_only ? "" : "(position " + std::to_string(position) + ") ") +
             "must be " + type_text(args[i].type) + ", " + what_instead(args[i], given[i]);
    }
    return false;
  }
  if (missing_count) {
    if (why) {
      *why = op_name(s, form) + " missing " + std::to_string(missing_count) +
             " required positional arguments: " + missing;
    }
    return false;
  }
  if (method || s.self < 0) return true;
  // add(1, 2) has no tensor in it.
  const auto self = static_cast<std::size_t>(s.self);
  const std::span<const Value> values = parsed->values.span();
  const auto is_tensor_value = [](const Value& v) { return std::holds_alternative<Tensor>(v); };
  if (args[self].type == ArgType::tensor &&
      std::none_of(values.begin(), values.end(), is_tensor_value)) {
    if (const Scalar* number = std::get_if<Scalar>(&values[self]);
        number && takes_only_numbers(*s.op)) {
      parsed->values[self] = full({}, *number);
      return true;
    }
    if (why) {
      *why = op_name(s, form) + ": argument '" + s.python_name(self, form) +
             "' (position 1) must be Tensor, not " + type_name(given[self]);
    }
    return false;
  }
  return true;
}

std::string describe_call(const Call& call) {
  std::string text = "(";
  const Py_ssize_t keywords = call.kwnames ? PyTuple_Size(call.kwnames) : 0;
  for (Py_ssize_t i = 0; i < call.nargs + keywords; ++i) {
    if (i) text += ", ";
    if (i >= call.nargs) text += string_of(PyTuple_GetItem(call.kwnames, i - call.nargs)) + "=";
    text += type_name(call.args[i]);
  }
  return text + ")";
}

}  // namespace treadle::bind
