// fit() by subject. Whole machines and wheels are in tests/cli/test_check.py; here are the corners.
#include "matrix/fit.h"

#include <catch2/catch.hpp>

#include "matrix/cuda_table.h"
#include "matrix/tags.h"

using namespace felloe;

namespace {

HostPython python(const std::string& version, bool threaded = false,
                  const std::string& machine = "x86_64") {
  HostPython out;
  out.version = version;
  out.machine = machine;
  out.elf_class = elf_class_of(machine);
  out.implementation = std::string("cpython");
  out.free_threaded = threaded;
  return out;
}

HostFacts host(std::vector<HostPython> pythons) {
  HostFacts out;
  out.os.kernel = "Linux";
  out.os.machine = "x86_64";
  out.libc = HostLibc{"glibc", std::string("2.36")};
  out.cpu.machine = pythons.empty() ? "x86_64" : pythons.front().machine;
  out.cpu.features = std::vector<std::string>{"sse2", "pni", "avx", "xsave", "avx2"};
  out.python = std::move(pythons);
  out.gpu = Fact<HostGpu>::none();
  return out;
}

WheelFacts wheel(const std::string& tag) {
  WheelFacts out;
  out.file = "a-1-" + tag + ".whl";
  out.name = "a";
  out.version = "1";
  out.tags = {tag};
  out.modules = std::vector<WheelModule>{};
  out.cuda = Fact<WheelCuda>::none();
  out.libc_floor = Fact<LibcFloor>::none();
  return out;
}

WheelModule module(const std::string& path, const std::string& suffix = "") {
  WheelModule out;
  out.path = path;
  out.kind = std::string("extension");
  out.machine = "x86_64";
  out.isa = ModuleIsa{};
  out.isa_note = Fact<IsaNote>::none();
  out.p_align = 4096;
  out.exec_stack = false;
  PythonAbi abi;
  abi.imports_cpython = true;
  abi.suffix = suffix.empty() ? Fact<std::string>::none() : Fact<std::string>(suffix);
  out.python_abi = abi;
  return out;
}

std::vector<std::string> codes(const Verdict& verdict) {
  std::vector<std::string> out;
  for (const Reason& reason : verdict.reasons) out.push_back(reason.code);
  return out;
}

using Codes = std::vector<std::string>;

HostFacts gpu_host(const std::string& cc, const std::string& driver, const std::string& cuda) {
  HostFacts out = host({python("3.12.0")});
  HostGpu gpu;
  gpu.driver = driver;
  gpu.cuda = cuda;
  HostGpuDevice device;
  device.cc = cc;
  gpu.devices = std::vector<HostGpuDevice>{device};
  out.gpu = gpu;
  return out;
}

WheelFacts gpu_wheel(const std::string& runtime, std::vector<std::string> sass,
                     std::vector<PtxImage> ptx = {}) {
  WheelFacts out = wheel("py3-none-manylinux_2_28_x86_64");
  WheelCuda cuda;
  cuda.runtime = runtime;
  cuda.sass = std::move(sass);
  cuda.ptx = std::move(ptx);
  out.cuda = cuda;
  return out;
}

}  // namespace

TEST_CASE("platform tags say libc, floor and machine") {
  const auto is = [](const char* tag, const char* libc, const char* floor, const char* machine) {
    const Platform platform = Platform::parse(tag);
    return platform.os == "Linux" && platform.libc == libc && platform.libc_floor == floor &&
           platform.machine == machine;
  };
  CHECK(is("manylinux1_i686", "glibc", "2.5", "i686"));
  CHECK(is("manylinux2010_x86_64", "glibc", "2.12", "x86_64"));
  CHECK(is("manylinux2014_aarch64", "glibc", "2.17", "aarch64"));
  CHECK(is("manylinux_2_28_x86_64", "glibc", "2.28", "x86_64"));
  CHECK(is("musllinux_1_2_armv7l", "musl", "1.2", "armv7l"));
  CHECK(is("linux_x86_64", "", "", "x86_64"));
  CHECK(Platform::parse("macosx_11_0_arm64").os == "Darwin");
  CHECK(Platform::parse("win_amd64").os == "Windows");
  CHECK(Platform::parse("manylinux_x_86").os.empty());
}

TEST_CASE("which interpreter takes which tag") {
  struct Row {
    const char* tag;
    const char* version;
    bool threaded;
    Codes expected;
  };
  const Row rows[] = {
      {"cp312-cp312", "3.12.1", false, {}},
      {"cp312-cp312", "3.13.0", false, {"PY_TAG"}},
      {"cp310-cp310", "3.1.0", false, {"PY_TAG"}},
      {"cp37-cp37m", "3.7.3", false, {}},
      {"cp313-cp313t", "3.13.0", true, {}},
      {"cp313-cp313t", "3.13.0", false, {"PY_FREE_THREADED"}},
      {"cp38-abi3", "3.12.0", false, {}},
      {"cp38-abi3", "3.7.0", false, {"PY_TAG"}},
      {"cp38-abi3", "3.14.0", true, {"PY_FREE_THREADED"}},
      {"cp315-abi3t", "3.15.0", true, {}},
      {"cp315-abi3t", "3.16.0", false, {}},
      {"cp315-abi3t", "3.14.0", true, {"PY_TAG"}},
      {"cp314-none", "3.14.0", true, {}},
      {"cp314-none", "3.15.0", false, {"PY_TAG"}},
      {"py3-none", "3.9.0", true, {}},
      {"py310-none", "3.9.0", false, {"PY_TAG"}},
      {"py2-none", "3.9.0", false, {"PY_TAG"}},
      {"pp310-pypy310_pp73", "3.10.0", false, {"PY_TAG"}},
  };
  for (const Row& row : rows) {
    INFO(row.tag << " on " << row.version << (row.threaded ? "t" : ""));
    CHECK(codes(fit(host({python(row.version, row.threaded)}),
                    wheel(std::string(row.tag) + "-manylinux_2_17_x86_64"))) == row.expected);
  }
}

TEST_CASE("the interpreter that fails least gives the reasons") {
  const WheelFacts wanted = wheel("cp311-cp311-manylinux_2_17_aarch64");
  CHECK(codes(fit(host({python("3.10.0"), python("3.11.0")}), wanted)) == Codes{"PY_MACHINE"});
  CHECK(fit(host({python("3.10.0"), python("3.11.0")}), wheel("cp311-cp311-linux_x86_64")).result ==
        FitResult::fits);
}

TEST_CASE("what no interpreter is known for") {
  HostFacts nobody = host({});
  nobody.python = Fact<std::vector<HostPython>>();
  CHECK(fit(nobody, wheel("py3-none-any")).result == FitResult::fits);
  WheelFacts limited = wheel("py3-none-any");
  limited.requires_python = std::string(">=3.9");
  CHECK(codes(fit(nobody, limited)) == Codes{"PY_UNKNOWN"});
  CHECK(codes(fit(host({}), wheel("py3-none-any"))) == Codes{"PY_UNKNOWN"});
}

TEST_CASE("Requires-Python judges a release candidate by its release, as pip does") {
  WheelFacts limited = wheel("py3-none-any");
  limited.requires_python = std::string(">=3.15");
  CHECK(fit(host({python("3.15.0rc1")}), limited).result == FitResult::fits);
  CHECK(codes(fit(host({python("3.14.9")}), limited)) == Codes{"PY_VERSION"});
  limited.requires_python = std::string(">=banana");
  CHECK(fit(host({python("3.14.9")}), limited).result == FitResult::undecided);
}

TEST_CASE("one importable variant of a module is enough") {
  WheelFacts many = wheel("cp311-none-manylinux_2_17_x86_64");
  many.modules = std::vector<WheelModule>{
      module("a/_c.cpython-310-x86_64-linux-gnu.so", "cpython-310-x86_64-linux-gnu"),
      module("a/_c.cpython-311-x86_64-linux-gnu.so", "cpython-311-x86_64-linux-gnu")};
  CHECK(fit(host({python("3.11.0")}), many).result == FitResult::fits);
  many.modules->pop_back();
  CHECK(codes(fit(host({python("3.11.0")}), many)) == Codes{"PY_SUFFIX"});
}

TEST_CASE("suffixes of module file names") {
  CHECK(can_import("", python("3.11.0")));
  CHECK(can_import("abi3", python("3.11.0")));
  CHECK_FALSE(can_import("abi3", python("3.14.0", true)));
  CHECK(can_import("abi3t", python("3.15.0", true)));
  CHECK_FALSE(can_import("abi3t", python("3.14.0", true)));
  CHECK(can_import("cpython-314t-x86_64-linux-gnu", python("3.14.0", true)));
  CHECK_FALSE(can_import("cpython-314-x86_64-linux-gnu", python("3.14.0", true)));
  CHECK_FALSE(can_import("cpython-311-aarch64-linux-gnu", python("3.11.0")));
  CHECK(can_import("cpython-311-i386-linux-gnu", python("3.11.0", false, "i686")));
  CHECK_FALSE(can_import("pypy310-pp73-x86_64-linux-gnu", python("3.10.0")));
}

TEST_CASE("a linux tag promises no libc") {
  WheelFacts plain = wheel("cp311-cp311-linux_x86_64");
  plain.modules = std::vector<WheelModule>{module("a/_c.so")};
  plain.libc_floor = Fact<LibcFloor>();
  CHECK(codes(fit(host({python("3.11.0")}), plain)) == Codes{"LIBC_UNKNOWN"});
  plain.libc_floor = LibcFloor{"glibc", "2.17", {}};
  CHECK(fit(host({python("3.11.0")}), plain).result == FitResult::fits);
}

TEST_CASE("of several tags the lowest floor counts") {
  WheelFacts both = wheel("cp311-cp311-manylinux_2_39_x86_64");
  both.tags.push_back("cp311-cp311-manylinux_2_17_x86_64");
  CHECK(fit(host({python("3.11.0")}), both).result == FitResult::fits);
  both.tags.pop_back();
  CHECK(codes(fit(host({python("3.11.0")}), both)) == Codes{"LIBC_TAG"});
}

TEST_CASE("page sizes that are not known matter on Arm, and only below 64 KiB") {
  HostFacts arm = host({python("3.11.0", false, "aarch64")});
  WheelFacts small = wheel("cp311-cp311-manylinux_2_17_aarch64");
  WheelModule one = module("a/_c.so");
  one.machine = "aarch64";
  small.modules = std::vector<WheelModule>{one};
  CHECK(codes(fit(arm, small)) == Codes{"PAGE_SIZE_UNKNOWN"});
  small.modules->at(0).p_align = 65536;
  CHECK(fit(arm, small).result == FitResult::fits);
  small.modules->at(0).allocator_page_size = 4096;
  arm.os.page_size = 16384;
  CHECK(codes(fit(arm, small)) == Codes{"PAGE_SIZE_ALLOCATOR"});
}

TEST_CASE("features: aliases, guards, cores, the operating system") {
  HostFacts machine = host({python("3.11.0")});
  machine.cpu.some_cores = std::vector<std::string>{"avx512f"};
  machine.cpu.os_disabled = std::vector<std::string>{"amx_tile"};
  WheelFacts needs = wheel("cp311-cp311-manylinux_2_17_x86_64");
  needs.modules = std::vector<WheelModule>{module("a/_c.so")};
  const auto with = [&](const char* feature, const char* guard = "none") {
    needs.modules->at(0).isa->requirements = {{feature, "call", guard, {}}};
    return codes(fit(machine, needs));
  };
  CHECK(with("sse3").empty());  // pni
  CHECK(with("sse2").empty());
  CHECK(with("avx2").empty());
  CHECK(with("fma") == Codes{"CPU_FEATURE_MISSING"});
  CHECK(with("fma", "unknown") == Codes{"CPU_GUARD_UNPROVEN"});
  CHECK(with("avx512f") == Codes{"CPU_NOT_ALL_CORES"});
  CHECK(with("amx_tile") == Codes{"CPU_OS_STATE"});
  CHECK(with("x86-64-v2").size() == 6);                            // all but pni
  machine.cpu.features = std::vector<std::string>{"avx", "avx2"};  // no xsave
  CHECK(with("avx2") == Codes{"CPU_FEATURE_MISSING", "CPU_INCOHERENT"});
}

TEST_CASE("a level decides only where features are not known") {
  HostFacts machine = host({python("3.11.0")});
  machine.cpu.features = Fact<std::vector<std::string>>();
  machine.cpu.level = std::string("v3");
  WheelFacts needs = wheel("cp311-cp311-manylinux_2_17_x86_64");
  needs.modules = std::vector<WheelModule>{module("a/_c.so")};
  const auto with = [&](const char* feature) {
    needs.modules->at(0).isa->requirements = {{feature, "call", "none", {}}};
    return codes(fit(machine, needs));
  };
  CHECK(with("avx2").empty());
  CHECK(with("x86-64-v3").empty());
  CHECK(with("avx512f") == Codes{"CPU_UNKNOWN"});
  CHECK(with("x86-64-v4") == Codes{"CPU_FEATURE_MISSING"});
}

TEST_CASE("which image serves which device") {
  struct Row {
    std::vector<std::string> sass;
    const char* cc;
    const char* code;
  };
  const Row rows[] = {
      {{"80"}, "8.6", "GPU_SASS"},
      {{"86"}, "8.0", "GPU_NO_IMAGE"},
      {{"90"}, "10.0", "GPU_NO_IMAGE"},
      {{"90a"}, "9.0", "GPU_SASS"},
      {{"100a"}, "10.3", "GPU_ARCH_SPECIFIC"},
      {{"100f"}, "10.3", "GPU_SASS"},
      {{"103f"}, "10.0", "GPU_FAMILY"},
      {{"100f"}, "10.1", "GPU_FAMILY"},
      {{"101"}, "11.0", "GPU_RENAMED_ARCH"},
      {{"120"}, "12.1", "GPU_SASS"},
  };
  for (const Row& row : rows) {
    INFO(row.sass[0] << " on " << row.cc);
    const Verdict verdict = fit(gpu_host(row.cc, "580.95.05", "13.0"), gpu_wheel("13.0", row.sass));
    CHECK(codes(verdict) == Codes{row.code});
  }
}

TEST_CASE("PTX serves newer devices if the driver knows it") {
  const auto code = [](const char* arch, Fact<std::string> isa, const char* cuda) {
    return codes(fit(gpu_host("12.0", "580.95.05", cuda),
                     gpu_wheel("13.0", {"80"}, {{arch, std::move(isa)}})))
        .front();
  };
  CHECK(code("90", std::string("8.0"), "13.0") == "GPU_PTX_JIT");
  CHECK(code("90", std::string("9.1"), "13.0") == "GPU_PTX_TOO_NEW");
  CHECK(code("90", std::string("99.0"), "13.0") == "GPU_PTX_UNKNOWN");
  CHECK(code("90", Fact<std::string>(), "13.0") == "GPU_PTX_JIT");  // counts as the runtime's
  CHECK(code("121", std::string("9.0"), "13.0") == "GPU_NO_IMAGE");
}

TEST_CASE("the driver's floor, and a driver that is missing or unknown") {
  const auto code = [](const HostFacts& machine) {
    return codes(fit(machine, gpu_wheel("12.8", {"80"}))).front();
  };
  CHECK(code(gpu_host("8.0", "570.86.15", "12.8")) == "GPU_SASS");
  CHECK(code(gpu_host("8.0", "525.60.13", "12.0")) == "DRIVER_MINOR_COMPAT");
  CHECK(code(gpu_host("8.0", "525.60.12", "12.0")) == "DRIVER_TOO_OLD");
  HostFacts machine = gpu_host("8.0", "570.86.15", "12.8");
  machine.gpu->libcuda = Fact<HostLibcuda>::none();
  CHECK(code(machine) == "DRIVER_MISSING");
  machine.gpu->libcuda = Fact<HostLibcuda>();
  machine.gpu->driver = Fact<std::string>();
  machine.gpu->cuda = Fact<std::string>();
  CHECK(code(machine) == "DRIVER_UNKNOWN");
}

TEST_CASE("a compat library raises data-centre parts, stops GeForce, and is unclear elsewhere") {
  const auto code = [](Fact<std::string> product) {
    HostFacts machine = gpu_host("9.0", "535.183.06", "12.2");
    HostLibcuda compat;
    compat.version = std::string("13.0");
    compat.compat = true;
    machine.gpu->libcuda = compat;
    machine.gpu->devices->at(0).product = std::move(product);
    return codes(fit(machine, gpu_wheel("13.0", {"90"}))).front();
  };
  CHECK(code(std::string("datacenter")) == "GPU_SASS");
  CHECK(code(std::string("geforce")) == "DRIVER_COMPAT_LIBCUDA");
  CHECK(code(Fact<std::string>()) == "DRIVER_UNKNOWN");
}

TEST_CASE("drivers and PTX versions map to CUDA versions, unknown ones to nothing") {
  CHECK(cuda_of_driver("570.86.15") == "12.8");
  CHECK(cuda_of_driver("535.183.06") == "12.2");
  CHECK_FALSE(cuda_of_driver("999.1").has_value());
  CHECK_FALSE(cuda_of_driver("390.10").has_value());
  CHECK(cuda_of_ptx("8.6") == "12.7");
  CHECK_FALSE(cuda_of_ptx("10.0").has_value());
}
