#include "matrix/cuda_table.h"

#include <array>

#include "matrix/base/text.h"

namespace felloe {
namespace {

struct Row {
  const char* key;
  const char* value;
};

// "CUDA compatibility", table "minor version compatibility": CUDA major, lowest driver.
constexpr std::array<Row, 3> kDriverFloors{
    {{"11", "450.80.02"}, {"12", "525.60.13"}, {"13", "580.65.06"}}};

// CUDA toolkit release notes, table "CUDA toolkit and corresponding driver versions": the first
// branch that implements each CUDA version.
constexpr std::array<Row, 23> kDriverCuda{{
    {"410", "10.0"}, {"418", "10.1"}, {"440", "10.2"}, {"450", "11.0"}, {"455", "11.1"},
    {"460", "11.2"}, {"465", "11.3"}, {"470", "11.4"}, {"495", "11.5"}, {"510", "11.6"},
    {"515", "11.7"}, {"520", "11.8"}, {"525", "12.0"}, {"530", "12.1"}, {"535", "12.2"},
    {"545", "12.3"}, {"550", "12.4"}, {"555", "12.5"}, {"560", "12.6"}, {"565", "12.7"},
    {"570", "12.8"}, {"575", "12.9"}, {"580", "13.0"},
}};
// Branches above the table's last one belong to a newer CUDA that it doesn't know.
constexpr const char* kDriverCudaEnd = "581";

// PTX ISA, "Release history": PTX version, CUDA version.
constexpr std::array<Row, 31> kPtxCuda{{
    {"6.0", "9.0"},  {"6.1", "9.1"},  {"6.2", "9.2"},  {"6.3", "10.0"}, {"6.4", "10.1"},
    {"6.5", "10.2"}, {"7.0", "11.0"}, {"7.1", "11.1"}, {"7.2", "11.2"}, {"7.3", "11.3"},
    {"7.4", "11.4"}, {"7.5", "11.5"}, {"7.6", "11.6"}, {"7.7", "11.7"}, {"7.8", "11.8"},
    {"8.0", "12.0"}, {"8.1", "12.1"}, {"8.2", "12.2"}, {"8.3", "12.3"}, {"8.4", "12.4"},
    {"8.5", "12.5"}, {"8.6", "12.7"}, {"8.7", "12.8"}, {"8.8", "12.9"}, {"9.0", "13.0"},
    {"9.1", "13.1"}, {"9.2", "13.2"}, {"9.3", "13.3"}, {"9.4", "13.4"}, {"9.5", "13.5"},
    {"5.0", "8.0"},
}};

int number(const std::string& text) { return text.empty() ? 0 : std::stoi(text); }

}  // namespace

GpuArch GpuArch::parse(const std::string& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const int value = number(text.substr(0, std::min<std::size_t>(end, 4)));
  return {value / 10, value % 10, end < text.size() ? text[end] : '\0'};
}

std::string GpuArch::text() const { return std::to_string(major) + "." + std::to_string(minor); }

ComputeCapability ComputeCapability::parse(const std::string& text) {
  const GpuArch arch = GpuArch::parse(join(split(text, '.'), ""));
  return {arch.major, arch.minor};
}

int cuda_major(const std::string& version) {
  const std::string head = split(version, '.').front();
  return head.empty() || head.size() > 4 ? 0 : number(head);
}

std::optional<std::string> driver_floor(int major) {
  for (const Row& row : kDriverFloors) {
    if (row.key == std::to_string(major)) return row.value;
  }
  return std::nullopt;
}

std::optional<std::string> cuda_of_driver(const std::string& driver) {
  if (compare_versions(driver, kDriverCudaEnd) >= 0) return std::nullopt;
  std::optional<std::string> out;
  for (const Row& row : kDriverCuda) {
    if (compare_versions(driver, row.key) >= 0) out = row.value;
  }
  return out;
}

std::optional<std::string> cuda_of_ptx(const std::string& isa) {
  for (const Row& row : kPtxCuda) {
    if (isa == row.key) return row.value;
  }
  return std::nullopt;
}

}  // namespace felloe
