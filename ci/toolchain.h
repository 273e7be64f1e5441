// A compiler that is ready to be called: programs, flags, environment, and what identifies it in
// the key of a build. To add a kind of toolchain: a case in make_toolchain() and a row in
// matrix/project.h.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ci/pyenv.h"
#include "matrix/project.h"

namespace felloe {

struct ReadyToolchain {
  std::filesystem::path cc, cxx;
  std::filesystem::path ar, ranlib;        // empty: CMake's own choice
  std::map<std::string, std::string> env;  // for every process of the build
  std::vector<std::string> c_flags, cxx_flags, link_flags;
};

// What must be installed from PyPI for this toolchain (zig: "ziglang==..." unless the project pins
// it).
std::vector<std::string> toolchain_requirements(const Toolchain& toolchain,
                                                const SourceRules& source);

// The programs' versions, for step keys; also the check that they are there at all. Throws
// Error{environment} naming the missing program and the package that has it.
Json toolchain_identity(const Toolchain& toolchain, const SourceRules& source);

// Writes wrappers where needed (zig has no `cc` program). `env` has toolchain_requirements
// installed; `folder` keeps the wrappers, `cache` what the compiler itself caches between builds.
ReadyToolchain make_toolchain(const Toolchain& toolchain, const PythonEnv& env,
                              const std::filesystem::path& folder,
                              const std::filesystem::path& cache);

}  // namespace felloe
