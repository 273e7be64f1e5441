#include "matrix/base/visible.h"

#include <catch2/catch.hpp>

using namespace felloe;

TEST_CASE("UTF-8 is what RFC 3629 allows") {
  CHECK(is_utf8("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"));
  for (const char* bad : {"\xff", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                          "\xf4\x90\x80\x80", "\x80", "\xe2\x82"}) {
    CHECK_FALSE(is_utf8(bad));
  }
}

TEST_CASE("what steers a terminal is written out") {
  CHECK(visible("plain \xc3\xa4\xf0\x9f\x98\x80\n\tnext") ==
        "plain \xc3\xa4\xf0\x9f\x98\x80\n\tnext");
  CHECK(visible("\x1b[31m\x07\x7f\r") == "\\u001b[31m\\u0007\\u007f\\u000d");
  CHECK(visible(std::string_view("a\0b", 3)) == "a\\u0000b");
  CHECK(visible("\xc2\x9b"
                "2J\xe2\x80\xaeogp") == "\\u009b2J\\u202eogp");
  CHECK(visible("a\xff\xfe") == "a\\xff\\xfe");
  CHECK(visible("a\nb\tc", Lines::escape) == "a\\u000ab\\u0009c");
}
