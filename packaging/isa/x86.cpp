// x86: Zydis decodes; its ISA sets become kernel feature names.
#include <Zydis/Zydis.h>

#include <array>

#include "packaging/isa/insn.h"

namespace felloe::isa_detail {
namespace {

struct Row {
  ZydisISASet set;
  const char* a;
  const char* b = nullptr;
};

// Baseline sets (x86-64-v1) and those whose encodings are harmless elsewhere (LZCNT, TZCNT run as
// BSR and BSF; CET, prefetches and hints are no-ops; XSAVE, RTM and the like come behind a check by
// their nature) have no row.
constexpr Row kRows[] = {
    {ZYDIS_ISA_SET_SSE3, "pni"},
    {ZYDIS_ISA_SET_SSE3X87, "pni"},
    {ZYDIS_ISA_SET_SSSE3, "ssse3"},
    {ZYDIS_ISA_SET_SSSE3MMX, "ssse3"},
    {ZYDIS_ISA_SET_SSE4, "sse4_1"},
    {ZYDIS_ISA_SET_SSE42, "sse4_2"},
    {ZYDIS_ISA_SET_POPCNT, "popcnt"},
    {ZYDIS_ISA_SET_CMPXCHG16B, "cx16"},
    {ZYDIS_ISA_SET_LAHF, "lahf_lm"},
    {ZYDIS_ISA_SET_AVX, "avx"},
    {ZYDIS_ISA_SET_AVX2, "avx2"},
    {ZYDIS_ISA_SET_AVX2GATHER, "avx2"},
    {ZYDIS_ISA_SET_AVXAES, "avx", "aes"},
    {ZYDIS_ISA_SET_AVX_GFNI, "avx", "gfni"},
    {ZYDIS_ISA_SET_AVX_VNNI, "avx_vnni"},
    {ZYDIS_ISA_SET_FMA, "fma"},
    {ZYDIS_ISA_SET_FMA4, "fma4"},
    {ZYDIS_ISA_SET_F16C, "f16c"},
    {ZYDIS_ISA_SET_BMI1, "bmi1"},
    {ZYDIS_ISA_SET_BMI2, "bmi2"},
    {ZYDIS_ISA_SET_MOVBE, "movbe"},
    {ZYDIS_ISA_SET_AES, "aes"},
    {ZYDIS_ISA_SET_PCLMULQDQ, "pclmulqdq"},
    {ZYDIS_ISA_SET_SHA, "sha_ni"},
    {ZYDIS_ISA_SET_GFNI, "gfni"},
    {ZYDIS_ISA_SET_VAES, "vaes"},
    {ZYDIS_ISA_SET_VPCLMULQDQ, "vpclmulqdq"},
    {ZYDIS_ISA_SET_XOP, "xop"},
    {ZYDIS_ISA_SET_TBM, "tbm"},
    {ZYDIS_ISA_SET_SSE4A, "sse4a"},
    {ZYDIS_ISA_SET_ADOX_ADCX, "adx"},
    {ZYDIS_ISA_SET_RDRAND, "rdrand"},
    {ZYDIS_ISA_SET_RDSEED, "rdseed"},
    {ZYDIS_ISA_SET_AVX512F_128, "avx512f", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512F_128N, "avx512f"},
    {ZYDIS_ISA_SET_AVX512F_256, "avx512f", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512F_512, "avx512f"},
    {ZYDIS_ISA_SET_AVX512F_KOP, "avx512f"},
    {ZYDIS_ISA_SET_AVX512F_SCALAR, "avx512f"},
    {ZYDIS_ISA_SET_AVX512BW_128, "avx512bw", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512BW_128N, "avx512bw"},
    {ZYDIS_ISA_SET_AVX512BW_256, "avx512bw", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512BW_512, "avx512bw"},
    {ZYDIS_ISA_SET_AVX512BW_KOP, "avx512bw"},
    {ZYDIS_ISA_SET_AVX512CD_128, "avx512cd", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512CD_256, "avx512cd", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512CD_512, "avx512cd"},
    {ZYDIS_ISA_SET_AVX512DQ_128, "avx512dq", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512DQ_128N, "avx512dq"},
    {ZYDIS_ISA_SET_AVX512DQ_256, "avx512dq", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512DQ_512, "avx512dq"},
    {ZYDIS_ISA_SET_AVX512DQ_KOP, "avx512dq"},
    {ZYDIS_ISA_SET_AVX512DQ_SCALAR, "avx512dq"},
    {ZYDIS_ISA_SET_AVX512ER_512, "avx512er"},
    {ZYDIS_ISA_SET_AVX512ER_SCALAR, "avx512er"},
    {ZYDIS_ISA_SET_AVX512PF_512, "avx512pf"},
    {ZYDIS_ISA_SET_AVX512_IFMA_128, "avx512ifma", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_IFMA_256, "avx512ifma", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_IFMA_512, "avx512ifma"},
    {ZYDIS_ISA_SET_AVX512_VBMI_128, "avx512vbmi", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_VBMI_256, "avx512vbmi", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_VBMI_512, "avx512vbmi"},
    {ZYDIS_ISA_SET_AVX512_VBMI2_128, "avx512_vbmi2", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_VBMI2_256, "avx512_vbmi2", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_VBMI2_512, "avx512_vbmi2"},
    {ZYDIS_ISA_SET_AVX512_VNNI_128, "avx512_vnni", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_VNNI_256, "avx512_vnni", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_VNNI_512, "avx512_vnni"},
    {ZYDIS_ISA_SET_AVX512_BITALG_128, "avx512_bitalg", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_BITALG_256, "avx512_bitalg", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_BITALG_512, "avx512_bitalg"},
    {ZYDIS_ISA_SET_AVX512_VPOPCNTDQ_128, "avx512_vpopcntdq", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_VPOPCNTDQ_256, "avx512_vpopcntdq", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_VPOPCNTDQ_512, "avx512_vpopcntdq"},
    {ZYDIS_ISA_SET_AVX512_BF16_128, "avx512_bf16", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_BF16_256, "avx512_bf16", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_BF16_512, "avx512_bf16"},
    {ZYDIS_ISA_SET_AVX512_FP16_128, "avx512_fp16", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_FP16_128N, "avx512_fp16"},
    {ZYDIS_ISA_SET_AVX512_FP16_256, "avx512_fp16", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_FP16_512, "avx512_fp16"},
    {ZYDIS_ISA_SET_AVX512_FP16_SCALAR, "avx512_fp16"},
    {ZYDIS_ISA_SET_AVX512_GFNI_128, "gfni", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_GFNI_256, "gfni", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_GFNI_512, "gfni", "avx512f"},
    {ZYDIS_ISA_SET_AVX512_VAES_128, "vaes", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_VAES_256, "vaes", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_VAES_512, "vaes", "avx512f"},
    {ZYDIS_ISA_SET_AVX512_VPCLMULQDQ_128, "vpclmulqdq", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_VPCLMULQDQ_256, "vpclmulqdq", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_VPCLMULQDQ_512, "vpclmulqdq", "avx512f"},
    {ZYDIS_ISA_SET_AVX512_VP2INTERSECT_128, "avx512_vp2intersect", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_VP2INTERSECT_256, "avx512_vp2intersect", "avx512vl"},
    {ZYDIS_ISA_SET_AVX512_VP2INTERSECT_512, "avx512_vp2intersect"},
    {ZYDIS_ISA_SET_AMX_TILE, "amx_tile"},
    {ZYDIS_ISA_SET_AMX_BF16, "amx_bf16"},
    {ZYDIS_ISA_SET_AMX_INT8, "amx_int8"},
};

std::array<FeatureSet, ZYDIS_ISA_SET_MAX_VALUE + 1> make_table() {
  std::array<FeatureSet, ZYDIS_ISA_SET_MAX_VALUE + 1> out{};
  for (const Row& r : kRows) {
    out.at(r.set) = feature_bit(r.a) | (r.b != nullptr ? feature_bit(r.b) : 0);
  }
  return out;
}

class X86Decoder : public Decoder {
 public:
  explicit X86Decoder(const ElfFile& elf) : code_(elf.bytes.span()), table_(make_table()) {
    const bool wide = elf.elf_class == 64;
    ZydisDecoderInit(&decoder_, wide ? ZYDIS_MACHINE_MODE_LONG_64 : ZYDIS_MACHINE_MODE_LEGACY_32,
                     wide ? ZYDIS_STACK_WIDTH_64 : ZYDIS_STACK_WIDTH_32);
  }

  unsigned step() const override { return 1; }

  Insn decode(std::uint64_t offset, std::uint64_t vaddr, std::uint64_t room) const override {
    Insn out;
    ZydisDecodedInstruction i;
    ZydisDecoderContext context;
    if (!ZYAN_SUCCESS(
            ZydisDecoderDecodeInstruction(&decoder_, &context, &code_[offset], room, &i))) {
      out.flow = Flow::broken;
      return out;
    }
    out.length = i.length;
    out.features = i.mnemonic == ZYDIS_MNEMONIC_TZCNT ? 0 : table_[i.meta.isa_set];
    out.cpu_test = i.mnemonic == ZYDIS_MNEMONIC_CPUID || i.mnemonic == ZYDIS_MNEMONIC_XGETBV;
    out.wide_vector = i.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX ||
                      (i.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX && i.avx.vector_length != 0);
    out.legacy_vector =
        i.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
        (i.meta.isa_set == ZYDIS_ISA_SET_SSE || i.meta.isa_set == ZYDIS_ISA_SET_SSE2);
    set_flow(i, vaddr, out);
    return out;
  }

  std::string mnemonic(std::uint64_t offset, std::uint64_t, std::uint64_t room) const override {
    ZydisDecodedInstruction i;
    ZydisDecoderContext context;
    if (!ZYAN_SUCCESS(
            ZydisDecoderDecodeInstruction(&decoder_, &context, &code_[offset], room, &i))) {
      return {};
    }
    return ZydisMnemonicGetString(i.mnemonic);
  }

 private:
  static void set_flow(const ZydisDecodedInstruction& i, std::uint64_t vaddr, Insn& out) {
    switch (i.meta.category) {
      case ZYDIS_CATEGORY_COND_BR:
        out.flow = Flow::branch;
        break;
      case ZYDIS_CATEGORY_UNCOND_BR:
        out.flow = Flow::jump;
        break;
      case ZYDIS_CATEGORY_CALL:
        out.flow = Flow::call;
        break;
      case ZYDIS_CATEGORY_RET:
        out.flow = Flow::end;
        return;
      default:
        if (i.mnemonic == ZYDIS_MNEMONIC_UD2 || i.mnemonic == ZYDIS_MNEMONIC_HLT ||
            i.mnemonic == ZYDIS_MNEMONIC_INT3) {
          out.flow = Flow::end;
        }
        return;
    }
    const std::uint64_t next = vaddr + i.length;
    if (i.raw.imm[0].size != 0 && i.raw.imm[0].is_relative != 0) {
      out.target = next + static_cast<std::uint64_t>(i.raw.imm[0].value.s);
    } else if ((i.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0 && i.raw.modrm.mod == 0 &&
               i.raw.modrm.rm == 5 && i.machine_mode == ZYDIS_MACHINE_MODE_LONG_64) {
      out.slot = next + static_cast<std::uint64_t>(i.raw.disp.value);  // [rip + disp]
    }
  }

  std::span<const std::uint8_t> code_;
  std::array<FeatureSet, ZYDIS_ISA_SET_MAX_VALUE + 1> table_;
  ZydisDecoder decoder_{};
};

}  // namespace

std::unique_ptr<Decoder> make_x86_decoder(const ElfFile& elf) {
  return std::make_unique<X86Decoder>(elf);
}

}  // namespace felloe::isa_detail
