#include "packaging/elf/elf.h"

#include <fmt/format.h>

#include <algorithm>

#include "packaging/elf/fields.h"

namespace felloe {
namespace {

using elf_detail::Fields;

constexpr std::uint32_t kPtLoad = 1, kPtInterp = 3, kPtNote = 4, kPtTls = 7;
constexpr std::uint32_t kPtGnuStack = 0x6474e551, kPtGnuProperty = 0x6474e553;

// gABI "ELF Header", e_machine; only machines that wheel tags name, the rest stays a number.
struct MachineName {
  std::uint16_t id;
  int elf_class;  // 0: either
  int big;        // -1: either
  const char* name;
};
constexpr MachineName kMachines[] = {
    {3, 0, -1, "i686"},    {62, 0, -1, "x86_64"},    {183, 0, -1, "aarch64"},
    {40, 0, -1, "armv7l"}, {21, 64, 0, "ppc64le"},   {21, 64, 1, "ppc64"},
    {22, 64, -1, "s390x"}, {243, 64, -1, "riscv64"}, {258, 64, -1, "loongarch64"},
    {8, 0, -1, "mips"},
};

void read_header(ElfFile& elf) {
  const Bytes& b = elf.bytes;
  if (!is_elf(b)) b.fail(0, "not an ELF file: the magic bytes 7f 45 4c 46 are missing");
  const unsigned elf_class = b.u8(4), data = b.u8(5);
  if (elf_class != 1 && elf_class != 2) {
    b.fail(4, fmt::format("ELF class is {}, expected 1 (32-bit) or 2 (64-bit)", elf_class));
  }
  if (data != 1 && data != 2) {
    b.fail(5, fmt::format("ELF data encoding is {}, expected 1 (little) or 2 (big endian)", data));
  }
  elf.elf_class = elf_class == 2 ? 64 : 32;
  elf.big_endian = data == 2;
  const Fields f(elf);
  elf.type = f.half(16);
  elf.machine_id = f.half(18);
  elf.machine = elf_machine_name(elf.machine_id, elf.elf_class, elf.big_endian);
  elf.entry = f.native(24);
  elf.header_flags = f.word(f.wide() ? 48 : 36);
  b.slice(0, f.wide() ? 64 : 52);  // the rest of the header must be there
}

void read_segments(ElfFile& elf) {
  const Fields f(elf);
  const Bytes& b = elf.bytes;
  const std::uint64_t table = f.native(f.wide() ? 32 : 28);
  const std::uint64_t entry = f.half(f.wide() ? 54 : 42);
  std::uint64_t count = f.half(f.wide() ? 56 : 44);
  const std::uint64_t expected = f.wide() ? 56 : 32;
  if (count == 0) return;
  if (count == 0xffff) {  // PN_XNUM: the count stands in section 0 (gABI)
    const std::uint64_t sections = f.native(f.wide() ? 40 : 32);
    count = f.word(sections + (f.wide() ? 44 : 28));
  }
  if (entry != expected) {
    b.fail(f.wide() ? 54 : 42,
           fmt::format("program header entries are {} bytes, expected {}", entry, expected));
  }
  if (table > b.size() || count > (b.size() - table) / entry) {
    b.fail(table,
           fmt::format("{} program headers at {:#x} reach past the end of the file ({} bytes)",
                       count, table, b.size()),
           "the file is truncated or its header is damaged");
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = table + i * entry;
    ElfSegment s;
    s.type = f.word(at);
    s.flags = f.word(at + (f.wide() ? 4 : 24));
    s.offset = f.native(at + (f.wide() ? 8 : 4));
    s.vaddr = f.native(at + (f.wide() ? 16 : 8));
    s.file_size = f.native(at + (f.wide() ? 32 : 16));
    s.mem_size = f.native(at + (f.wide() ? 40 : 20));
    s.align = f.native(at + (f.wide() ? 48 : 28));
    if (s.type == kPtLoad && !b.contains(s.offset, s.file_size)) {
      b.fail(at,
             fmt::format("PT_LOAD segment {} spans file bytes {:#x} + {:#x}, but the file has "
                         "only {:#x}",
                         i, s.offset, s.file_size, b.size()),
             "the file is truncated or its program headers are damaged");
    }
    elf.segments.push_back(s);
  }
}

void read_segment_facts(ElfFile& elf) {
  const Bytes& b = elf.bytes;
  for (const ElfSegment& s : elf.segments) {
    switch (s.type) {
      case kPtLoad:
        elf.p_align = elf.p_align == 0 ? s.align : std::min(elf.p_align, s.align);
        break;
      case kPtInterp:
        elf.interpreter = b.slice(s.offset, s.file_size).cstr(0);
        break;
      case kPtTls:
        elf.tls_size = s.mem_size;
        break;
      case kPtGnuStack:
        elf.stack_executable = s.executable();
        break;
      default:
        break;
    }
  }
}

// Sections are a hint: trouble is written down, not thrown.
void read_sections(ElfFile& elf) {
  const Fields f(elf);
  const std::uint64_t table = f.native(f.wide() ? 40 : 32);
  const std::uint64_t entry = f.half(f.wide() ? 58 : 46);
  std::uint64_t count = f.half(f.wide() ? 60 : 48);
  std::uint64_t names = f.half(f.wide() ? 62 : 50);
  const std::uint64_t expected = f.wide() ? 64 : 40;
  if (table == 0) return;
  try {
    if (count == 0) count = f.native(table + (f.wide() ? 32 : 20));
    if (names == 0xffff) names = f.word(table + (f.wide() ? 40 : 24));
    if (entry != expected || table > elf.bytes.size() ||
        count > (elf.bytes.size() - table) / entry) {
      elf.section_trouble = fmt::format(
          "{} section headers of {} bytes at {:#x} don't fit the file", count, entry, table);
      return;
    }
    Bytes strings;
    std::vector<ElfSection> sections;
    std::vector<std::uint32_t> name_at;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t at = table + i * entry;
      ElfSection s;
      name_at.push_back(f.word(at));
      s.type = f.word(at + 4);
      s.flags = f.native(at + 8);
      s.addr = f.native(at + (f.wide() ? 16 : 12));
      s.offset = f.native(at + (f.wide() ? 24 : 16));
      s.size = f.native(at + (f.wide() ? 32 : 20));
      s.link = f.word(at + (f.wide() ? 40 : 24));
      sections.push_back(std::move(s));
    }
    if (names < sections.size()) {
      strings = elf.bytes.slice(sections[names].offset, sections[names].size);
      for (std::size_t i = 0; i < sections.size(); ++i) {
        sections[i].name = strings.cstr(name_at[i], 256);
      }
    }
    elf.sections = std::move(sections);
  } catch (const Error& e) {
    elf.section_trouble = e.message();
  }
}

}  // namespace

std::string elf_machine_name(std::uint16_t machine, int elf_class, bool big_endian) {
  if (machine == 0) return "none";
  for (const MachineName& m : kMachines) {
    if (m.id == machine && (m.elf_class == 0 || m.elf_class == elf_class) &&
        (m.big < 0 || (m.big == 1) == big_endian)) {
      return m.name;
    }
  }
  return fmt::format("em_{}", machine);
}

bool is_elf(const Bytes& bytes) {
  return bytes.size() >= 4 && bytes.text().substr(0, 4) == std::string_view(
                                                               "\x7f"
                                                               "ELF",
                                                               4);
}

std::optional<std::uint64_t> ElfFile::offset_of(std::uint64_t vaddr, std::uint64_t count) const {
  for (const ElfSegment& s : segments) {
    if (s.type != kPtLoad || vaddr < s.vaddr) continue;
    const std::uint64_t inside = vaddr - s.vaddr;
    if (inside < s.file_size && count <= s.file_size - inside) return s.offset + inside;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ElfFile::vaddr_of(std::uint64_t offset) const {
  for (const ElfSegment& s : segments) {
    if (s.type == kPtLoad && offset >= s.offset && offset - s.offset < s.file_size) {
      return s.vaddr + (offset - s.offset);
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ElfFile::dynamic(std::uint64_t tag) const {
  for (std::size_t i = 0; i + 1 < dynamic_tags.size(); i += 2) {
    if (dynamic_tags[i] == tag) return dynamic_tags[i + 1];
  }
  return std::nullopt;
}

std::string_view ElfFile::version_name(const ElfSymbol& symbol) const {
  if (symbol.version < 2) return {};
  for (const ElfVersionNeed& n : version_needs) {
    if (n.index == symbol.version) return n.version;
  }
  for (const ElfVersionDef& d : version_defs) {
    if (d.index == symbol.version) return d.version;
  }
  return {};
}

ElfFile read_elf(const Bytes& bytes) {
  ElfFile elf;
  elf.bytes = bytes;
  read_header(elf);
  read_segments(elf);
  read_sections(elf);
  read_segment_facts(elf);
  elf_detail::read_gnu_properties(elf);
  elf_detail::read_dynamic(elf);
  return elf;
}

std::vector<ElfSymbol> read_symtab(const ElfFile& elf) {
  constexpr std::uint32_t kShtSymtab = 2;
  for (const ElfSection& s : elf.sections) {
    if (s.type != kShtSymtab || s.link >= elf.sections.size()) continue;
    const ElfSection& names = elf.sections[s.link];
    const std::uint64_t entry = elf.elf_class == 64 ? 24 : 16;
    if (!elf.bytes.contains(s.offset, s.size) || !elf.bytes.contains(names.offset, names.size)) {
      return {};
    }
    try {
      return elf_detail::read_symbols(elf, s.offset, s.size / entry,
                                      elf.bytes.slice(names.offset, names.size));
    } catch (const Error&) {
      return {};  // a broken .symtab is as good as a stripped one
    }
  }
  return {};
}

namespace elf_detail {

// GNU property note: "Linux Extensions to gABI" and the x86-64 psABI, section "Program Property".
void read_gnu_properties(ElfFile& elf) {
  const Fields f(elf);
  const std::uint64_t align = f.wide() ? 8 : 4;
  for (const ElfSegment& s : elf.segments) {
    if (s.type != kPtNote && s.type != kPtGnuProperty) continue;
    if (elf.machine_id != 62 && elf.machine_id != 3) return;
    if (!elf.bytes.contains(s.offset, s.file_size)) {
      elf.bytes.fail(s.offset, "a note segment reaches past the end of the file");
    }
    const std::uint64_t end = s.offset + s.file_size;
    std::uint64_t at = s.offset;
    while (at + 12 <= end) {
      const std::uint64_t name_size = f.word(at), desc_size = f.word(at + 4);
      const std::uint32_t type = f.word(at + 8);
      const std::uint64_t pad = s.align == 8 ? 8 : 4;
      const std::uint64_t desc = at + 12 + (name_size + 3) / 4 * 4;
      if (desc > end || desc_size > end - desc) break;  // padding or damage: notes are declarations
      if (type == 5 && name_size == 4 &&
          elf.bytes.slice(at + 12, 4).text() == std::string_view("GNU\0", 4)) {
        std::uint64_t p = desc;
        while (p + 8 <= desc + desc_size) {
          const std::uint32_t kind = f.word(p), size = f.word(p + 4);
          if (size > desc + desc_size - p - 8) break;
          if ((kind == 0xc0008002u || kind == 0xc0010002u) && size >= 4) {
            if (!elf.isa_note) elf.isa_note.emplace();
            (kind == 0xc0008002u ? elf.isa_note->needed : elf.isa_note->used) = f.word(p + 8);
          }
          p += 8 + (size + align - 1) / align * align;
        }
      }
      at = desc + (desc_size + pad - 1) / pad * pad;
    }
  }
}

}  // namespace elf_detail
}  // namespace felloe
