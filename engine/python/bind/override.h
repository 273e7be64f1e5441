// __torch_function__: classes that take over the calls their objects are given to (subclasses of
// Tensor, and others that stand for tensors), and modes, which take over all calls of a thread.
// Until the first such subclass or mode is made nothing looks for one, so that ordinary calls pay
// one branch. A new way in from Python that doesn't go through `dispatch` (ops.cpp) asks
// call_override first, if overrides_exist.
#pragma once
#include "engine/python/bind/bind.h"

namespace treadle::bind {

extern bool overrides_exist;

// What the override of one of the arguments (or the innermost mode) returns for `func`; null
// without an exception if none of them has one, or if overrides are off in this thread. `self` may
// be null.
PyObject* call_override(PyObject* func, PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                        PyObject* kwnames);
// The same for a method of Tensor by name: its descriptor is the `func`.
PyObject* call_override(const char* method, PyObject* self, PyObject* argument);
PyObject* call_override(const char* method, PyObject* self, PyObject* first, PyObject* second);
PyObject* call_override(const char* method, PyObject* self);
// The same for an attribute: Tensor.name.__get__.
PyObject* call_attribute_override(const char* attribute, PyObject* self);

// Whether the object's class has a __torch_function__ of its own.
bool takes_over(PyObject* o);

// While set in this thread, asked for ops that draw random numbers and were given no override
// (vmap's randomness); null: nobody.
PyObject* random_override();

void bind_override(nb::module_& m);

}  // namespace treadle::bind
