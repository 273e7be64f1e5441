#include "matrix/base/bytes.h"

#include <catch2/catch.hpp>
#include <limits>

#include "tests/unit/throws.h"

using felloe::Bytes;
using felloe::ErrorKind;
using felloe::test::error_of;

TEST_CASE("fields are little-endian at any alignment") {
  const Bytes bytes(std::string_view("\x01\x02\x03\x04\x05\x06\x07\x88\x09", 9), "f");
  CHECK(bytes.u8(8) == 9);
  CHECK(bytes.u16(1) == 0x0302);
  CHECK(bytes.u32(1) == 0x05040302u);
  CHECK(bytes.u64(0) == 0x8807060504030201ull);
  CHECK(bytes.i64(0) < 0);
}

TEST_CASE("reads past the end are errors that name file and offset") {
  const Bytes bytes("abcd", "lib.so");
  CHECK_NOTHROW(bytes.u32(0));
  const auto error = error_of([&] { bytes.u32(1); });
  CHECK(error.kind() == ErrorKind::input);
  CHECK(error.where() == "lib.so@0x1");
  CHECK(error.message() == "needs 4 bytes here, but only 3 are left");
  CHECK(error_of([&] { bytes.u8(4); }).where() == "lib.so@0x4");
  CHECK(error_of([&] { bytes.u64(1000); }).message() == "needs 8 bytes here, but only 0 are left");
}

TEST_CASE("offset plus count that wraps around is still outside") {
  const Bytes bytes("abcd", "f");
  const auto huge = std::numeric_limits<std::uint64_t>::max();
  CHECK_FALSE(bytes.contains(2, huge));
  CHECK_FALSE(bytes.contains(huge, 2));
  CHECK_FALSE(bytes.contains(huge, huge));
  CHECK(bytes.contains(4, 0));
  CHECK_FALSE(bytes.contains(5, 0));
  error_of([&] { bytes.slice(1, huge); });
  error_of([&] { bytes.u32(huge - 1); });
}

TEST_CASE("a slice reports offsets of the whole file") {
  const Bytes bytes("0123456789", "f");
  const Bytes inner = bytes.slice(4, 4).slice(1, 2);
  CHECK(inner.text() == "56");
  CHECK(error_of([&] { inner.u32(0); }).where() == "f@0x5");
}

TEST_CASE("strings end inside the view and within the limit") {
  const Bytes bytes(std::string_view("ab\0cdef", 7), "f");
  CHECK(bytes.cstr(0) == "ab");
  CHECK(bytes.cstr(2).empty());
  CHECK(error_of([&] { bytes.cstr(3); }).message() == "string is not terminated within 4 bytes");
  error_of([&] { bytes.cstr(0, 2); });
  error_of([&] { bytes.cstr(8); });
}
