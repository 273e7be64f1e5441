// CUDA programming guide, "Compute capabilities" and "Family-specific features"; CUDA for Tegra;
// PTX ISA.
#include "matrix/gpu_image.h"

#include <algorithm>

#include "matrix/base/text.h"

namespace felloe {
namespace {

bool same(const GpuArch& arch, const ComputeCapability& device) {
  return arch.major == device.major && arch.minor == device.minor;
}

bool family_member(const GpuArch& arch, const ComputeCapability& device) {
  // 10.1 has the number of the 10.x parts and is of another family (it became 11.0).
  const bool odd_one = arch.major == 10 && (arch.minor == 1) != (device.minor == 1);
  return arch.major == device.major && device.minor >= arch.minor && !odd_one;
}

// Ignoring the suffix: would a plain image of this number run?
bool plain_runs(const GpuArch& arch, const ComputeCapability& device) {
  return arch.major == device.major && device.minor >= arch.minor;
}

bool sass_runs(const GpuArch& arch, const ComputeCapability& device, bool exact) {
  if (exact || arch.suffix == 'a') return same(arch, device);
  return arch.suffix == 'f' ? family_member(arch, device) : plain_runs(arch, device);
}

bool plain_ptx_compiles(const GpuArch& arch, const ComputeCapability& device) {
  return arch.major < device.major || (arch.major == device.major && arch.minor <= device.minor);
}

bool ptx_compiles(const GpuArch& arch, const ComputeCapability& device) {
  if (arch.suffix == 'a') return same(arch, device);
  if (arch.suffix == 'f') return family_member(arch, device);
  return plain_ptx_compiles(arch, device);
}

std::optional<std::string> cuda_needed(const PtxImage& ptx, const Fact<std::string>& runtime) {
  if (ptx.isa.known()) return cuda_of_ptx(*ptx.isa);
  if (runtime.known()) return *runtime;
  return std::nullopt;
}

// How PTX could serve: "" (not at all), "GPU_PTX_JIT", "GPU_PTX_UNKNOWN" or "GPU_PTX_TOO_NEW".
std::string serve_by_ptx(const std::vector<PtxImage>& list, const Fact<std::string>& runtime,
                         const ComputeCapability& device, const DriverSide& driver,
                         std::string& image) {
  const PtxImage* best = nullptr;
  bool unknown = false, too_new = false;
  for (const PtxImage& ptx : list) {
    if (!ptx_compiles(GpuArch::parse(ptx.arch), device)) continue;
    const auto needed = cuda_needed(ptx, runtime);
    if (!needed || !driver.cuda) {
      unknown = true;
    } else if (compare_versions(*driver.cuda, *needed) < 0) {
      too_new = true;
    } else if (best == nullptr ||
               plain_ptx_compiles(GpuArch::parse(best->arch), {GpuArch::parse(ptx.arch).major,
                                                               GpuArch::parse(ptx.arch).minor})) {
      best = &ptx;  // the highest
    }
  }
  if (best != nullptr) {
    image = "compute_" + best->arch;
    return "GPU_PTX_JIT";
  }
  if (unknown) return "GPU_PTX_UNKNOWN";
  return too_new ? "GPU_PTX_TOO_NEW" : "";
}

// The code for "nothing serves": what came nearest.
std::vector<std::string> nearest_misses(const CudaLibrary& library, const ComputeCapability& device,
                                        const DriverSide& driver) {
  bool specific = false, family = false;
  for (const std::string& name : library.sass) {
    const GpuArch arch = GpuArch::parse(name);
    if (driver.tegra_exact && arch.suffix != 'a' && plain_runs(arch, device)) {
      return {"TEGRA_SASS_MINOR"};
    }
    specific = specific || (arch.suffix == 'a' && arch.major == device.major);
    family = family || (arch.suffix == 'f' && arch.major == device.major);
  }
  for (const PtxImage& ptx : library.ptx) {
    const GpuArch arch = GpuArch::parse(ptx.arch);
    specific = specific || (arch.suffix == 'a' && plain_ptx_compiles(arch, device));
    family = family || (arch.suffix == 'f' && arch.major == device.major);
  }
  if (specific) return {"GPU_ARCH_SPECIFIC"};
  if (family) return {"GPU_FAMILY"};
  return {"GPU_NO_IMAGE"};
}

}  // namespace

Service serve(const CudaLibrary& library, const std::vector<std::string>& ambiguous,
              const Fact<std::string>& runtime, const ComputeCapability& device,
              const DriverSide& driver) {
  using State = Service::State;
  const std::string* best = nullptr;
  bool renamed = false;
  for (const std::string& name : library.sass) {
    const GpuArch arch = GpuArch::parse(name);
    renamed =
        renamed || (arch.major == 10 && arch.minor == 1 && device.major == 11 && device.minor == 0);
    if (!sass_runs(arch, device, driver.tegra_exact)) continue;
    if (best == nullptr || GpuArch::parse(*best).minor < arch.minor) best = &name;
  }
  if (best != nullptr) {
    const bool maybe_family =
        std::find(ambiguous.begin(), ambiguous.end(), *best) != ambiguous.end();
    return {State::fits, "sass", "sm_" + *best, maybe_family, {"GPU_SASS"}};
  }
  std::string image;
  const std::string ptx = serve_by_ptx(library.ptx, runtime, device, driver, image);
  if (ptx == "GPU_PTX_JIT") return {State::fits, "ptx", image, false, {ptx}};
  if (renamed) return {State::undecided, "", "", false, {"GPU_RENAMED_ARCH"}};
  if (ptx == "GPU_PTX_UNKNOWN") return {State::undecided, "", "", false, {ptx}};
  if (!ptx.empty()) return {State::does_not_fit, "", "", false, {ptx}};
  return {State::does_not_fit, "", "", false, nearest_misses(library, device, driver)};
}

}  // namespace felloe
