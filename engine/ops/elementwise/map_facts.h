// What the lists in functor/ say of an elementwise op beside its schema: for the documentation.
#pragma once
#include <string_view>

#include "engine/functor/op.h"

#pragma GCC visibility push(default)
namespace treadle {

// The Info of the struct whose schema this is; null for ops that aren't elementwise.
const functor::Info* map_info(std::string_view schema);

}  // namespace treadle
#pragma GCC visibility pop
