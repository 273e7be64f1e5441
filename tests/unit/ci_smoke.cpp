// Which cells are tested, which tags an interpreter takes, which versions need which headers.
#include <catch2/catch.hpp>

#include "ci/pyenv.h"
#include "ci/smoke.h"
#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "tests/unit/packaging_files.h"

using namespace felloe;

namespace {

HostPython python(const std::string& version, const std::string& path) {
  HostPython out;
  out.version = version;
  out.path = path;
  out.implementation = std::string("cpython");
  return out;
}

std::vector<std::string> ids(const std::vector<SmokeCell>& cells) {
  std::vector<std::string> out;
  for (const SmokeCell& cell : cells) out.push_back(cell.id);
  return out;
}

}  // namespace

TEST_CASE("each CPython natively, each minor version on the old CPU", "[ci]") {
  HostFacts host;
  HostPython pypy = python("3.11.9", "/nowhere/pypy");
  pypy.implementation = std::string("pypy");
  HostPython free_threaded = python("3.13.0", "/nowhere/t");
  free_threaded.free_threaded = true;
  host.python = std::vector<HostPython>{python("3.9.1", "/nowhere/9"),
                                        python("3.11.2", "/nowhere/a"),
                                        python("3.11.10", "/nowhere/b"),
                                        python("3.11.10", "/nowhere/c"),
                                        python("3.13.0", "/nowhere/d"),
                                        pypy,
                                        free_threaded};
  SmokeRules rules;
  rules.emulate = {"oldest", "Haswell"};
  CHECK(ids(smoke_cells(rules, "x86_64", host)) ==
        std::vector<std::string>{"cp311-3.11.2", "cp311-3.11.10", "cp311-3.11.10-2", "cp313-3.13.0",
                                 "cp311-3.11.10-qemu64", "cp313-3.13.0-qemu64",
                                 "cp311-3.11.10-Haswell", "cp313-3.13.0-Haswell"});
  rules.pythons = "what";
  CHECK_THROWS_AS(smoke_cells(rules, "x86_64", host), Error);
}

TEST_CASE("tags and interpreters", "[ci]") {
  const std::vector<std::string> wheel{"cp311-cp311-linux_x86_64", "cp312-abi3-linux_x86_64"};
  CHECK_FALSE(tags_support_python(wheel, 3, 10));
  CHECK(tags_support_python(wheel, 3, 11));
  CHECK(tags_support_python(wheel, 3, 12));
  CHECK(tags_support_python(wheel, 3, 14));
  CHECK_FALSE(tags_support_python({"cp311-cp311-linux_x86_64"}, 3, 12));
  CHECK(tags_support_python({"py3-none-any"}, 3, 10));
  CHECK_FALSE(tags_support_python({"py2-none-any"}, 3, 10));
  CHECK_FALSE(tags_support_python({"nonsense", "cpxx-abi3-any"}, 3, 10));
}

TEST_CASE("what a wheel lets one import", "[ci]") {
  const TempDir dir;
  const fs::path wheel = dir.path() / "demo-1-py3-none-any.whl";
  std::vector<test::ZipPart> parts;
  for (const char* name :
       {"demo/__init__.py", "demo/inner/__init__.py", "demo/_C.abi3.so", "single.py",
        "native.cpython-311-x86_64-linux-gnu.so", "demo-1.data/platlib/beside/__init__.py",
        "demo-1.data/scripts/tool.py", "demo-1.dist-info/METADATA", "plain_data/table.txt",
        "not-a-name.py", "libmere.so"}) {
    parts.push_back(test::stored(name, ""));
  }
  parts.push_back(test::stored("untagged.so", "PyInit_untagged"));
  write_file(wheel, test::make_zip(parts));
  CHECK(importable_modules(wheel) ==
        std::vector<std::string>{"beside", "demo", "native", "single", "untagged"});
}

TEST_CASE("ABI words", "[ci]") {
  CHECK(abi_version("cp311") == std::pair(3, 11));
  CHECK(abi_version("cp312-abi3") == std::pair(3, 12));
  for (const char* word : {"", "311", "cp", "cp3", "py311", "cp3x"}) {
    INFO(word);
    CHECK_THROWS_AS(abi_version(word), Error);
  }
}

TEST_CASE("headers are found below $FELLOE_PYTHON_HEADERS, the lowest that fits", "[ci]") {
  const TempDir dir;
  for (const char* version : {"3.11", "3.12", "3.13"})
    write_file(dir.path() / version / "Python.h", "");
  ::setenv("FELLOE_PYTHON_HEADERS", dir.path().c_str(), 1);
  const HostFacts host;
  CHECK(find_headers("cp311", host)->version == "3.11");
  CHECK(find_headers("cp312-abi3", host)->version == "3.12");
  fs::remove_all(dir.path() / "3.12");
  CHECK(find_headers("cp312-abi3", host)->version == "3.13");
  CHECK_FALSE(find_headers("cp310", host));
  ::unsetenv("FELLOE_PYTHON_HEADERS");
  CHECK_FALSE(find_headers("cp311", host));
}

TEST_CASE("what a cell found becomes findings", "[ci]") {
  const Json bad{
      {"cell", "c"},
      {"python", "3.11.2"},
      {"cpu", "qemu64"},
      {"coverage", "emulated"},
      {"ok", false},
      {"reason", ""},
      {"scripts",
       Json::array(
           {{{"script", "s.py"}, {"ok", false}, {"how", "killed"}, {"tail", "Traceback"}}})}};
  const auto findings = smoke_findings(bad, "w.whl");
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].code == "SMOKE001");
  CHECK(findings[0].severity == Severity::error);
  CHECK(findings[0].message ==
        "fails with CPython 3.11.2 on an emulated qemu64: killed\nTraceback");
  const Json skipped{{"cell", "c"},
                     {"python", "3.10.1"},
                     {"cpu", ""},
                     {"coverage", "not run"},
                     {"ok", nullptr},
                     {"reason", "no tag"},
                     {"scripts", Json::array()}};
  REQUIRE(smoke_findings(skipped, "w.whl").size() == 1);
  CHECK(smoke_findings(skipped, "w.whl")[0].code == "SMOKE002");
}
