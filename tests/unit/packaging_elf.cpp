#include "packaging/elf/elf.h"

#include <catch2/catch.hpp>

#include "tests/unit/packaging_files.h"
#include "tests/unit/throws.h"

namespace felloe {
namespace {

using test::error_of;
using test::make_elf;
using test::poke;

ElfFile parse(const std::string& data) { return read_elf(Bytes(data, "m.so")); }

const test::ElfParts kParts = {
    .needed = {"libc.so.6", "libm.so.6"},
    .versions = {{"libc.so.6", "GLIBC_2.17"}, {"libm.so.6", "GLIBC_2.27"}},
    .undefined = {"puts", "PyErr_Clear"},
    .defined = {"PyInit_m"},
    .soname = "m.so",
    .runpath = "$ORIGIN"};

TEST_CASE("an ELF file is read by its program headers") {
  const std::string data = make_elf(kParts);
  const ElfFile e = parse(data);
  REQUIRE(e.machine == "x86_64");
  REQUIRE(e.elf_class == 64);
  REQUIRE(e.needed == std::vector<std::string>{"libc.so.6", "libm.so.6"});
  REQUIRE(e.soname == "m.so");
  REQUIRE(e.runpath == "$ORIGIN");
  REQUIRE(e.version_needs.size() == 2);
  REQUIRE(e.version_needs[1].lib == "libm.so.6");
  REQUIRE(e.version_needs[1].version == "GLIBC_2.27");
  REQUIRE(data.find("GLIBC_2.27") != std::string::npos);
  REQUIRE(e.symbols.size() == 3);
  REQUIRE(e.symbols[0].undefined());
  REQUIRE(e.symbols[2].name == "PyInit_m");
  REQUIRE_FALSE(e.symbols[2].undefined());
  REQUIRE(e.p_align == 0x1000);
  REQUIRE(e.stack_executable == false);
  REQUIRE_FALSE(e.textrel);
  REQUIRE(e.sections.empty());
}

TEST_CASE("every truncation of an ELF file is an error that names the file") {
  const std::string data = make_elf(kParts);
  for (std::size_t cut = 4; cut < data.size(); ++cut) {
    const std::string part = data.substr(0, cut);
    const Error e = error_of([&] { parse(part); });
    REQUIRE(e.kind() == ErrorKind::input);
    REQUIRE(e.where().substr(0, 5) == "m.so@");
  }
}

TEST_CASE("offsets and counts past the end are errors") {
  const std::string good = make_elf(kParts);
  const auto broken = [&](std::size_t at, std::uint64_t value, int bytes) {
    std::string data = good;
    poke(data, at, value, bytes);
    return error_of([&] { parse(data); }).message();
  };
  REQUIRE(broken(32, 1u << 30, 8).find("program headers at 0x40000000 reach past the end") !=
          std::string::npos);
  REQUIRE(broken(64 + 8, 1u << 30, 8).find("PT_LOAD segment 0 spans file bytes") !=
          std::string::npos);
  REQUIRE(broken(4, 7, 1) == "ELF class is 7, expected 1 (32-bit) or 2 (64-bit)");
  // The symbol count stands behind the symbols: 24 bytes for each of four.
  const std::size_t hash = 64 + 3 * 56 + 4 * 24;
  REQUIRE(broken(hash + 4, 0xffffffff, 4).find("DT_HASH counts 4294967295 symbols") !=
          std::string::npos);
}

TEST_CASE("any single wrong byte gives a result or an Error, nothing else") {
  const std::string good = make_elf(kParts);
  int errors = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string data = good;
      data[at] = static_cast<char>(value);
      try {
        (void)parse(data);
      } catch (const Error& e) {
        REQUIRE(e.kind() == ErrorKind::input);
        ++errors;
      }
    }
  }
  REQUIRE(errors > 100);
}

TEST_CASE("a version list that overlaps itself ends") {
  const std::string good = make_elf(kParts);
  const std::size_t versions = 64 + 3 * 56 + 4 * 24 + 16;
  std::string data = good;
  poke(data, versions + 12, 4, 4);  // vn_next: inside the entry
  REQUIRE(error_of([&] { parse(data); }).message().find("it overlaps itself") != std::string::npos);
}

}  // namespace
}  // namespace felloe
