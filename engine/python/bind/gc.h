// The graph as Python's garbage collector sees it: see gc.cpp.
#pragma once
#include <atomic>

#include "engine/python/bind/bind.h"

namespace treadle::bind {

// The rest of tp_traverse of a tensor or node: all that it holds of the graph. Not its __dict__.
int visit_graph(const TensorImpl& tensor, visitproc visit, void* arg) noexcept;
int visit_graph(const Node& node, visitproc visit, void* arg) noexcept;

int visit_dict(PyObject* self, Py_ssize_t dict_offset, visitproc visit, void* arg);
void clear_dict(PyObject* self, Py_ssize_t dict_offset);
Py_ssize_t dict_offset_of(PyTypeObject* type);

}  // namespace treadle::bind
