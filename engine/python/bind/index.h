// Tensor.__getitem__ and __setitem__, and the buffer protocol's slots.
#pragma once
#include "engine/python/bind/bind.h"

namespace treadle::bind {

PyObject* get_item(PyObject* self, PyObject* index);
int set_item(PyObject* self, PyObject* index, PyObject* value);  // value null: deletion, refused

int get_buffer(PyObject* self, Py_buffer* view, int flags);  // exchange.cpp
void release_buffer(PyObject* self, Py_buffer* view);

}  // namespace treadle::bind
