// Which image of a fat binary serves a device: SASS by compute capability, PTX by the driver.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "matrix/cuda_table.h"
#include "matrix/facts.h"

namespace felloe {

struct Service {
  enum class State { fits, does_not_fit, undecided };
  State state = State::does_not_fit;
  std::string via;                 // "sass", "ptx" or empty
  std::string image;               // "sm_86", "compute_90"
  bool ambiguous = false;          // the image may be plain or a family one
  std::vector<std::string> codes;  // why, or how
};

struct DriverSide {
  bool tegra_exact = false;         // Tegra under CUDA <= 12: only the equal capability
  std::optional<std::string> cuda;  // what the driver can JIT for
};

// `runtime`: the CUDA version that PTX without a version line counts as.
Service serve(const CudaLibrary& library, const std::vector<std::string>& ambiguous,
              const Fact<std::string>& runtime, const ComputeCapability& device,
              const DriverSide& driver);

}  // namespace felloe
