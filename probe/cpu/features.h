// The table of CPU features: one row per feature and nothing else in the project defines one. Names
// are those that Linux shows in /proc/cpuinfo; the last rows of a block that Linux hides carry the
// lower-case name of the kernel's macro.
// To add one: a row here. The probe, the engine's dispatch and the levels find it by name.
//
// Sources
//   x86: Intel SDM volume 2 "CPUID", AMD APM volume 3 appendix E; names: Linux
//     arch/x86/include/asm/cpufeatures.h; state bits: Intel SDM volume 1, 13.3 (XCR0), 15.2
//     (AVX-512)
//   AArch64: Linux Documentation/arch/arm64/elf_hwcaps.rst and arch/arm64/include/uapi/asm/hwcap.h
#pragma once
#include <cstddef>
#include <cstdint>

namespace felloe::cpu {

enum class Arch : std::uint8_t { other, x86, aarch64 };

// The 32- or 64-bit words that hold feature bits: CPUID output registers and auxv entries.
enum class Word : std::uint8_t {
  leaf1_ecx,  // CPUID 1
  leaf1_edx,
  leaf7_ebx,  // CPUID 7, subleaf 0
  leaf7_ecx,
  leaf7_edx,
  leaf7_1_eax,  // CPUID 7, subleaf 1
  leaf7_1_edx,
  leafd_1_eax,  // CPUID 0xd, subleaf 1
  ext1_ecx,     // CPUID 0x80000001
  ext1_edx,
  ext8_ebx,  // CPUID 0x80000008
  hwcap,     // auxv AT_HWCAP
  hwcap2,    // auxv AT_HWCAP2
  hwcap3,    // auxv AT_HWCAP3
};
inline constexpr std::size_t kWordCount = 14;

// The register state that the operating system must have switched on (XCR0) before the
// instructions may be used. `xsave` means CR4.OSXSAVE alone.
enum class State : std::uint8_t { none, xsave, avx, avx512, amx, apx };

struct Row {
  const char* name;
  Arch arch;
  Word word;
  std::uint8_t bit;
  State state;
};

namespace detail {
constexpr Row x(const char* name, Word word, int bit, State state = State::none) {
  return {name, Arch::x86, word, static_cast<std::uint8_t>(bit), state};
}
constexpr Row a(const char* name, Word word, int bit) {
  return {name, Arch::aarch64, word, static_cast<std::uint8_t>(bit), State::none};
}
}  // namespace detail

// clang-format off
inline constexpr Row kFeatures[] = {
    // CPUID 1, EDX
    detail::x("fpu", Word::leaf1_edx, 0), detail::x("tsc", Word::leaf1_edx, 4),
    detail::x("cx8", Word::leaf1_edx, 8), detail::x("cmov", Word::leaf1_edx, 15),
    detail::x("clflush", Word::leaf1_edx, 19), detail::x("mmx", Word::leaf1_edx, 23),
    detail::x("fxsr", Word::leaf1_edx, 24), detail::x("sse", Word::leaf1_edx, 25),
    detail::x("sse2", Word::leaf1_edx, 26),
    // CPUID 1, ECX
    detail::x("pni", Word::leaf1_ecx, 0), detail::x("pclmulqdq", Word::leaf1_ecx, 1),
    detail::x("ssse3", Word::leaf1_ecx, 9), detail::x("fma", Word::leaf1_ecx, 12, State::avx),
    detail::x("cx16", Word::leaf1_ecx, 13), detail::x("sse4_1", Word::leaf1_ecx, 19),
    detail::x("sse4_2", Word::leaf1_ecx, 20), detail::x("movbe", Word::leaf1_ecx, 22),
    detail::x("popcnt", Word::leaf1_ecx, 23), detail::x("aes", Word::leaf1_ecx, 25),
    detail::x("xsave", Word::leaf1_ecx, 26, State::xsave),
    detail::x("avx", Word::leaf1_ecx, 28, State::avx),
    detail::x("f16c", Word::leaf1_ecx, 29, State::avx), detail::x("rdrand", Word::leaf1_ecx, 30),
    // CPUID 0x80000001, EDX
    detail::x("syscall", Word::ext1_edx, 11), detail::x("mmxext", Word::ext1_edx, 22),
    detail::x("fxsr_opt", Word::ext1_edx, 25), detail::x("rdtscp", Word::ext1_edx, 27),
    detail::x("lm", Word::ext1_edx, 29), detail::x("3dnowext", Word::ext1_edx, 30),
    detail::x("3dnow", Word::ext1_edx, 31),
    // CPUID 0x80000001, ECX
    detail::x("lahf_lm", Word::ext1_ecx, 0), detail::x("abm", Word::ext1_ecx, 5),
    detail::x("sse4a", Word::ext1_ecx, 6), detail::x("misalignsse", Word::ext1_ecx, 7),
    detail::x("3dnowprefetch", Word::ext1_ecx, 8), detail::x("xop", Word::ext1_ecx, 11, State::avx),
    detail::x("lwp", Word::ext1_ecx, 15), detail::x("fma4", Word::ext1_ecx, 16, State::avx),
    detail::x("tbm", Word::ext1_ecx, 21), detail::x("mwaitx", Word::ext1_ecx, 29),
    // CPUID 7.0, EBX
    detail::x("fsgsbase", Word::leaf7_ebx, 0), detail::x("bmi1", Word::leaf7_ebx, 3),
    detail::x("hle", Word::leaf7_ebx, 4), detail::x("avx2", Word::leaf7_ebx, 5, State::avx),
    detail::x("bmi2", Word::leaf7_ebx, 8), detail::x("erms", Word::leaf7_ebx, 9),
    detail::x("rtm", Word::leaf7_ebx, 11), detail::x("mpx", Word::leaf7_ebx, 14),
    detail::x("avx512f", Word::leaf7_ebx, 16, State::avx512),
    detail::x("avx512dq", Word::leaf7_ebx, 17, State::avx512),
    detail::x("rdseed", Word::leaf7_ebx, 18), detail::x("adx", Word::leaf7_ebx, 19),
    detail::x("avx512ifma", Word::leaf7_ebx, 21, State::avx512),
    detail::x("clflushopt", Word::leaf7_ebx, 23), detail::x("clwb", Word::leaf7_ebx, 24),
    detail::x("avx512pf", Word::leaf7_ebx, 26, State::avx512),
    detail::x("avx512er", Word::leaf7_ebx, 27, State::avx512),
    detail::x("avx512cd", Word::leaf7_ebx, 28, State::avx512),
    detail::x("sha_ni", Word::leaf7_ebx, 29),
    detail::x("avx512bw", Word::leaf7_ebx, 30, State::avx512),
    detail::x("avx512vl", Word::leaf7_ebx, 31, State::avx512),
    // CPUID 7.0, ECX
    detail::x("avx512vbmi", Word::leaf7_ecx, 1, State::avx512),
    detail::x("ospke", Word::leaf7_ecx, 4), detail::x("waitpkg", Word::leaf7_ecx, 5),
    detail::x("avx512_vbmi2", Word::leaf7_ecx, 6, State::avx512),
    detail::x("gfni", Word::leaf7_ecx, 8), detail::x("vaes", Word::leaf7_ecx, 9, State::avx),
    detail::x("vpclmulqdq", Word::leaf7_ecx, 10, State::avx),
    detail::x("avx512_vnni", Word::leaf7_ecx, 11, State::avx512),
    detail::x("avx512_bitalg", Word::leaf7_ecx, 12, State::avx512),
    detail::x("avx512_vpopcntdq", Word::leaf7_ecx, 14, State::avx512),
    detail::x("rdpid", Word::leaf7_ecx, 22), detail::x("cldemote", Word::leaf7_ecx, 25),
    detail::x("movdiri", Word::leaf7_ecx, 27), detail::x("movdir64b", Word::leaf7_ecx, 28),
    detail::x("enqcmd", Word::leaf7_ecx, 29),
    // CPUID 7.0, EDX. AMX also needs arch_prctl(ARCH_REQ_XCOMP_PERM) in each process that uses it.
    detail::x("avx512_4vnniw", Word::leaf7_edx, 2, State::avx512),
    detail::x("avx512_4fmaps", Word::leaf7_edx, 3, State::avx512),
    detail::x("fsrm", Word::leaf7_edx, 4),
    detail::x("avx512_vp2intersect", Word::leaf7_edx, 8, State::avx512),
    detail::x("serialize", Word::leaf7_edx, 14), detail::x("tsxldtrk", Word::leaf7_edx, 16),
    detail::x("amx_bf16", Word::leaf7_edx, 22, State::amx),
    detail::x("avx512_fp16", Word::leaf7_edx, 23, State::avx512),
    detail::x("amx_tile", Word::leaf7_edx, 24, State::amx),
    detail::x("amx_int8", Word::leaf7_edx, 25, State::amx),
    // CPUID 7.1, EAX; sha512, sm3, sm4 and all of EDX but apx are hidden in cpuinfo
    detail::x("avx_vnni", Word::leaf7_1_eax, 4, State::avx),
    detail::x("avx512_bf16", Word::leaf7_1_eax, 5, State::avx512),
    detail::x("cmpccxadd", Word::leaf7_1_eax, 7),
    detail::x("amx_fp16", Word::leaf7_1_eax, 21, State::amx),
    detail::x("avx_ifma", Word::leaf7_1_eax, 23, State::avx),
    detail::x("sha512", Word::leaf7_1_eax, 0, State::avx),
    detail::x("sm3", Word::leaf7_1_eax, 1, State::avx),
    detail::x("sm4", Word::leaf7_1_eax, 2, State::avx),
    detail::x("avx_vnni_int8", Word::leaf7_1_edx, 4, State::avx),
    detail::x("avx_ne_convert", Word::leaf7_1_edx, 5, State::avx),
    detail::x("amx_complex", Word::leaf7_1_edx, 8, State::amx),
    detail::x("avx_vnni_int16", Word::leaf7_1_edx, 10, State::avx),
    detail::x("apx", Word::leaf7_1_edx, 21, State::apx),
    // CPUID 0xd.1, EAX
    detail::x("xsaveopt", Word::leafd_1_eax, 0, State::xsave),
    detail::x("xsavec", Word::leafd_1_eax, 1, State::xsave),
    detail::x("xgetbv1", Word::leafd_1_eax, 2, State::xsave),
    // CPUID 0x80000008, EBX
    detail::x("clzero", Word::ext8_ebx, 0), detail::x("rdpru", Word::ext8_ebx, 4),

    // AT_HWCAP
    detail::a("fp", Word::hwcap, 0), detail::a("asimd", Word::hwcap, 1),
    detail::a("evtstrm", Word::hwcap, 2), detail::a("aes", Word::hwcap, 3),
    detail::a("pmull", Word::hwcap, 4), detail::a("sha1", Word::hwcap, 5),
    detail::a("sha2", Word::hwcap, 6), detail::a("crc32", Word::hwcap, 7),
    detail::a("atomics", Word::hwcap, 8), detail::a("fphp", Word::hwcap, 9),
    detail::a("asimdhp", Word::hwcap, 10), detail::a("cpuid", Word::hwcap, 11),
    detail::a("asimdrdm", Word::hwcap, 12), detail::a("jscvt", Word::hwcap, 13),
    detail::a("fcma", Word::hwcap, 14), detail::a("lrcpc", Word::hwcap, 15),
    detail::a("dcpop", Word::hwcap, 16), detail::a("sha3", Word::hwcap, 17),
    detail::a("sm3", Word::hwcap, 18), detail::a("sm4", Word::hwcap, 19),
    detail::a("asimddp", Word::hwcap, 20), detail::a("sha512", Word::hwcap, 21),
    detail::a("sve", Word::hwcap, 22), detail::a("asimdfhm", Word::hwcap, 23),
    detail::a("dit", Word::hwcap, 24), detail::a("uscat", Word::hwcap, 25),
    detail::a("ilrcpc", Word::hwcap, 26), detail::a("flagm", Word::hwcap, 27),
    detail::a("ssbs", Word::hwcap, 28), detail::a("sb", Word::hwcap, 29),
    detail::a("paca", Word::hwcap, 30), detail::a("pacg", Word::hwcap, 31),
    detail::a("gcs", Word::hwcap, 32), detail::a("cmpbr", Word::hwcap, 33),
    detail::a("fprcvt", Word::hwcap, 34), detail::a("f8mm8", Word::hwcap, 35),
    detail::a("f8mm4", Word::hwcap, 36), detail::a("svef16mm", Word::hwcap, 37),
    detail::a("sveeltperm", Word::hwcap, 38), detail::a("sveaes2", Word::hwcap, 39),
    detail::a("svebfscale", Word::hwcap, 40), detail::a("sve2p2", Word::hwcap, 41),
    detail::a("sme2p2", Word::hwcap, 42), detail::a("smesbitperm", Word::hwcap, 43),
    detail::a("smeaes", Word::hwcap, 44), detail::a("smesfexpa", Word::hwcap, 45),
    detail::a("smestmop", Word::hwcap, 46), detail::a("smesmop4", Word::hwcap, 47),
    // AT_HWCAP2
    detail::a("dcpodp", Word::hwcap2, 0), detail::a("sve2", Word::hwcap2, 1),
    detail::a("sveaes", Word::hwcap2, 2), detail::a("svepmull", Word::hwcap2, 3),
    detail::a("svebitperm", Word::hwcap2, 4), detail::a("svesha3", Word::hwcap2, 5),
    detail::a("svesm4", Word::hwcap2, 6), detail::a("flagm2", Word::hwcap2, 7),
    detail::a("frint", Word::hwcap2, 8), detail::a("svei8mm", Word::hwcap2, 9),
    detail::a("svef32mm", Word::hwcap2, 10), detail::a("svef64mm", Word::hwcap2, 11),
    detail::a("svebf16", Word::hwcap2, 12), detail::a("i8mm", Word::hwcap2, 13),
    detail::a("bf16", Word::hwcap2, 14), detail::a("dgh", Word::hwcap2, 15),
    detail::a("rng", Word::hwcap2, 16), detail::a("bti", Word::hwcap2, 17),
    detail::a("mte", Word::hwcap2, 18), detail::a("ecv", Word::hwcap2, 19),
    detail::a("afp", Word::hwcap2, 20), detail::a("rpres", Word::hwcap2, 21),
    detail::a("mte3", Word::hwcap2, 22), detail::a("sme", Word::hwcap2, 23),
    detail::a("smei16i64", Word::hwcap2, 24), detail::a("smef64f64", Word::hwcap2, 25),
    detail::a("smei8i32", Word::hwcap2, 26), detail::a("smef16f32", Word::hwcap2, 27),
    detail::a("smeb16f32", Word::hwcap2, 28), detail::a("smef32f32", Word::hwcap2, 29),
    detail::a("smefa64", Word::hwcap2, 30), detail::a("wfxt", Word::hwcap2, 31),
    detail::a("ebf16", Word::hwcap2, 32), detail::a("sveebf16", Word::hwcap2, 33),
    detail::a("cssc", Word::hwcap2, 34), detail::a("rprfm", Word::hwcap2, 35),
    detail::a("sve2p1", Word::hwcap2, 36), detail::a("sme2", Word::hwcap2, 37),
    detail::a("sme2p1", Word::hwcap2, 38), detail::a("smei16i32", Word::hwcap2, 39),
    detail::a("smebi32i32", Word::hwcap2, 40), detail::a("smeb16b16", Word::hwcap2, 41),
    detail::a("smef16f16", Word::hwcap2, 42), detail::a("mops", Word::hwcap2, 43),
    detail::a("hbc", Word::hwcap2, 44), detail::a("sveb16b16", Word::hwcap2, 45),
    detail::a("lrcpc3", Word::hwcap2, 46), detail::a("lse128", Word::hwcap2, 47),
    detail::a("fpmr", Word::hwcap2, 48), detail::a("lut", Word::hwcap2, 49),
    detail::a("faminmax", Word::hwcap2, 50), detail::a("f8cvt", Word::hwcap2, 51),
    detail::a("f8fma", Word::hwcap2, 52), detail::a("f8dp4", Word::hwcap2, 53),
    detail::a("f8dp2", Word::hwcap2, 54), detail::a("f8e4m3", Word::hwcap2, 55),
    detail::a("f8e5m2", Word::hwcap2, 56), detail::a("smelutv2", Word::hwcap2, 57),
    detail::a("smef8f16", Word::hwcap2, 58), detail::a("smef8f32", Word::hwcap2, 59),
    detail::a("smesf8fma", Word::hwcap2, 60), detail::a("smesf8dp4", Word::hwcap2, 61),
    detail::a("smesf8dp2", Word::hwcap2, 62), detail::a("poe", Word::hwcap2, 63),
    // AT_HWCAP3
    detail::a("mtefar", Word::hwcap3, 0), detail::a("mtestoreonly", Word::hwcap3, 1),
    detail::a("lsfe", Word::hwcap3, 2), detail::a("ls64", Word::hwcap3, 3),
};

// Other spellings that readers take (compilers' names and older lists).
struct Alias { const char* alias; const char* name; };
inline constexpr Alias kAliases[] = {
    {"sse3", "pni"}, {"lzcnt", "abm"}, {"cmpxchg16b", "cx16"}, {"lahf", "lahf_lm"},
    {"pclmul", "pclmulqdq"}, {"sha", "sha_ni"}, {"lse", "atomics"}, {"rdm", "asimdrdm"},
    {"dotprod", "asimddp"}, {"fp16", "asimdhp"}, {"rcpc", "lrcpc"},
};
// clang-format on

inline constexpr std::size_t kFeatureCount = sizeof kFeatures / sizeof kFeatures[0];

}  // namespace felloe::cpu
