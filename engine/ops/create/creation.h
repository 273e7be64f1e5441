// What factories outside of creation.cpp share with those in it.
#pragma once
#include <functional>
#include <optional>

#include "engine/core/tensor.h"
#include "engine/ops/native.h"

namespace treadle {

// Throws Error{runtime} for a device that isn't the CPU.
void check_device(const std::optional<Device>& device);
// What every factory does with its keyword arguments. Throws Error{runtime} for a device that isn't
// there.
Tensor finish(const Tensor& t, const std::optional<Device>& device,
              std::optional<bool> requires_grad);

// out= of a range: computed in its dtype, written row by row whatever its shape is, resized only
// for another number of elements. `dtype` is the call's argument, which `make` reads.
void write_range(const char* op, Value& dtype, const std::function<Tensor()>& make, Tensor& out);

// The row of a range: a function whose last arguments are dtype, device and requires_grad.
template <auto Fn, class... Args>
constexpr void (*range_out(Tensor (*)(Args...)))(Value*, Tensor*) {
  return [](Value* args, Tensor* outs) {
    const auto make = [args] {
      Value result;
      detail::call_native<Fn>(args, &result);
      return std::get<Tensor>(result);
    };
    write_range("range", args[sizeof...(Args) - 3], make, *outs);
  };
}
template <auto Fn>
constexpr OpDef range_op(const char* schema, const char* doc) {
  OpDef op = native<Fn>(schema, doc, kFunction | kOut, false);
  op.call_out = range_out<Fn>(Fn);
  return op;
}

}  // namespace treadle
