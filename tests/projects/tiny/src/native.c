/* One function and one constant. __FILE__ is compiled in: a path of the machine would show in the wheel. */
#include <Python.h>

static PyObject* twice(PyObject* self, PyObject* argument) {
  (void)self;
  const long value = PyLong_AsLong(argument);
  if (value == -1 && PyErr_Occurred()) return NULL;
  return PyLong_FromLong(2 * value);
}

static PyMethodDef methods[] = {{"twice", twice, METH_O, "twice(n): 2 * n"}, {NULL, NULL, 0, NULL}};

static int fill(PyObject* module) {
  if (PyModule_AddStringConstant(module, "__version__", TINY_VERSION) < 0) return -1;
  return PyModule_AddStringConstant(module, "source", __FILE__);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void*)fill}, {0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", "One function.", 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module); }
