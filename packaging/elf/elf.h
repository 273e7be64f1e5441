// What one ELF file says about itself, read by program headers and PT_DYNAMIC as the loader does;
// section headers are a hint, used for names and never trusted. Input is untrusted: every field is
// bounds-checked through Bytes, every count is capped by the bytes that are there, every list walks
// strictly forward. Sources: System V ABI (gABI) chapters 4-5, the psABIs, LSB symbol versioning.
// To read one more fact: a field here, filled in elf.cpp (headers) or dynamic.cpp (PT_DYNAMIC).
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/base/bytes.h"

namespace felloe {

struct ElfSegment {
  std::uint32_t type = 0, flags = 0;  // PT_*, PF_*
  std::uint64_t offset = 0, vaddr = 0, file_size = 0, mem_size = 0, align = 0;
  bool executable() const { return (flags & 1u) != 0; }
};

struct ElfSection {  // a hint: names ranges, may be missing or wrong
  std::string name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0, addr = 0, offset = 0, size = 0;
  std::uint32_t link = 0;
  bool executable() const { return (flags & 4u) != 0; }
};

// One version that the file needs from one library (Verneed/Vernaux).
struct ElfVersionNeed {
  std::string lib;           // "libc.so.6"
  std::string version;       // "GLIBC_2.17"
  std::uint64_t offset = 0;  // of the Vernaux entry, bytes in the file
  std::uint16_t index = 0;   // what .gnu.version entries call it
  bool weak = false;         // VER_FLG_WEAK: a missing version is only warned about
};

struct ElfSymbol {
  std::string_view name;  // a view into ElfFile::strings (.symtab's: into the file's bytes)
  std::uint64_t value = 0, size = 0;
  std::uint64_t offset = 0;   // of the symbol entry, bytes in the file
  std::uint16_t section = 0;  // 0: undefined
  std::uint16_t version = 0;  // index into version_needs/version_defs; 0 local, 1 global
  std::uint8_t type = 0;      // STT_*: 1 object, 2 function, 6 TLS, 10 ifunc
  std::uint8_t bind = 0;      // STB_*: 0 local, 1 global, 2 weak
  std::uint8_t visibility = 0;
  bool undefined() const { return section == 0; }
  bool function() const { return type == 2 || type == 10; }
};

struct ElfVersionDef {
  std::string version;
  std::uint16_t index = 0;
};

// x86 ISA levels of the GNU property note, as a bit set: bit 0 = x86-64-v1 ... bit 3 = v4.
struct ElfIsaNote {
  std::optional<std::uint32_t> needed, used;
};

struct ElfFile {
  int elf_class = 64;  // 32 or 64
  bool big_endian = false;
  std::uint16_t machine_id = 0;  // EM_*
  std::string machine;           // "x86_64", "aarch64", "armv7l", ..., "none", "em_243"
  std::uint16_t type = 0;        // ET_*: 1 relocatable, 2 executable, 3 shared object
  std::uint32_t header_flags = 0;
  std::uint64_t entry = 0;
  std::vector<ElfSegment> segments;
  std::vector<ElfSection> sections;  // empty if the section headers are missing or broken
  std::string section_trouble;       // why `sections` is empty although the header announces some

  bool has_dynamic = false;
  bool pie = false;         // DF_1_PIE
  std::string interpreter;  // PT_INTERP
  std::string soname, rpath, runpath;
  std::vector<std::string> needed;
  std::vector<ElfVersionNeed> version_needs;
  std::vector<ElfVersionDef> version_defs;
  std::vector<ElfSymbol> symbols;        // .dynsym, entry 0 left out
  std::uint64_t p_align = 0;             // smallest p_align of PT_LOAD, bytes; 0: no PT_LOAD
  std::optional<bool> stack_executable;  // PT_GNU_STACK; nothing: header missing
  std::uint64_t tls_size = 0;            // PT_TLS memory size, bytes; 0: none
  bool static_tls = false;               // DF_STATIC_TLS
  bool textrel = false;                  // DT_TEXTREL or DF_TEXTREL
  std::optional<ElfIsaNote> isa_note;
  std::uint64_t init = 0, fini = 0;                   // DT_INIT, DT_FINI; 0: none
  std::uint64_t init_array = 0, init_array_size = 0;  // virtual address, bytes
  std::uint64_t preinit_array = 0, preinit_array_size = 0;
  std::vector<std::uint64_t> dynamic_tags;     // raw (tag, value) pairs, flattened
  std::shared_ptr<const std::string> strings;  // copy of .dynstr: symbols outlive `bytes`
  Bytes bytes;  // the whole file; not owned. May be dropped (set to {}) once only facts are wanted

  // Offset in the file of a virtual address, if `count` bytes from there are backed by the file.
  std::optional<std::uint64_t> offset_of(std::uint64_t vaddr, std::uint64_t count = 1) const;
  // The reverse, for evidence.
  std::optional<std::uint64_t> vaddr_of(std::uint64_t offset) const;
  // Value of the first dynamic entry with this tag.
  std::optional<std::uint64_t> dynamic(std::uint64_t tag) const;
  // "GLIBC_2.17" for a symbol's version index; empty for none.
  std::string_view version_name(const ElfSymbol& symbol) const;
};

// Whether the bytes start with the ELF magic. Everything else is read_elf's business.
bool is_elf(const Bytes& bytes);

// Throws Error{input}, naming the file and the offset, for anything the loader could not use: a
// truncated header, tables past the end, counts larger than the file, strings out of the string
// table.
ElfFile read_elf(const Bytes& bytes);

// The symbols of .symtab (local functions too), found through section headers. Empty when stripped
// or when the headers are broken: names only, nothing depends on them.
std::vector<ElfSymbol> read_symtab(const ElfFile& elf);

// "x86_64" for 62 and so on; "none" for 0, "em_N" for machines without a wheel tag.
std::string elf_machine_name(std::uint16_t machine, int elf_class, bool big_endian);

}  // namespace felloe
