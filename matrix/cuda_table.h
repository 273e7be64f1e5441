// CUDA's numbers: driver floors, which CUDA a driver speaks, which CUDA a PTX version needs, and
// how architectures are written. Tables; each cites its public source.
#pragma once
#include <optional>
#include <string>

namespace felloe {

// "90a" -> 9.0 with suffix 'a'; "100f" -> 10.0 with 'f'; suffix 0 if plain.
struct GpuArch {
  int major = 0, minor = 0;
  char suffix = 0;
  static GpuArch parse(const std::string& text);
  std::string text() const;  // "9.0"
};

// "9.0" -> 9, 0
struct ComputeCapability {
  int major = 0, minor = 0;
  static ComputeCapability parse(const std::string& text);
};

int cuda_major(const std::string& version);  // "12.8" -> 12

// The lowest Linux driver for runtimes of this CUDA major, or nothing if the table has no row.
std::optional<std::string> driver_floor(int major);

// The CUDA version that a Linux driver implements ("570.86.15" -> "12.8"); nothing if the table
// doesn't reach so far.
std::optional<std::string> cuda_of_driver(const std::string& driver);

// The CUDA version whose driver first took this PTX ISA; nothing if the table has no row.
std::optional<std::string> cuda_of_ptx(const std::string& isa);

}  // namespace felloe
