#include <catch2/catch.hpp>

#include "packaging/wheel/filename.h"
#include "packaging/wheel/headers.h"
#include "packaging/wheel/python_tags.h"
#include "packaging/wheel/record.h"
#include "tests/unit/packaging_files.h"
#include "tests/unit/throws.h"

namespace felloe {
namespace {

using test::error_of;

TEST_CASE("wheel file names") {
  const WheelName n = parse_wheel_filename(
      "dir/a_b-1.0+cpu-2x-cp310.cp311-cp310.cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl");
  REQUIRE(n.name == "a_b");
  REQUIRE(n.version == "1.0+cpu");
  REQUIRE(n.build == "2x");
  REQUIRE(n.tags().size() == 8);
  REQUIRE(n.tags().front() == "cp310-cp310-manylinux2014_x86_64");
  REQUIRE_FALSE(parse_wheel_filename("a-1-py3-none-any.whl").build.has_value());
  const auto message = [](const char* file) {
    return error_of([&] { parse_wheel_filename(file); }).message();
  };
  REQUIRE(error_of([] { parse_wheel_filename(""); }).where() == "wheel file name");
  REQUIRE(message("a.zip") == "the file name doesn't end in .whl");
  REQUIRE(message("a-1-any.whl").find("3 parts between dashes") != std::string::npos);
  REQUIRE(message("a-x.y-py3-none-any.whl") == "\"x.y\" is no PEP 440 version");
  REQUIRE(message("a-1-b-py3-none-any.whl") == "the build tag \"b\" doesn't start with a digit");
  REQUIRE(message("a-1-py3-none-.whl") == "the platform tag \"\" in the file name is malformed");
}

TEST_CASE("METADATA") {
  const Headers h = parse_headers(
      "Name: x\r\nRequires-Dist: a\nRequires-Dist: b ; extra == 'c'\n"
      "License: one\n  two\n\nbody: no field\n",
      "METADATA");
  REQUIRE(h.get("name") == "x");
  REQUIRE(h.all("requires-dist") == std::vector<std::string>{"a", "b ; extra == 'c'"});
  REQUIRE(h.get("License") == "one\ntwo");
  REQUIRE(h.body == "body: no field\n");
  REQUIRE_FALSE(h.get("Version").has_value());
  REQUIRE(error_of([] { parse_headers("Name: x\nnonsense\n", "METADATA"); }).message() ==
          "line 2 is no \"Key: value\" line: nonsense");
}

TEST_CASE("RECORD") {
  const auto rows = parse_record("a.py,sha256=abc,12\r\n\"b,\"\"c\"\"\",,\n", "RECORD");
  REQUIRE(rows.size() == 2);
  REQUIRE(rows[0].path == "a.py");
  REQUIRE(rows[0].algorithm == "sha256");
  REQUIRE(rows[0].digest == "abc");
  REQUIRE(rows[0].size == 12u);
  REQUIRE(rows[1].path == "b,\"c\"");
  REQUIRE_FALSE(rows[1].size.has_value());
  const auto message = [](const char* text) {
    return error_of([&] { parse_record(text, "RECORD"); }).message();
  };
  REQUIRE(message("a,b\n") == "line 1: 2 fields, expected 3");
  REQUIRE(message("a,sha256=x,1\nb,nohash,1\n") == "line 2: the hash names no algorithm: nohash");
  REQUIRE(message("a,sha256=x,1x\n") == "line 1: the size is no number: 1x");
  REQUIRE(message("\"a,sha256=x,1\n").find("no closing quote") != std::string::npos);
}

TEST_CASE("extension suffixes") {
  const auto s = parse_module_suffix("_C.cpython-313t-x86_64-linux-gnu.so");
  REQUIRE(s.has_value());
  REQUIRE(s->stem == "_C");
  REQUIRE(s->minor == 13);
  REQUIRE(s->free_threaded);
  REQUIRE(s->triplet == "x86_64-linux-gnu");
  REQUIRE(parse_module_suffix("_C.abi3.so")->kind == ModuleSuffix::Kind::abi3);
  REQUIRE(parse_module_suffix("_C.so")->kind == ModuleSuffix::Kind::none);
  for (const char* file : {"libz.so.1", "x.py", ".so", "_C.cpython-x.so", "_C.pypy39.so"}) {
    REQUIRE_FALSE(parse_module_suffix(file).has_value());
  }
}

struct Module {
  Module(std::string file, std::vector<std::string> symbols)
      : path(std::move(file)),
        data(test::make_elf({.undefined = std::move(symbols), .defined = {"PyInit__C"}})),
        elf(read_elf(Bytes(data, path))) {}
  std::string path, data;
  ElfFile elf;
};

PythonSupport support_of(const std::vector<Module>& modules) {
  std::vector<PythonModule> list;
  for (const Module& m : modules) list.push_back({m.path, &m.elf});
  return python_support(list);
}

TEST_CASE("the stable ABI's real floor") {
  REQUIRE(wheel_detail::stable_abi_since("PyList_New") == 2);
  REQUIRE(wheel_detail::stable_abi_since("PyObject_GetBuffer") == 11);
  REQUIRE_FALSE(wheel_detail::stable_abi_since("_PyLong_AsByteArray").has_value());
  const Module m("_C.abi3.so", {"PyList_New", "PyObject_GetBuffer", "_PyLong_AsByteArray"});
  const StableAbiUse use = stable_abi_use(m.elf);
  REQUIRE(use.floor == 11);
  REQUIRE(use.symbol == "PyObject_GetBuffer");
  REQUIRE(use.outside == std::vector<std::string>{"_PyLong_AsByteArray"});
}

TEST_CASE("single builds and an abi3 build make one truthful tag") {
  const std::vector<std::string> new_abi = {"PyType_FromMetaclass"};  // stable since 3.12
  const std::vector<Module> modules = {
      Module("p/_C.cpython-310-x86_64-linux-gnu.so", {"PyList_New"}),
      Module("p/_C.cpython-311-x86_64-linux-gnu.so", {"PyList_New"}),
      Module("p/_C.abi3.so", new_abi)};
  const PythonSupport all = support_of(modules);
  REQUIRE(to_text(all.gil) == "3.10 and later");
  REQUIRE(python_tags(all).python == "cp310");
  REQUIRE(python_tags(all).abi == "abi3");
  REQUIRE_FALSE(unsupported_promise(all, "cp310", "abi3").has_value());
  REQUIRE(unsupported_promise(all, "cp39", "abi3") == "3.9");
  REQUIRE(unsupported_promise(all, "cp310", "cp310").has_value() == false);
  REQUIRE(unsupported_promise(all, "cp313", "cp313t") == "free-threaded 3.13");

  const PythonSupport gap = support_of({modules[0], modules[2]});
  REQUIRE(unsupported_promise(gap, "cp310", "abi3") == "3.11");
  REQUIRE(
      error_of([&] { python_tags(gap); }).message() ==
      "the modules serve 3.10, 3.12 and later: no tag says that, cp310-abi3 would promise the gap "
      "too");
  const PythonSupport lone = support_of({modules[2]});
  REQUIRE(unsupported_promise(lone, "cp310", "abi3") == "3.10, 3.11");
  REQUIRE(python_tags(lone).python == "cp312");
  const PythonSupport old = support_of({modules[0], modules[1]});
  REQUIRE(python_tags(old).python == "cp310.cp311");
  REQUIRE(python_tags(old).abi == "cp310.cp311");
  REQUIRE(unsupported_promise(old, "cp310", "abi3") == "3.12 and later");
  REQUIRE(python_tags(support_of({})).python == "py3");
  REQUIRE_THROWS_AS(python_tags(support_of({Module("_C.so", {"PyList_New"})})), Error);
}

TEST_CASE("every import name must be found") {
  const PythonSupport s =
      support_of({Module("p/_C.abi3.so", {"PyList_New"}),
                  Module("p/_D.cpython-312-x86_64-linux-gnu.so", {"PyList_New"})});
  REQUIRE(to_text(s.gil) == "3.12");
  REQUIRE(python_tags(s).python == "cp312");
  REQUIRE(python_tags(s).abi == "cp312");
}

}  // namespace
}  // namespace felloe
