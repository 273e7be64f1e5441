// Wheel file names: NAME-VERSION(-BUILD)?-PYTHON-ABI-PLATFORM.whl (PEP 427, PEP 491, PEP 425).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace felloe {

struct WheelName {
  std::string file;                                // as given, without folders
  std::string name, version;                       // as written
  std::optional<std::string> build;                // starts with a digit
  std::vector<std::string> python, abi, platform;  // compressed sets, as written

  // The triples that the compressed sets stand for, in written order:
  // "cp310-abi3-manylinux_2_17_x86_64".
  std::vector<std::string> tags() const;
};

// Throws Error{input} that says which part is missing or malformed.
WheelName parse_wheel_filename(std::string_view file);

}  // namespace felloe
