// What a CMakeLists.txt says about its project, for `felloe init`. Reads the project() command
// alone; nothing is run.
#pragma once
#include <string>
#include <string_view>

namespace felloe {

struct CMakeProject {
  std::string name;     // empty: no project() command, or a name made of variables
  std::string version;  // empty: none, or made of variables
};

CMakeProject read_cmake_project(std::string_view text);

}  // namespace felloe
