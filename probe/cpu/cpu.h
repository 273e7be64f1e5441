// What the CPU under this process can do, and what the operating system lets it do. Freestanding:
// no library but the C one, no exceptions, no allocation, no static initialisers, compiled for the
// plain baseline of the architecture, so that it can run before anything else is known. Linked into
// both the felloe command and the Treadle engine: what the tool says and what the engine dispatches
// to can't differ.
//
//   constexpr FeatureSet need = x86_set("avx2", "fma");   // a misspelt name doesn't compile
//   const Cpu cpu = detect();
//   if (cpu.features.contains(need)) ...
//
// Reading the machine (read_raw) and understanding it (decode) are two functions, so that a
// recorded machine is decoded by the same code, on any architecture. Features are rows of
// features.h.
#pragma once
#include "probe/cpu/features.h"

namespace felloe::cpu {

// Index of a row of kFeatures.
struct Feature {
  std::uint16_t index;
  constexpr bool operator==(const Feature&) const = default;
};
inline constexpr Feature kNoFeature{0xffff};

namespace detail {
constexpr bool same(const char* a, const char* b) {
  while (*a != 0 && *a == *b) ++a, ++b;
  return *a == *b;
}
void no_such_cpu_feature();  // never defined: reaching it in a constant expression is the error
}  // namespace detail

// The feature called `name` (or one of kAliases), or kNoFeature. x86 and AArch64 share some names.
constexpr Feature find(Arch arch, const char* name) {
  for (const Alias& alias : kAliases) {
    if (detail::same(alias.alias, name)) {
      const Feature found = find(arch, alias.name);
      if (found != kNoFeature) return found;
    }
  }
  for (std::size_t i = 0; i < kFeatureCount; ++i) {
    if (kFeatures[i].arch == arch && detail::same(kFeatures[i].name, name)) {
      return Feature{static_cast<std::uint16_t>(i)};
    }
  }
  return kNoFeature;
}

constexpr const char* name(Feature feature) { return kFeatures[feature.index].name; }

class FeatureSet {
 public:
  constexpr bool has(Feature f) const { return ((bits_[f.index / 64] >> (f.index % 64)) & 1) != 0; }
  constexpr void add(Feature f) { bits_[f.index / 64] |= std::uint64_t{1} << (f.index % 64); }
  constexpr void remove(Feature f) { bits_[f.index / 64] &= ~(std::uint64_t{1} << (f.index % 64)); }

  // required is a subset of this set.
  constexpr bool contains(const FeatureSet& required) const {
    return without(required, *this).empty();
  }
  constexpr bool empty() const {
    for (const std::uint64_t word : bits_) {
      if (word != 0) return false;
    }
    return true;
  }
  // The features of `a` that `b` lacks.
  static constexpr FeatureSet without(const FeatureSet& a, const FeatureSet& b) {
    FeatureSet out;
    for (std::size_t i = 0; i < kWords; ++i) out.bits_[i] = a.bits_[i] & ~b.bits_[i];
    return out;
  }
  constexpr FeatureSet operator|(const FeatureSet& other) const {
    FeatureSet out;
    for (std::size_t i = 0; i < kWords; ++i) out.bits_[i] = bits_[i] | other.bits_[i];
    return out;
  }
  constexpr bool operator==(const FeatureSet&) const = default;

  // Calls visit(Feature) in the order of the table.
  template <class Visit>
  constexpr void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i < kFeatureCount; ++i) {
      const Feature f{static_cast<std::uint16_t>(i)};
      if (has(f)) visit(f);
    }
  }

 private:
  static constexpr std::size_t kWords = (kFeatureCount + 63) / 64;
  std::uint64_t bits_[kWords] = {};
};

namespace detail {
template <class... Names>
consteval FeatureSet set(Arch arch, Names... names) {
  FeatureSet out;
  const char* list[] = {names...};
  for (const char* n : list) {
    const Feature f = find(arch, n);
    if (f == kNoFeature) no_such_cpu_feature();
    out.add(f);
  }
  return out;
}
}  // namespace detail

// Sets by name, at compile time.
template <class... Names>
consteval FeatureSet x86_set(Names... names) {
  return detail::set(Arch::x86, names...);
}
template <class... Names>
consteval FeatureSet arm_set(Names... names) {
  return detail::set(Arch::aarch64, names...);
}

// All that x86-64-v1 ... v4 stand for, each including those below (x86-64 psABI, table 3.1
// "Micro-Architecture Levels"; osfxsr and osxsave are what `features` means by usable).
consteval FeatureSet x86_level_set(int level) {
  FeatureSet out = x86_set("cx8", "cmov", "fpu", "fxsr", "mmx", "sse", "sse2");
  if (level >= 2) {
    out = out | x86_set("pni", "ssse3", "sse4_1", "sse4_2", "popcnt", "cx16", "lahf_lm");
  }
  if (level >= 3) {
    out = out | x86_set("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave");
  }
  if (level >= 4) {
    out = out | x86_set("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl");
  }
  return out;
}
inline constexpr FeatureSet kX86Levels[] = {x86_level_set(1), x86_level_set(2), x86_level_set(3),
                                            x86_level_set(4)};

// 1..4 for x86-64-v1..v4, 0 if even v1 isn't complete.
int x86_level(const FeatureSet& features);

// N of armv8.N: the highest version all of whose mandatory features that user code can see are
// there (Arm ARM, A2.2 "Architecture extensions"). -1 if the set isn't AArch64's at all.
// Pointer authentication is left out: kernels may hide it, and its hint encodings run anywhere.
int arm_level(const FeatureSet& features);

// The machine's own words, before any judgement.
struct Raw {
  Arch arch = Arch::other;
  std::uint64_t word[kWordCount] = {};
  std::uint32_t signature = 0;     // x86: CPUID 1, EAX (family, model, stepping)
  bool osxsave = false;            // x86: CPUID 1, ECX bit 27: XGETBV may be executed
  std::uint64_t xcr0 = 0;          // x86: XGETBV(0), 0 without osxsave
  char vendor[13] = {};            // x86: CPUID 0
  char brand[49] = {};             // x86: CPUID 0x80000002-4
  bool hypervisor = false;         // x86: CPUID 1, ECX bit 31
  char hypervisor_id[13] = {};     // x86: CPUID 0x40000000
  std::uint64_t midr = 0;          // AArch64: MIDR_EL1 of this core, 0 if the kernel hides it
  std::uint32_t sve_vl_bytes = 0;  // AArch64: prctl(PR_SVE_GET_VL), 0 without SVE
};

struct Cpu {
  Arch arch = Arch::other;
  FeatureSet features;       // usable now
  FeatureSet os_disabled;    // the CPU has it, the OS or hypervisor keeps its state switched off
  char vendor[13] = {};      // x86: "GenuineIntel", ...; AArch64: "ARM", ..., "" if unknown
  char model[49] = {};       // x86: brand string; AArch64: "Neoverse-V1", ..., "" if unknown
  int family = 0;            // x86: display family; AArch64: 0
  int model_number = 0;      // x86: display model; AArch64: MIDR part number
  int stepping = 0;          // x86: stepping; AArch64: MIDR revision
  int sve_vl_bits = 0;       // 0 without SVE
  char hypervisor[13] = {};  // vendor string of the hypervisor, "" if none says so
};

// Executes CPUID/XGETBV or reads auxv. Each CPUID traps in a virtual machine (some 20 of them):
// call once and keep the result.
Raw read_raw();

// Pure.
Cpu decode(const Raw& raw);

inline Cpu detect() { return decode(read_raw()); }

// Name of the designer (implementer code) and of the core (implementer, part) of an Arm MIDR, as
// the project's host profiles spell them; nullptr if not in the table.
const char* arm_vendor(std::uint32_t implementer);
const char* arm_core(std::uint32_t implementer, std::uint32_t part);

}  // namespace felloe::cpu
