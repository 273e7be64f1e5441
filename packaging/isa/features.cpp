#include <string_view>

#include "matrix/base/error.h"
#include "packaging/isa/insn.h"

namespace felloe::isa_detail {
namespace {

// Linux names: arch/x86/include/asm/cpufeatures.h, Documentation/arch/arm64/elf_hwcaps.rst. At most
// 64 names in each half, since a module is code for one machine: the halves share the bits.
constexpr const char* kFeatureNames[] = {
    // x86
    "pni", "ssse3", "sse4_1", "sse4_2", "popcnt", "cx16", "lahf_lm", "avx", "avx2", "fma", "f16c",
    "bmi1", "bmi2", "movbe", "aes", "pclmulqdq", "sha_ni", "gfni", "vaes", "vpclmulqdq", "avx_vnni",
    "avx512f", "avx512vl", "avx512bw", "avx512cd", "avx512dq", "avx512ifma", "avx512vbmi",
    "avx512_vbmi2", "avx512_vnni", "avx512_bitalg", "avx512_vpopcntdq", "avx512_bf16",
    "avx512_fp16", "avx512_vp2intersect", "avx512er", "avx512pf", "amx_tile", "amx_bf16",
    "amx_int8", "fma4", "xop", "tbm", "sse4a", "adx", "rdrand", "rdseed",
    // AArch64; shorter, so that both fit
    "atomics", "asimddp", "sve", "i8mm", "bf16", "asimdhp", "crc32", "aes-arm", "sha2", "sha512",
    "sha3", "sm4", "jscvt", "lrcpc", "fcma", "asimdrdm", "sme"};
static_assert(std::size(kFeatureNames) <= 64);

}  // namespace

FeatureSet feature_bit(const char* name) {
  for (unsigned i = 0; i < std::size(kFeatureNames); ++i) {
    if (std::string_view(kFeatureNames[i]) == name) return FeatureSet{1} << i;
  }
  throw Error(ErrorKind::internal, name, "no such CPU feature in the table");
}

const char* feature_name(unsigned bit) {
  const std::string_view name = kFeatureNames[bit];
  // AArch64's aes has x86's name but is another bit; the suffix keeps the look-up unambiguous.
  return name == "aes-arm" ? "aes" : kFeatureNames[bit];
}

}  // namespace felloe::isa_detail
