// The methods of Tensor: those of the op table and the hand-written ones.
#pragma once
#include <span>

#include "engine/python/bind/bind.h"

namespace treadle::bind {

// For Py_tp_methods; lives forever. A hand-written method hides an op of the same name.
PyMethodDef* tensor_methods();
std::span<const PyMethodDef> own_methods();  // methods.cpp

}  // namespace treadle::bind
