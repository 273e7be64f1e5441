#include "probe/cuda_query.h"

#include <dlfcn.h>

#include <array>

namespace felloe {
namespace {

class Library {
 public:
  explicit Library(const std::string& name)
      : handle_(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  // Never closed: driver libraries keep threads and exit handlers.
  bool loaded() const { return handle_ != nullptr; }

  template <class Function>
  Function* find(const char* symbol) const {
    return reinterpret_cast<Function*>(::dlsym(handle_, symbol));
  }

  // The file that was loaded, by one of its symbols.
  Json path(const char* symbol) const {
    Dl_info info{};
    void* address = ::dlsym(handle_, symbol);
    if (address == nullptr || ::dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
      return Json();
    }
    return info.dli_fname;
  }

  // `symbol`(arguments...) as a JSON value: null if it worked, else {"error": ...}.
  template <class... Args>
  Json call(const char* (*name_of)(int), const char* symbol, Args... args) const {
    auto* function = find<int(Args...)>(symbol);
    if (function == nullptr) return Json{{"error", std::string("no symbol ") + symbol}};
    const int code = function(args...);
    if (code == 0) return Json();
    const char* name = name_of(code);
    return Json{{"error", name != nullptr ? std::string(name) : "code " + std::to_string(code)}};
  }

 private:
  void* handle_;
};

// nvmlReturn_t, "NVML API reference: device enums".
const char* nvml_error(int code) {
  switch (code) {
    case 1:
      return "NVML_ERROR_UNINITIALIZED";
    case 2:
      return "NVML_ERROR_INVALID_ARGUMENT";
    case 3:
      return "NVML_ERROR_NOT_SUPPORTED";
    case 4:
      return "NVML_ERROR_NO_PERMISSION";
    case 6:
      return "NVML_ERROR_NOT_FOUND";
    case 9:
      return "NVML_ERROR_DRIVER_NOT_LOADED";
    case 12:
      return "NVML_ERROR_LIBRARY_NOT_FOUND";
    case 15:
      return "NVML_ERROR_GPU_IS_LOST";
    case 17:
      return "NVML_ERROR_OPERATING_SYSTEM";
    case 18:
      return "NVML_ERROR_LIB_RM_VERSION_MISMATCH";
    default:
      return nullptr;
  }
}

// CUresult, "CUDA driver API: data types".
const char* cuda_error(int code) {
  switch (code) {
    case 3:
      return "CUDA_ERROR_NOT_INITIALIZED";
    case 34:
      return "CUDA_ERROR_STUB_LIBRARY";
    case 100:
      return "CUDA_ERROR_NO_DEVICE";
    case 803:
      return "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
    case 804:
      return "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE";
    case 999:
      return "CUDA_ERROR_UNKNOWN";
    default:
      return nullptr;
  }
}

using Device = void*;  // nvmlDevice_t, an opaque pointer
constexpr unsigned kMaxDevices = 256;
constexpr unsigned kMaxSlices = 8;

struct Memory {  // nvmlMemory_t
  unsigned long long total, free, used;
};

Json text_query(const Library& lib, const char* symbol, Device device) {
  std::array<char, 96> text{};
  const Json error = lib.call(nvml_error, symbol, device, text.data(), 95u);
  return error.is_null() ? Json(text.data()) : error;
}

Json nvml_device(const Library& lib, unsigned index, bool with_uuid) {
  Device device = nullptr;
  Json out = Json::object();
  const Json error = lib.call(nvml_error, "nvmlDeviceGetHandleByIndex_v2", index, &device);
  if (!error.is_null()) return error;

  out["name"] = text_query(lib, "nvmlDeviceGetName", device);
  if (with_uuid) out["uuid"] = text_query(lib, "nvmlDeviceGetUUID", device);
  int major = 0, minor = 0;
  out["cc"] = lib.call(nvml_error, "nvmlDeviceGetCudaComputeCapability", device, &major, &minor);
  if (out["cc"].is_null()) out["cc"] = {major, minor};
  Memory memory{};
  out["memory_bytes"] = lib.call(nvml_error, "nvmlDeviceGetMemoryInfo", device, &memory);
  if (out["memory_bytes"].is_null()) out["memory_bytes"] = memory.total;
  unsigned current = 0, pending = 0;
  out["mig_mode"] = lib.call(nvml_error, "nvmlDeviceGetMigMode", device, &current, &pending);
  if (!out["mig_mode"].is_null()) return out;
  out["mig_mode"] = current;
  if (current == 0) return out;
  unsigned slices = 0;
  for (unsigned i = 0; i < kMaxSlices; ++i) {
    Device slice = nullptr;
    if (lib.call(nvml_error, "nvmlDeviceGetMigDeviceHandleByIndex", device, i, &slice).is_null()) {
      ++slices;
    }
  }
  out["mig_slices"] = slices;
  return out;
}

}  // namespace

Json query_nvml(const std::string& library, bool with_uuids) {
  const Library lib(library);
  if (!lib.loaded()) return Json();
  Json out{{"path", lib.path("nvmlInit_v2")}};
  out["init"] = lib.call(nvml_error, "nvmlInit_v2");
  if (!out["init"].is_null()) return out;
  out["init"] = "ok";
  std::array<char, 96> driver{};
  out["driver"] = lib.call(nvml_error, "nvmlSystemGetDriverVersion", driver.data(), 95u);
  if (out["driver"].is_null()) out["driver"] = driver.data();
  int cuda = 0;
  out["cuda"] = lib.call(nvml_error, "nvmlSystemGetCudaDriverVersion_v2", &cuda);
  if (out["cuda"].is_null()) out["cuda"] = cuda;
  unsigned count = 0;
  out["devices"] = lib.call(nvml_error, "nvmlDeviceGetCount_v2", &count);
  if (out["devices"].is_null()) {
    out["devices"] = Json::array();
    for (unsigned i = 0; i < count && i < kMaxDevices; ++i) {
      out["devices"].push_back(nvml_device(lib, i, with_uuids));
    }
  }
  lib.call(nvml_error, "nvmlShutdown");
  return out;
}

Json query_libcuda(const std::string& library) {
  const Library lib(library);
  if (!lib.loaded()) return Json();
  int cuda = 0;
  Json out{{"path", lib.path("cuDriverGetVersion")}};
  out["cuda"] = lib.call(cuda_error, "cuDriverGetVersion", &cuda);
  if (out["cuda"].is_null()) out["cuda"] = cuda;
  return out;
}

Json query_libcuda_devices(const std::string& library) {
  const Library lib(library);
  if (!lib.loaded()) return Json();
  Json out{{"init", lib.call(cuda_error, "cuInit", 0u)}};
  if (!out["init"].is_null()) return out;
  out["init"] = "ok";
  int count = 0;
  out["devices"] = lib.call(cuda_error, "cuDeviceGetCount", &count);
  if (!out["devices"].is_null()) return out;
  out["devices"] = Json::array();
  for (int i = 0; i < count && i < static_cast<int>(kMaxDevices); ++i) {
    int device = 0;
    Json entry = lib.call(cuda_error, "cuDeviceGet", &device, i);
    if (!entry.is_null()) {
      out["devices"].push_back(entry);
      continue;
    }
    std::array<char, 96> name{};
    entry["name"] = lib.call(cuda_error, "cuDeviceGetName", name.data(), 95, device);
    if (entry["name"].is_null()) entry["name"] = name.data();
    // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR 75, _MINOR 76
    int major = 0, minor = 0;
    entry["cc"] = lib.call(cuda_error, "cuDeviceGetAttribute", &major, 75, device);
    if (entry["cc"].is_null()) {
      entry["cc"] = lib.call(cuda_error, "cuDeviceGetAttribute", &minor, 76, device);
    }
    if (entry["cc"].is_null()) entry["cc"] = {major, minor};
    std::size_t memory = 0;
    entry["memory_bytes"] = lib.call(cuda_error, "cuDeviceTotalMem_v2", &memory, device);
    if (entry["memory_bytes"].is_null()) entry["memory_bytes"] = memory;
    out["devices"].push_back(entry);
  }
  return out;
}

}  // namespace felloe
