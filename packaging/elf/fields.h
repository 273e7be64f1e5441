// Typed access to ELF structures of either class and either byte order, on top of Bytes. Internal
// to packaging/elf.
#pragma once
#include <cstdint>

#include "packaging/elf/elf.h"

namespace felloe::elf_detail {

// Reads fields of one file; offsets are file offsets, out of bounds throws (Bytes).
class Fields {
 public:
  explicit Fields(const ElfFile& elf)
      : bytes_(elf.bytes), big_(elf.big_endian), wide_(elf.elf_class == 64) {}

  bool wide() const { return wide_; }
  std::uint16_t half(std::uint64_t at) const {
    const std::uint16_t v = bytes_.u16(at);
    return big_ ? __builtin_bswap16(v) : v;
  }
  std::uint32_t word(std::uint64_t at) const {
    const std::uint32_t v = bytes_.u32(at);
    return big_ ? __builtin_bswap32(v) : v;
  }
  std::uint64_t xword(std::uint64_t at) const {
    const std::uint64_t v = bytes_.u64(at);
    return big_ ? __builtin_bswap64(v) : v;
  }
  // An address or size: 4 bytes in class 32, 8 in class 64.
  std::uint64_t native(std::uint64_t at) const { return wide_ ? xword(at) : word(at); }
  std::uint64_t native_size() const { return wide_ ? 8 : 4; }

 private:
  const Bytes& bytes_;
  bool big_, wide_;
};

// Symbols at [offset, offset + count * entry); names from the string table bytes.
std::vector<ElfSymbol> read_symbols(const ElfFile& elf, std::uint64_t offset, std::uint64_t count,
                                    const Bytes& strings);

void read_dynamic(ElfFile& elf);
void read_gnu_properties(ElfFile& elf);

}  // namespace felloe::elf_detail
