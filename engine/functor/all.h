// Every op with a kernel. Lists: Unary, Binary, Compare, Ternary, Reduce.
#pragma once
#include "engine/functor/binary.h"
#include "engine/functor/compare.h"
#include "engine/functor/reduce.h"
#include "engine/functor/ternary.h"
#include "engine/functor/unary.h"
