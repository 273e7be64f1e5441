#include "probe/elf.h"

#include <map>
#include <vector>

#include "matrix/base/text.h"

namespace felloe {
namespace {

// gABI and "Linux Standard Base, Symbol Versioning": the few numbers used here.
constexpr unsigned kPtLoad = 1, kPtDynamic = 2, kPtInterp = 3;
constexpr std::uint64_t kDtStrtab = 5, kDtSoname = 14, kDtVerdef = 0x6ffffffc,
                        kDtVerdefnum = 0x6ffffffd;

struct Load {
  std::uint64_t vaddr, offset, size;
};

struct Reader {
  const Bytes& file;
  bool wide;
  std::uint64_t native(std::uint64_t at) const { return wide ? file.u64(at) : file.u32(at); }
};

std::uint64_t file_offset(const Reader& r, const std::vector<Load>& loads, std::uint64_t vaddr) {
  for (const Load& load : loads) {
    if (vaddr >= load.vaddr && vaddr - load.vaddr < load.size) {
      return load.offset + (vaddr - load.vaddr);
    }
  }
  r.file.fail(0, "address in PT_DYNAMIC lies in no loaded segment");
}

// "GLIBCXX_3.4.30" -> family "GLIBCXX", version "3.4.30". GLIBC_PRIVATE and the like have none.
void keep_highest(std::map<std::string, std::string>& highest, std::string_view version) {
  const std::size_t at = version.rfind('_');
  if (at == std::string_view::npos || at == 0 || at + 1 == version.size()) return;
  const std::string_view number = version.substr(at + 1);
  if (number.find_first_not_of("0123456789.") != std::string_view::npos) return;
  std::string& best = highest[std::string(version.substr(0, at))];
  if (best.empty() || compare_versions(best, number) < 0) best = std::string(number);
}

struct Dynamic {
  std::uint64_t strtab = 0, soname = 0, verdef = 0, verdef_count = 0;
  bool has_soname = false;
};

Dynamic read_dynamic(const Reader& r, std::uint64_t offset, std::uint64_t size) {
  Dynamic dynamic;
  const std::uint64_t step = r.wide ? 16 : 8;
  for (std::uint64_t at = offset; size >= step && at <= offset + size - step; at += step) {
    const std::uint64_t tag = r.native(at), value = r.native(at + step / 2);
    if (tag == 0) break;
    if (tag == kDtStrtab) dynamic.strtab = value;
    if (tag == kDtVerdef) dynamic.verdef = value;
    if (tag == kDtVerdefnum) dynamic.verdef_count = value;
    if (tag == kDtSoname) {
      dynamic.soname = value;
      dynamic.has_soname = true;
    }
  }
  return dynamic;
}

std::map<std::string, std::string> read_versions(const Bytes& file, std::uint64_t at,
                                                 std::uint64_t count, std::uint64_t strings) {
  std::map<std::string, std::string> highest;
  // Verdef: vd_version, vd_flags, vd_ndx, vd_cnt (16 bit), vd_hash, vd_aux, vd_next (32 bit);
  // Verdaux: vda_name, vda_next. vd_next is a distance forward, so the walk ends.
  for (std::uint64_t i = 0; i < count; ++i) {
    const bool base = (file.u16(at + 2) & 1u) != 0;  // VER_FLG_BASE: the file's own name
    const std::uint32_t aux = file.u32(at + 12), next = file.u32(at + 16);
    if (!base) keep_highest(highest, file.cstr(strings + file.u32(at + aux)));
    if (next == 0) break;
    at += next;
  }
  return highest;
}

}  // namespace

std::string elf_machine_name(unsigned e_machine, int elf_class) {
  if (e_machine == 62 && elf_class == 64) return "x86_64";
  if (e_machine == 183 && elf_class == 64) return "aarch64";
  if (e_machine == 40 && elf_class == 32) return "armv7l";
  if (e_machine == 3 && elf_class == 32) return "i686";
  return "";
}

Json elf_digest(const Bytes& file) {
  if (file.size() < 20 || file.text().substr(0, 4) !=
                              "\x7f"
                              "ELF")
    file.fail(0, "not an ELF file");
  const unsigned ident_class = file.u8(4);
  if ((ident_class != 1 && ident_class != 2) || file.u8(5) != 1) {
    file.fail(4, "not a little-endian ELF file of class 32 or 64");
  }
  const Reader r{file, ident_class == 2};
  const int elf_class = r.wide ? 64 : 32;
  Json out{{"machine", elf_machine_name(file.u16(18), elf_class)}, {"elf_class", elf_class}};

  const std::uint64_t headers = r.native(r.wide ? 32 : 28);
  const std::uint64_t step = file.u16(r.wide ? 54 : 42), count = file.u16(r.wide ? 56 : 44);
  std::vector<Load> loads;
  std::uint64_t dynamic_at = 0, dynamic_size = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = headers + i * step;
    const unsigned type = file.u32(at);
    const std::uint64_t offset = r.native(at + (r.wide ? 8 : 4));
    const std::uint64_t vaddr = r.native(at + (r.wide ? 16 : 8));
    const std::uint64_t size = r.native(at + (r.wide ? 32 : 16));
    if (type == kPtLoad) loads.push_back({vaddr, offset, size});
    if (type == kPtInterp) {
      out["interp"] = std::string(file.slice(offset, size).cstr(0));
    }
    if (type == kPtDynamic) {
      dynamic_at = offset;
      dynamic_size = file.slice(offset, size).size();
    }
  }
  if (dynamic_size == 0) return out;
  const Dynamic dynamic = read_dynamic(r, dynamic_at, dynamic_size);
  if (dynamic.strtab == 0) return out;
  const std::uint64_t strings = file_offset(r, loads, dynamic.strtab);
  if (dynamic.has_soname) out["soname"] = std::string(file.cstr(strings + dynamic.soname));
  if (dynamic.verdef != 0) {
    out["versions"] =
        read_versions(file, file_offset(r, loads, dynamic.verdef), dynamic.verdef_count, strings);
  }
  return out;
}

}  // namespace felloe
