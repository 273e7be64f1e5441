#include "matrix/project.h"

#include <catch2/catch.hpp>

#include "matrix/base/fs.h"
#include "tests/unit/throws.h"

using namespace felloe;
using felloe::test::error_of;

namespace {

Json minimal() {
  return parse_json(R"({
    "name": "tiny", "version": "1.2.0",
    "targets": {"x86_64-cpu": {"arch": "x86_64", "accelerator": "cpu",
                               "python_abis": ["cp312-abi3"], "toolchain": "zig"},
                "x86_64-cu126": {"arch": "x86_64", "accelerator": "cu126", "sm": ["80"],
                                 "python_abis": ["none"], "toolchain": "zig"}},
    "toolchains": {"zig": {"kind": "zig", "zig_target": "x86_64-linux-gnu.2.17"}}})",
                    "minimal");
}

struct Folder {
  TempDir dir;
  Project load(const Json& json) {
    write_file(dir.path() / "felloe.json", dump_json(json));
    return load_project(dir.path());
  }
  Error refuse(const std::string& pointer, const Json& value) {
    Json json = minimal();
    json[Json::json_pointer(pointer)] = value;
    return error_of([&] { load(json); });
  }
};

bool ends_with(const Error& error, const std::string& pointer) {
  return error.kind() == ErrorKind::usage && error.where().ends_with("felloe.json#" + pointer);
}

}  // namespace

TEST_CASE("a project is read with its defaults") {
  Folder folder;
  const Project project = folder.load(minimal());
  CHECK(project.name == "tiny");
  CHECK(project.root == folder.dir.path());
  CHECK(project.source.component == "wheel");
  CHECK(project.publish.local_version);
  const Target& target = find_target(project, "x86_64-cpu");
  CHECK(target.name == "x86_64-cpu");
  CHECK(project.toolchains.at(target.toolchain).name == "zig");
}

TEST_CASE("comments are allowed") {
  const TempDir dir;
  write_file(dir.path() / "felloe.json", "// a comment\n" + dump_json(minimal()));
  CHECK_NOTHROW(load_project(dir.path() / "felloe.json"));
}

TEST_CASE("wheel versions") {
  Folder folder;
  Project project = folder.load(minimal());
  const Target& target = find_target(project, "x86_64-cu126");
  CHECK(wheel_version(project, target, std::nullopt) == "1.2.0+cu126");
  CHECK(wheel_version(project, target, "20261130") == "1.2.0.dev20261130+cu126");
  project.publish.local_version = false;
  CHECK(wheel_version(project, target, std::nullopt) == "1.2.0");
}

TEST_CASE("the version may stand in a file") {
  Folder folder;
  Json json = minimal();
  json["version"] = {{"file", "VERSION"}};
  const auto missing = error_of([&] { folder.load(json); });
  CHECK(ends_with(missing, "/version/file"));
  write_file(folder.dir.path() / "VERSION", "3.4.5\n");
  CHECK(folder.load(json).version == "3.4.5");
  write_file(folder.dir.path() / "VERSION", "tomorrow\n");
  CHECK(error_of([&] { folder.load(json); }).message() == "not a release version: \"tomorrow\"");
}

TEST_CASE("an unknown key names the nearest valid one, at every level") {
  Folder folder;
  const auto top = folder.refuse("/tragets", 1);
  CHECK(ends_with(top, "/"));
  CHECK(top.message() == "unknown key `tragets`");
  CHECK(top.hint().starts_with("did you mean `targets`?"));
  const auto target = folder.refuse("/targets/x86_64-cpu/pyton_abis", 1);
  CHECK(ends_with(target, "/targets/x86_64-cpu"));
  CHECK(target.hint().starts_with("did you mean `python_abis`?"));
  CHECK(folder.refuse("/smoke/script", 1).hint().starts_with("did you mean `scripts`?"));
  // A misspelt required key is reported as misspelt, not as missing.
  Json json = minimal();
  json["nmae"] = json["name"];
  json.erase("name");
  CHECK(error_of([&] { folder.load(json); }).hint().starts_with("did you mean `name`?"));
}

TEST_CASE("values that can't be meant are refused with their place") {
  Folder folder;
  CHECK(ends_with(folder.refuse("/name", 5), "/name"));
  CHECK(ends_with(folder.refuse("/name", "my lib"), "/name"));
  CHECK(ends_with(folder.refuse("/version", 1.2), "/version"));
  CHECK(ends_with(folder.refuse("/smoke/pythons", "3.10+"), "/smoke/pythons"));
  CHECK(ends_with(folder.refuse("/package/requires_python", "new"), "/package/requires_python"));
  CHECK(ends_with(folder.refuse("/targets/x86_64-cpu/arch", "i386"), "/targets/x86_64-cpu/arch"));
  CHECK(ends_with(folder.refuse("/targets/x86_64-cpu/accelerator", "cuda"),
                  "/targets/x86_64-cpu/accelerator"));
  CHECK(ends_with(folder.refuse("/targets/x86_64-cpu/sm", {"80"}), "/targets/x86_64-cpu/sm"));
  CHECK(
      ends_with(folder.refuse("/targets/x86_64-cu126/sm", Json::array()), "/targets/x86_64-cu126"));
  CHECK(ends_with(folder.refuse("/targets/x86_64-cpu/arch", "aarch64"), "/targets/x86_64-cpu"));
  CHECK(ends_with(folder.refuse("/toolchains/zig/kind", "gcc"), "/toolchains/zig/kind"));
  CHECK(ends_with(folder.refuse("/toolchains/zig/zig_target", ""), "/toolchains/zig"));
  CHECK(ends_with(folder.refuse("/smoke/timeout_s", 0), "/smoke/timeout_s"));
  CHECK(folder.refuse("/targets/x86_64-cpu/toolchain", "zg").hint() ==
        "did you mean `zig`? toolchains: zig");
  CHECK(ends_with(folder.refuse("/targets", Json::object()), "/targets"));
}

TEST_CASE("a Python ABI is checked where it is written") {
  Folder folder;
  for (const char* bad :
       {"", "3.12", "cp", "cp3", "cp312-abi4", "cp312-abi3-abi3", "CP312", "none ", "cp312\x1b[31m",
        "pp310", "cp31", "cp301", "cp211", "cp31-abi3"}) {
    INFO(bad);
    const auto error = folder.refuse("/targets/x86_64-cpu/python_abis", Json::array({bad}));
    CHECK(ends_with(error, "/targets/x86_64-cpu/python_abis/0"));
    CHECK(ends_with(folder.refuse("/targets/x86_64-cpu/optional_abis", Json::array({bad})),
                    "/targets/x86_64-cpu/optional_abis/0"));
  }
  Json project = minimal();
  project["targets"]["x86_64-cpu"]["python_abis"] = {"cp38", "cp311", "cp312-abi3", "none"};
  CHECK(folder.load(project).targets.at("x86_64-cpu").python_abis.size() == 4);
}

TEST_CASE("an unknown target names the nearest and all") {
  Folder folder;
  const Project project = folder.load(minimal());
  const auto error = error_of([&] { find_target(project, "x86_64-cu12"); });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(error.message() == "unknown target: `x86_64-cu12`");
  CHECK(error.hint() == "did you mean `x86_64-cu126`? targets: x86_64-cpu, x86_64-cu126");
}

TEST_CASE("no felloe.json, or one that isn't JSON") {
  const TempDir dir;
  const auto missing = error_of([&] { load_project(dir.path()); });
  CHECK(missing.kind() == ErrorKind::usage);
  CHECK(missing.hint().find("felloe init") != std::string::npos);
  write_file(dir.path() / "felloe.json", "{\"name\": }");
  const auto broken = error_of([&] { load_project(dir.path()); });
  CHECK(broken.kind() == ErrorKind::usage);
  CHECK(broken.where().ends_with("felloe.json:1:10"));
}
