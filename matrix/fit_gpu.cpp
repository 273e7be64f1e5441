// GPUs: driver, then each visible device, then the set of them. CUDA compatibility guide.
#include <fmt/format.h>

#include <algorithm>

#include "matrix/base/text.h"
#include "matrix/fit_judge.h"
#include "matrix/gpu_image.h"

namespace felloe {
namespace {

using State = Service::State;

const char* state_name(State state) {
  switch (state) {
    case State::fits:
      return "fits";
    case State::does_not_fit:
      return "does_not_fit";
    case State::undecided:
      return "undecided";
  }
  return "undecided";
}

bool has_images(const CudaLibrary& library) {
  return !library.sass.empty() || !library.ptx.empty();
}

std::vector<HostGpuDevice> visible_devices(const HostGpu& gpu) {
  std::vector<HostGpuDevice> out;
  if (!gpu.devices.known()) return out;
  for (const HostGpuDevice& device : *gpu.devices) {
    const bool visible = !gpu.visible.known() || std::find(gpu.visible->begin(), gpu.visible->end(),
                                                           device.index) != gpu.visible->end();
    if (visible) out.push_back(device);
  }
  return out;
}

bool is_tegra(const HostGpu& gpu) { return gpu.soc.known() && *gpu.soc == "tegra"; }

bool has_compat(const HostGpu& gpu) {
  return gpu.libcuda.known() && gpu.libcuda->compat.value_or(false);
}

bool any_product(const std::vector<HostGpuDevice>& devices, const char* product) {
  return std::any_of(devices.begin(), devices.end(), [&](const HostGpuDevice& d) {
    return d.product.known() && *d.product == product;
  });
}

// What the driver side offers, a compat library included.
struct DriverCuda {
  std::optional<std::string> version;
  bool maybe_more = false;  // a compat library is there, and whether this GPU takes it isn't known
};

DriverCuda driver_cuda(const Judge& judge, const HostGpu& gpu,
                       const std::vector<HostGpuDevice>& devices) {
  DriverCuda out;
  if (gpu.cuda.known()) {
    out.version = *gpu.cuda;
  } else if (gpu.driver.known() && !is_tegra(gpu) && !judge.host.os.wsl.value_or(false)) {
    out.version = cuda_of_driver(*gpu.driver);
  }
  if (!has_compat(gpu) || any_product(devices, "geforce")) return out;
  // Data-centre parts and Jetson take the library; of other parts only some do.
  const bool takes = any_product(devices, "datacenter") || any_product(devices, "embedded");
  if (!takes || !gpu.libcuda->version.known()) {
    out.maybe_more = true;
    return out;
  }
  // The library's version is given as CUDA's ("12.8") or as the driver's ("570.86.15").
  std::optional<std::string> library = *gpu.libcuda->version;
  if (cuda_major(*library) >= 100) library = cuda_of_driver(*library);
  if (library && (!out.version || compare_versions(*library, *out.version) > 0)) {
    out.version = library;
  }
  return out;
}

// ---- The driver, for all devices ----------------------------------------------------------------

void judge_libcuda(Judge& judge, const HostGpu& gpu, const std::vector<HostGpuDevice>& devices) {
  if (gpu.libcuda.is_none()) {
    judge.add("DRIVER_MISSING", Weight::error, "there is a GPU, but libcuda.so.1 was not found")
        .hint = "install the driver's libraries; in a container, start it with GPU access";
  } else if (has_compat(gpu) && any_product(devices, "geforce")) {
    Reason& r = judge.add("DRIVER_COMPAT_LIBCUDA", Weight::error,
                          "libcuda.so.1 comes from a forward-compatibility package, which GeForce "
                          "refuses at start");
    if (gpu.libcuda->path.known()) r.where = Json{{"module", *gpu.libcuda->path}};
    r.hint = "remove the cuda-compat package from the library path";
  }
}

void judge_driver(Judge& judge, const HostGpu& gpu, const DriverCuda& side) {
  const std::optional<std::string>& cuda = side.version;
  const Fact<std::string>& runtime = judge.wheel.cuda->runtime;
  if (runtime.is_none()) return;  // no CUDA library: nothing to be too new
  if (runtime.unknown()) {
    judge.add("DRIVER_UNKNOWN", Weight::unknown,
              "which CUDA version the wheel was built with is not known");
    return;
  }
  const int major = cuda_major(*runtime);
  // Driver numbers of these are of another series than the table's.
  const bool by_cuda = is_tegra(gpu) || judge.host.os.wsl.value_or(false) || has_compat(gpu) ||
                       !gpu.driver.known() || !driver_floor(major);
  if (by_cuda && !cuda) {
    judge
        .add("DRIVER_UNKNOWN", Weight::unknown,
             fmt::format("the wheel needs CUDA {}, and the host's driver or its CUDA version is "
                         "not known",
                         *runtime))
        .need = *runtime;
    return;
  }
  const bool too_old =
      by_cuda ? cuda_major(*cuda) < major : compare_versions(*gpu.driver, *driver_floor(major)) < 0;
  if (too_old && side.maybe_more) {
    Reason& r =
        judge.add("DRIVER_UNKNOWN", Weight::unknown,
                  fmt::format("the wheel needs CUDA {}, the driver has {}, and whether this "
                              "GPU takes the forward-compatibility library is not known",
                              *runtime, *cuda));
    r.need = *runtime;
    r.have = *cuda;
  } else if (too_old) {
    const std::string need =
        by_cuda ? fmt::format("CUDA {}", major) : fmt::format("driver {}", *driver_floor(major));
    const std::string have = by_cuda ? "CUDA " + *cuda : "driver " + *gpu.driver;
    Reason& r = judge.add(
        "DRIVER_TOO_OLD", Weight::error,
        fmt::format("a wheel built with CUDA {} needs {}, the host has {}", *runtime, need, have));
    r.need = need;
    r.have = have;
    r.source = judge.source(by_cuda ? "gpu.cuda" : "gpu.driver");
    r.hint = "update the driver, or take a wheel for an older CUDA";
  } else if (cuda && cuda_major(*cuda) == major && compare_versions(*cuda, *runtime) < 0) {
    Reason& r = judge.add("DRIVER_MINOR_COMPAT", Weight::info,
                          fmt::format("the wheel's CUDA {} is newer than the driver's {}: images "
                                      "run, JIT and new features may not",
                                      *runtime, *cuda));
    r.need = *runtime;
    r.have = *cuda;
  }
}

// CUDA up to 12 has one set of libraries for Tegra and another for servers.
void judge_soc(Judge& judge, const HostGpu& gpu, const std::optional<std::string>& cuda) {
  const WheelCuda& wheel = *judge.wheel.cuda;
  if (!wheel.soc.known()) return;
  const std::string version = cuda ? *cuda : wheel.runtime.value_or("");
  if (version.empty() || cuda_major(version) > 12) return;
  if ((*wheel.soc == "tegra") == is_tegra(gpu)) return;
  Reason& r = judge.add("TEGRA_SBSA", Weight::error,
                        fmt::format("the wheel is tied to the CUDA libraries of {}, the host is {}",
                                    *wheel.soc, is_tegra(gpu) ? "Tegra" : "not Tegra"));
  r.need = *wheel.soc;
  r.have = gpu.soc.known() ? Json(*gpu.soc) : Json(nullptr);
}

// ---- One device ---------------------------------------------------------------------------------

struct Served {
  DeviceVerdict verdict;
  State state = State::undecided;
  bool ambiguous = false;
  std::vector<std::string> uncovered;  // libraries that don't serve it
};

int rank(const Service& service) {
  if (service.state == State::fits) return service.via == "sass" ? 3 : 2;
  return service.state == State::undecided ? 1 : 0;
}

Served judge_device(const WheelCuda& cuda, const HostGpuDevice& device, const DriverSide& driver) {
  Served out;
  out.verdict.index = device.index;
  if (device.name.known()) out.verdict.name = *device.name;
  if (!device.cc.known()) {
    out.verdict.reasons = {"GPU_UNKNOWN"};
    out.verdict.verdict = state_name(out.state);
    return out;
  }
  out.verdict.cc = *device.cc;
  const ComputeCapability cc = ComputeCapability::parse(*device.cc);
  const auto judged = [&](const CudaLibrary& library) {
    return serve(library, cuda.ambiguous, cuda.runtime, cc, driver);
  };
  Service service = judged({cuda.sass, cuda.ptx});
  for (const auto& [name, library] : cuda.per_library) {
    if (!has_images(library)) continue;
    const Service other = judged(library);
    if (cuda.alternatives) {
      if (rank(other) > rank(service)) service = other;
    } else if (other.state != State::fits) {
      out.uncovered.push_back(name);
    }
  }
  out.state = service.state;
  out.ambiguous = service.ambiguous;
  out.verdict.reasons = service.codes;
  if (service.state == State::fits) {
    out.verdict.via = service.via;
    out.verdict.image = service.image;
    if (!out.uncovered.empty()) {
      out.state = State::undecided;
      out.verdict.reasons.push_back("GPU_LIBRARY_UNCOVERED");
    }
  }
  out.verdict.verdict = state_name(out.state);
  return out;
}

// PTX that is too new for the driver may not be for the compat library beside it.
void soften_ptx(Served& served) {
  if (served.verdict.reasons != std::vector<std::string>{"GPU_PTX_TOO_NEW"}) return;
  served.state = State::undecided;
  served.verdict.verdict = state_name(served.state);
  served.verdict.reasons = {"GPU_PTX_UNKNOWN"};
}

std::string describe(const DeviceVerdict& device) {
  return fmt::format("GPU {} ({}{})", device.index, device.name ? *device.name + ", " : "",
                     device.cc ? *device.cc : "capability not known");
}

std::string image_list(const WheelCuda& cuda) {
  std::vector<std::string> names;
  for (const std::string& sass : cuda.sass) names.push_back("sm_" + sass);
  for (const PtxImage& ptx : cuda.ptx) names.push_back("compute_" + ptx.arch);
  return join(names, " ");
}

void explain(Judge& judge, const Served& served, const std::optional<std::string>& driver_cuda) {
  const DeviceVerdict& device = served.verdict;
  const std::string gpu = describe(device);
  const std::string images = image_list(*judge.wheel.cuda);
  for (const std::string& code : device.reasons) {
    Weight weight = Weight::error;
    std::string message;
    if (code == "GPU_SASS") {
      weight = Weight::info;
      message = fmt::format("{} runs the image {}", gpu, *device.image);
    } else if (code == "GPU_PTX_JIT") {
      weight = Weight::info;
      message = fmt::format("{} compiles {} at first start, which is slow", gpu, *device.image);
    } else if (code == "GPU_LIBRARY_UNCOVERED") {
      weight = Weight::unknown;
      message = fmt::format("{} is served by the main library, not by {}", gpu,
                            join(served.uncovered, ", "));
    } else if (code == "GPU_UNKNOWN") {
      weight = Weight::unknown;
      message = fmt::format("the compute capability of {} is not known", gpu);
    } else if (code == "GPU_RENAMED_ARCH") {
      weight = Weight::unknown;
      message = fmt::format(
          "{} is the chip that CUDA 12 calls sm_101; whether that image loads "
          "is not documented",
          gpu);
    } else if (code == "GPU_PTX_UNKNOWN") {
      weight = Weight::unknown;
      message = fmt::format(
          "only PTX could serve {}, and its version or the driver's CUDA is not "
          "known",
          gpu);
    } else if (code == "GPU_PTX_TOO_NEW") {
      message = fmt::format("only PTX could serve {}, and it is newer than the driver's CUDA {}",
                            gpu, driver_cuda.value_or("version"));
    } else if (code == "TEGRA_SASS_MINOR") {
      message = fmt::format(
          "{} is a Tegra: before CUDA 13 only images of its own capability are "
          "promised to run",
          gpu);
    } else if (code == "GPU_ARCH_SPECIFIC") {
      message = fmt::format("the nearest image for {} is architecture-specific (`a`)", gpu);
    } else if (code == "GPU_FAMILY") {
      message = fmt::format("the nearest image for {} is of a family (`f`) it isn't in", gpu);
    } else {
      message = fmt::format("no image and no PTX for {}", gpu);
    }
    Reason& r = judge.add(code.c_str(), weight, message);
    if (weight == Weight::error || weight == Weight::unknown) r.need = images;
    r.have = device.cc ? Json(*device.cc) : Json(nullptr);
    r.where = code == "GPU_LIBRARY_UNCOVERED"
                  ? Json{{"device", device.index}, {"libraries", served.uncovered}}
                  : Json{{"device", device.index}};
  }
  if (served.ambiguous) {
    judge
        .add("GPU_FAMILY_AMBIGUOUS", Weight::info,
             fmt::format("the image for {} may be plain or of a family; either runs here", gpu))
        .where = Json{{"device", device.index}};
  }
}

// ---- The set of devices -------------------------------------------------------------------------

// `blocked`: the driver serves no device, so what the images would do isn't told.
void judge_set(Judge& judge, const std::vector<Served>& all, const std::optional<std::string>& cuda,
               bool blocked) {
  const auto count = [&](State state) {
    return std::count_if(all.begin(), all.end(), [&](const Served& s) { return s.state == state; });
  };
  const auto fits = count(State::fits), fails = count(State::does_not_fit);
  const auto open = count(State::undecided);
  // One good device is enough unless all are asked for; then failing ones are told as one reason.
  State shown = State::does_not_fit;
  if (fits > 0) {
    if (blocked) return;
    shown = State::fits;
  } else if (open > 0) {
    shown = State::undecided;
  }
  for (const Served& served : all) {
    const bool decides =
        served.state == shown || (judge.options.all_devices && served.state == State::undecided);
    if (decides) explain(judge, served, cuda);
  }
  const bool rest_open = fits > 0 && open > 0 && !judge.options.all_devices;
  if (shown == State::does_not_fit || (fails == 0 && !rest_open)) return;
  std::vector<std::string> names;
  Json where = Json::array();
  for (const Served& served : all) {
    if (served.state == State::fits) continue;
    names.push_back(
        fmt::format("{}: {}", describe(served.verdict), join(served.verdict.reasons, " ")));
    where.push_back(served.verdict.index);
  }
  Reason& r =
      judge.add("GPU_PARTIAL_COVER", judge.options.all_devices ? Weight::error : Weight::warning,
                "not every GPU is served: " + join(names, "; "));
  r.where = Json{{"devices", where}};
}

void judge_unused(Judge& judge, bool gpu_present) {
  // Native code that knows no GPU; on a machine with one that may be a surprise.
  if (judge.no_native_code() || !gpu_present) return;
  const auto version = split(judge.wheel.version, '+');
  const bool cpu_build = version.size() > 1 && version[1].starts_with("cpu");
  const bool surprising = cpu_build || judge.options.sibling_has_device_code;
  Reason& r = judge.add("GPU_UNUSED", surprising ? Weight::warning : Weight::info,
                        "the wheel has no code for the GPU of this host");
  if (judge.options.sibling_has_device_code) r.hint = "another build of the project uses the GPU";
}

}  // namespace

void judge_gpu(Judge& judge) {
  if (judge.platforms.empty()) return;
  const Fact<HostGpu>& host = judge.host.gpu;
  const std::vector<HostGpuDevice> devices =
      host.known() ? visible_devices(*host) : std::vector<HostGpuDevice>{};
  const Fact<WheelCuda>& wheel = judge.wheel.cuda;
  if (wheel.unknown()) {
    if (judge.no_native_code()) return;
    judge.add("GPU_UNKNOWN", Weight::unknown,
              "whether the wheel holds code for a GPU was not looked at");
    return;
  }
  if (wheel.is_none()) {
    judge_unused(judge, !devices.empty());
    return;
  }
  const bool code = has_device_code(judge.wheel);
  if (host.unknown() || (host.known() && host->devices.unknown())) {
    if (code) {
      judge
          .add("GPU_UNKNOWN", Weight::unknown,
               "the wheel holds code for GPUs, and the host's GPUs are not known")
          .need = image_list(*wheel);
    }
    return;
  }
  if (devices.empty()) {
    if (code) {
      judge
          .add("GPU_NONE", Weight::warning,
               "the wheel holds code for GPUs, and the host has no usable one")
          .need = image_list(*wheel);
    }
    return;
  }
  const HostGpu& gpu = *host;
  const std::size_t before = judge.verdict.reasons.size();
  const DriverCuda side = driver_cuda(judge, gpu, devices);
  const std::optional<std::string>& cuda = side.version;
  judge_libcuda(judge, gpu, devices);
  judge_driver(judge, gpu, side);
  judge_soc(judge, gpu, cuda);
  std::vector<std::string> blocked;
  for (std::size_t i = before; i < judge.verdict.reasons.size(); ++i) {
    const Reason& reason = judge.verdict.reasons[i];
    if (reason.weight == Weight::error) blocked.push_back(reason.code);
  }
  if (!code) return;
  const std::string version = cuda ? *cuda : wheel->runtime.value_or("");
  const DriverSide driver{is_tegra(gpu) && cuda_major(version) <= 12, cuda};
  std::vector<Served> all;
  for (const HostGpuDevice& device : devices) {
    all.push_back(judge_device(*wheel, device, driver));
    if (side.maybe_more) soften_ptx(all.back());
  }
  judge_set(judge, all, cuda, !blocked.empty());
  for (Served& served : all) {
    if (!blocked.empty()) {  // whatever the images, this driver serves no device
      served.verdict.verdict = "does_not_fit";
      served.verdict.via.reset();
      served.verdict.image.reset();
      served.verdict.reasons.insert(served.verdict.reasons.begin(), blocked.begin(), blocked.end());
    }
    judge.verdict.devices.push_back(std::move(served.verdict));
  }
}

}  // namespace felloe
