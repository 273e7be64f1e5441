// Readers of the probe that meet other people's bytes: ELF digests, the loader cache, trees of
// files.
#include <catch2/catch.hpp>

#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "probe/elf.h"
#include "probe/libs.h"
#include "probe/tree.h"

using namespace felloe;

namespace {

void put(std::string& to, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) to.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

// A loader cache of format 1.1 with these {soname, path, flags}.
std::string cache_of(const std::vector<CachedLib>& libs) {
  std::string head = "glibc-ld.so.cache1.1", entries, strings;
  const auto at = [&](const std::string& text) {
    const std::size_t offset = 48 + 24 * libs.size() + strings.size();
    strings += text;
    strings.push_back('\0');
    return static_cast<std::uint32_t>(offset);
  };
  for (const CachedLib& lib : libs) {
    put(entries, lib.flags);
    put(entries, at(lib.soname));
    put(entries, at(lib.path));
    put(entries, 0);
    put(entries, 0);
    put(entries, 0);
  }
  put(head, static_cast<std::uint32_t>(libs.size()));
  put(head, static_cast<std::uint32_t>(strings.size()));
  head.resize(48);
  return head + entries + strings;
}

}  // namespace

TEST_CASE("the digest of the C library names its versions") {
  const MappedFile self("/proc/self/exe");
  const Json digest = elf_digest(self.bytes());
  CHECK(digest.at("elf_class") == 8 * static_cast<int>(sizeof(void*)));
  const std::string interp = digest.value("interp", "");
  REQUIRE(interp.starts_with("/"));

  const MappedFile loader(interp);
  const Json loader_digest = elf_digest(loader.bytes());
  CHECK(loader_digest.at("machine") == digest.at("machine"));
  if (interp.find("musl") == std::string::npos) {
    CHECK(loader_digest.at("versions").contains("GLIBC"));
    CHECK_FALSE(loader_digest.at("versions").contains("GLIBC_PRIVATE"));
  }
}

TEST_CASE("a damaged ELF file is an error, at whatever byte it ends") {
  const MappedFile self("/proc/self/exe");
  const std::string interp = elf_digest(self.bytes()).at("interp");
  const std::string whole = read_file(interp);
  CHECK_THROWS_WITH(elf_digest(Bytes(std::string_view("#!/bin/sh\n# not a program\n"), "x")),
                    Catch::Contains("not an ELF file"));
  for (std::size_t size : {0u, 4u, 19u, 40u, 63u, 100u, 1000u, 5000u}) {
    CHECK_THROWS_AS(elf_digest(Bytes(std::string_view(whole).substr(0, size), "x")), Error);
  }
  // Every header byte flipped: any outcome but a crash.
  for (std::size_t i = 0; i < 400; ++i) {
    std::string bad = whole;
    bad[i] = static_cast<char>(bad[i] ^ 0xff);
    try {
      elf_digest(Bytes(std::string_view(bad), "x"));
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
    }
  }
}

TEST_CASE("the loader cache is read alone and behind the old format") {
  const std::string cache = cache_of({{"libz.so.1", "/lib/libz.so.1", 0x303}});
  for (const std::string& data : {cache, "ld.so-1.7.0" + std::string(5, '\0') + cache}) {
    const auto libs = parse_loader_cache(Bytes(std::string_view(data), "cache"));
    REQUIRE(libs.size() == 1);
    CHECK(libs[0].soname == "libz.so.1");
    CHECK(libs[0].path == "/lib/libz.so.1");
    CHECK(libs[0].flags == 0x303);
  }
}

TEST_CASE("a damaged loader cache is an error that names the file") {
  const std::string cache = cache_of({{"libz.so.1", "/lib/libz.so.1", 0x303}});
  for (std::size_t size = 0; size < cache.size(); ++size) {
    CHECK_THROWS_AS(parse_loader_cache(Bytes(std::string_view(cache).substr(0, size), "c")), Error);
  }
  std::string many = cache;
  many[22] = 1;  // 65,537 entries
  CHECK_THROWS_WITH(parse_loader_cache(Bytes(std::string_view(many), "c")),
                    Catch::Contains("more entries"));
}

TEST_CASE("links never lead out of a tree") {
  const TempDir dir;
  const fs::path root = dir.path() / "root";
  write_file(dir.path() / "secret", "outside");
  write_file(root / "usr/bin/python3.11", "inside");
  fs::create_symlink("/usr/bin", root / "bin");
  fs::create_symlink("python3.11", root / "usr/bin/python3");
  fs::create_symlink("../../../../../../secret", root / "up");
  fs::create_symlink((dir.path() / "secret").string(), root / "absolute");
  fs::create_symlink("circle", root / "circle");

  const Tree tree(root);
  CHECK(tree.resolve("/bin/python3") == "/usr/bin/python3.11");
  CHECK(tree.file("/bin/python3") == "inside");
  CHECK(tree.list("/bin", "python3.") == std::vector<std::string>{"python3.11"});
  CHECK_FALSE(tree.file("/up"));
  CHECK_FALSE(tree.file("/absolute"));
  CHECK_FALSE(tree.file("/../secret"));
  CHECK_FALSE(tree.resolve("/circle"));
  CHECK_FALSE(tree.file("/usr/bin"));
}
