# Precompiled headers: the third-party and standard headers that many files include, parsed once per build
# (-DFELLOE_PCH=ON). Only what never changes belongs here; our own headers stay ordinary includes. Every
# file must compile without this too: the preset `clang`, which clang-tidy reads, has it off.
#
#   felloe_precompile(TARGET tools)     a library of the toolkit
#   felloe_precompile(TARGET tests)     a Catch2 program over the toolkit
#   felloe_precompile(TARGET command)   the felloe command (adds CLI11)
#   felloe_precompile(TARGET engine)    the engine's own sources
#   felloe_precompile(TARGET engine_tests)  a Catch2 program over the engine
#
# A header is compiled once per set and shared by the targets of that set, so their flags must agree: hence
# -fPIC for programs as well.
option(FELLOE_PCH "precompile third-party and standard headers" OFF)

set(precompile_standard <algorithm> <array> <filesystem> <functional> <map> <memory> <optional> <set> <span>
  <string> <string_view> <utility> <variant> <vector>)
set(precompile_tools ${precompile_standard} <fmt/format.h> <nlohmann/json.hpp>)
set(precompile_tests ${precompile_tools} <catch2/catch.hpp>)
set(precompile_command ${precompile_tools} <CLI/CLI.hpp>)
set(precompile_engine ${precompile_standard} <cmath> <complex> <cstring> <sstream>)
set(precompile_engine_tests ${precompile_engine} <catch2/catch.hpp>)

# -fpch-preprocess and -fno-pch-timestamp are what ccache's manual ("Precompiled headers") asks for.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(precompile_options -fpch-instantiate-templates "SHELL:-Xclang -fno-pch-timestamp")
else()
  set(precompile_options -fpch-preprocess)
endif()

function(felloe_precompile target set)
  if(NOT FELLOE_PCH)
    return()
  endif()
  set(owner precompiled_${set})
  if(NOT TARGET ${owner})
    file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/${owner}.cpp" CONTENT "// Empty: carries a precompiled header.\n")
    add_library(${owner} OBJECT "${CMAKE_BINARY_DIR}/${owner}.cpp")
    target_link_libraries(${owner} PRIVATE felloe_warnings)
    if(NOT set MATCHES "^engine")
      find_package(fmt REQUIRED)
      find_package(nlohmann_json REQUIRED)
      target_link_libraries(${owner} PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
    endif()
    if(set MATCHES "tests$")
      target_link_libraries(${owner} PRIVATE Catch2::Catch2)
    elseif(set STREQUAL "command")
      target_link_libraries(${owner} PRIVATE CLI11::CLI11)
    endif()
    target_compile_options(${owner} PRIVATE ${precompile_options})
    target_precompile_headers(${owner} PRIVATE ${precompile_${set}})
  endif()
  target_compile_options(${target} PRIVATE -fPIC ${precompile_options})
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
