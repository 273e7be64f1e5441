// Writing wheels below the command: time stamps, zip64, text files, tags of trees.
#include <sys/stat.h>

#include "matrix/base/fs.h"
#include "packaging/package.h"
#include "packaging/writer/metadata.h"
#include "packaging/writer/tags.h"
#include "packaging/writer/tree.h"
#include "packaging/writer/zip_writer.h"
#include "packaging/zip/reader.h"
#include "tests/unit/throws.h"

namespace felloe {
namespace {

using test::error_of;

TEST_CASE("zip time stamps are UTC, in two-second steps, clamped") {
  CHECK(zip_time(0).date == ((0 << 9) | (1 << 5) | 1));
  CHECK(zip_time(0).time == 0);
  CHECK(zip_time(-5).date == zip_time(0).date);
  const ZipDosTime known = zip_time(1700000001);  // 2023-11-14 22:13:21
  CHECK(known.date == ((43 << 9) | (11 << 5) | 14));
  CHECK(known.time == ((22 << 11) | (13 << 5) | 10));
  CHECK(zip_time(1ll << 40).date == ((127 << 9) | (12 << 5) | 31));
}

TEST_CASE("an archive with more members than 16 bits hold is zip64 and readable") {
  const TempDir dir;
  ZipWriter zip(0);
  for (int i = 0; i < 66000; ++i) zip.add_text("m/" + std::to_string(i), "", 0644);
  zip.write(dir.path() / "many.zip");
  const ZipReader reader(dir.path() / "many.zip");
  CHECK(reader.entries().size() == 66000);
  CHECK(reader.problems().empty());
  CHECK(list_files(dir.path()) == std::vector<std::string>{"many.zip"});
}

TEST_CASE("archives are the same bytes whatever the umask") {
  const TempDir dir;
  const auto pack = [&](const char* name, mode_t mask) {
    const mode_t old = ::umask(mask);
    ZipWriter zip(1700000000);
    zip.add_text("a/text", std::string(100000, 'x'), 0644);
    zip.add_text("a/\xc3\xa4", "y", 0755);
    zip.write(dir.path() / name);
    ::umask(old);
    return read_file(dir.path() / name);
  };
  CHECK(pack("one.zip", 0) == pack("two.zip", 077));
  CHECK((fs::status(dir.path() / "two.zip").permissions() & fs::perms::mask) ==
        static_cast<fs::perms>(0644));
  const ZipReader reader(dir.path() / "one.zip");
  CHECK(reader.problems().empty());
  CHECK(reader.entries().at(1).name == "a/\xc3\xa4");
  CHECK((reader.entries().at(1).mode & 0777) == 0755);
}

TEST_CASE("a file that changes while it is packed is noticed") {
  const TempDir dir;
  write_file(dir.path() / "in", "before");
  ZipWriter zip(0);
  zip.add_file("in", dir.path() / "in", 0644);
  write_file(dir.path() / "in", "after, and longer");
  const Error error = error_of([&] { zip.write(dir.path() / "out.zip"); });
  CHECK(error.kind() == ErrorKind::input);
  CHECK(error.message() == "changed while it was being packed");
  CHECK(list_files(dir.path()) == std::vector<std::string>{"in"});
}

TEST_CASE("a file that goes away while it is packed is named as bad input") {
  const TempDir dir;
  write_file(dir.path() / "in", "x");
  ZipWriter zip(0);
  zip.add_file("in", dir.path() / "in", 0644);
  fs::remove(dir.path() / "in");
  CHECK(error_of([&] { zip.write(dir.path() / "out.zip"); }).kind() == ErrorKind::input);
  CHECK(list_files(dir.path()).empty());
}

TEST_CASE("license expressions follow SPDX's grammar") {
  for (const char* good :
       {"MIT", "Apache-2.0 AND (MIT OR BSD-3-Clause)", "GPL-2.0-or-later WITH GCC-exception-3.1",
        "((MIT))", "LicenseRef-Proprietary", "GPL-2.0+"}) {
    INFO(good);
    CHECK(valid_license_expression(good));
  }
  for (const char* bad : {"", "MIT OR", "AND MIT", "MIT Apache-2.0", "(MIT", "MIT)", "()",
                          "MIT WITH (GPL)", "MIT and Apache-2.0", "MIT, BSD"}) {
    INFO(bad);
    CHECK_FALSE(valid_license_expression(bad));
  }
}

TEST_CASE("a tree without code is for everybody, and compressed tags are expanded") {
  const TempDir dir;
  write_file(dir.path() / "p/__init__.py", "");
  const InstallTree tree = read_tree(dir.path(), "p-1.data");
  CHECK(compute_tags(tree, {}).text() == "py3-none-any");
  CHECK(compute_tags(tree, {}).pure());
  const WheelTags tags = compute_tags(tree, {"cp311.cp310", "abi3", "b.a.b"});
  CHECK(tags.text() == "cp310.cp311-abi3-a.b");
  CHECK(tags.triples() ==
        std::vector<std::string>{"cp310-abi3-a", "cp310-abi3-b", "cp311-abi3-a", "cp311-abi3-b"});
  CHECK(error_of([&] { compute_tags(tree, {"", "none", "any"}); }).kind() == ErrorKind::usage);
}

TEST_CASE("extra licenses go beside the project's own and may not take their names") {
  const TempDir dir;
  write_file(dir.path() / "LICENSE", "a");
  write_file(dir.path() / "tree/p.py", "");
  PackageRequest request;
  request.tree = dir.path() / "tree";
  request.project_root = dir.path();
  request.out_dir = dir.path() / "out";
  request.name = "p";
  request.version = "1";
  request.info.license_files = {"LICENSE"};
  request.extra_licenses = {{"third/NOTICE", dir.path() / "LICENSE"}};
  const PackageResult result = package_tree(request);
  const ZipReader reader(result.wheel);
  CHECK(reader.find("p-1.dist-info/licenses/LICENSE") != nullptr);
  CHECK(reader.find("p-1.dist-info/licenses/third/NOTICE") != nullptr);
  CHECK(result.size == fs::file_size(result.wheel));
  write_file(dir.path() / "other", "b");
  request.extra_licenses = {{"LICENSE", dir.path() / "other"}};
  CHECK(error_of([&] { package_tree(request); }).kind() == ErrorKind::input);
}

}  // namespace
}  // namespace felloe
