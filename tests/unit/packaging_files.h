// Small zip and ELF files built by hand, with every field open to being wrong.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/base/bytes.h"

namespace felloe::test {

inline void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

inline void poke(std::string& out, std::size_t at, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    out.at(at + static_cast<std::size_t>(i)) = static_cast<char>(value >> (8 * i) & 0xff);
  }
}

struct ZipPart {
  std::string name, data;  // `data` as it stands in the file
  std::uint16_t method = 0, flags = 0;
  std::uint32_t crc = 0;
  std::uint64_t size = 0;  // declared
  std::string local_name;  // empty: the same
  std::uint32_t mode = 0100644;
};

// A stored member with the right CRC (bitwise, so that it doesn't depend on the code under test).
inline ZipPart stored(std::string name, std::string data) {
  std::uint32_t crc = ~0u;
  for (const char c : data) {
    crc ^= static_cast<unsigned char>(c);
    for (int k = 0; k < 8; ++k) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
  }
  const std::uint64_t size = data.size();
  ZipPart p;
  p.name = std::move(name);
  p.data = std::move(data);
  p.crc = ~crc;
  p.size = size;
  return p;
}

inline std::string make_zip(const std::vector<ZipPart>& parts, std::string_view behind = {}) {
  std::string out, central;
  for (const ZipPart& p : parts) {
    const auto offset = out.size();
    const std::string& local = p.local_name.empty() ? p.name : p.local_name;
    put(out, 0x04034b50, 4);
    put(out, 20, 2);
    put(out, p.flags, 2);
    put(out, p.method, 2);
    put(out, 0, 4);
    put(out, p.crc, 4);
    put(out, p.data.size(), 4);
    put(out, p.size, 4);
    put(out, local.size(), 2);
    put(out, 0, 2);
    out += local + p.data;
    put(central, 0x02014b50, 4);
    put(central, 0x0314, 2);
    put(central, 20, 2);
    put(central, p.flags, 2);
    put(central, p.method, 2);
    put(central, 0, 4);
    put(central, p.crc, 4);
    put(central, p.data.size(), 4);
    put(central, p.size, 4);
    put(central, p.name.size(), 2);
    put(central, 0, 8);
    put(central, static_cast<std::uint64_t>(p.mode) << 16, 4);
    put(central, offset, 4);
    central += p.name;
  }
  const auto offset = out.size();
  out += central;
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, parts.size(), 2);
  put(out, parts.size(), 2);
  put(out, central.size(), 4);
  put(out, offset, 4);
  put(out, 0, 2);
  return out + std::string(behind);
}

// A little-endian ELF64 shared object: one PT_LOAD over the whole file at address 0, PT_DYNAMIC,
// PT_GNU_STACK, a string table, Verneed entries, an undefined and a defined symbol per name.
struct ElfParts {
  std::uint16_t machine = 62;
  std::vector<std::string> needed = {};
  std::vector<std::pair<std::string, std::string>> versions = {};  // lib, version
  std::vector<std::string> undefined = {}, defined = {};
  std::string soname = {}, runpath = {}, rpath = {};
  std::uint64_t align = 0x1000;
  std::uint32_t stack_flags = 6;
  bool textrel = false;
};

inline std::string make_elf(const ElfParts& parts) {
  std::string strings(1, '\0');
  const auto intern = [&](const std::string& s) {
    const auto at = strings.size();
    strings += s + '\0';
    return static_cast<std::uint64_t>(at);
  };
  constexpr std::uint64_t kHeaders = 64 + 3 * 56;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> dynamic;
  for (const std::string& n : parts.needed) dynamic.emplace_back(1, intern(n));
  if (!parts.soname.empty()) dynamic.emplace_back(14, intern(parts.soname));
  if (!parts.rpath.empty()) dynamic.emplace_back(15, intern(parts.rpath));
  if (!parts.runpath.empty()) dynamic.emplace_back(29, intern(parts.runpath));
  if (parts.textrel) dynamic.emplace_back(22, 0);
  std::string symbols(24, '\0');
  for (const bool is_defined : {false, true}) {
    for (const std::string& name : is_defined ? parts.defined : parts.undefined) {
      put(symbols, intern(name), 4);
      put(symbols, 0x12, 1);  // global function
      put(symbols, 0, 1);
      put(symbols, is_defined ? 1 : 0, 2);
      put(symbols, is_defined ? 0x40 : 0, 8);
      put(symbols, 0, 8);
    }
  }
  const std::uint64_t count = 1 + parts.undefined.size() + parts.defined.size();
  std::string versions;
  for (std::size_t i = 0; i < parts.versions.size(); ++i) {
    put(versions, 1, 2);
    put(versions, 1, 2);
    put(versions, intern(parts.versions[i].first), 4);
    put(versions, 16, 4);
    put(versions, i + 1 == parts.versions.size() ? 0 : 32, 4);
    put(versions, 0, 4);
    put(versions, 0, 2);
    put(versions, 2 + i, 2);
    put(versions, intern(parts.versions[i].second), 4);
    put(versions, 0, 4);
  }
  // symbols, hash, versions, strings, dynamic
  const std::uint64_t symbols_at = kHeaders, hash_at = symbols_at + symbols.size();
  const std::uint64_t versions_at = hash_at + 16, strings_at = versions_at + versions.size();
  const std::uint64_t dynamic_at = (strings_at + strings.size() + 7) / 8 * 8;
  dynamic.emplace_back(4, hash_at);
  dynamic.emplace_back(5, strings_at);
  dynamic.emplace_back(6, symbols_at);
  dynamic.emplace_back(10, strings.size());
  if (!parts.versions.empty()) {
    dynamic.emplace_back(0x6ffffffe, versions_at);
    dynamic.emplace_back(0x6fffffff, parts.versions.size());
  }
  dynamic.emplace_back(0, 0);
  const std::uint64_t total = dynamic_at + 16 * dynamic.size();
  std::string out(
      "\x7f"
      "ELF\x02\x01\x01",
      7);
  out.resize(16, '\0');
  put(out, 3, 2);
  put(out, parts.machine, 2);
  put(out, 1, 4);
  put(out, 0, 8);
  put(out, 64, 8);
  put(out, 0, 8);
  put(out, 0, 4);
  put(out, 64, 2);
  put(out, 56, 2);
  put(out, 3, 2);
  put(out, 64, 2);
  put(out, 0, 4);
  const auto segment = [&](std::uint32_t type, std::uint32_t flags, std::uint64_t at,
                           std::uint64_t size, std::uint64_t align) {
    put(out, type, 4);
    put(out, flags, 4);
    put(out, at, 8);
    put(out, at, 8);
    put(out, at, 8);
    put(out, size, 8);
    put(out, size, 8);
    put(out, align, 8);
  };
  segment(1, 5, 0, total, parts.align);
  segment(2, 6, dynamic_at, 16 * dynamic.size(), 8);
  segment(0x6474e551, parts.stack_flags, 0, 0, 16);
  out += symbols;
  put(out, 1, 4);
  put(out, count, 4);
  put(out, 0, 8);
  out += versions + strings;
  out.resize(dynamic_at, '\0');
  for (const auto& [tag, value] : dynamic) {
    put(out, tag, 8);
    put(out, value, 8);
  }
  return out;
}

}  // namespace felloe::test
