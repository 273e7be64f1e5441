// Reductions on the pool: over outputs, and along an axis that is long enough to be cut.
#pragma once
#include "engine/backend/kernel.h"

namespace treadle {

// Runs table().reduce[id][dtype]; `id` is a row of functor::Reduce, `dtype` that of the input. Same
// result and same bits as one call of the kernel. Throws Error{not_implemented} if there is no
// kernel.
void reduce(int id, DType dtype, const kernel::ReduceArgs& args);

// Runs a row kernel (table().softmax[...] and the like) over pieces of its rows.
void map_rows(kernel::RowFn fn, const kernel::RowArgs& args);

}  // namespace treadle
