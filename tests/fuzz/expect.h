// What a parser may answer to any bytes: a result, or Error{input} with a place. Everything else is
// a bug and crashes the fuzzer.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "matrix/base/bytes.h"
#include "matrix/base/error.h"

namespace felloe::test {

template <class Action>
void expect_result_or_input_error(Action&& action) {
  try {
    action();
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::input || e.where().empty()) std::abort();
  }
}

inline Bytes as_bytes(const std::uint8_t* data, std::size_t size, const char* name) {
  return Bytes(std::string_view(reinterpret_cast<const char*>(data), size), name);
}

}  // namespace felloe::test
