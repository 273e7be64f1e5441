// gpu: NVIDIA GPUs, their driver, and what CUDA_VISIBLE_DEVICES leaves of them.
#include <fmt/format.h>

#include <algorithm>

#include "matrix/base/text.h"
#include "probe/collect.h"

namespace felloe {
namespace {

// CUDA version of a desktop or data-centre driver branch (CUDA toolkit release notes, table "CUDA
// Toolkit and corresponding driver versions"). Tegra and WSL count drivers differently.
struct Branch {
  const char* driver;
  const char* cuda;
};
constexpr Branch kBranches[] = {{"450.36", "11.0"}, {"455.23", "11.1"}, {"460.27", "11.2"},
                                {"465.19", "11.3"}, {"470.42", "11.4"}, {"495.29", "11.5"},
                                {"510.39", "11.6"}, {"515.43", "11.7"}, {"520.61", "11.8"},
                                {"525.60", "12.0"}, {"530.30", "12.1"}, {"535.54", "12.2"},
                                {"545.23", "12.3"}, {"550.54", "12.4"}, {"555.42", "12.5"},
                                {"560.28", "12.6"}, {"565.57", "12.7"}, {"570.26", "12.8"},
                                {"575.51", "12.9"}, {"580.65", "13.0"}, {"590.44", "13.1"}};

std::string cuda_of_driver(const std::string& driver) {
  std::string cuda;
  for (const Branch& branch : kBranches) {
    if (compare_versions(driver, branch.driver) >= 0) cuda = branch.cuda;
  }
  return cuda;
}

// 12040 -> "12.4"
std::string cuda_text(const Json& number) {
  if (!number.is_number_integer()) return {};
  const auto n = number.get<std::int64_t>();
  if (n < 1000 || n > 999999) return {};
  return fmt::format("{}.{}", n / 1000, n % 1000 / 10);
}

// Product line by the name that the driver reports. First match counts.
struct Line {
  const char* part;
  const char* product;
};
constexpr Line kProducts[] = {
    {"GeForce", "geforce"},      {"TITAN", "geforce"},        {"Quadro", "workstation"},
    {"RTX PRO", "workstation"},  {"RTX A", "workstation"},    {"RTX 4000", "workstation"},
    {"RTX 5000", "workstation"}, {"RTX 6000", "workstation"}, {"Tesla", "datacenter"},
    {"Tegra", "embedded"},       {"Orin", "embedded"},        {"Xavier", "embedded"},
    {"Thor", "embedded"},        {"GH200", "datacenter"},     {"GB200", "datacenter"},
    {"GB300", "datacenter"},     {" A100", "datacenter"},     {" A10", "datacenter"},
    {" A30", "datacenter"},      {" A40", "datacenter"},      {" A2", "datacenter"},
    {" H100", "datacenter"},     {" H200", "datacenter"},     {" H20", "datacenter"},
    {" H800", "datacenter"},     {" B200", "datacenter"},     {" B300", "datacenter"},
    {" L4", "datacenter"},       {" L40", "datacenter"},      {" V100", "datacenter"},
    {" P100", "datacenter"}};

Fact<std::string> product_of(const std::string& name) {
  for (const Line& line : kProducts) {
    if (name.find(line.part) != std::string::npos) return std::string(line.product);
  }
  return Fact<std::string>::none();
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Mon ..." -> "535.161.08"
std::string version_in_proc(const std::string& text) {
  for (const std::string& line : split_lines(text)) {
    if (!line.starts_with("NVRM version:")) continue;
    for (const std::string& word : split(line, ' ')) {
      if (word.find('.') != std::string::npos &&
          word.find_first_not_of("0123456789.") == std::string::npos) {
        return word;
      }
    }
  }
  return {};
}

// "# R36 (release), REVISION: 4.0, GCID: ..." -> "36.4.0"
std::string parse_l4t(const std::string& text) {
  int major = 0, minor = 0, patch = 0;
  const std::string line(trim(text));
  const int got =
      std::sscanf(line.c_str(), "# R%4d (release), REVISION: %4d.%4d", &major, &minor, &patch);
  if (got < 2) return {};
  return got == 3 ? fmt::format("{}.{}.{}", major, minor, patch)
                  : fmt::format("{}.{}", major, minor);
}

// A count or a part of a version: anything else in a recording is no answer.
bool small(const Json& number) {
  return number.is_number_integer() && number >= 0 && number < 1000;
}

std::string error_in(const Json& answer, const char* key) {
  const auto it = answer.find(key);
  return it == answer.end() ? std::string("not asked") : text_of(*it, "error");
}

class Gpu {
 public:
  explicit Gpu(Collect& c) : c_(c) {}

  void run() {
    const std::string release = c_.facts.os.release.value_or("");
    const std::string l4t = c_.source.file("/etc/nv_tegra_release").value_or("");
    const std::string board = c_.source.file("/proc/device-tree/compatible").value_or("");
    tegra_ = !l4t.empty() || release.find("tegra") != std::string::npos ||
             board.find("nvidia,tegra") != std::string::npos;
    nvml_ = c_.source.ask("nvml");
    libcuda_ = c_.source.ask("libcuda");
    if (!nvml_.is_object()) nvml_ = Json();
    if (!libcuda_.is_object()) libcuda_ = Json();
    if (!read_driver() && !tegra_ && nvml_.is_null() && libcuda_.is_null() && !on_pci_bus()) {
      c_.facts.gpu = Fact<HostGpu>::none();
      c_.from("gpu", "NVML, libcuda.so.1, /proc/driver/nvidia, /sys/module/nvidia, PCI");
      return;
    }
    const bool arm = c_.facts.cpu.machine == "aarch64";
    gpu_.soc = tegra_ ? Fact<std::string>("tegra")
               : arm  ? Fact<std::string>("sbsa")
                      : Fact<std::string>::none();
    c_.from("gpu.soc",
            tegra_ ? "/etc/nv_tegra_release, kernel release, device tree" : "ELF header");
    gpu_.l4t = Fact<std::string>::none();
    if (!l4t.empty()) {
      const std::string version = parse_l4t(l4t);
      if (version.empty()) c_.degrade("gpu.l4t", "/etc/nv_tegra_release has an unknown form");
      gpu_.l4t = version.empty() ? Fact<std::string>() : Fact<std::string>(version);
      c_.from("gpu.l4t", "/etc/nv_tegra_release");
    }
    read_libcuda();
    read_cuda();
    read_devices();
    read_visible();
    c_.facts.gpu = std::move(gpu_);
  }

 private:
  // The kernel driver's version. On WSL there is none: NVML reports the Windows driver's.
  bool read_driver() {
    const std::string module(trim(c_.source.file("/sys/module/nvidia/version").value_or("")));
    const std::string proc =
        version_in_proc(c_.source.file("/proc/driver/nvidia/version").value_or(""));
    const std::string nvml = text_of(nvml_, "driver");
    if (is_version(module)) return set_driver(module, "/sys/module/nvidia/version");
    if (is_version(proc)) return set_driver(proc, "/proc/driver/nvidia/version");
    if (is_version(nvml)) return set_driver(nvml, "NVML");
    gpu_.driver = Fact<std::string>::none();
    return false;
  }

  bool set_driver(const std::string& version, const std::string& source) {
    gpu_.driver = version;
    c_.from("gpu.driver", source);
    return true;
  }

  bool on_pci_bus() {
    for (const std::string& slot : c_.source.list("/sys/bus/pci/devices", "")) {
      const std::string folder = "/sys/bus/pci/devices/" + slot;
      if (trim(c_.source.file(folder + "/vendor").value_or("")) != "0x10de") continue;
      // PCI class 0x03: display controller (3D controllers too).
      if (trim(c_.source.file(folder + "/class").value_or("")).starts_with("0x03")) return true;
    }
    return false;
  }

  void read_libcuda() {
    if (libcuda_.is_null()) {
      gpu_.libcuda = Fact<HostLibcuda>::none();
      c_.from("gpu.libcuda", "dlopen libcuda.so.1");
      return;
    }
    HostLibcuda lib;
    const std::string path = text_of(libcuda_, "path");
    if (!path.empty()) lib.path = path;
    if (const std::string cuda = cuda_text(libcuda_.value("cuda", Json())); !cuda.empty()) {
      lib.version = cuda;
    } else {
      c_.degrade("gpu.libcuda.version", "cuDriverGetVersion: " + error_in(libcuda_, "cuda"));
    }
    // A forward-compatibility library lies in a `compat` folder, and its file is named after a
    // newer driver than the kernel's (CUDA compatibility guide).
    const std::string real = path.empty() ? path : c_.source.resolve(path).value_or(path);
    const std::size_t so = real.rfind(".so.");
    const std::string number = so == std::string::npos ? "" : real.substr(so + 4);
    const bool other = !tegra_ && !c_.facts.os.wsl.value_or(false) && gpu_.driver.known() &&
                       number.find('.') != std::string::npos &&
                       number.find_first_not_of("0123456789.") == std::string::npos &&
                       compare_versions(number, *gpu_.driver) > 0;
    lib.compat = other || real.find("/compat/") != std::string::npos;
    gpu_.libcuda = lib;
    c_.from("gpu.libcuda", "dlopen libcuda.so.1");
  }

  void read_cuda() {
    const bool compat = gpu_.libcuda.known() && gpu_.libcuda->compat.value_or(false);
    if (gpu_.libcuda.known() && !compat && gpu_.libcuda->version.known()) {
      gpu_.cuda = *gpu_.libcuda->version;
      c_.from("gpu.cuda", "cuDriverGetVersion");
      return;
    }
    const bool table = gpu_.driver.known() && !tegra_ && !c_.facts.os.wsl.value_or(false);
    const std::string cuda = table ? cuda_of_driver(*gpu_.driver) : "";
    if (!cuda.empty()) {
      gpu_.cuda = cuda;
      c_.from("gpu.cuda", "driver version, NVIDIA's table");
    } else if (const std::string nvml =
                   cuda_text(nvml_.is_object() ? nvml_.value("cuda", Json()) : Json());
               !nvml.empty() && !compat) {
      gpu_.cuda = nvml;
      c_.from("gpu.cuda", "NVML");
    } else {
      c_.degrade("gpu.cuda", "neither libcuda.so.1 nor the driver's version tells it");
    }
  }

  void read_devices() {
    Json devices;
    std::string source;
    if (nvml_.is_object() && text_of(nvml_, "init") == "ok") {
      devices = nvml_.value("devices", Json());
      source = "NVML";
    } else {
      if (nvml_.is_object()) c_.degrade("gpu.devices", "NVML: " + error_in(nvml_, "init"));
      const Json answer = c_.source.ask("libcuda_devices");
      if (answer.is_object()) {
        devices = answer.value("devices", Json());
        source = "libcuda.so.1";
        if (text_of(answer, "init") != "ok") {
          c_.degrade("gpu.devices", "cuInit: " + error_in(answer, "init"));
        }
      }
    }
    if (!devices.is_array()) {
      // A container on a GPU machine sees the driver's /proc and /sys, but no device node.
      if (c_.facts.os.container.known() && c_.source.list("/dev", "nvidia").empty() && !tegra_) {
        gpu_.devices = std::vector<HostGpuDevice>{};
        c_.from("gpu.devices", "/dev/nvidia*");
        c_.degrade("gpu.devices",
                   "the machine has a GPU driver, this container got no device; "
                   "start it with GPU access");
      } else if (source.empty()) {
        c_.degrade("gpu.devices", "no driver library could be loaded");
      } else if (const std::string error = text_of(devices, "error"); !error.empty()) {
        c_.degrade("gpu.devices", source + ": " + error);
      }
      return;
    }
    std::vector<HostGpuDevice> list;
    for (const Json& answer : devices) list.push_back(read_device(list.size(), answer, source));
    gpu_.devices = std::move(list);
    c_.from("gpu.devices", source);
  }

  HostGpuDevice read_device(std::size_t index, const Json& answer, const std::string& source) {
    HostGpuDevice device;
    device.index = static_cast<std::int64_t>(index);
    const std::string fact = fmt::format("gpu.devices[{}]", index);
    if (!answer.is_object() || answer.contains("error")) {
      c_.degrade(fact, source + ": " + text_of(answer, "error"));
      return device;
    }
    if (const std::string name = text_of(answer, "name"); !name.empty()) {
      device.name = name;
      device.product = product_of(name);
    } else {
      c_.degrade(fact + ".name", source + ": " + error_in(answer, "name"));
    }
    const Json cc = answer.value("cc", Json());
    if (cc.is_array() && cc.size() == 2 && small(cc[0]) && small(cc[1])) {
      device.cc = fmt::format("{}.{}", cc[0].get<int>(), cc[1].get<int>());
    } else {
      c_.degrade(fact + ".cc", source + ": " + error_in(answer, "cc"));
    }
    const Json memory = answer.value("memory_bytes", Json());
    if (memory.is_number_integer()) {
      device.memory_bytes = memory.get<std::int64_t>();
    } else {
      device.memory_bytes = Fact<std::int64_t>::none();
      c_.degrade(fact + ".memory_bytes", source + ": " + error_in(answer, "memory_bytes"));
    }
    const Json mode = answer.value("mig_mode", Json());
    Json slices = answer.value("mig_slices", Json());
    if (!small(slices)) slices = 0;
    if (mode.is_number_integer()) {
      device.mig = mode == 0 ? Json(false) : Json{{"enabled", true}, {"slices", slices}};
    } else if (source != "NVML" || error_in(answer, "mig_mode") == "NVML_ERROR_NOT_SUPPORTED") {
      device.mig = false;
    } else {
      c_.degrade(fact + ".mig", source + ": " + error_in(answer, "mig_mode"));
    }
    return device;
  }

  // CUDA programming guide, "CUDA environment variables": indices or UUID prefixes; the list ends
  // at the first entry that names no device.
  void read_visible() {
    const auto value = c_.source.env("CUDA_VISIBLE_DEVICES");
    c_.from("gpu.visible", "$CUDA_VISIBLE_DEVICES");
    if (!value) {
      gpu_.visible = Fact<std::vector<std::int64_t>>::none();
      return;
    }
    std::vector<std::int64_t> visible;
    for (const std::string& entry : split(*value, ',')) {
      const std::string word(trim(entry));
      std::int64_t index = -1;
      if (!word.empty() && word.size() < 6 &&
          word.find_first_not_of("0123456789") == std::string::npos) {
        index = std::stoll(word);
        if (gpu_.devices.known() && index >= static_cast<std::int64_t>(gpu_.devices->size())) {
          index = -1;
        }
      } else if (word.starts_with("GPU-")) {
        index = index_of_uuid(word);
      } else if (word.starts_with("MIG-")) {
        c_.degrade("gpu.visible",
                   "CUDA_VISIBLE_DEVICES names a MIG slice; its GPU is not looked up");
        return;
      }
      if (index < 0) break;
      if (std::find(visible.begin(), visible.end(), index) == visible.end()) {
        visible.push_back(index);
      }
    }
    gpu_.visible = std::move(visible);
    warn_of_order();
  }

  std::int64_t index_of_uuid(const std::string& prefix) const {
    const Json devices = nvml_.is_object() ? nvml_.value("devices", Json()) : Json();
    if (!devices.is_array()) return -1;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (text_of(devices[i], "uuid").starts_with(prefix)) return static_cast<std::int64_t>(i);
    }
    return -1;
  }

  // NVML counts in PCI order, CUDA by default the fastest first: the same only if all are alike.
  void warn_of_order() {
    if (!gpu_.devices.known() || c_.source.env("CUDA_DEVICE_ORDER") == "PCI_BUS_ID") return;
    for (const HostGpuDevice& device : *gpu_.devices) {
      if (device.name.value_or("") == gpu_.devices->front().name.value_or("")) continue;
      c_.degrade("gpu.visible",
                 "the GPUs differ and CUDA_DEVICE_ORDER is not PCI_BUS_ID: CUDA may "
                 "number them otherwise");
      return;
    }
  }

  Collect& c_;
  HostGpu gpu_;
  Json nvml_, libcuda_;
  bool tegra_ = false;
};

}  // namespace

void collect_gpu(Collect& c) { Gpu(c).run(); }

}  // namespace felloe
