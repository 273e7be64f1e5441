// Everything a C++ program needs: tensors, ops, autograd, random numbers. See docs/cpp.md.
#pragma once
#include "engine/autograd/engine.h"
#include "engine/autograd/node.h"
#include "engine/core/context.h"
#include "engine/core/dtype.h"
#include "engine/core/random.h"
#include "engine/core/tensor.h"
#include "engine/ops/names.h"
#include "engine/ops/table.h"
