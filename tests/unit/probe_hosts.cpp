// Recorded machines: each folder of tests/hosts gives the facts in its host.json, and a recording
// of any of them, or of this machine, gives the same facts again. To add a machine: docs/probe.md.
// FELLOE_UPDATE=1 rewrites the expected files; look at the diff before you commit it.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "probe/probe.h"

using namespace felloe;

namespace {

const fs::path kHosts = "tests/hosts";

std::vector<fs::path> recorded_hosts() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(kHosts)) {
    if (entry.is_directory()) out.push_back(entry.path());
  }
  return out;
}

std::string facts_of(const ProbeOptions& options) {
  return dump_json(to_json(probe_host(options)));
}

HostFacts host(const char* name) { return probe_host({.root = kHosts / name}); }

bool degraded(const HostFacts& facts, const std::string& text) {
  for (const std::string& line : facts.degraded) {
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("recorded machines give their facts") {
  REQUIRE(recorded_hosts().size() >= 12);
  for (const fs::path& folder : recorded_hosts()) {
    INFO(folder.string());
    const std::string facts = facts_of({.root = folder});
    if (std::getenv("FELLOE_UPDATE") != nullptr) write_file(folder / "host.json", facts);
    CHECK(facts == read_file(folder / "host.json"));
  }
}

TEST_CASE("a recording replays to the same bytes") {
  const TempDir temp;
  for (const fs::path& folder : recorded_hosts()) {
    INFO(folder.string());
    const fs::path copy = temp.path() / folder.filename();
    const std::string facts = facts_of({.root = folder, .record = copy});
    CHECK(facts_of({.root = copy}) == facts);
  }
  const fs::path live = temp.path() / "live";
  const std::string facts = facts_of({.record = live});
  CHECK(facts_of({.root = live}) == facts);
}

TEST_CASE("a recording never mixes two machines") {
  const TempDir temp;
  write_file(temp.path() / "old/file", "x");
  CHECK_THROWS_WITH(probe_host({.root = kHosts / "rpi4", .record = temp.path() / "old"}),
                    Catch::Contains("not empty"));
}

TEST_CASE("the facts that odd machines are kept for") {
  SECTION("AVX-512 without its state") {
    const HostFacts facts = host("vm-avx512-masked");
    CHECK(*facts.cpu.level == "v3");
    CHECK(facts.cpu.os_disabled->size() > 10);
    CHECK(*facts.os.hypervisor == "kvm");
  }
  SECTION("SVE") {
    const HostFacts facts = host("graviton3");
    CHECK(*facts.cpu.sve_vl_bits == 256);
    CHECK(*facts.os.hypervisor == "kvm");
    CHECK(facts.python->back().free_threaded.value_or(false));
  }
  SECTION("Jetson") {
    const HostFacts facts = host("jetson-orin");
    CHECK(*facts.gpu->soc == "tegra");
    CHECK(*facts.gpu->l4t == "36.4.0");
    CHECK(*facts.gpu->cuda == "12.6");
    CHECK(*facts.gpu->devices->at(0).cc == "8.7");
  }
  SECTION("WSL") {
    const HostFacts facts = host("wsl2");
    CHECK(*facts.os.wsl);
    CHECK(*facts.gpu->driver == "572.60");
    CHECK(*facts.gpu->libcuda->compat == false);
  }
  SECTION("container without a GPU on a machine with one") {
    const HostFacts facts = host("docker-no-gpu");
    CHECK(*facts.os.container == "docker");
    CHECK(*facts.gpu->driver == "550.54.15");
    CHECK(facts.gpu->libcuda.is_none());
    CHECK(facts.gpu->devices->empty());
    CHECK(*facts.gpu->cuda == "12.4");
  }
  SECTION("musl") {
    const HostFacts facts = host("alpine-musl");
    CHECK(facts.libc->name == "musl");
    CHECK(*facts.libc->version == "1.2.5");
    CHECK(*facts.libs_complete);
    CHECK(facts.libs->at("libstdc++.so.6").versions.at("GLIBCXX") == "3.4.33");
  }
  SECTION("refused GPU queries lose no device") {
    const HostFacts facts = host("h100");
    REQUIRE(facts.gpu->devices->size() == 2);
    CHECK(facts.gpu->devices->at(1).memory_bytes.is_none());
    CHECK(facts.gpu->devices->at(1).mig.is_null());
    CHECK(degraded(facts, "gpu.devices[1].memory_bytes: NVML: NVML_ERROR_NO_PERMISSION"));
  }
  SECTION("MIG, and GPUs chosen by UUID") {
    const HostFacts facts = host("h100-mig");
    CHECK(facts.gpu->devices->at(0).mig == Json{{"enabled", true}, {"slices", 3}});
    CHECK(*facts.gpu->visible == std::vector<std::int64_t>{1, 0});  // ends at 7: no such GPU
    CHECK(*facts.os.container == "kubernetes");
  }
  SECTION("forward-compatibility libcuda") {
    const HostFacts facts = host("t4-compat");
    CHECK(*facts.gpu->libcuda->compat);
    CHECK(*facts.gpu->libcuda->version == "12.4");
    CHECK(*facts.gpu->cuda == "12.2");  // the kernel driver's own
  }
  SECTION("emulated") {
    const HostFacts facts = host("qemu-user-aarch64");
    CHECK(*facts.os.emulated);
    CHECK(*facts.os.native_machine == "x86_64");
    CHECK(facts.cpu.machine == "aarch64");
  }
  SECTION("cores that differ") {
    const HostFacts facts = host("big-little");
    CHECK(*facts.cpu.model == "Cortex-A53 + Cortex-A72");
    CHECK(*facts.cpu.some_cores == std::vector<std::string>{"crc32"});
    CHECK(std::find(facts.cpu.features->begin(), facts.cpu.features->end(), "crc32") ==
          facts.cpu.features->end());
  }
  SECTION("broken Pythons are said, shims and links are not Pythons") {
    const HostFacts facts = host("broken-python");
    REQUIRE(facts.python->size() == 1);
    CHECK(facts.python->front().version == "3.11.2");
    CHECK(degraded(facts, "/usr/local/bin/python3.12: does not run: exit code 127"));
    CHECK(degraded(facts, "/usr/local/bin/python3.13: did not answer"));
    CHECK(degraded(facts, "/bin/python3: the link leads nowhere"));
    CHECK(degraded(facts, "/bin/python3.9: no interpreter"));
    CHECK_FALSE(degraded(facts, "shims"));
  }
}

TEST_CASE("no machine at all is an error that says what to do") {
  const TempDir temp;
  CHECK_THROWS_WITH(probe_host({.root = temp.path()}), Catch::Contains("no machine can be read"));
  CHECK_THROWS_WITH(probe_host({.root = temp.path() / "missing"}), Catch::Contains("not a folder"));
  write_file(temp.path() / "felloe-host/machine.json", "[]");
  CHECK_THROWS_WITH(probe_host({.root = temp.path()}), Catch::Contains("must be a JSON object"));
  write_file(temp.path() / "felloe-host/machine.json", "{");
  CHECK_THROWS_AS(probe_host({.root = temp.path()}), Error);
}

TEST_CASE("a recording of two architectures is refused") {
  const TempDir temp;
  const fs::path answers = temp.path() / "felloe-host";
  write_file(answers / "machine.json", read_file(kHosts / "wsl2/felloe-host/machine.json"));
  write_file(answers / "cpu.json", read_file(kHosts / "graviton3/felloe-host/cpu.json"));
  CHECK_THROWS_WITH(probe_host({.root = temp.path()}), Catch::Contains("another architecture"));
}

TEST_CASE("the tree of a system that isn't running is read without running it") {
  const TempDir temp;
  const fs::path root = temp.path();
  const std::string program = read_file("/proc/self/exe");
  write_file(root / "bin/sh", program, 0755);
  write_file(root / "usr/bin/python3.12", program, 0755);
  write_file(root / "usr/bin/python3.13t", program, 0755);
  const HostFacts facts = probe_host({.root = root});
  CHECK(facts.cpu.features.unknown());
  CHECK(facts.os.page_size.unknown());
  CHECK(degraded(facts, "cpu.features"));
  REQUIRE(facts.python->size() == 2);
  CHECK(facts.python->at(0).abi.value_or("") == "cp312");
  CHECK(facts.python->at(1).abi.value_or("") == "cp313t");
  CHECK(degraded(facts, "not run; version from its file name"));
}

TEST_CASE("a broken Python on PATH never fails a live probe") {
  const TempDir temp;
  const fs::path bin = temp.path() / "bin";
  write_file(bin / "python3.12", read_file("/bin/false"), 0755);
  write_file(bin / "python3.11", "#!/bin/sh\nexit 0\n", 0755);
  write_file(bin / "python3-config", "#!/bin/sh\nexit 0\n", 0755);
  fs::create_symlink("nowhere", bin / "python3");
  const HostFacts facts = probe_host({.env = Environment{{"PATH", bin.string()}}});
  CHECK(degraded(facts, "python3.12: does not run: exit code 1"));
  CHECK(degraded(facts, "python3.11: no interpreter: not an ELF file"));
  CHECK(degraded(facts, "python3: the link leads nowhere"));
  CHECK_FALSE(degraded(facts, "python3-config"));
}

TEST_CASE("an empty environment is enough") {
  const HostFacts facts = probe_host({.env = Environment{}});
  CHECK_FALSE(facts.cpu.features.unknown());
  CHECK_FALSE(facts.libc.unknown());
  CHECK_FALSE(facts.python.unknown());
}
