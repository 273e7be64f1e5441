// Reading an x86 CPU: CPUID and XGETBV. On other architectures this file is empty.
#include "probe/cpu/cpu.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

namespace felloe::cpu {
namespace {

struct Regs {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zero above the highest leaf: there the CPU would answer with the data of another leaf.
Regs cpuid(unsigned leaf, unsigned subleaf, unsigned max_leaf) {
  Regs r;
  if (leaf <= max_leaf) __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
  return r;
}

void put(char* to, unsigned value) {
  for (unsigned i = 0; i < 4; ++i) to[i] = static_cast<char>((value >> (8 * i)) & 0xff);
}

// By bytes, not by intrinsic: that one wants the file compiled with -mxsave.
std::uint64_t xgetbv0() {
  unsigned low = 0, high = 0;
  __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

}  // namespace

Raw read_raw() {
  Raw raw;
  raw.arch = Arch::x86;
  const auto word = [&raw](Word w) -> std::uint64_t& { return raw.word[static_cast<int>(w)]; };

  Regs r;
  if (__get_cpuid_max(0, nullptr) == 0 && sizeof(void*) == 4) return raw;  // a 486 without CPUID
  __cpuid_count(0, 0, r.eax, r.ebx, r.ecx, r.edx);
  const unsigned max_leaf = r.eax;
  put(raw.vendor, r.ebx);
  put(raw.vendor + 4, r.edx);
  put(raw.vendor + 8, r.ecx);

  r = cpuid(1, 0, max_leaf);
  raw.signature = r.eax;
  word(Word::leaf1_ecx) = r.ecx;
  word(Word::leaf1_edx) = r.edx;
  raw.osxsave = ((r.ecx >> 27) & 1) != 0;
  raw.hypervisor = ((r.ecx >> 31) & 1) != 0;
  if (raw.osxsave) raw.xcr0 = xgetbv0();

  r = cpuid(7, 0, max_leaf);
  const unsigned max_subleaf = r.eax;
  word(Word::leaf7_ebx) = r.ebx;
  word(Word::leaf7_ecx) = r.ecx;
  word(Word::leaf7_edx) = r.edx;
  if (max_subleaf >= 1) {
    r = cpuid(7, 1, max_leaf);
    word(Word::leaf7_1_eax) = r.eax;
    word(Word::leaf7_1_edx) = r.edx;
  }
  word(Word::leafd_1_eax) = cpuid(0xd, 1, max_leaf).eax;

  __cpuid_count(0x80000000u, 0, r.eax, r.ebx, r.ecx, r.edx);
  const unsigned max_ext = r.eax;
  r = cpuid(0x80000001u, 0, max_ext);
  word(Word::ext1_ecx) = r.ecx;
  word(Word::ext1_edx) = r.edx;
  word(Word::ext8_ebx) = cpuid(0x80000008u, 0, max_ext).ebx;
  if (max_ext >= 0x80000004u) {
    for (unsigned i = 0; i < 3; ++i) {
      r = cpuid(0x80000002u + i, 0, max_ext);
      char* const part = raw.brand + std::size_t{16} * i;
      put(part, r.eax);
      put(part + 4, r.ebx);
      put(part + 8, r.ecx);
      put(part + 12, r.edx);
    }
  }
  if (raw.hypervisor) {
    __cpuid_count(0x40000000u, 0, r.eax, r.ebx, r.ecx, r.edx);
    put(raw.hypervisor_id, r.ebx);
    put(raw.hypervisor_id + 4, r.ecx);
    put(raw.hypervisor_id + 8, r.edx);
  }
  return raw;
}

}  // namespace felloe::cpu
#endif
