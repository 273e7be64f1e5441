// A test double of libnvidia-ml.so.1 and libcuda.so.1 in one library: two GPUs, the second of which
// refuses to tell its memory. It lets the code that calls the driver run where no driver is.
#include <cstddef>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
constexpr int kNotSupported = 3, kNoPermission = 4, kNotFound = 6;
char gpu[2];  // handles point here
bool second(void* device) { return device == &gpu[1]; }
int copy(char* to, unsigned size, const char* text) {
  std::strncpy(to, text, size);
  return 0;
}
}  // namespace

EXPORT int nvmlInit_v2() { return 0; }
EXPORT int nvmlShutdown() { return 0; }
EXPORT int nvmlSystemGetDriverVersion(char* to, unsigned size) {
  return copy(to, size, "550.54.15");
}
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int* version) { return *version = 12040, 0; }
EXPORT int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 2, 0; }
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  return *device = &gpu[index], 0;
}
EXPORT int nvmlDeviceGetName(void*, char* to, unsigned size) {
  return copy(to, size, "NVIDIA A100-SXM4-40GB");
}
EXPORT int nvmlDeviceGetUUID(void* device, char* to, unsigned size) {
  return copy(to, size, second(device) ? "GPU-b" : "GPU-a");
}
EXPORT int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  return *major = 8, *minor = 0, 0;
}
struct NvmlMemory {
  unsigned long long total, free, used;
};
EXPORT int nvmlDeviceGetMemoryInfo(void* device, NvmlMemory* memory) {
  if (second(device)) return kNoPermission;
  memory->total = 42949672960ull;
  return 0;
}
EXPORT int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  if (second(device)) return kNotSupported;
  return *current = *pending = 1, 0;
}
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void*, unsigned index, void** slice) {
  if (index >= 2) return kNotFound;
  return *slice = &gpu[0], 0;
}

EXPORT int cuDriverGetVersion(int* version) { return *version = 12040, 0; }
EXPORT int cuInit(unsigned) { return 0; }
EXPORT int cuDeviceGetCount(int* count) { return *count = 1, 0; }
EXPORT int cuDeviceGet(int* device, int index) { return *device = index, 0; }
EXPORT int cuDeviceGetName(char* to, int size, int) {
  return copy(to, static_cast<unsigned>(size), "Orin");
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
  return *value = attribute == 75 ? 8 : 7, 0;
}
EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = 64349020160u, 0; }
