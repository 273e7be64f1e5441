// Reading an AArch64 CPU: auxv, SVE vector length, MIDR. And the names of Arm cores, which a
// recorded machine needs on every architecture. On a machine that is neither x86 nor AArch64
// nothing is known.
#include "probe/cpu/cpu.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

namespace felloe::cpu {
namespace {

struct Vendor {
  std::uint32_t implementer;
  const char* name;
};
// Arm ARM, MIDR_EL1.Implementer; spellings of util-linux's lscpu.
constexpr Vendor kVendors[] = {
    {0x41, "ARM"},       {0x42, "Broadcom"},  {0x43, "Cavium"},   {0x46, "Fujitsu"},
    {0x48, "HiSilicon"}, {0x4e, "NVIDIA"},    {0x51, "Qualcomm"}, {0x53, "Samsung"},
    {0x61, "Apple"},     {0x6d, "Microsoft"}, {0xc0, "Ampere"},
};

struct Core {
  std::uint32_t implementer, part;
  const char* name;
};
// Linux arch/arm64/include/asm/cputype.h and Arm's technical reference manuals (MIDR_EL1.PartNum).
constexpr Core kCores[] = {
    {0x41, 0xc07, "Cortex-A7"},    {0x41, 0xc09, "Cortex-A9"},     {0x41, 0xc0f, "Cortex-A15"},
    {0x41, 0xd03, "Cortex-A53"},   {0x41, 0xd04, "Cortex-A35"},    {0x41, 0xd05, "Cortex-A55"},
    {0x41, 0xd07, "Cortex-A57"},   {0x41, 0xd08, "Cortex-A72"},    {0x41, 0xd09, "Cortex-A73"},
    {0x41, 0xd0a, "Cortex-A75"},   {0x41, 0xd0b, "Cortex-A76"},    {0x41, 0xd0c, "Neoverse-N1"},
    {0x41, 0xd0d, "Cortex-A77"},   {0x41, 0xd0e, "Cortex-A76AE"},  {0x41, 0xd40, "Neoverse-V1"},
    {0x41, 0xd41, "Cortex-A78"},   {0x41, 0xd42, "Cortex-A78AE"},  {0x41, 0xd44, "Cortex-X1"},
    {0x41, 0xd46, "Cortex-A510"},  {0x41, 0xd47, "Cortex-A710"},   {0x41, 0xd48, "Cortex-X2"},
    {0x41, 0xd49, "Neoverse-N2"},  {0x41, 0xd4a, "Neoverse-E1"},   {0x41, 0xd4b, "Cortex-A78C"},
    {0x41, 0xd4c, "Cortex-X1C"},   {0x41, 0xd4d, "Cortex-A715"},   {0x41, 0xd4e, "Cortex-X3"},
    {0x41, 0xd4f, "Neoverse-V2"},  {0x41, 0xd80, "Cortex-A520"},   {0x41, 0xd81, "Cortex-A720"},
    {0x41, 0xd82, "Cortex-X4"},    {0x41, 0xd83, "Neoverse-V3AE"}, {0x41, 0xd84, "Neoverse-V3"},
    {0x41, 0xd85, "Cortex-X925"},  {0x41, 0xd87, "Cortex-A725"},   {0x41, 0xd8e, "Neoverse-N3"},
    {0x43, 0x0a1, "ThunderX"},     {0x43, 0x0af, "ThunderX2"},     {0x46, 0x001, "A64FX"},
    {0x48, 0xd01, "TaiShan-v110"}, {0x4e, 0x003, "Denver 2"},      {0x4e, 0x004, "Carmel"},
    {0xc0, 0xac3, "Ampere-1"},     {0xc0, 0xac4, "Ampere-1a"},
};

}  // namespace

const char* arm_vendor(std::uint32_t implementer) {
  for (const Vendor& v : kVendors) {
    if (v.implementer == implementer) return v.name;
  }
  return nullptr;
}

const char* arm_core(std::uint32_t implementer, std::uint32_t part) {
  for (const Core& c : kCores) {
    if (c.implementer == implementer && c.part == part) return c.name;
  }
  return nullptr;
}

#if defined(__aarch64__) && defined(__linux__)

Raw read_raw() {
  // Numbers of <linux/auxvec.h> and <linux/prctl.h>: build machines' headers may be older.
  constexpr unsigned long kHwcap = 16, kHwcap2 = 26, kHwcap3 = 29;
  constexpr int kSveGetVl = 51;
  constexpr int kCpuidBit = kFeatures[find(Arch::aarch64, "cpuid").index].bit;
  constexpr int kSveBit = kFeatures[find(Arch::aarch64, "sve").index].bit;

  Raw raw;
  raw.arch = Arch::aarch64;
  const std::uint64_t hwcap = getauxval(kHwcap);
  raw.word[static_cast<int>(Word::hwcap)] = hwcap;
  raw.word[static_cast<int>(Word::hwcap2)] = getauxval(kHwcap2);
  raw.word[static_cast<int>(Word::hwcap3)] = getauxval(kHwcap3);
  if (((hwcap >> kSveBit) & 1) != 0) {
    const int vl = prctl(kSveGetVl, 0, 0, 0, 0);
    if (vl > 0) raw.sve_vl_bytes = static_cast<std::uint32_t>(vl) & 0xffff;  // PR_SVE_VL_LEN_MASK
  }
  // The kernel emulates this read when it says `cpuid`
  // (Documentation/arch/arm64/cpu-feature-registers).
  if (((hwcap >> kCpuidBit) & 1) != 0) __asm__("mrs %0, MIDR_EL1" : "=r"(raw.midr));
  return raw;
}

#elif !defined(__x86_64__) && !defined(__i386__)

Raw read_raw() { return {}; }

#endif

}  // namespace felloe::cpu
