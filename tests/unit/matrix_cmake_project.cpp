#include "matrix/cmake_project.h"

#include <catch2/catch.hpp>

using felloe::makes_python_module;
using felloe::read_cmake_project;

TEST_CASE("the name and version of project()") {
  const auto one = read_cmake_project(
      "cmake_minimum_required(VERSION 3.25)\n"
      "project(tiny VERSION 1.2.3 LANGUAGES C CXX)\n");
  CHECK(one.name == "tiny");
  CHECK(one.version == "1.2.3");
  const auto spread = read_cmake_project(
      "PROJECT ( \"my lib\" # a comment (with brackets)\n"
      "  VERSION\n    4.5\n)");
  CHECK(spread.name == "my lib");
  CHECK(spread.version == "4.5");
}

TEST_CASE("comments and strings that look like project() are not it") {
  const auto project = read_cmake_project(
      "# project(no VERSION 1)\n#[[ project(no) ]]\n"
      "message(\"project(no)\")\nproject(yes)");
  CHECK(project.name == "yes");
  CHECK(project.version.empty());
}

TEST_CASE("a Python module is seen by the command or package that makes it") {
  CHECK(makes_python_module("nanobind_add_module(_C STABLE_ABI a.cpp)"));
  CHECK(makes_python_module("find_package(pybind11 CONFIG)"));
  CHECK(makes_python_module("Python3_add_library(_C MODULE WITH_SOABI a.c)"));
  CHECK(makes_python_module("find_package(Python COMPONENTS Interpreter Development.Module)"));
  CHECK(makes_python_module("list(GET FELLOE_PYTHON_ABIS 0 abi)"));
  CHECK_FALSE(makes_python_module("# nanobind\nfind_package(Python COMPONENTS Interpreter)"));
  CHECK_FALSE(makes_python_module("add_library(a SHARED a.c)"));
}

TEST_CASE("variables and missing parts give nothing") {
  CHECK(read_cmake_project("project(${NAME} VERSION ${VERSION})").name.empty());
  CHECK(read_cmake_project("project(a VERSION ${VERSION})").version.empty());
  CHECK(read_cmake_project("project(a VERSION").version.empty());
  CHECK(read_cmake_project("project()").name.empty());
  CHECK(read_cmake_project("project(\"open").name == "open");
  CHECK(read_cmake_project("").name.empty());
}
