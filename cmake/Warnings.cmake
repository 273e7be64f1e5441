# One interface target that every target of ours links: warnings, and in CI warnings as errors.
add_library(felloe_warnings INTERFACE)
target_compile_options(felloe_warnings INTERFACE -Wall -Wextra -Wconversion -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # gcc 12 sees overlapping copies in any `"x" + std::move(string)` at -O3 (GCC bug 105651).
  target_compile_options(felloe_warnings INTERFACE -Wno-restrict)
endif()
if(FELLOE_WERROR)
  target_compile_options(felloe_warnings INTERFACE -Werror)
endif()
if(FELLOE_SANITIZE)
  # Applied to everything in the build, so that library and test agree on the instrumentation.
  add_compile_options(-fsanitize=${FELLOE_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${FELLOE_SANITIZE})
endif()
if(FELLOE_FUZZ)
  # Coverage of the libraries is what guides the fuzzer; tests/fuzz links the fuzzer itself.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
