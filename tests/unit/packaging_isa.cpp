#include "packaging/isa/isa.h"

#include <catch2/catch.hpp>

namespace felloe {
namespace {

// A module whose only segment is `code` at address 0x1000; loading starts at `init`.
ModuleIsa scan(const std::string& code, const char* machine, std::uint64_t init,
               std::vector<std::uint64_t> functions = {}) {
  static const char* const kNames[] = {"f0", "f1", "f2", "f3"};
  ElfFile elf;
  elf.bytes = Bytes(code, "m.so");
  elf.machine = machine;
  elf.machine_id = elf.machine == "x86_64" ? 62 : 183;
  ElfSegment s;
  s.type = 1;
  s.flags = 5;
  s.vaddr = 0x1000;
  s.file_size = s.mem_size = code.size();
  elf.segments.push_back(s);
  elf.init = init;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    ElfSymbol f;
    f.name = kNames[i];
    f.value = functions[i];
    f.section = 1;
    f.type = 2;
    elf.symbols.push_back(f);
  }
  return *scan_isa(elf, "m.so");
}

std::string bytes(std::initializer_list<int> list) {
  std::string out;
  for (const int b : list) out += static_cast<char>(b);
  return out;
}

std::string words(std::initializer_list<std::uint32_t> list) {
  std::string out;
  for (const std::uint32_t w : list) {
    for (int i = 0; i < 4; ++i) out += static_cast<char>(w >> (8 * i) & 0xff);
  }
  return out;
}

// What is required, as "feature when guard mnemonic".
std::vector<std::string> requirements(const ModuleIsa& isa) {
  std::vector<std::string> out;
  for (const IsaRequirement& r : isa.requirements) {
    out.push_back(r.feature + " " + r.when + " " + r.guard + " " + r.where->mnemonic.value_or("?"));
  }
  return out;
}

using List = std::vector<std::string>;

// vaddps ymm0, ymm0, ymm0 / vpaddd ymm0, ymm0, ymm0 / vaddps zmm0, zmm0, zmm0
const std::string kAvx = bytes({0xc5, 0xfc, 0x58, 0xc0}), kAvx2 = bytes({0xc5, 0xfd, 0xfe, 0xc0});
const std::string kAvx512 = bytes({0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc0});
const std::string kRet = bytes({0xc3});

TEST_CASE("x86: straight from the initialiser is required at load") {
  const ModuleIsa isa = scan(kAvx2 + kRet, "x86_64", 0x1000);
  REQUIRE(requirements(isa) == List{"avx2 load none vpaddd"});
  REQUIRE(isa.requirements[0].where->offset.value_or(-1) == 0);
  REQUIRE(isa.dispatched.empty());
}

TEST_CASE("x86: width counts, and baseline code requires nothing") {
  REQUIRE(requirements(scan(kAvx + kRet, "x86_64", 0x1000)) == List{"avx load none vaddps"});
  REQUIRE(requirements(scan(kAvx512 + kRet, "x86_64", 0x1000)) == List{"avx512f load none vaddps"});
  const std::string sse2 = bytes({0x66, 0x0f, 0xfe, 0xc0});   // paddd xmm0, xmm0
  const std::string tzcnt = bytes({0xf3, 0x0f, 0xbc, 0xc0});  // runs as bsf where unknown
  REQUIRE(scan(sse2 + tzcnt + kRet, "x86_64", 0x1000).requirements.empty());
}

TEST_CASE("x86: through a call, and after it returned") {
  // f0: call f1; vpaddd; ret    f1: vaddps; ret
  const std::string code = bytes({0xe8, 5, 0, 0, 0}) + kAvx2 + kRet + kAvx512 + kRet;
  const ModuleIsa isa = scan(code, "x86_64", 0x1000, {0x1000, 0x100a});
  REQUIRE(requirements(isa) == List{"avx2 load none vpaddd", "avx512f load none vaddps"});
  REQUIRE(isa.requirements[1].where->symbol.value_or("") == "f1");
}

TEST_CASE("x86: behind a branch it isn't proven, behind a table it is dispatched") {
  // f0: je +1; ret; jmp f1    f1: vaddps zmm; ret    f2: vpaddd ymm; ret (nobody calls it)
  const std::string code =
      bytes({0x74, 1}) + kRet + bytes({0xe9, 0, 0, 0, 0}) + kAvx512 + kRet + kAvx2 + kRet;
  const ModuleIsa isa = scan(code, "x86_64", 0x1000, {0x1000, 0x1008, 0x100f});
  REQUIRE(requirements(isa) == List{"avx512f load unknown vaddps"});
  REQUIRE(isa.dispatched == List{"avx2"});
}

TEST_CASE("x86: a module that has nothing but wide vector code was compiled for it") {
  std::string code;
  for (int i = 0; i < 40; ++i) code += kAvx2 + kRet;
  const auto with_functions = [&](const std::string& text, std::size_t step) {
    ElfFile elf;
    elf.bytes = Bytes(text, "m.so");
    elf.machine = "x86_64";
    elf.machine_id = 62;
    ElfSegment s;
    s.type = 1;
    s.flags = 5;
    s.vaddr = 0x1000;
    s.file_size = s.mem_size = text.size();
    elf.segments.push_back(s);
    for (std::size_t at = 0; at < text.size(); at += step) {
      ElfSymbol f;
      f.name = "f";
      f.value = 0x1000 + at;
      f.section = 1;
      f.type = 2;
      elf.symbols.push_back(f);
    }
    return *scan_isa(elf, "m.so");
  };
  REQUIRE(requirements(with_functions(code, 5)) == List{"avx2 call none vpaddd"});
  // As many functions with SSE2 beside them: that is what a dispatcher looks like.
  for (int i = 0; i < 40; ++i) code += bytes({0x66, 0x0f, 0xfe, 0xc0}) + kRet;
  const ModuleIsa mixed = with_functions(code, 5);
  REQUIRE(mixed.requirements.empty());
  REQUIRE(mixed.dispatched == List{"avx2"});
}

TEST_CASE("AArch64: LSE in the open, and LSE beside load-exclusive (outline atomics)") {
  const std::uint32_t ldaddal = 0xf8f60016, ret = 0xd65f03c0;
  const std::uint32_t cbz = 0xb4000060, ldaxr = 0xc85ffc20, stlxr = 0xc802fc20;
  REQUIRE(requirements(scan(words({ldaddal, ret}), "aarch64", 0x1000)) ==
          List{"atomics load none ldaddal"});
  REQUIRE(requirements(scan(words({ldaddal, ret}), "aarch64", 0)) ==
          List{"atomics call unknown ldaddal"});
  const ModuleIsa outline = scan(words({cbz, ldaddal, ret, ldaxr, stlxr, ret}), "aarch64", 0x1000);
  REQUIRE(outline.requirements.empty());
  REQUIRE(outline.dispatched == List{"atomics"});
}

TEST_CASE("AArch64: feature masks") {
  const auto feature = [](std::uint32_t word) {
    const ModuleIsa isa = scan(words({word, 0xd65f03c0}), "aarch64", 0x1000);
    return isa.requirements.empty() ? std::string("baseline") : isa.requirements[0].feature;
  };
  REQUIRE(feature(0x4e829420) == "asimddp");   // sdot v0.4s, v1.16b, v2.16b
  REQUIRE(feature(0x4e82a420) == "i8mm");      // smmla v0.4s, v1.16b, v2.16b
  REQUIRE(feature(0x6e42fc20) == "bf16");      // bfdot v0.4s, v1.8h, v2.8h
  REQUIRE(feature(0x04a10000) == "sve");       // add z0.s, z0.s, z1.s
  REQUIRE(feature(0x4e421420) == "asimdhp");   // fadd v0.8h, v1.8h, v2.8h
  REQUIRE(feature(0x1ee22820) == "asimdhp");   // fadd h0, h1, h2
  REQUIRE(feature(0x1ac24020) == "crc32");     // crc32b w0, w1, w2
  REQUIRE(feature(0x4e284820) == "aes");       // aese v0.16b, v1.16b
  REQUIRE(feature(0xb8bfc020) == "lrcpc");     // ldapr w0, [x1]
  REQUIRE(feature(0x88a07c41) == "atomics");   // cas w0, w1, [x2]
  REQUIRE(feature(0xf8208041) == "atomics");   // swp x0, x1, [x2]
  REQUIRE(feature(0x4f121020) == "asimdhp");   // fmla v0.8h, v1.8h, v2.h[1]
  REQUIRE(feature(0x4fa2f020) == "i8mm");      // usdot v0.4s, v1.16b, v2.4b[1]
  REQUIRE(feature(0x6e828420) == "asimdrdm");  // sqrdmlah v0.4s, v1.4s, v2.4s
  REQUIRE(feature(0x6e82cc20) == "fcma");      // fcmla v0.4s, v1.4s, v2.4s, #90
  REQUIRE(feature(0x1e7e0020) == "jscvt");     // fjcvtzs w0, d1
  REQUIRE(feature(0x5e024020) == "sha2");      // sha256h q0, q1, v2.4s
  REQUIRE(feature(0x0ee2e020) == "aes");       // pmull v0.1q, v1.1d, v2.1d
  REQUIRE(feature(0x0e22e020) == "baseline");  // pmull v0.8h, v1.8b, v2.8b
  REQUIRE(feature(0x1ee2c020) == "baseline");  // fcvt d0, h1
  REQUIRE(feature(0x1ee24020) == "baseline");  // fcvt s0, h1
  REQUIRE(feature(0x1e23c020) == "baseline");  // fcvt h0, s1
  REQUIRE(feature(0x4e22d420) == "baseline");  // fadd v0.4s, v1.4s, v2.4s
  REQUIRE(feature(0x8b020020) == "baseline");  // add x0, x1, x2
}

}  // namespace
}  // namespace felloe
