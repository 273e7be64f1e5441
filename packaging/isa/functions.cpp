#include "packaging/isa/functions.h"

#include <algorithm>

namespace felloe::isa_detail {
namespace {

constexpr std::uint32_t kPtLoad = 1, kPtGnuEhFrame = 0x6474e550;

// Relocation numbers of the psABIs.
struct RelocTypes {
  std::uint32_t relative, irelative, glob_dat, jump_slot, absolute;
};
RelocTypes reloc_types(std::uint16_t machine) {
  return machine == 183 ? RelocTypes{1027, 1032, 1025, 1026, 257} : RelocTypes{8, 37, 6, 7, 1};
}

template <class Visit>  // visit(type, slot, symbol index, addend)
void for_relocations(const ElfFile& elf, Visit visit) {
  constexpr std::uint64_t kRela = 7, kRelaSize = 8, kJmpRel = 23, kPltRelSize = 2, kEntry = 24;
  for (const auto& [table, size] : {std::pair(kRela, kRelaSize), {kJmpRel, kPltRelSize}}) {
    const auto vaddr = elf.dynamic(table), bytes = elf.dynamic(size);
    if (!vaddr || !bytes) continue;
    const auto at = elf.offset_of(*vaddr);
    if (!at) continue;
    const std::uint64_t count = std::min(*bytes, elf.bytes.size() - *at) / kEntry;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t entry = *at + i * kEntry;
      const std::uint64_t info = elf.bytes.u64(entry + 8);
      visit(static_cast<std::uint32_t>(info), elf.bytes.u64(entry), info >> 32,
            elf.bytes.u64(entry + 16));
    }
  }
}

bool inside(const std::vector<CodeRange>& ranges, std::uint64_t vaddr) {
  auto it = std::upper_bound(ranges.begin(), ranges.end(), vaddr,
                             [](std::uint64_t v, const CodeRange& r) { return v < r.vaddr; });
  if (it == ranges.begin()) return false;
  --it;
  return vaddr - it->vaddr < it->size;
}

// The binary search table of .eh_frame_hdr (LSB Core, "DWARF extensions"): pairs of signed 32-bit
// offsets from the header. Other encodings are not used by today's linkers.
void add_eh_frame(const ElfFile& elf, std::vector<FunctionStart>& out) {
  for (const ElfSegment& s : elf.segments) {
    if (s.type != kPtGnuEhFrame || s.file_size < 12 || !elf.bytes.contains(s.offset, s.file_size)) {
      continue;
    }
    const Bytes header = elf.bytes.slice(s.offset, s.file_size);
    if (header.u8(0) != 1 || header.u8(2) != 0x03 || header.u8(3) != 0x3b) continue;
    const std::uint64_t count = std::min<std::uint64_t>(header.u32(8), (header.size() - 12) / 8);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto offset = static_cast<std::int32_t>(header.u32(12 + 8 * i));
      out.push_back({s.vaddr + static_cast<std::uint64_t>(static_cast<std::int64_t>(offset)), {}});
    }
  }
}

}  // namespace

std::vector<CodeRange> code_ranges(const ElfFile& elf) {
  std::vector<CodeRange> out;
  for (const ElfSection& s : elf.sections) {
    // .bolt.org.text holds the dead originals of functions that were moved.
    if (!s.executable() || s.type != 1 || s.size == 0 || s.name == ".bolt.org.text") continue;
    if (elf.bytes.contains(s.offset, s.size)) out.push_back({s.addr, s.offset, s.size});
  }
  if (out.empty()) {
    for (const ElfSegment& s : elf.segments) {
      if (s.type == kPtLoad && s.executable()) out.push_back({s.vaddr, s.offset, s.file_size});
    }
  }
  std::sort(out.begin(), out.end(),
            [](const CodeRange& a, const CodeRange& b) { return a.vaddr < b.vaddr; });
  // Hostile headers may overlap: cut each range where the next one starts.
  for (std::size_t i = 0; i + 1 < out.size(); ++i) {
    out[i].size = std::min(out[i].size, out[i + 1].vaddr - out[i].vaddr);
  }
  // Many ranges may claim the same bytes of the file; honest files don't hold more code than bytes.
  std::uint64_t budget = elf.bytes.size();
  for (CodeRange& r : out) {
    r.size = std::min(r.size, budget);
    budget -= r.size;
  }
  std::erase_if(out, [](const CodeRange& r) { return r.size == 0; });
  return out;
}

std::vector<FunctionStart> function_starts(const ElfFile& elf,
                                           const std::vector<CodeRange>& ranges) {
  std::vector<FunctionStart> found;
  for (const CodeRange& r : ranges) found.push_back({r.vaddr, {}});
  add_eh_frame(elf, found);
  const auto add = [&](const std::vector<ElfSymbol>& symbols) {
    for (const ElfSymbol& s : symbols) {
      if (s.function() && !s.undefined()) found.push_back({s.value, std::string(s.name)});
    }
  };
  add(elf.symbols);
  add(read_symtab(elf));
  std::erase_if(found, [&](const FunctionStart& f) { return !inside(ranges, f.vaddr); });
  // Names before none, then by name, so that the choice doesn't depend on the order of tables.
  std::sort(found.begin(), found.end(), [](const FunctionStart& a, const FunctionStart& b) {
    return std::tuple(a.vaddr, a.name.empty(), std::string_view(a.name)) <
           std::tuple(b.vaddr, b.name.empty(), std::string_view(b.name));
  });
  found.erase(std::unique(found.begin(), found.end(),
                          [](const FunctionStart& a, const FunctionStart& b) {
                            return a.vaddr == b.vaddr;
                          }),
              found.end());
  return found;
}

std::unordered_map<std::uint64_t, std::uint64_t> pointer_slots(const ElfFile& elf) {
  std::unordered_map<std::uint64_t, std::uint64_t> out;
  if (elf.elf_class != 64 || elf.big_endian) return out;
  const RelocTypes types = reloc_types(elf.machine_id);
  for_relocations(
      elf, [&](std::uint32_t type, std::uint64_t slot, std::uint64_t symbol, std::uint64_t addend) {
        if (type == types.relative) {
          out[slot] = addend;
        } else if (type == types.glob_dat || type == types.jump_slot || type == types.absolute) {
          if (symbol == 0 || symbol > elf.symbols.size()) return;
          const ElfSymbol& s = elf.symbols[symbol - 1];
          if (!s.undefined()) out[slot] = s.value + (type == types.absolute ? addend : 0);
        }
      });
  return out;
}

std::vector<std::uint64_t> load_roots(
    const ElfFile& elf, const std::unordered_map<std::uint64_t, std::uint64_t>& slots) {
  std::vector<std::uint64_t> out;
  if (elf.init != 0) out.push_back(elf.init);
  if (elf.elf_class == 64 && !elf.big_endian) {
    for (const auto& [array, size] : {std::pair(elf.init_array, elf.init_array_size),
                                      {elf.preinit_array, elf.preinit_array_size}}) {
      const auto at = elf.offset_of(array, size);
      if (array == 0 || !at) continue;
      for (std::uint64_t i = 0; i + 8 <= size; i += 8) {
        const auto it = slots.find(array + i);
        // Without a relocation of its own (DT_RELR) the address stands in the file.
        const std::uint64_t target = it != slots.end() ? it->second : elf.bytes.u64(*at + i);
        if (target != 0 && target != ~std::uint64_t{0}) out.push_back(target);
      }
    }
    const RelocTypes types = reloc_types(elf.machine_id);
    for_relocations(elf,
                    [&](std::uint32_t type, std::uint64_t, std::uint64_t, std::uint64_t addend) {
                      if (type == types.irelative) out.push_back(addend);
                    });
  }
  for (const ElfSymbol& s : elf.symbols) {
    if (s.undefined()) continue;
    if (s.type == 10 || (s.function() && s.name.starts_with("PyInit_"))) out.push_back(s.value);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace felloe::isa_detail
