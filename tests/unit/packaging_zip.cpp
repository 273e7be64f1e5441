#include "packaging/zip/reader.h"

#include <catch2/catch.hpp>

#include "tests/unit/packaging_files.h"
#include "tests/unit/throws.h"

namespace felloe {
namespace {

using test::error_of;
using test::make_zip;
using test::stored;
using Kind = ZipProblem::Kind;

ZipReader open(const std::string& data) { return ZipReader(Bytes(data, "w.whl")); }

bool has(const ZipReader& zip, Kind kind) {
  for (const ZipProblem& p : zip.problems()) {
    if (p.kind == kind) return true;
  }
  return false;
}

TEST_CASE("a sound zip reads back") {
  const std::string data = make_zip({stored("a/b.txt", "hello"), stored("c", "")});
  const ZipReader zip = open(data);
  REQUIRE(zip.problems().empty());
  zip.require_sound();
  REQUIRE(zip.entries().size() == 2);
  REQUIRE(zip.read(*zip.find("a/b.txt")).text() == "hello");
  REQUIRE(zip.read(*zip.find("c")).text().empty());
  REQUIRE(zip.find("d") == nullptr);
}

TEST_CASE("what is no zip, or only a part of one, says so") {
  REQUIRE(error_of([] { open("hello, I am text and longer than an end record"); }).message() ==
          "not a zip file: no end-of-central-directory record");
  REQUIRE(error_of([] { open(""); }).message() == "the file is empty, expected a zip file");
  const std::string data = make_zip({stored("a", "hello")});
  for (std::size_t cut = 4; cut < data.size(); ++cut) {
    const Error e = error_of([&] { open(data.substr(0, cut)); });
    REQUIRE(e.kind() == ErrorKind::input);
    REQUIRE(e.message() == "the zip file is truncated: its end record is missing");
  }
}

TEST_CASE("unsafe names are problems") {
  for (const char* name : {"../evil", "a/../../evil", "/etc/passwd", "a\\b", "C:evil", "a//b",
                           "./a", "a\nb", "\xff\xfe"}) {
    INFO(name);
    const std::string data = make_zip({stored(name, "x")});
    const ZipReader zip = open(data);
    REQUIRE(has(zip, Kind::unsafe_name));
    REQUIRE(error_of([&] { zip.require_sound(); }).kind() == ErrorKind::input);
  }
  const std::string fine = make_zip({stored("ünïcode/..name", "x")});
  REQUIRE(open(fine).problems().empty());
}

TEST_CASE("ambiguous archives are problems") {
  const std::string twice = make_zip({stored("a", "x"), stored("a", "y")});
  REQUIRE(has(open(twice), Kind::duplicate));
  const std::string inside = make_zip({stored("a", "x"), stored("a/b", "y")});
  REQUIRE(has(open(inside), Kind::duplicate));
  const std::string cases = make_zip({stored("A", "x"), stored("a", "y")});
  REQUIRE(has(open(cases), Kind::case_duplicate));
  open(cases).require_sound();  // a warning, not a reason to refuse
  test::ZipPart other = stored("a", "x");
  other.local_name = "b";
  const std::string names = make_zip({other});
  REQUIRE(has(open(names), Kind::header_mismatch));
  const std::string behind = make_zip({stored("a", "x")}, "tail");
  REQUIRE(has(open(behind), Kind::hidden_data));
}

TEST_CASE("a bomb is refused by its declared size, before inflating") {
  test::ZipPart bomb = stored("a", "0123456789");
  bomb.method = 8;
  bomb.size = 3'000'000'000;
  const std::string data = make_zip({bomb});
  const ZipReader zip = open(data);
  REQUIRE(has(zip, Kind::impossible_size));
  REQUIRE(error_of([&] { zip.read(zip.entries()[0]); }).message() ==
          "declares 3000000000 bytes, more than 10 deflated bytes can hold");
}

TEST_CASE("a member that inflates to more or less than declared is refused") {
  // One stored deflate block of 5 bytes: 01 05 00 fa ff "hello".
  test::ZipPart p = stored("a", std::string("\x01\x05\x00\xfa\xff"
                                            "hello",
                                            10));
  p.method = 8;
  p.crc = stored("a", "hello").crc;
  p.size = 5;
  const std::string good = make_zip({p});
  REQUIRE(open(good).read(open(good).entries()[0]).text() == "hello");
  p.size = 3;
  const std::string more = make_zip({p});
  REQUIRE(error_of([&] { open(more).read(open(more).entries()[0]); }).message() ==
          "inflates to more than the 3 bytes it declares");
  p.size = 9;
  const std::string less = make_zip({p});
  REQUIRE(error_of([&] { open(less).read(open(less).entries()[0]); }).message() ==
          "inflates to 5 bytes, declares 9");
  p.size = 5;
  p.crc ^= 1;
  const std::string crc = make_zip({p});
  const Error e = error_of([&] { open(crc).read(open(crc).entries()[0]); });
  REQUIRE(e.message() == "CRC mismatch");
  REQUIRE(e.where() == "w.whl!a");
}

TEST_CASE("encrypted members, links and odd methods are problems") {
  test::ZipPart p = stored("a", "x");
  p.flags = 1;
  const std::string locked = make_zip({p});
  REQUIRE(has(open(locked), Kind::encrypted));
  REQUIRE_THROWS_AS(open(locked).read(open(locked).entries()[0]), Error);
  test::ZipPart link = stored("a", "target");
  link.mode = 0120777;
  const std::string linked = make_zip({link});
  REQUIRE(has(open(linked), Kind::symlink));
  test::ZipPart odd = stored("a", "x");
  odd.method = 93;
  const std::string zstd = make_zip({odd});
  REQUIRE(has(open(zstd), Kind::method));
}

}  // namespace
}  // namespace felloe
