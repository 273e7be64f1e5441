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
// Where the elements aren't aligned: a copy, or if that may not be, Error{value}. (exchange.cpp)
Tensor share_buffer(PyObject* exporter, const char* what, bool may_copy = true);
// Whether elements of dtype can't be read at this address.
bool misaligned(const void* data, DType dtype);

}  // namespace treadle::bind
