// Levels, and decoding of the machine's words into features. Works for either architecture on
// either.
#include "probe/cpu/cpu.h"

namespace felloe::cpu {
namespace {

// XCR0 bits: 1 SSE, 2 AVX (ymm), 5 opmask, 6 ZMM_Hi256, 7 Hi16_ZMM, 17 XTILECFG, 18 XTILEDATA,
// 19 APX. Intel SDM volume 1, 13.3 and 14.8 ("ymm and zmm need SSE and AVX state too").
std::uint64_t xcr0_needed(State state) {
  switch (state) {
    case State::none:
    case State::xsave:
      return 0;
    case State::avx:
      return 0x6;
    case State::avx512:
      return 0xe6;
    case State::amx:
      return 0x60000;
    case State::apx:
      return 0x80000;
  }
  return ~std::uint64_t{0};
}

bool enabled(const Raw& raw, State state) {
  if (state == State::none) return true;
  const std::uint64_t need = xcr0_needed(state);
  return raw.osxsave && (raw.xcr0 & need) == need;
}

// snprintf's job without the C library's locale: copies, dropping outer and repeated blanks (brand
// strings are padded) and anything that isn't printable ASCII.
template <std::size_t N>
void copy_clean(char (&to)[N], const char* from) {
  std::size_t n = 0;
  bool blank = false;
  for (; *from != 0; ++from) {
    if (*from <= ' ' || *from > '~') {
      blank = n > 0;
      continue;
    }
    if (blank && n + 1 < N) to[n++] = ' ';
    blank = false;
    if (n + 1 < N) to[n++] = *from;
  }
  to[n] = 0;
}

// Mandatory features by version, cumulative. Only what HWCAP shows.
constexpr FeatureSet kArmVersions[] = {
    arm_set("fp", "asimd"),
    arm_set("crc32", "atomics", "asimdrdm"),
    arm_set("dcpop"),
    arm_set("jscvt", "fcma", "lrcpc"),
    arm_set("asimddp", "dit", "uscat", "ilrcpc", "flagm"),
    arm_set("dcpodp", "flagm2", "frint", "sb"),
    arm_set("i8mm", "bf16"),
    arm_set("wfxt"),
    arm_set("mops", "hbc"),
    arm_set("cssc"),
};

}  // namespace

int x86_level(const FeatureSet& features) {
  int level = 0;
  for (const FeatureSet& need : kX86Levels) {
    if (!features.contains(need)) break;
    ++level;
  }
  return level;
}

int arm_level(const FeatureSet& features) {
  int level = -1;
  for (const FeatureSet& need : kArmVersions) {
    if (!features.contains(need)) break;
    ++level;
  }
  return level;
}

Cpu decode(const Raw& raw) {
  Cpu cpu;
  cpu.arch = raw.arch;
  for (std::size_t i = 0; i < kFeatureCount; ++i) {
    const Row& row = kFeatures[i];
    if (row.arch != raw.arch) continue;
    if (((raw.word[static_cast<std::size_t>(row.word)] >> row.bit) & 1) == 0) continue;
    const Feature feature{static_cast<std::uint16_t>(i)};
    (enabled(raw, row.state) ? cpu.features : cpu.os_disabled).add(feature);
  }
  if (raw.arch == Arch::x86) {
    // Display family and model: Intel SDM volume 2, CPUID leaf 1.
    const std::uint32_t s = raw.signature;
    const int base_family = static_cast<int>((s >> 8) & 0xf);
    cpu.family =
        base_family == 0xf ? base_family + static_cast<int>((s >> 20) & 0xff) : base_family;
    cpu.model_number = static_cast<int>((s >> 4) & 0xf);
    if (base_family == 6 || base_family == 0xf) {
      cpu.model_number |= static_cast<int>((s >> 12) & 0xf0);
    }
    cpu.stepping = static_cast<int>(s & 0xf);
    copy_clean(cpu.vendor, raw.vendor);
    copy_clean(cpu.model, raw.brand);
    if (raw.hypervisor) copy_clean(cpu.hypervisor, raw.hypervisor_id);
  } else if (raw.arch == Arch::aarch64) {
    const std::uint32_t implementer = (raw.midr >> 24) & 0xff;
    const std::uint32_t part = (raw.midr >> 4) & 0xfff;
    if (const char* vendor = arm_vendor(implementer)) copy_clean(cpu.vendor, vendor);
    if (const char* core = arm_core(implementer, part)) copy_clean(cpu.model, core);
    cpu.model_number = static_cast<int>(part);
    cpu.stepping = static_cast<int>(raw.midr & 0xf);
    cpu.sve_vl_bits = static_cast<int>(raw.sve_vl_bytes * 8);
  }
  return cpu;
}

}  // namespace felloe::cpu
