#include "packaging/provided.h"

#include <algorithm>
#include <string_view>

#include "matrix/base/text.h"
#include "matrix/pep440.h"

namespace felloe {
namespace {

struct Provider {
  const char* package;  // normal form; a trailing '*' matches any rest ("-cu12", "-cu13")
  const char* sonames;  // patterns separated by blanks
};

// What the wheels of these projects hold, as published on the package index.
constexpr Provider kProviders[] = {
    {"nvidia-cublas*", "libcublas.so.* libcublasLt.so.* libnvblas.so.*"},
    {"nvidia-cuda-cupti*", "libcupti.so.*"},
    {"nvidia-cuda-nvrtc*", "libnvrtc.so.* libnvrtc-builtins.so.*"},
    {"nvidia-cuda-runtime*", "libcudart.so.*"},
    {"nvidia-cudnn*", "libcudnn*"},
    {"nvidia-cufft*", "libcufft.so.* libcufftw.so.*"},
    {"nvidia-cufile*", "libcufile*"},
    {"nvidia-curand*", "libcurand.so.*"},
    {"nvidia-cusolver*", "libcusolver.so.* libcusolverMg.so.*"},
    {"nvidia-cusparse*", "libcusparse.so.*"},
    {"nvidia-cusparselt*", "libcusparseLt.so.*"},
    {"nvidia-nccl*", "libnccl.so.*"},
    {"nvidia-npp*", "libnpp*"},
    {"nvidia-nvjitlink*", "libnvJitLink.so.*"},
    {"nvidia-nvjpeg*", "libnvjpeg.so.*"},
    {"nvidia-nvshmem*", "libnvshmem*"},
    {"nvidia-nvtx*", "libnvToolsExt.so.* libnvtx3interop.so.*"},
    {"torch", "libtorch* libc10* libshm.so libcaffe2*"},
    {"mkl", "libmkl_*"},
    {"intel-openmp", "libiomp5.so"},
    {"intel-sycl-rt", "libsycl.so.*"},
    {"tbb", "libtbb.so.* libtbbmalloc.so.*"},
};

// Installed with the driver, never in a wheel.
constexpr const char* kDriver = "libcuda.so.1 libnvidia-*";

bool pattern_matches(std::string_view pattern, std::string_view text) {
  if (!pattern.ends_with('*')) return pattern == text;
  pattern.remove_suffix(1);
  return text.starts_with(pattern);
}

void add_words(std::set<std::string>& out, std::string_view words) {
  for (const std::string& word : split(words, ' ')) out.insert(word);
}

}  // namespace

bool soname_matches(const std::set<std::string>& patterns, const std::string& soname) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& p) { return pattern_matches(p, soname); });
}

std::set<std::string> provided_sonames(const std::vector<std::string>& requires_dist) {
  std::set<std::string> out;
  add_words(out, kDriver);
  for (const std::string& requirement : requires_dist) {
    const auto marker = requirement.find(';');
    if (marker != std::string::npos && requirement.find("extra", marker) != std::string::npos)
      continue;
    // PEP 508: the name ends at the first character that can't be part of one.
    const auto end = requirement.find_first_of(" ;<>=!~[(@");
    const std::string name = normalize_name(trim(std::string_view(requirement).substr(0, end)));
    for (const Provider& p : kProviders) {
      if (pattern_matches(p.package, name)) add_words(out, p.sonames);
    }
  }
  return out;
}

}  // namespace felloe
