#include "packaging/policy/platform.h"

#include <catch2/catch.hpp>

#include "tests/unit/packaging_files.h"
#include "tests/unit/throws.h"

namespace felloe {
namespace {

using test::ElfParts;
using test::make_elf;

// A parsed module with the bytes it was parsed from.
struct Module {
  explicit Module(const ElfParts& parts)
      : data(make_elf(parts)), elf(read_elf(Bytes(data, "m.so"))) {}
  std::string data;
  ElfFile elf;
};

std::string tag_of(const ElfParts& parts) {
  const Module m(parts);
  return lowest_platform(m.elf.machine, {{"m.so", &m.elf}}).compressed();
}

TEST_CASE("the lowest policy that allows every symbol version") {
  REQUIRE(lowest_platform("x86_64", {}).tag == "any");
  REQUIRE(tag_of({}) == "manylinux1_x86_64.manylinux_2_5_x86_64");
  REQUIRE(tag_of({.needed = {"libc.so.6"}, .versions = {{"libc.so.6", "GLIBC_2.14"}}}) ==
          "manylinux2014_x86_64.manylinux_2_17_x86_64");
  REQUIRE(tag_of({.needed = {"libc.so.6"}, .versions = {{"libc.so.6", "GLIBC_2.30"}}}) ==
          "manylinux_2_31_x86_64");
  REQUIRE(tag_of({.needed = {"libc.so.6"}, .versions = {{"libc.so.6", "GLIBC_ABI_DT_RELR"}}}) ==
          "manylinux_2_36_x86_64");
  REQUIRE(tag_of({.needed = {"libc.so.6"}, .versions = {{"libc.so.6", "GLIBC_PRIVATE"}}}) ==
          "linux_x86_64");
  REQUIRE(tag_of({.needed = {"libc.so.6"}, .versions = {{"libc.so.6", "GLIBC_9.9"}}}) ==
          "linux_x86_64");
  REQUIRE(
      tag_of(
          {.machine = 183, .needed = {"libc.so.6"}, .versions = {{"libc.so.6", "GLIBC_2.17"}}}) ==
      "manylinux2014_aarch64.manylinux_2_17_aarch64");
  REQUIRE(tag_of({.needed = {"libstdc++.so.6", "libc.so.6"},
                  .versions = {{"libstdc++.so.6", "GLIBCXX_3.4.30"}}}) == "manylinux_2_35_x86_64");
  // OpenSSL's versions are no system's promise; the library is what counts.
  REQUIRE(tag_of({.needed = {"libc.so.6"}, .versions = {{"libc.so.6", "OPENSSL_1_1_0"}}}) ==
          "manylinux1_x86_64.manylinux_2_5_x86_64");
}

TEST_CASE("evidence names what forces the tag") {
  const Module m({.needed = {"libc.so.6", "libm.so.6"},
                  .versions = {{"libc.so.6", "GLIBC_2.2.5"}, {"libm.so.6", "GLIBC_2.27"}}});
  const PlatformTag tag = lowest_platform("x86_64", {{"p/m.so", &m.elf}});
  REQUIRE(tag.tag == "manylinux_2_27_x86_64");
  REQUIRE(tag.evidence.size() == 1);
  REQUIRE(tag.evidence[0].module == "p/m.so");
  REQUIRE(tag.evidence[0].subject == "GLIBC_2.27");
  REQUIRE(tag.evidence[0].floor == 27);
  const auto bad = platform_violations("x86_64", "glibc", 17, {{"p/m.so", &m.elf}});
  REQUIRE(bad.size() == 1);
  REQUIRE(bad[0].subject == "GLIBC_2.27");
  REQUIRE(platform_violations("x86_64", "glibc", 28, {{"p/m.so", &m.elf}}).empty());
}

TEST_CASE("libraries: allowed, in the wheel, provided, or none of these") {
  const Module user({.needed = {"libfoo-1234.so.2", "libc.so.6"}});
  const Module foo({.needed = {"libc.so.6"}, .soname = "libfoo-1234.so.2"});
  REQUIRE(lowest_platform("x86_64", {{"m.so", &user.elf}}).tag == "linux_x86_64");
  REQUIRE(lowest_platform("x86_64", {{"m.so", &user.elf}, {"x.libs/foo", &foo.elf}}).minor == 5);
  REQUIRE(lowest_platform("x86_64", {{"m.so", &user.elf}}, {.provided = {"libfoo-*"}}).minor == 5);
  REQUIRE(tag_of({.needed = {"libmvec.so.1"}}) == "manylinux_2_24_x86_64");
}

TEST_CASE("private symbols of an allowed library") {
  REQUIRE(tag_of({.needed = {"libz.so.1"}, .undefined = {"inflate"}}) ==
          "manylinux1_x86_64.manylinux_2_5_x86_64");
  REQUIRE(tag_of({.needed = {"libz.so.1"}, .undefined = {"_tr_align"}}) == "linux_x86_64");
  REQUIRE(tag_of({.needed = {"libc.so.6"}, .undefined = {"__cxa_thread_atexit_impl"}}) ==
          "manylinux_2_24_x86_64");
  REQUIRE(tag_of({.needed = {"libc.so.6"}, .undefined = {"_tr_align"}}) ==
          "manylinux1_x86_64.manylinux_2_5_x86_64");
}

TEST_CASE("musl") {
  REQUIRE(tag_of({.needed = {"libc.musl-x86_64.so.1"}}) == "musllinux_1_2_x86_64");
  REQUIRE(tag_of({.machine = 183, .needed = {"libc.so"}}) == "musllinux_1_2_aarch64");
  const Module musl({.needed = {"libc.musl-x86_64.so.1"}}), glibc({.needed = {"libc.so.6"}});
  REQUIRE(test::error_of([&] {
            lowest_platform("x86_64", {{"a.so", &musl.elf}, {"b.so", &glibc.elf}});
          }).message() == "is linked to glibc, but a.so is linked to musl");
  REQUIRE(test::error_of([&] {
            lowest_platform("aarch64", {{"a.so", &musl.elf}});
          }).message() == "is code for x86_64, expected aarch64");
}

TEST_CASE("platform tags") {
  const auto check = [](const char* tag, const char* libc, int minor, const char* arch) {
    const auto t = parse_linux_tag(tag);
    REQUIRE(t.has_value());
    REQUIRE(t->libc == libc);
    REQUIRE(t->minor == minor);
    REQUIRE(t->arch == arch);
  };
  check("manylinux1_i686", "glibc", 5, "i686");
  check("manylinux2010_x86_64", "glibc", 12, "x86_64");
  check("manylinux2014_aarch64", "glibc", 17, "aarch64");
  check("manylinux_2_28_x86_64", "glibc", 28, "x86_64");
  check("musllinux_1_2_armv7l", "musl", 2, "armv7l");
  check("linux_x86_64", "", 0, "x86_64");
  for (const char* tag : {"any", "win_amd64", "macosx_11_0_arm64", "manylinux_2_x86_64",
                          "manylinux_2_28", "manylinux_2_28_", "linux_"}) {
    REQUIRE_FALSE(parse_linux_tag(tag).has_value());
  }
  REQUIRE(platform_allows_library("manylinux_2_28_x86_64", "libz.so.1"));
  REQUIRE(platform_allows_library("manylinux1_x86_64", "ld-linux-x86-64.so.2"));
  REQUIRE_FALSE(platform_allows_library("manylinux2014_x86_64", "libmvec.so.1"));
  REQUIRE_FALSE(platform_allows_library("linux_x86_64", "libz.so.1"));
  REQUIRE_FALSE(platform_allows_library("manylinux_2_28_x86_64", "libgomp.so.1"));
}

}  // namespace
}  // namespace felloe
