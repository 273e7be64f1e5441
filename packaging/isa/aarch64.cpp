// AArch64: fixed-width words, so a table of masks decides. Source: Arm Architecture Reference
// Manual (DDI 0487), chapter C4 "A64 instruction set encoding".
#include <fmt/format.h>

#include "packaging/isa/insn.h"

namespace felloe::isa_detail {
namespace {

struct Row {
  std::uint32_t mask, value;
  const char* feature;
  const char* mnemonic;  // of the group, where one word stands for several instructions
};

// First match counts. Everything of Armv8.0-A without crypto and CRC is baseline and has no row.
constexpr Row kRows[] = {
    {0x3ffffc00, 0x38bfc000, "lrcpc", "ldapr"},
    {0x1e000000, 0x04000000, "sve", "sve"},
    {0x9e000000, 0x80000000, "sme", "sme"},
    {0x9fe0fc00, 0x0e809400, "asimddp", "sdot"},
    {0x9fc0f400, 0x0f80e000, "asimddp", "sdot"},
    {0xdfe0f400, 0x4e80a400, "i8mm", "smmla"},
    {0xbfe0fc00, 0x0e809c00, "i8mm", "usdot"},
    {0xbfc0f400, 0x0f80f000, "i8mm", "usdot"},
    {0xbfc0f400, 0x0f00f000, "i8mm", "sudot"},
    {0xbfe0fc00, 0x2e40fc00, "bf16", "bfdot"},
    {0xbfc0f400, 0x0f40f000, "bf16", "bfdot"},
    {0xffe0fc00, 0x6e40ec00, "bf16", "bfmmla"},
    {0xfffffc00, 0x1e634000, "bf16", "bfcvt"},
    {0xbffffc00, 0x0ea16800, "bf16", "bfcvtn"},
    {0xbfe0fc00, 0x2ec0fc00, "bf16", "bfmlal"},
    {0xbfc0f400, 0x0fc0f000, "bf16", "bfmlal"},
    {0xbf20e400, 0x2e00c400, "fcma", "fcmla"},
    {0xbf20ec00, 0x2e00e400, "fcma", "fcadd"},
    {0xbf20f400, 0x2e008400, "asimdrdm", "sqrdmlah"},
    {0xbf00f400, 0x2f00d000, "asimdrdm", "sqrdmlah"},
    {0x9f60c400, 0x0e400400, "asimdhp", "half-precision arithmetic"},
    {0x9f7e0c00, 0x0e780800, "asimdhp", "half-precision arithmetic"},
    {0x9fc0f400, 0x0f001000, "asimdhp", "fmla"},
    {0x9fc0f400, 0x0f005000, "asimdhp", "fmls"},
    {0x9fc0f400, 0x0f009000, "asimdhp", "fmul"},
    {0xffc00000, 0x1fc00000, "asimdhp", "fmadd"},
    {0xffff0c00, 0x4e280800, "aes-arm", "aese"},
    {0xbfe0fc00, 0x0ee0e000, "aes-arm", "pmull"},
    {0xff208c00, 0x5e000000, "sha2", "sha256h"},
    {0xffff0c00, 0x5e280800, "sha2", "sha256su0"},
    {0xffe0fc00, 0xce608c00, "sha3", "rax1"},
    {0xffe08000, 0xce000000, "sha3", "eor3"},
    {0xffe08000, 0xce200000, "sha3", "bcax"},
    {0xffe00000, 0xce800000, "sha3", "xar"},
    {0xfffffc00, 0xcec08400, "sm4", "sm4e"},
    {0xffe0fc00, 0xce60c800, "sm4", "sm4ekey"},
    {0xffe0f000, 0xce608000, "sha512", "sha512h"},
    {0xfffffc00, 0xcec08000, "sha512", "sha512su0"},
    {0x7fe0e000, 0x1ac04000, "crc32", "crc32"},
    {0xfffffc00, 0x1e7e0000, "jscvt", "fjcvtzs"},
};

bool is(std::uint32_t w, std::uint32_t mask, std::uint32_t value) { return (w & mask) == value; }

// Large System Extensions: LDADD and its kin, SWP, CAS, CASP.
bool lse_ldop(std::uint32_t w) {
  if (!is(w, 0x3f200c00, 0x38200000)) return false;
  return (w >> 15 & 1u) == 0 || (w >> 12 & 7u) == 0;  // o3 = 1 is only SWP's
}
bool lse_cas(std::uint32_t w) { return is(w, 0x3fa07c00, 0x08a07c00); }
bool lse_casp(std::uint32_t w) { return is(w, 0xbfa07c00, 0x08207c00); }

// Scalar half precision; conversions from and to half are Armv8.0.
bool scalar_half(std::uint32_t w) {
  return is(w, 0xffe00000, 0x1ee00000) && !is(w, 0x003f7c00, 0x00224000);
}

std::string lse_mnemonic(std::uint32_t w) {
  static constexpr const char* kOps[] = {"ldadd",  "ldclr",  "ldeor",  "ldset",
                                         "ldsmax", "ldsmin", "ldumax", "ldumin"};
  static constexpr const char* kSizes[] = {"b", "h", "", ""};
  bool acquire = (w >> 23 & 1u) != 0, release = (w >> 22 & 1u) != 0;
  std::string name;
  if (lse_ldop(w)) {
    name = (w >> 15 & 1u) != 0 ? "swp" : kOps[w >> 12 & 7u];
  } else {
    name = lse_casp(w) ? "casp" : "cas";
    acquire = (w >> 22 & 1u) != 0;
    release = (w >> 15 & 1u) != 0;
  }
  return fmt::format("{}{}{}{}", name, acquire ? "a" : "", release ? "l" : "",
                     name == "casp" ? "" : kSizes[w >> 30]);
}

std::int64_t signed_field(std::uint32_t w, unsigned at, unsigned bits) {
  const auto value = static_cast<std::int64_t>(w >> at & ((1u << bits) - 1));
  return value >= (std::int64_t{1} << (bits - 1)) ? value - (std::int64_t{1} << bits) : value;
}

class Aarch64Decoder : public Decoder {
 public:
  explicit Aarch64Decoder(const ElfFile& elf) : bytes_(elf.bytes), lse_(feature_bit("atomics")) {
    for (const Row& r : kRows) bits_.push_back(feature_bit(r.feature));
    half_ = feature_bit("asimdhp");
  }

  unsigned step() const override { return 4; }

  Insn decode(std::uint64_t offset, std::uint64_t vaddr, std::uint64_t room) const override {
    Insn out;
    out.length = 4;
    if (room < 4) {
      out.flow = Flow::broken;
      out.length = static_cast<unsigned>(room);
      return out;
    }
    const std::uint32_t w = bytes_.u32(offset);
    if (is(w, 0xffff0000, 0)) {  // UDF: padding or data
      out.flow = Flow::broken;
      return out;
    }
    out.features = features_of(w);
    out.exclusive = is(w, 0x3f800000, 0x08000000) && !lse_casp(w);
    out.cpu_test = is(w, 0xfffff000, 0xd5380000);
    set_flow(w, offset, vaddr, out);
    return out;
  }

  std::string mnemonic(std::uint64_t offset, std::uint64_t, std::uint64_t room) const override {
    if (room < 4) return {};
    const std::uint32_t w = bytes_.u32(offset);
    if (lse_ldop(w) || lse_cas(w) || lse_casp(w)) return lse_mnemonic(w);
    for (const Row& r : kRows) {
      if (is(w, r.mask, r.value)) return r.mnemonic;
    }
    return scalar_half(w) ? "half-precision arithmetic" : "";
  }

 private:
  FeatureSet features_of(std::uint32_t w) const {
    if (lse_ldop(w) || lse_cas(w) || lse_casp(w)) return lse_;
    for (std::size_t i = 0; i < std::size(kRows); ++i) {
      if (is(w, kRows[i].mask, kRows[i].value)) return bits_[i];
    }
    return scalar_half(w) ? half_ : 0;
  }

  void set_flow(std::uint32_t w, std::uint64_t offset, std::uint64_t vaddr, Insn& out) const {
    const auto to = [&](std::int64_t words) {
      return vaddr + static_cast<std::uint64_t>(4 * words);
    };
    if (is(w, 0x7c000000, 0x14000000)) {
      out.flow = (w >> 31) != 0 ? Flow::call : Flow::jump;
      out.target = to(signed_field(w, 0, 26));
    } else if (is(w, 0xff000010, 0x54000000) || is(w, 0x7e000000, 0x34000000)) {
      out.flow = Flow::branch;
      out.target = to(signed_field(w, 5, 19));
    } else if (is(w, 0x7e000000, 0x36000000)) {
      out.flow = Flow::branch;
      out.target = to(signed_field(w, 5, 14));
    } else if (is(w, 0xfffffc1f, 0xd61f0000)) {
      out.flow = Flow::jump;
      out.slot = plt_slot(w, offset, vaddr);
    } else if (is(w, 0xfffffc1f, 0xd63f0000)) {
      out.flow = Flow::call;
    } else if (is(w, 0xfffffc1f, 0xd65f0000) || is(w, 0xfffffbff, 0xd65f0bff) ||
               is(w, 0xffe0001f, 0xd4200000)) {
      out.flow = Flow::end;  // ret, retaa, retab, brk
    }
  }

  // The psABI's PLT entry: adrp x16, page; ldr x17, [x16, #n]; add x16, x16, #n; br x17.
  std::uint64_t plt_slot(std::uint32_t br, std::uint64_t offset, std::uint64_t vaddr) const {
    if (br != 0xd61f0220 || offset < 12) return 0;
    const std::uint32_t adrp = bytes_.u32(offset - 12), ldr = bytes_.u32(offset - 8);
    if (!is(adrp, 0x9f00001f, 0x90000010) || !is(ldr, 0xffc003ff, 0xf9400211)) return 0;
    const std::int64_t pages = signed_field(adrp, 5, 19) * 4 + (adrp >> 29 & 3u);
    const std::uint64_t page =
        ((vaddr - 12) & ~std::uint64_t{0xfff}) + static_cast<std::uint64_t>(pages) * 4096;
    return page + std::uint64_t{ldr >> 10 & 0xfffu} * 8;
  }

  const Bytes& bytes_;
  FeatureSet lse_, half_ = 0;
  std::vector<FeatureSet> bits_;
};

}  // namespace

std::unique_ptr<Decoder> make_aarch64_decoder(const ElfFile& elf) {
  return std::make_unique<Aarch64Decoder>(elf);
}

}  // namespace felloe::isa_detail
