// The CPU detector and what /proc/cpuinfo adds: decoding of recorded words, levels, and this
// machine.
#include <catch2/catch.hpp>
#include <set>

#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/text.h"
#include "probe/cpu/cpu.h"
#include "probe/processor.h"

using namespace felloe;
using cpu::Arch;
using cpu::FeatureSet;

namespace {

cpu::Raw x86_with(const FeatureSet& features, std::uint64_t xcr0, bool osxsave = true) {
  cpu::Raw raw;
  raw.arch = Arch::x86;
  raw.osxsave = osxsave;
  raw.xcr0 = xcr0;
  features.for_each([&raw](cpu::Feature f) {
    const cpu::Row& row = cpu::kFeatures[f.index];
    raw.word[static_cast<std::size_t>(row.word)] |= std::uint64_t{1} << row.bit;
  });
  return raw;
}

}  // namespace

TEST_CASE("every row of the feature table has its own bit and its own name") {
  std::set<std::pair<int, int>> bits;
  std::set<std::pair<int, std::string>> names;
  for (const cpu::Row& row : cpu::kFeatures) {
    INFO(row.name);
    CHECK(bits.emplace(static_cast<int>(row.word), row.bit).second);
    CHECK(names.emplace(static_cast<int>(row.arch), row.name).second);
  }
  for (const cpu::Alias& alias : cpu::kAliases) {
    INFO(alias.alias);
    const bool x86 = cpu::find(Arch::x86, alias.alias) != cpu::kNoFeature;
    const bool arm = cpu::find(Arch::aarch64, alias.alias) != cpu::kNoFeature;
    CHECK((x86 || arm));
  }
  CHECK(cpu::find(Arch::x86, "avx9000") == cpu::kNoFeature);
  CHECK(cpu::find(Arch::x86, "sve") == cpu::kNoFeature);
}

TEST_CASE("features whose state XCR0 switches off are not usable") {
  const FeatureSet v4 = cpu::x86_level_set(4) | cpu::x86_set("amx_tile", "vaes");
  const cpu::Cpu all = cpu::decode(x86_with(v4, 0x602e7));
  CHECK(all.features == v4);
  CHECK(all.os_disabled.empty());
  CHECK(cpu::x86_level(all.features) == 4);

  const cpu::Cpu masked = cpu::decode(x86_with(v4, 0x7));
  CHECK(cpu::x86_level(masked.features) == 3);
  CHECK(masked.os_disabled ==
        cpu::x86_set("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "amx_tile"));

  // Half of the AVX-512 state is none of it.
  CHECK(cpu::x86_level(cpu::decode(x86_with(v4, 0x67)).features) == 3);

  const cpu::Cpu no_xsave = cpu::decode(x86_with(v4, 0, false));
  CHECK(cpu::x86_level(no_xsave.features) == 2);
  CHECK(no_xsave.os_disabled.contains(cpu::x86_set("xsave", "avx", "avx2", "fma", "f16c")));
  CHECK(no_xsave.features.contains(cpu::x86_set("bmi1", "movbe")));
}

TEST_CASE("a level needs all of its features") {
  for (int level = 1; level <= 4; ++level) {
    CHECK(cpu::x86_level(cpu::kX86Levels[level - 1]) == level);
    cpu::kX86Levels[level - 1].for_each([level](cpu::Feature f) {
      FeatureSet less = cpu::kX86Levels[level - 1];
      less.remove(f);
      INFO(cpu::name(f));
      CHECK(cpu::x86_level(less) < level);
    });
  }
  CHECK(cpu::arm_level(cpu::arm_set("fp", "asimd")) == 0);
  CHECK(cpu::arm_level(cpu::arm_set("fp", "asimd", "atomics", "crc32", "asimdrdm")) == 1);
  CHECK(cpu::arm_level({}) == -1);
}

TEST_CASE("display family and model follow the SDM") {
  cpu::Raw raw;
  raw.arch = Arch::x86;
  raw.signature = 0x806f8;  // Sapphire Rapids
  CHECK(cpu::decode(raw).family == 6);
  CHECK(cpu::decode(raw).model_number == 0x8f);
  CHECK(cpu::decode(raw).stepping == 8);
  raw.signature = 0xa00f11;  // Zen 3
  CHECK(cpu::decode(raw).family == 25);
  CHECK(cpu::decode(raw).model_number == 1);
}

TEST_CASE("CPU words survive a round trip through JSON") {
  const cpu::Raw raw = cpu::read_raw();
  const Json json = cpu_to_json(raw);
  const cpu::Raw back = cpu_from_json(json, "test");
  CHECK(cpu_to_json(back) == json);
  CHECK(cpu::decode(back).features == cpu::decode(raw).features);

  Json bad = json;
  bad["words"] = {{raw.arch == Arch::x86 ? "leaf_1_ecx" : "hwcap", "0xg"}};
  CHECK_THROWS_AS(cpu_from_json(bad, "test"), Error);
  bad = {{"arch", "riscv"}, {"words", Json::object()}};
  CHECK_THROWS_WITH(cpu_from_json(bad, "test"), Catch::Contains("x86"));
}

// Two readers of one machine: ours and the kernel's. Flags that the kernel clears for its own
// reasons (boot options, errata) may be missing there, so only the other direction is a must.
TEST_CASE("detection agrees with the kernel on this machine") {
  const auto cores = parse_cpuinfo(read_file("/proc/cpuinfo"));
  const cpu::Cpu here = cpu::detect();
  const std::string own = here.arch == Arch::x86 ? "x86" : "arm";
  if (cores.empty() || cpuinfo_dialect(cores) != own) return;  // emulated
  const std::string& flags = cores.front().at(own == "x86" ? "flags" : "Features");
  int seen = 0;
  for (const std::string& flag : split(flags, ' ')) {
    const cpu::Feature f = cpu::find(here.arch, flag.c_str());
    if (f == cpu::kNoFeature || std::string(cpu::name(f)) != flag) continue;
    INFO(flag);
    CHECK(here.features.has(f));
    ++seen;
  }
  CHECK(seen > 1);
}

TEST_CASE("lists of online CPUs are counted") {
  CHECK(count_cpu_list("0-3\n") == 4);
  CHECK(count_cpu_list("0,2-3,8") == 4);
  CHECK(count_cpu_list("0") == 1);
  CHECK(count_cpu_list("3-1") == 0);
  CHECK(count_cpu_list("") == 0);
  CHECK(count_cpu_list("all") == 0);
}
