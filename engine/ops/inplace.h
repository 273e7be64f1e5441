// Rows of ops that have an in-place form alone (resize_, t_).
#pragma once
#include "engine/ops/native.h"

namespace treadle {

// The schema is that of the form without the underscore.
template <auto InPlace>
constexpr OpDef inplace_only(const char* schema, const char* doc, bool differentiable = false) {
  return {schema,
          doc,
          kInplace,
          differentiable,
          [](Value* args, Value* results) {
            detail::call_native_inplace<InPlace>(args);
            *results = args[0];
          },
          &detail::call_native_inplace<InPlace>,
          nullptr};
}

}  // namespace treadle
