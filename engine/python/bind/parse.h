// From Python's arguments to an op's Values, driven by the parsed schema: names, defaults,
// keyword-only, None, one int for a list, varargs of ints, aliases of NumPy. One parser for every
// function and method.
#pragma once
#include <string>
#include <vector>

#include "engine/ops/table.h"
#include "engine/python/bind/bind.h"
#include "engine/python/bind/values.h"

namespace treadle::bind {

enum class Form { function, method, inplace };

// One overload, ready to be called from Python.
struct Signature {
  const OpDef* op = nullptr;
  const Schema* schema = nullptr;
  int self = -1;         // which argument a method is called on
  bool creates = false;  // takes requires_grad=, pin_memory= and layout= like PyTorch's creation
  int positional[2] = {0, 0};    // how many arguments may be positional: as function, as method
  int varargs[2] = {-1, -1};     // the int list that x.view(2, 3) may spell out; -1: none
  std::vector<Value> defaults;   // monostate for required ones: see `required`
  std::vector<bool> number_ok;   // a Tensor argument that may be a Python number
  std::vector<PyObject*> names;  // interned, for identity comparison with keywords; never freed

  explicit Signature(const OpDef& op);
  // "(Tensor input, Tensor other, *, Number alpha=1)"
  std::string text(Form form) const;
  std::string python_name(std::size_t arg, Form form) const;
};

// Arguments of one call.
struct Call {
  PyObject* self = nullptr;  // of a method
  PyObject* const* args = nullptr;
  Py_ssize_t nargs = 0;
  PyObject* kwnames = nullptr;  // tuple or null; their values follow the positional ones
};

struct Parsed {
  explicit Parsed(const Signature& s) : values(s.schema->args.size()) {}
  Values values;
  PyObject* out = nullptr;  // borrowed
  bool requires_grad = false;
};

// False if the call doesn't fit; then *why says so in PyTorch's words (if why isn't null).
bool parse(const Signature& s, Form form, const Call& call, Parsed* parsed, std::string* why);

// "(Tensor, float, other=int)", for the error that lists the overloads.
std::string describe_call(const Call& call);

}  // namespace treadle::bind
