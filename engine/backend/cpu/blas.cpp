#include "engine/backend/cpu/blas.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "engine/backend/cpu/dispatch.h"
#include "engine/core/error.h"
#include "probe/cpu/cpu.h"

namespace treadle::blas {
namespace {

constexpr const char* kFile = "libscipy_openblas.so";

// Sets environment variables for the time of the dlopen and puts the old values back.
class ScopedEnv {
 public:
  void set(const char* name, const char* value) {
    const char* old = std::getenv(name);
    old_.emplace_back(name, old ? std::optional<std::string>(old) : std::nullopt);
    ::setenv(name, value, 1);
  }
  ~ScopedEnv() {
    for (const auto& [name, value] : old_) {
      if (value) {
        ::setenv(name.c_str(), value->c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
  }

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> old_;
};

// OpenBLAS's own choice dies of SIGILL on plain x86-64 CPUs and is slow on Zen 4 (its AVX-512
// kernels are made for Skylake), so we name the kernels. Empty: no kernels that surely run here.
// Null: its own choice (AArch64 has no such trouble).
const char* core_type() {
#if defined(__x86_64__)
  const felloe::cpu::Cpu cpu = felloe::cpu::detect();
  const bool amd = std::strcmp(cpu.vendor, "AuthenticAMD") == 0;
  const std::string_view isa = current_isa();
  if (isa == "avx512") return amd ? "Zen" : "SkylakeX";
  if (isa == "avx2") return amd ? "Zen" : "Haswell";
  return cpu.features.contains(felloe::cpu::x86_set("pni")) ? "Prescott" : "";
#else
  return nullptr;
#endif
}

std::string own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || !info.dli_fname)
    return "";
  const std::string file = info.dli_fname;
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

// Opens `path`; on failure description says why.
Library open_library(const std::string& path, const char* core) {
  Library out;
  void* handle = nullptr;
  {
    ScopedEnv env;
    env.set("OPENBLAS_NUM_THREADS", "1");
    if (core != nullptr) env.set("OPENBLAS_CORETYPE", core);
    handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) {
    const char* why = ::dlerror();
    out.description = why != nullptr ? why : "can't be opened";
    return out;
  }
  const auto find = [&](const char* name) { return ::dlsym(handle, name); };
  void* sgemm = find("scipy_cblas_sgemm");
  void* dgemm = find("scipy_cblas_dgemm");
  void* cgemm = find("scipy_cblas_cgemm");
  void* zgemm = find("scipy_cblas_zgemm");
  void* threads = find("scipy_openblas_set_num_threads");
  if (!sgemm || !dgemm || !cgemm || !zgemm || !threads) {
    out.description = path +
                      ": lacks scipy_cblas_sgemm and its like or "
                      "scipy_openblas_set_num_threads: not scipy-openblas32's library";
    return out;
  }
  reinterpret_cast<void (*)(int)>(threads)(1);
  out.sgemm = reinterpret_cast<Sgemm>(sgemm);
  out.dgemm = reinterpret_cast<Dgemm>(dgemm);
  out.cgemm = reinterpret_cast<Cgemm>(cgemm);
  out.zgemm = reinterpret_cast<Cgemm>(zgemm);
  out.handle = handle;
  std::string config = "OpenBLAS";
  if (void* f = find("scipy_openblas_get_config")) config = reinterpret_cast<char* (*)()>(f)();
  std::string corename;
  if (void* f = find("scipy_openblas_get_corename")) corename = reinterpret_cast<char* (*)()>(f)();
  out.description =
      config.substr(0, config.find(" NO_")) + ", kernels " + corename + " (" + path + ")";
  return out;
}

Library find_library() {
  Library none;
  const char* named = std::getenv("TREADLE_OPENBLAS");
  const char* core = core_type();
  if (named != nullptr && std::strcmp(named, "none") == 0) {
    none.description = "own kernels (TREADLE_OPENBLAS=none)";
    return none;
  }
  if (core != nullptr && *core == 0) {
    none.description = "own kernels (this CPU lacks SSE3, which every OpenBLAS kernel needs)";
    return none;
  }
  if (named != nullptr && *named != 0) {
    Library out = open_library(named, core);
    if (out.sgemm == nullptr) {
      fail(ErrorKind::runtime, "TREADLE_OPENBLAS is '" + std::string(named) +
                                   "', which can't be used: " + out.description +
                                   "; name a libscipy_openblas.so, or none for our own kernels");
    }
    return out;
  }
  std::vector<std::string> candidates = {own_folder() + "/.libs/" + kFile};
#ifdef TREADLE_OPENBLAS_DEVELOPMENT
  candidates.push_back(TREADLE_OPENBLAS_DEVELOPMENT);
#endif
  std::string tried;
  for (const std::string& path : candidates) {
    Library out = open_library(path, core);
    if (out.sgemm != nullptr) return out;
    tried += (tried.empty() ? "" : "; ") + out.description;
  }
  none.description = "own kernels (no OpenBLAS: " + tried + ")";
  return none;
}

}  // namespace

const Library& library() {
  static const Library& found = *new Library(find_library());  // lives as long as the process
  return found;
}

std::string description() { return library().description; }

void* symbol(const char* name) {
  void* handle = library().handle;
  return handle ? ::dlsym(handle, name) : nullptr;
}

}  // namespace treadle::blas
