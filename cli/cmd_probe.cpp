// `felloe probe`: what this machine offers to a wheel. With --json it prints HostFacts, unwrapped.
#include <memory>

#include "cli/commands.h"
#include "cli/printer.h"
#include "matrix/base/text.h"
#include "probe/cpu/cpu.h"
#include "probe/probe.h"

namespace felloe {
namespace {

// Features worth a word on one screen; the JSON has all of them.
constexpr const char* kNotable[] = {
    "avx",         "avx2",        "fma",      "f16c",     "avx_vnni", "avx512f", "avx512_vnni",
    "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16", "sha_ni",  "vaes",
    "atomics",     "asimdhp",     "asimddp",  "asimdfhm", "i8mm",     "bf16",    "sve",
    "svei8mm",     "svebf16",     "sve2",     "sme",      "crc32",    "aes"};

std::string text(const Json& json, const char* key, const char* otherwise = "unknown") {
  const auto it = json.find(key);
  if (it == json.end()) return otherwise;
  return it->is_string() ? it->get<std::string>() : it->is_null() ? "none" : it->dump();
}

std::vector<std::string> strings(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it == json.end() || !it->is_array() ? std::vector<std::string>()
                                             : it->get<std::vector<std::string>>();
}

// "x86-64-v3" or "armv8.4", by the features.
std::string level_of(const Json& cpu) {
  const bool arm = cpu.at("machine") == "aarch64";
  cpu::FeatureSet set;
  for (const std::string& name : strings(cpu, "features")) {
    const cpu::Feature f = cpu::find(arm ? cpu::Arch::aarch64 : cpu::Arch::x86, name.c_str());
    if (f != cpu::kNoFeature) set.add(f);
  }
  const int level = arm ? cpu::arm_level(set) : cpu::x86_level(set);
  if (arm) return level < 0 ? "level unknown" : "armv8." + std::to_string(level);
  return level < 1 ? "below x86-64-v1" : "x86-64-v" + std::to_string(level);
}

std::string cpu_line(const Json& cpu) {
  std::string out = text(cpu, "model");
  if (cpu.contains("cores") && cpu.at("cores").is_number()) {
    const int cores = cpu.at("cores").get<int>();
    out += ", " + std::to_string(cores) + (cores == 1 ? " core" : " cores");
  }
  out += ", " + text(cpu, "machine");
  if (cpu.contains("features")) out += ", " + level_of(cpu);
  return out;
}

std::string features_line(const Json& cpu) {
  if (!cpu.contains("features")) return "unknown";
  std::vector<std::string> notable;
  const std::vector<std::string> all = strings(cpu, "features");
  for (const char* name : kNotable) {
    if (std::find(all.begin(), all.end(), name) != all.end()) notable.emplace_back(name);
  }
  std::string out = notable.empty() ? "baseline" : join(notable, " ");
  if (cpu.contains("sve_vl_bits") && cpu.at("sve_vl_bits").is_number()) {
    out += " (SVE: " + cpu.at("sve_vl_bits").dump() + " bits)";
  }
  return out;
}

std::string os_line(const Json& os) {
  std::string out = text(os, "kernel");
  if (os.contains("release")) out += " " + text(os, "release");
  if (os.contains("page_size")) {
    out += ", pages of " + std::to_string(os.at("page_size").get<std::int64_t>() / 1024) + " KiB";
  }
  if (os.value("wsl", false)) out += ", WSL";
  const auto named = [&](const char* key, const char* label) {
    if (os.contains(key) && os.at(key).is_string()) {
      out += std::string(", ") + label + " " + os.at(key).get<std::string>();
    }
  };
  named("container", "in container:");
  named("hypervisor", "hypervisor:");
  if (os.value("emulated", false)) out += ", emulated";
  named("native_machine", "on");
  return out;
}

// The wheel tags that interpreters of `machine` accept here, newest first (PEP 600, PEP 656).
std::string platforms(const Json& body, const std::string& machine) {
  std::string out = "linux_" + machine;
  if (!body.contains("libc")) return out + " (libc unknown)";
  const Json& libc = body.at("libc");
  const std::string family = text(libc, "name");
  const std::vector<std::string> version = split(text(libc, "version", ""), '.');
  if (version.size() < 2) return out + " (libc version unknown)";
  const std::string newest = version[0] + "_" + version[1] + "_" + machine;
  if (family == "musl") return "musllinux_" + newest + " and older, " + out;
  return "manylinux_" + newest + " and older, " + out;
}

std::string python_tags(const Json& python) {
  const std::string abi = text(python, "abi");
  if (python.value("free_threaded", false)) return abi + ", py3-none";
  const std::vector<std::string> version = split(text(python, "version"), '.');
  if (text(python, "implementation", "cpython") != "cpython" || version.size() < 2) return abi;
  return abi + ", abi3 up to cp" + version[0] + version[1] + ", py3-none";
}

void render_pythons(const Json& body, Printer& out) {
  out.line();
  if (!body.contains("python")) return out.line("Pythons: unknown");
  if (body.at("python").empty()) return out.line("Pythons: none found");
  out.heading("Pythons");
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> machines;
  for (const Json& python : body.at("python")) {
    const std::string machine = text(python, "machine");
    rows.push_back(
        {text(python, "version"), machine, python_tags(python), text(python, "path", "")});
    if (std::find(machines.begin(), machines.end(), machine) == machines.end()) {
      machines.push_back(machine);
    }
  }
  out.table({"VERSION", "MACHINE", "ACCEPTS", "PATH"}, rows);
  for (const std::string& machine : machines) out.line("platforms: " + platforms(body, machine));
}

std::string gpu_size(const Json& device) {
  const auto it = device.find("memory_bytes");
  if (it == device.end() || !it->is_number()) return "unknown";
  return std::to_string(it->get<std::int64_t>() >> 30) + " GiB";
}

void render_gpus(const Json& body, Printer& out) {
  out.line();
  if (!body.contains("gpu")) return out.line("GPUs: unknown");
  if (body.at("gpu").is_null()) return out.line("GPUs: none (no NVIDIA GPU and no driver)");
  const Json& gpu = body.at("gpu");
  out.heading("GPUs");
  std::string driver = "driver " + text(gpu, "driver") + ", CUDA " + text(gpu, "cuda");
  if (gpu.contains("soc") && gpu.at("soc").is_string()) driver += ", " + text(gpu, "soc");
  if (gpu.contains("l4t") && gpu.at("l4t").is_string()) driver += ", L4T " + text(gpu, "l4t");
  if (gpu.contains("libcuda") && gpu.at("libcuda").is_null()) driver += ", libcuda.so.1 missing";
  if (gpu.contains("libcuda") && gpu.at("libcuda").is_object() &&
      gpu.at("libcuda").value("compat", false)) {
    driver += ", forward-compatibility libcuda " + text(gpu.at("libcuda"), "version");
  }
  out.line(driver);
  std::vector<std::vector<std::string>> rows;
  for (const Json& device : gpu.value("devices", Json::array())) {
    std::string mig = "no";
    if (!device.contains("mig"))
      mig = "unknown";
    else if (device.at("mig").is_object())
      mig = device.at("mig").value("slices", Json()).dump() + " slices";
    rows.push_back({device.at("index").dump(), text(device, "name"), text(device, "cc"),
                    gpu_size(device), mig});
  }
  if (!gpu.contains("devices")) return out.line("devices: unknown");
  if (rows.empty()) return out.line("devices: none visible");
  out.table({"INDEX", "NAME", "CC", "MEMORY", "MIG"}, rows);
  if (gpu.contains("visible") && gpu.at("visible").is_array()) {
    out.line("CUDA_VISIBLE_DEVICES leaves " + gpu.at("visible").dump());
  }
}

void render(const Json& body, Printer& out) {
  const Json& cpu = body.at("cpu");
  std::vector<std::pair<std::string, std::string>> rows = {{"cpu", cpu_line(cpu)},
                                                           {"features", features_line(cpu)}};
  if (const auto off = strings(cpu, "os_disabled"); !off.empty()) {
    rows.emplace_back("switched off", join(off, " ") + " (by OS or hypervisor)");
  }
  if (const auto some = strings(cpu, "some_cores"); !some.empty()) {
    rows.emplace_back("some cores", join(some, " ") + " (not on all: not usable)");
  }
  rows.emplace_back("os", os_line(body.at("os")));
  const Json libc = body.value("libc", Json());
  rows.emplace_back(
      "libc", libc.is_object() ? text(libc, "name") + " " + text(libc, "version") : "unknown");
  std::vector<std::string> versions;
  const Json libs = body.value("libs", Json());
  for (const char* soname : {"libstdc++.so.6", "libgcc_s.so.1", "libz.so.1"}) {
    if (!libs.is_object() || !libs.contains(soname)) continue;
    const Json families = libs.at(soname).value("versions", Json::object());
    for (const auto& [family, version] : families.items()) {
      versions.push_back(family + "_" + version.get<std::string>());
    }
  }
  if (!versions.empty()) rows.emplace_back("libraries", join(versions, " "));
  out.pairs(rows);
  render_pythons(body, out);
  render_gpus(body, out);
  const auto degraded = strings(body, "degraded");
  if (degraded.empty()) return;
  out.line();
  out.heading("Could not be read");
  for (const std::string& line : degraded) out.wrapped(line, 2);
}

}  // namespace

Subcommand probe_command() {
  return {"probe", "show what this machine offers to a wheel",
          [](CLI::App& app) -> std::function<Outcome()> {
            const auto options = std::make_shared<ProbeOptions>();
            app.add_option("--root", options->root,
                           "probe a recorded machine, or the root folder of a system that isn't "
                           "running, instead of this one");
            app.add_option("--record", options->record,
                           "also write everything that was read into this new folder, for --root");
            return [options] { return Outcome{to_json(probe_host(*options))}; };
          },
          render};
}

}  // namespace felloe
