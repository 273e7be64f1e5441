// From sources to an install tree: one CMake configure for all Python ABIs of a target, build,
// install of the component that is the wheel. What a project's CMakeLists gets, besides its own -D:
//   FELLOE_VERSION        the wheel's version
//   FELLOE_PYTHON_ABIS    a list of pairs: abi;include dir;abi;include dir... ("cp311",
//   "cp312-abi3") FELLOE_BUILD_PYTHON   an interpreter that has source.build_requires installed
// docs/nightly.md explains them for people.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "ci/pyenv.h"
#include "matrix/facts.h"
#include "matrix/project.h"

namespace felloe {

struct BuildAbi {
  std::string abi;
  PythonHeaders headers;
};

struct BuildAbis {
  std::vector<BuildAbi> found;
  std::vector<std::string> missing;  // optional ones without headers on this machine
};

// Throws Error{environment} if a required ABI has no headers here, saying where they were looked
// for.
BuildAbis find_build_abis(const Target& target, const HostFacts& host,
                          const std::filesystem::path& project);

struct BuildRequest {
  const Project& project;
  const Target& target;
  std::string version;
  std::vector<BuildAbi> abis;
  PythonEnv env;  // source.build_requires and the toolchain's are installed
  std::int64_t source_date_epoch = 0;
  std::filesystem::path work;  // cmake/TARGET, tree/TARGET, toolchain, cache live below
  std::filesystem::path log;
  int jobs = 1;
};

// Returns the install tree. Throws Error{child} with the compiler's last words, Error{input} if the
// component installed nothing. An interrupted build is continued; the tree is always made anew.
std::filesystem::path build_tree(const BuildRequest& request);

}  // namespace felloe
