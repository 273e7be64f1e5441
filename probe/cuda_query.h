// Questions to NVIDIA's driver libraries, opened at run time. Every answer is a value or
// {"error": NAME}; a missing library is null. C signatures: NVML API reference, CUDA driver API.
#pragma once
#include <string>

#include "matrix/base/json.h"

namespace felloe {

// {"path", "init", "driver", "cuda", "devices": [{"name", "cc": [major, minor], "memory_bytes",
// "mig_mode", "mig_slices", "uuid"?}]}. UUIDs only if asked for: they identify the machine.
Json query_nvml(const std::string& library, bool with_uuids);

// {"path", "cuda"}: cuDriverGetVersion, which needs no initialisation and touches no device.
Json query_libcuda(const std::string& library);

// {"init", "devices": [{"name", "cc", "memory_bytes"}]}: cuInit, for machines without NVML (Tegra).
Json query_libcuda_devices(const std::string& library);

}  // namespace felloe
