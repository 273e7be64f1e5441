// Tensors from Python data.
#pragma once
#include "engine/python/bind/bind.h"

namespace treadle::bind {

// Numbers, nested sequences, arrays (anything with the buffer protocol) or tensors; always a copy.
// Without a dtype: that of the data, where Python floats have the default dtype.
Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype);
// As above for an index: an empty list is an int64 tensor.
Tensor tensor_from_index(PyObject* data);
// Shares the memory of an exporter of the buffer protocol. `what` names the function in errors.
Tensor share_buffer(PyObject* exporter, const char* what);  // exchange.cpp

}  // namespace treadle::bind
