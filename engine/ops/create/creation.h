// What factories outside of creation.cpp share with those in it.
#pragma once
#include <optional>

#include "engine/core/tensor.h"

namespace treadle {

// Throws Error{runtime} for a device that isn't the CPU.
void check_device(const std::optional<Device>& device);
// What every factory does with its keyword arguments. Throws Error{runtime} for a device that isn't
// there.
Tensor finish(const Tensor& t, const std::optional<Device>& device,
              std::optional<bool> requires_grad);

}  // namespace treadle
