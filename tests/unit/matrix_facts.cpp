#include "matrix/facts.h"

#include <catch2/catch.hpp>

#include "tests/unit/throws.h"

using namespace felloe;
using felloe::test::error_of;

namespace {

const char* const kHost = R"({
  "schema": "felloe/host/1", "os": {"kernel": "Linux", "machine": "x86_64"},
  "cpu": {"machine": "x86_64"}})";
const char* const kWheel = R"({
  "schema": "felloe/wheel/1", "file": "a-1-py3-none-any.whl", "name": "a", "version": "1",
  "tags": ["py3-none-any"]})";

Json with(const char* base, const std::string& pointer, const Json& value) {
  Json json = parse_json(base, "base");
  json[Json::json_pointer(pointer)] = value;
  return json;
}

}  // namespace

TEST_CASE("absent, null and a value stay three things") {
  const HostFacts unknown = host_from_json(parse_json(kHost, "h"), "h");
  CHECK(unknown.gpu.unknown());
  CHECK(unknown.os.page_size.unknown());
  CHECK_FALSE(to_json(unknown).contains("gpu"));

  const HostFacts none = host_from_json(with(kHost, "/gpu", nullptr), "h");
  CHECK(none.gpu.is_none());
  CHECK(to_json(none).at("gpu").is_null());

  const HostFacts known = host_from_json(with(kHost, "/gpu", Json::object()), "h");
  REQUIRE(known.gpu.known());
  CHECK(known.gpu->driver.unknown());
}

TEST_CASE("a host survives the way to JSON and back") {
  Json json = parse_json(kHost, "h");
  json["os"]["page_size"] = 16384;
  json["os"]["container"] = nullptr;
  json["libc"] = {{"name", "glibc"}, {"version", "2.36"}};
  json["libs"]["libstdc++.so.6"] = {{"path", "/lib/x"}, {"versions", {{"GLIBCXX", "3.4.30"}}}};
  json["libs_complete"] = true;
  json["cpu"]["features"] = {"sse2", "avx"};
  json["python"] = Json::array({{{"version", "3.12.1"},
                                 {"machine", "x86_64"},
                                 {"elf_class", 64},
                                 {"free_threaded", false}}});
  json["gpu"] = {
      {"driver", "580.65.06"},
      {"cuda", "13.0"},
      {"visible", nullptr},
      {"devices",
       Json::array({{{"index", 0}, {"cc", "9.0"}, {"mig", {{"enabled", true}, {"slices", 7}}}}})}};
  json["sources"] = {{"cpu.features", "cpuid"}};
  json["degraded"] = Json::array({"gpu.soc: not readable"});
  CHECK(to_json(host_from_json(json, "h")) == json);
}

TEST_CASE("a wheel survives the way to JSON and back") {
  Json json = parse_json(kWheel, "w");
  json["libc_floor"] = nullptr;
  json["requires_python"] = ">=3.9";
  json["modules"] =
      Json::array({{{"path", "a/_c.so"},
                    {"machine", "x86_64"},
                    {"isa",
                     {{"requires", Json::array({{{"feature", "avx2"},
                                                 {"when", "load"},
                                                 {"guard", "none"},
                                                 {"where", {{"symbol", "f"}, {"offset", 4096}}}}})},
                      {"dispatched", Json::array({"avx512f"})}}},
                    {"isa_note", nullptr}}});
  json["cuda"] = {{"sass", {"80", "90a"}},
                  {"ptx", Json::array({{{"arch", "90"}, {"isa", "8.0"}}})},
                  {"ambiguous", Json::array()},
                  {"alternatives", false},
                  {"per_library", Json::object()}};
  CHECK(to_json(wheel_from_json(json, "w")) == json);
}

TEST_CASE("fields nobody knows are ignored") {
  CHECK_NOTHROW(host_from_json(with(kHost, "/cpu/microcode", 5), "h"));
}

TEST_CASE("a scan without its requirements is no scan") {
  const Json module = {{"path", "a.so"}, {"machine", "x86_64"}, {"isa", {{"dispatched", {"avx"}}}}};
  const WheelFacts facts = wheel_from_json(with(kWheel, "/modules", Json::array({module})), "w");
  CHECK(facts.modules->at(0).isa.unknown());
}

TEST_CASE("wrong facts are refused with their place") {
  const auto host = [](const std::string& pointer, const Json& value) {
    return error_of([&] { host_from_json(with(kHost, pointer, value), "h.json"); });
  };
  const auto wheel = [](const std::string& pointer, const Json& value) {
    return error_of([&] { wheel_from_json(with(kWheel, pointer, value), "w.json"); });
  };
  CHECK(host("/os", 5).where() == "h.json#/os");
  CHECK(host("/os", 5).message() == "must be an object, not 5");
  CHECK(host("/os/kernel", "BeOS").message() == "must be Linux, Darwin or Windows, not \"BeOS\"");
  CHECK(host("/cpu/features", "avx").message() == "must be a list, not \"avx\"");
  CHECK(host("/cpu/features", {1}).where() == "h.json#/cpu/features/0");
  CHECK(host("/libc", {{"name", "glibc"}, {"version", "new"}}).where() == "h.json#/libc/version");
  CHECK(host("/libs", {{"a.so", 1}}).where() == "h.json#/libs/a.so");
  CHECK(host("/schema", "felloe/wheel/1").hint().find("felloe probe") != std::string::npos);
  CHECK(wheel("/tags/0", "py3-none").where() == "w.json#/tags/0");
  CHECK(wheel("/file", "a.zip").where() == "w.json#/file");
  CHECK(wheel("/cuda", {{"sass", {"sm_90"}}, {"ptx", Json::array()}}).where() ==
        "w.json#/cuda/sass/0");
  Json missing = parse_json(kWheel, "w");
  missing.erase("version");
  const auto error = error_of([&] { wheel_from_json(missing, "w.json"); });
  CHECK(error.kind() == ErrorKind::input);
  CHECK(error.where() == "w.json#/");
  CHECK(error.message() == "`version` is missing");
  error_of([] { host_from_json(Json::array(), "h"); });
}
