#include "matrix/base/json.h"

#include <catch2/catch.hpp>

#include "matrix/base/json_reader.h"
#include "tests/unit/throws.h"

using felloe::ErrorKind;
using felloe::Json;
using felloe::JsonNode;
using felloe::test::error_of;

namespace {

std::string nested(int depth, char open, char close) {
  return std::string(static_cast<std::size_t>(depth), open) +
         std::string(static_cast<std::size_t>(depth), close);
}

}  // namespace

TEST_CASE("nesting is bounded") {
  CHECK_NOTHROW(felloe::parse_json(nested(felloe::kMaxJsonDepth, '[', ']'), "f"));
  const auto error =
      error_of([] { felloe::parse_json(nested(felloe::kMaxJsonDepth + 1, '[', ']'), "f"); });
  CHECK(error.kind() == ErrorKind::input);
  CHECK(error.message() == "JSON is nested deeper than 64 levels");
  error_of([] { felloe::parse_json(nested(1'000'000, '[', ']'), "f"); });
}

TEST_CASE("brackets in strings and comments don't count as nesting") {
  const std::string many = nested(200, '[', ']');
  CHECK_NOTHROW(felloe::parse_json("\"" + many + "\\\"" + many + "\"", "f"));
  CHECK_NOTHROW(felloe::parse_json("// " + many + "\n/* " + many + " */ 1", "f"));
}

TEST_CASE("malformed JSON is reported with line and column") {
  const auto error = error_of([] { felloe::parse_json("{\n  \"a\": 1,\n  b\n}", "x.json"); });
  CHECK(error.kind() == ErrorKind::input);
  CHECK(error.where() == "x.json:3:3");
  error_of([] { felloe::parse_json("", "f"); });
  error_of([] { felloe::parse_json("/* open", "f"); });
  error_of([] { felloe::parse_json("\"\xff\"", "f"); });
}

TEST_CASE("output is sorted, ends with a newline and never throws on bad UTF-8") {
  CHECK(felloe::dump_json(Json{{"b", 1}, {"a", 2}}) == "{\n  \"a\": 2,\n  \"b\": 1\n}\n");
  CHECK(felloe::dump_json_compact(Json("\xff")) == "\"\xef\xbf\xbd\"");
}

TEST_CASE("typed reads name the place and what stands there") {
  const std::string name = "f.json";
  const Json json =
      felloe::parse_json(R"({"a": {"b/c": [1, "x", 99999999999, 18446744073709551615]}})", name);
  const JsonNode list = JsonNode(json, name).at("a").at("b/c");
  std::string text;
  list.item(1).read(text);
  CHECK(text == "x");
  const auto error = error_of([&] { list.item(0).read(text); });
  CHECK(error.where() == "f.json#/a/b~1c/0");
  CHECK(error.message() == "must be a string, not 1");
  int narrow = 0;
  CHECK(error_of([&] { list.item(2).read(narrow); }).message() ==
        "must be a 32-bit integer, not 99999999999");
  std::int64_t wide = 0;
  list.item(2).read(wide);
  CHECK(wide == 99999999999);
  error_of([&] { list.item(3).read(wide); });
  CHECK(error_of([&] { JsonNode(json, name).at("z"); }).message() == "`z` is missing");
  CHECK(error_of([&] { list.at("z"); }).message().starts_with("must be an object, not ["));
}
