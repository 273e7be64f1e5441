// Which rows of the op table are functions of elements: transforms of whole tensors treat those
// alike.
#pragma once
#include "engine/ops/table.h"

#pragma GCC visibility push(default)
namespace treadle {

bool is_elementwise(const OpDef& op);

}  // namespace treadle
#pragma GCC visibility pop
