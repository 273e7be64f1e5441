// What CMake files say about their project, for `felloe init`. They are read; nothing is run.
#pragma once
#include <string>
#include <string_view>

namespace felloe {

struct CMakeProject {
  std::string name;     // empty: no project() command, or a name made of variables
  std::string version;  // empty: none, or made of variables
};

CMakeProject read_cmake_project(std::string_view text);

// Whether this CMake file makes Python extension modules: with nanobind, pybind11, FindPython, or
// from the ABIs that felloe gives.
bool makes_python_module(std::string_view text);

}  // namespace felloe
