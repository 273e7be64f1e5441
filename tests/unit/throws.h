// Matching felloe::Error in tests: what was thrown, and that kind, place and words are right.
#pragma once
#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "matrix/base/error.h"

namespace felloe::test {

// The Error that `action` throws. Fails the test if it throws nothing (another exception escapes).
template <class Action>
Error error_of(Action&& action) {
  std::optional<Error> caught;
  try {
    action();
  } catch (const Error& error) {
    caught = error;
  }
  REQUIRE(caught.has_value());
  return *caught;
}

}  // namespace felloe::test
