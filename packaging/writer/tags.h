// The three tags of a wheel, from the ELF files in its tree: packaging/wheel/python_tags.h says
// which Pythons find all modules, packaging/policy/platform.h which platforms have all symbols.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "matrix/base/json.h"
#include "packaging/writer/tree.h"

namespace felloe {

struct WheelTags {
  std::string python, abi, platform;  // compressed tag sets, as in the file name
  Json evidence = Json::object();

  bool pure() const { return platform == "any"; }
  std::string text() const { return python + "-" + abi + "-" + platform; }
  std::vector<std::string> triples() const;  // expanded, sorted
};

struct WantedTags {
  std::optional<std::string> python, abi, platform;  // absent: compute
};

// Throws Error{input} if the code contradicts itself (two machines, no common Python) or can't be
// judged (PE, Mach-O, static archives) and Error{usage} if a wanted tag is no tag.
WheelTags compute_tags(const InstallTree& tree, const WantedTags& wanted);

}  // namespace felloe
