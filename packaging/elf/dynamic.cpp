// PT_DYNAMIC: needed libraries, paths, flags, symbol versions and dynamic symbols.
#include <fmt/format.h>

#include <algorithm>

#include "packaging/elf/fields.h"

namespace felloe::elf_detail {
namespace {

constexpr std::uint32_t kPtDynamic = 2;
enum Tag : std::uint64_t {
  kNull = 0,
  kNeeded = 1,
  kHash = 4,
  kStrtab = 5,
  kSymtab = 6,
  kStrsz = 10,
  kInit = 12,
  kFini = 13,
  kSoname = 14,
  kRpath = 15,
  kTextrel = 22,
  kInitArray = 25,
  kInitArraySize = 27,
  kRunpath = 29,
  kFlags = 30,
  kPreinitArray = 32,
  kPreinitArraySize = 33,
  kGnuHash = 0x6ffffef5,
  kVersym = 0x6ffffff0,
  kFlags1 = 0x6ffffffb,
  kVerdef = 0x6ffffffc,
  kVerdefNum = 0x6ffffffd,
  kVerneed = 0x6ffffffe,
  kVerneedNum = 0x6fffffff,
};
constexpr std::uint64_t kMaxNameBytes = 1u << 20;  // C++ manglings reach tens of kB
constexpr std::uint64_t kVersymHidden = 0x8000;

class Dynamic {
 public:
  explicit Dynamic(ElfFile& elf) : elf_(elf), f_(elf) {}

  void read() {
    if (!read_table()) return;
    elf_.has_dynamic = true;
    read_strings();
    read_flags();
    read_version_needs();
    read_version_defs();
    read_symbol_table();
  }

 private:
  bool read_table() {
    for (const ElfSegment& s : elf_.segments) {
      if (s.type != kPtDynamic) continue;
      if (!elf_.bytes.contains(s.offset, s.file_size)) {
        elf_.bytes.fail(s.offset, "PT_DYNAMIC reaches past the end of the file",
                        "the file is truncated or its program headers are damaged");
      }
      const std::uint64_t entry = 2 * f_.native_size();
      for (std::uint64_t i = 0; i < s.file_size / entry; ++i) {
        const std::uint64_t at = s.offset + i * entry;
        const std::uint64_t tag = f_.native(at);
        if (tag == kNull) break;
        elf_.dynamic_tags.push_back(tag);
        elf_.dynamic_tags.push_back(f_.native(at + f_.native_size()));
        entry_at_.push_back(at);
      }
      return true;
    }
    return false;
  }

  std::optional<std::uint64_t> tag(Tag t) const { return elf_.dynamic(t); }

  // File offset of the table that a tag points to.
  std::uint64_t offset_for(Tag t, std::uint64_t vaddr, const char* name) const {
    const auto at = elf_.offset_of(vaddr);
    if (!at) {
      elf_.bytes.fail(entry_offset(t), fmt::format("{} points to address {:#x}, which no PT_LOAD "
                                                   "segment holds",
                                                   name, vaddr));
    }
    return *at;
  }

  std::uint64_t entry_offset(Tag t) const {
    for (std::size_t i = 0; i < entry_at_.size(); ++i) {
      if (elf_.dynamic_tags[2 * i] == t) return entry_at_[i];
    }
    return 0;
  }

  void read_strings() {
    const auto table = tag(kStrtab);
    if (!table) return;
    const std::uint64_t size = tag(kStrsz).value_or(0);
    const std::uint64_t at = offset_for(kStrtab, *table, "DT_STRTAB");
    if (!elf_.bytes.contains(at, size)) {
      elf_.bytes.fail(entry_offset(kStrsz),
                      fmt::format("DT_STRSZ says {} bytes, but only {} follow "
                                  "DT_STRTAB",
                                  size, elf_.bytes.size() - at));
    }
    elf_.strings = std::make_shared<const std::string>(elf_.bytes.slice(at, size).text());
    strings_ = Bytes(*elf_.strings, elf_.bytes.name() + " string table");
    for (std::size_t i = 0; i < entry_at_.size(); ++i) {
      const std::uint64_t t = elf_.dynamic_tags[2 * i], value = elf_.dynamic_tags[2 * i + 1];
      if (t == kNeeded) elf_.needed.emplace_back(strings_.cstr(value));
      if (t == kSoname) elf_.soname = strings_.cstr(value);
      if (t == kRpath) elf_.rpath = strings_.cstr(value, 1u << 16);
      if (t == kRunpath) elf_.runpath = strings_.cstr(value, 1u << 16);
    }
  }

  void read_flags() {
    const std::uint64_t flags = tag(kFlags).value_or(0), flags1 = tag(kFlags1).value_or(0);
    elf_.static_tls = (flags & 0x10u) != 0;
    elf_.textrel = (flags & 0x4u) != 0 || tag(kTextrel).has_value();
    elf_.pie = (flags1 & 0x08000000u) != 0;
    elf_.init = tag(kInit).value_or(0);
    elf_.fini = tag(kFini).value_or(0);
    elf_.init_array = tag(kInitArray).value_or(0);
    elf_.init_array_size = tag(kInitArraySize).value_or(0);
    elf_.preinit_array = tag(kPreinitArray).value_or(0);
    elf_.preinit_array_size = tag(kPreinitArraySize).value_or(0);
  }

  // Both lists must walk forward by at least one entry, so they end at the end of the file.
  std::uint64_t step(std::uint64_t at, std::uint64_t next, std::uint64_t entry) const {
    if (next < entry) {
      elf_.bytes.fail(at,
                      fmt::format("symbol version list steps by {} bytes, less than an entry of "
                                  "{}: it overlaps itself",
                                  next, entry));
    }
    return at + next;
  }

  void spend(std::uint64_t at) {
    if (++version_entries_ > elf_.bytes.size() / 16 + 1) {
      elf_.bytes.fail(at, "more symbol version entries than the file has room for");
    }
  }

  // LSB Core, "Symbol Versioning": Verneed {version, cnt, file, aux, next}, Vernaux {hash, flags,
  // other, name, next}.
  void read_version_needs() {
    const auto table = tag(kVerneed);
    if (!table) return;
    std::uint64_t at = offset_for(kVerneed, *table, "DT_VERNEED");
    const std::uint64_t count = tag(kVerneedNum).value_or(0);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string lib(strings_.cstr(f_.word(at + 4)));
      const std::uint64_t entries = f_.half(at + 2);
      std::uint64_t aux = at + f_.word(at + 8);
      for (std::uint64_t j = 0; j < entries; ++j) {
        spend(aux);
        ElfVersionNeed need;
        need.lib = lib;
        need.version = strings_.cstr(f_.word(aux + 8));
        need.offset = aux;
        need.index = static_cast<std::uint16_t>(f_.half(aux + 6) & ~kVersymHidden);
        need.weak = (f_.half(aux + 4) & 2u) != 0;
        elf_.version_needs.push_back(std::move(need));
        const std::uint64_t next = f_.word(aux + 12);
        if (next == 0 || j + 1 == entries) break;
        aux = step(aux, next, 16);
      }
      spend(at);
      const std::uint64_t next = f_.word(at + 12);
      if (next == 0) break;
      at = step(at, next, 16);
    }
  }

  // Verdef {version, flags, ndx, cnt, hash, aux, next}; the first Verdaux names it.
  void read_version_defs() {
    const auto table = tag(kVerdef);
    if (!table) return;
    std::uint64_t at = offset_for(kVerdef, *table, "DT_VERDEF");
    const std::uint64_t count = tag(kVerdefNum).value_or(0);
    for (std::uint64_t i = 0; i < count; ++i) {
      spend(at);
      const bool base = (f_.half(at + 2) & 1u) != 0;  // VER_FLG_BASE names the file itself
      if (!base && f_.half(at + 6) > 0) {
        ElfVersionDef def;
        def.index = static_cast<std::uint16_t>(f_.half(at + 4) & ~kVersymHidden);
        def.version = strings_.cstr(f_.word(at + f_.word(at + 12)));
        elf_.version_defs.push_back(std::move(def));
      }
      const std::uint64_t next = f_.word(at + 16);
      if (next == 0) break;
      at = step(at, next, 20);
    }
  }

  // DT_HASH says the count outright (nchain); DT_GNU_HASH only through its longest chain.
  std::optional<std::uint64_t> count_from_hash(std::uint64_t room) const {
    if (const auto table = tag(kHash)) {
      // s390x and alpha use 64-bit hash words; of those only s390x has wheels.
      const std::uint64_t at = offset_for(kHash, *table, "DT_HASH");
      const bool wide = elf_.machine_id == 22 && f_.wide();
      const std::uint64_t count = wide ? f_.xword(at + 8) : f_.word(at + 4);
      if (count > room) {
        elf_.bytes.fail(at, fmt::format("DT_HASH counts {} symbols, but the file has room for {}",
                                        count, room));
      }
      return count;
    }
    const auto table = tag(kGnuHash);
    if (!table) return std::nullopt;
    const std::uint64_t at = offset_for(kGnuHash, *table, "DT_GNU_HASH");
    const std::uint64_t buckets = f_.word(at), first = f_.word(at + 4), bloom = f_.word(at + 8);
    const std::uint64_t bucket_at = at + 16 + bloom * f_.native_size();
    if (!elf_.bytes.contains(bucket_at, buckets * 4)) {
      elf_.bytes.fail(at,
                      fmt::format("DT_GNU_HASH announces {} bloom words and {} buckets, more than "
                                  "the file holds",
                                  bloom, buckets));
    }
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < buckets; ++i) {
      last = std::max<std::uint64_t>(last, f_.word(bucket_at + 4 * i));
    }
    if (last < first) return first;  // only undefined symbols; they come before `first`
    if (last >= room) {
      elf_.bytes.fail(
          at, fmt::format("DT_GNU_HASH names symbol {}, but the file has room for {}", last, room));
    }
    const std::uint64_t chain_at = bucket_at + buckets * 4;
    while ((f_.word(chain_at + 4 * (last - first)) & 1u) == 0) ++last;
    return last + 1;
  }

  void read_symbol_table() {
    const auto table = tag(kSymtab);
    if (!table || !tag(kStrtab)) return;
    const std::uint64_t at = offset_for(kSymtab, *table, "DT_SYMTAB");
    const std::uint64_t entry = f_.wide() ? 24 : 16;
    const std::uint64_t room = (elf_.bytes.size() - at) / entry;
    std::uint64_t count = count_from_hash(room).value_or(0);
    // The hash tables don't cover undefined symbols behind the last hashed one (and an executable
    // may have no hash table): the section header or the string table's start may show more.
    for (const ElfSection& s : elf_.sections) {
      if (s.type == 11 && s.offset == at) count = std::max(count, s.size / entry);
    }
    if (count == 0 && *tag(kStrtab) > *table) count = (*tag(kStrtab) - *table) / entry;
    count = std::min(count, room);
    elf_.symbols = read_symbols(elf_, at, count, strings_);
    const auto versions = tag(kVersym);
    if (!versions || elf_.symbols.empty()) return;
    const std::uint64_t versym = offset_for(kVersym, *versions, "DT_VERSYM");
    for (std::size_t i = 0; i < elf_.symbols.size(); ++i) {
      elf_.symbols[i].version =
          static_cast<std::uint16_t>(f_.half(versym + 2 * (i + 1)) & ~kVersymHidden);
    }
  }

  ElfFile& elf_;
  Fields f_;
  Bytes strings_;
  std::vector<std::uint64_t> entry_at_;
  std::uint64_t version_entries_ = 0;
};

}  // namespace

std::vector<ElfSymbol> read_symbols(const ElfFile& elf, std::uint64_t offset, std::uint64_t count,
                                    const Bytes& strings) {
  const Fields f(elf);
  const std::uint64_t entry = f.wide() ? 24 : 16;
  // Names may overlap, so a hostile table could make us scan one long string for each symbol.
  std::uint64_t budget = (1u << 20) + 8 * strings.size();
  std::vector<ElfSymbol> out;
  if (count <= 1) return out;
  out.reserve(count - 1);
  for (std::uint64_t i = 1; i < count; ++i) {
    const std::uint64_t at = offset + i * entry;
    ElfSymbol s;
    s.offset = at;
    s.name = strings.cstr(f.word(at), kMaxNameBytes);
    const std::uint8_t info = elf.bytes.u8(at + (f.wide() ? 4 : 12));
    s.type = info & 0xf;
    s.bind = info >> 4;
    s.visibility = elf.bytes.u8(at + (f.wide() ? 5 : 13)) & 3;
    s.section = f.half(at + (f.wide() ? 6 : 14));
    s.value = f.native(at + (f.wide() ? 8 : 4));
    s.size = f.native(at + (f.wide() ? 16 : 8));
    if (s.name.size() > budget) elf.bytes.fail(at, "symbol names overlap beyond reason");
    budget -= s.name.size();
    out.push_back(s);
  }
  return out;
}

void read_dynamic(ElfFile& elf) { Dynamic(elf).read(); }

}  // namespace felloe::elf_detail
