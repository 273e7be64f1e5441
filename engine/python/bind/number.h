// The arithmetic slots of Tensor: `a + b`, `-a`, `a @ b`, `a < b`, `a += b`. The shortest way into
// an op.
#pragma once
#include <span>

#include "engine/python/bind/bind.h"

namespace treadle::bind {

std::span<const PyType_Slot> number_slots();
PyObject* compare_slot(PyObject* a, PyObject* b, int op);

}  // namespace treadle::bind
