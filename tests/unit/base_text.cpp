#include "matrix/base/text.h"

#include <catch2/catch.hpp>

using namespace felloe;

TEST_CASE("versions compare as numbers") {
  CHECK(compare_versions("2.9", "2.17") < 0);
  CHECK(compare_versions("2.17", "2.17.0") == 0);
  CHECK(compare_versions("525.60.13", "525.60.2") > 0);
  CHECK(compare_versions("", "0") == 0);
  CHECK(compare_versions("99999999999999999999", "1") > 0);
}

TEST_CASE("sizes are told in the unit that fits") {
  CHECK(size_text(0) == "0 bytes");
  CHECK(size_text(1) == "1 byte");
  CHECK(size_text(999) == "999 bytes");
  CHECK(size_text(1000) == "1.00 kB");
  CHECK(size_text(12'345) == "12.35 kB");
  CHECK(size_text(999'994) == "999.99 kB");
  CHECK(size_text(999'996) == "1.00 MB");
  CHECK(size_text(9'740'000) == "9.74 MB");
  CHECK(size_text(1'500'000'000) == "1.50 GB");
  CHECK(size_text(12'000'000'000'000) == "12000.00 GB");
}

TEST_CASE("the nearest word is found, a distant one is not") {
  const std::vector<std::string> words = {"audit", "build", "check"};
  CHECK(nearest("aduit", words) == "audit");
  CHECK(nearest("chek", words) == "check");
  CHECK(nearest("buld", words) == "build");
  CHECK_FALSE(nearest("zzzzz", words).has_value());
  CHECK_FALSE(nearest("x", {}).has_value());
}

TEST_CASE("splitting, joining and trimming") {
  CHECK(split("a,,b", ',') == std::vector<std::string>{"a", "", "b"});
  CHECK(split("", ',') == std::vector<std::string>{""});
  CHECK(split_lines("a\r\nb\n") == std::vector<std::string>{"a", "b"});
  CHECK(join({"a", "b"}, ", ") == "a, b");
  CHECK(trim(" \t a b\n") == "a b");
  CHECK(trim(" \n").empty());
  CHECK(to_lower("AbÄ") == "abÄ");
  CHECK(last_lines("1\n\n2\n  \n3\n", 2) == "2\n3");
}
