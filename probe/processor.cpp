// cpu.*: features from the CPU itself (CPUID, HWCAP), else from /proc/cpuinfo.
#include "probe/processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "matrix/base/error.h"
#include "matrix/base/json_reader.h"
#include "matrix/base/text.h"
#include "probe/collect.h"

namespace felloe {
namespace {

struct WordName {
  cpu::Word word;
  cpu::Arch arch;
  const char* name;
};
constexpr WordName kWords[] = {
    {cpu::Word::leaf1_ecx, cpu::Arch::x86, "leaf_1_ecx"},
    {cpu::Word::leaf1_edx, cpu::Arch::x86, "leaf_1_edx"},
    {cpu::Word::leaf7_ebx, cpu::Arch::x86, "leaf_7_ebx"},
    {cpu::Word::leaf7_ecx, cpu::Arch::x86, "leaf_7_ecx"},
    {cpu::Word::leaf7_edx, cpu::Arch::x86, "leaf_7_edx"},
    {cpu::Word::leaf7_1_eax, cpu::Arch::x86, "leaf_7_1_eax"},
    {cpu::Word::leaf7_1_edx, cpu::Arch::x86, "leaf_7_1_edx"},
    {cpu::Word::leafd_1_eax, cpu::Arch::x86, "leaf_d_1_eax"},
    {cpu::Word::ext1_ecx, cpu::Arch::x86, "leaf_80000001_ecx"},
    {cpu::Word::ext1_edx, cpu::Arch::x86, "leaf_80000001_edx"},
    {cpu::Word::ext8_ebx, cpu::Arch::x86, "leaf_80000008_ebx"},
    {cpu::Word::hwcap, cpu::Arch::aarch64, "hwcap"},
    {cpu::Word::hwcap2, cpu::Arch::aarch64, "hwcap2"},
    {cpu::Word::hwcap3, cpu::Arch::aarch64, "hwcap3"},
};
static_assert(std::size(kWords) == cpu::kWordCount);

std::uint64_t number(const JsonNode& node) {
  std::string text;
  node.read(text);
  std::uint64_t value = 0;
  const bool hex = text.starts_with("0x") && text.size() > 2 && text.size() <= 18;
  for (std::size_t i = 2; hex && i < text.size(); ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9')
      value = value * 16 + static_cast<std::uint64_t>(c - '0');
    else if (c >= 'a' && c <= 'f')
      value = value * 16 + static_cast<std::uint64_t>(c - 'a' + 10);
    else
      node.fail_type("a number such as \"0x1f\"");
  }
  if (!hex) node.fail_type("a number such as \"0x1f\"");
  return value;
}

template <std::size_t N>
void put_text(char (&to)[N], const JsonNode& node) {
  std::string text;
  node.read(text);
  std::strncpy(to, text.c_str(), N - 1);
}

std::vector<std::string> names(const cpu::FeatureSet& set) {
  std::vector<std::string> out;
  set.for_each([&out](cpu::Feature f) { out.emplace_back(cpu::name(f)); });
  std::sort(out.begin(), out.end());
  return out;
}

std::string field(const std::map<std::string, std::string>& core, const char* name) {
  const auto it = core.find(name);
  return it == core.end() ? std::string() : it->second;
}

using Cores = std::vector<std::map<std::string, std::string>>;

std::set<std::string> flags_of(const std::map<std::string, std::string>& core) {
  std::set<std::string> out;
  for (std::string& word : split(field(core, core.contains("flags") ? "flags" : "Features"), ' ')) {
    if (!word.empty()) out.insert(std::move(word));
  }
  return out;
}

// Flags of some cores and not of all, by /proc/cpuinfo.
std::set<std::string> differing_flags(const Cores& cores) {
  std::set<std::string> any, all;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    const std::set<std::string> flags = flags_of(cores[i]);
    any.insert(flags.begin(), flags.end());
    if (i == 0) all = flags;
    std::erase_if(all, [&flags](const std::string& flag) { return !flags.contains(flag); });
  }
  std::erase_if(any, [&all](const std::string& flag) { return all.contains(flag); });
  return any;
}

cpu::Arch arch_of(const std::string& machine) {
  if (machine == "x86_64" || machine == "i686") return cpu::Arch::x86;
  return machine == "aarch64" ? cpu::Arch::aarch64 : cpu::Arch::other;
}

void read_features(Collect& c, const Cores& cores, bool own_dialect) {
  HostCpu& out = c.facts.cpu;
  const cpu::Arch arch = arch_of(out.machine);
  std::vector<std::string> features;
  if (c.cpu.arch != cpu::Arch::other) {
    features = names(c.cpu.features);
    out.os_disabled = names(c.cpu.os_disabled);
    const char* source = arch == cpu::Arch::x86 ? "CPUID, XCR0" : "auxv AT_HWCAP, AT_HWCAP2";
    c.from("cpu.features", source);
    if (arch == cpu::Arch::x86) c.from("cpu.os_disabled", source);
  } else if (own_dialect && !cores.empty()) {
    for (const std::string& flag : flags_of(cores.front())) {
      if (cpu::find(arch, flag.c_str()) != cpu::kNoFeature || arch == cpu::Arch::other) {
        features.push_back(flag);
      }
    }
    c.from("cpu.features", "/proc/cpuinfo");
  } else {
    c.degrade("cpu.features", "neither CPUID or HWCAP nor /proc/cpuinfo could be read");
    return;
  }
  if (own_dialect) {
    std::vector<std::string> some;
    for (const std::string& flag : differing_flags(cores)) {
      if (cpu::find(arch, flag.c_str()) == cpu::kNoFeature && arch != cpu::Arch::other) continue;
      some.push_back(flag);
      std::erase(features, flag);
    }
    out.some_cores = std::move(some);
    c.from("cpu.some_cores", "/proc/cpuinfo");
  }
  if (arch == cpu::Arch::x86) {
    cpu::FeatureSet usable;
    for (const std::string& name : features) usable.add(cpu::find(arch, name.c_str()));
    const int level = cpu::x86_level(usable);
    out.level =
        level > 0 ? Fact<std::string>("v" + std::to_string(level)) : Fact<std::string>::none();
    c.from("cpu.level", "cpu.features");
  } else {
    out.level = Fact<std::string>::none();
  }
  out.features = std::move(features);
}

// Vendor, model and part of an Arm machine, by the cores of /proc/cpuinfo; big.LITTLE joins names.
void read_arm_names(Collect& c, const Cores& cores) {
  HostCpu& out = c.facts.cpu;
  std::vector<std::string> models;
  for (const auto& core : cores) {
    const std::string implementer = field(core, "CPU implementer"), part = field(core, "CPU part");
    if (implementer.empty() || part.empty()) continue;
    const auto code = static_cast<std::uint32_t>(std::strtoul(implementer.c_str(), nullptr, 0));
    const auto number = static_cast<std::uint32_t>(std::strtoul(part.c_str(), nullptr, 0));
    if (const char* vendor = cpu::arm_vendor(code); vendor != nullptr && out.vendor.unknown()) {
      out.vendor = std::string(vendor);
    }
    if (out.part.unknown()) out.part = fmt::format("{:#05x}", number);
    const char* known = cpu::arm_core(code, number);
    const std::string model = known != nullptr ? known : fmt::format("part {:#05x}", number);
    if (std::find(models.begin(), models.end(), model) == models.end()) models.push_back(model);
  }
  if (!models.empty()) {
    out.model = join(models, " + ");
    c.from("cpu.model", "/proc/cpuinfo");
  } else if (c.cpu.arch == cpu::Arch::aarch64 && c.cpu.model[0] != 0) {
    out.vendor = std::string(c.cpu.vendor);
    out.model = std::string(c.cpu.model);
    out.part = fmt::format("{:#05x}", c.cpu.model_number);
    c.from("cpu.model", "MIDR_EL1");
  }
}

void read_x86_names(Collect& c, const Cores& cores) {
  HostCpu& out = c.facts.cpu;
  if (c.cpu.arch == cpu::Arch::x86) {
    if (c.cpu.vendor[0] != 0) out.vendor = std::string(c.cpu.vendor);
    if (c.cpu.model[0] != 0) out.model = std::string(c.cpu.model);
    c.from("cpu.model", "CPUID");
  } else if (!cores.empty()) {
    const std::string vendor = field(cores.front(), "vendor_id");
    const std::string model = field(cores.front(), "model name");
    if (!vendor.empty()) out.vendor = vendor;
    if (!model.empty()) out.model = model;
    c.from("cpu.model", "/proc/cpuinfo");
  }
  out.part = Fact<std::string>::none();
}

}  // namespace

Json cpu_to_json(const cpu::Raw& raw) {
  const auto hex = [](std::uint64_t value) { return fmt::format("{:#x}", value); };
  if (raw.arch == cpu::Arch::other) return Json();
  Json words = Json::object();
  for (const WordName& w : kWords) {
    if (w.arch == raw.arch) words[w.name] = hex(raw.word[static_cast<std::size_t>(w.word)]);
  }
  Json out{{"words", words}};
  if (raw.arch == cpu::Arch::x86) {
    out["arch"] = "x86";
    out["vendor"] = raw.vendor;
    out["brand"] = raw.brand;
    out["signature"] = hex(raw.signature);
    out["osxsave"] = raw.osxsave;
    out["xcr0"] = hex(raw.xcr0);
    if (raw.hypervisor) out["hypervisor_id"] = raw.hypervisor_id;
  } else {
    out["arch"] = "aarch64";
    out["midr"] = hex(raw.midr);
    out["sve_vl_bytes"] = hex(raw.sve_vl_bytes);
  }
  return out;
}

cpu::Raw cpu_from_json(const Json& json, const std::string& where) {
  cpu::Raw raw;
  const JsonNode node(json, where);
  std::string arch;
  node.at("arch").read(arch);
  if (arch != "x86" && arch != "aarch64") node.at("arch").fail_type("\"x86\" or \"aarch64\"");
  raw.arch = arch == "x86" ? cpu::Arch::x86 : cpu::Arch::aarch64;
  const JsonNode words = node.at("words");
  words.check_object();
  for (const WordName& w : kWords) {
    if (w.arch == raw.arch && words.has(w.name)) {
      raw.word[static_cast<std::size_t>(w.word)] = number(words.at(w.name));
    }
  }
  if (raw.arch == cpu::Arch::aarch64) {
    if (node.has("midr")) raw.midr = number(node.at("midr"));
    if (node.has("sve_vl_bytes")) {
      raw.sve_vl_bytes = static_cast<std::uint32_t>(number(node.at("sve_vl_bytes")) & 0xffff);
    }
    return raw;
  }
  if (node.has("vendor")) put_text(raw.vendor, node.at("vendor"));
  if (node.has("brand")) put_text(raw.brand, node.at("brand"));
  if (node.has("signature"))
    raw.signature = static_cast<std::uint32_t>(number(node.at("signature")));
  node.at("osxsave").read(raw.osxsave);
  raw.xcr0 = number(node.at("xcr0"));
  raw.hypervisor = node.has("hypervisor_id");
  if (raw.hypervisor) put_text(raw.hypervisor_id, node.at("hypervisor_id"));
  return raw;
}

Cores parse_cpuinfo(std::string_view text) {
  Cores cores;
  for (const std::string& line : split_lines(text)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key(trim(std::string_view(line).substr(0, colon)));
    if (key == "processor") cores.emplace_back();
    // Lines before the first or after the last processor (Hardware, Serial) describe the board.
    if (!cores.empty()) cores.back()[key] = trim(std::string_view(line).substr(colon + 1));
  }
  return cores;
}

std::string cpuinfo_dialect(const Cores& cores) {
  if (cores.empty()) return "";
  if (cores.front().contains("vendor_id") && cores.front().contains("flags")) return "x86";
  return cores.front().contains("CPU implementer") ? "arm" : "";
}

int count_cpu_list(std::string_view text) {
  int count = 0;
  for (const std::string& range : split(trim(text), ',')) {
    int first = 0, last = 0;
    const int got = std::sscanf(range.c_str(), "%6d-%6d", &first, &last);
    if (got < 1 || first < 0 || (got == 2 && last < first)) return 0;
    count += got == 2 ? last - first + 1 : 1;
  }
  return count;
}

void collect_cpu(Collect& c) {
  HostCpu& out = c.facts.cpu;
  const Json answer = c.source.ask("cpu");
  if (!answer.is_null()) c.cpu = cpu::decode(cpu_from_json(answer, c.where + ": cpu"));
  if (c.cpu.arch != cpu::Arch::other && c.cpu.arch != arch_of(out.machine)) {
    throw Error(ErrorKind::input, c.where + ": cpu",
                "CPU words of another architecture than the machine's, " + out.machine,
                "cpu.json and machine.json must come from one machine (docs/probe.md)");
  }

  const Cores cores = parse_cpuinfo(c.source.file("/proc/cpuinfo").value_or(""));
  const bool arm = out.machine == "aarch64" || out.machine == "armv7l";
  const bool own_dialect = cpuinfo_dialect(cores) == (arm ? "arm" : "x86");
  read_features(c, cores, own_dialect);
  if (arm) {
    read_arm_names(c, own_dialect ? cores : Cores());
  } else {
    read_x86_names(c, own_dialect ? cores : Cores());
  }
  if (c.cpu.arch == cpu::Arch::aarch64) {
    out.sve_vl_bits =
        c.cpu.sve_vl_bits > 0 ? Fact<std::int64_t>(c.cpu.sve_vl_bits) : Fact<std::int64_t>::none();
    c.from("cpu.sve_vl_bits", "prctl PR_SVE_GET_VL");
  } else if (!arm) {
    out.sve_vl_bits = Fact<std::int64_t>::none();
  }
  int count = count_cpu_list(c.source.file("/sys/devices/system/cpu/online").value_or(""));
  if (count > 0) {
    c.from("cpu.cores", "/sys/devices/system/cpu/online");
  } else {
    count = static_cast<int>(cores.size());
    c.from("cpu.cores", "/proc/cpuinfo");
  }
  if (count > 0) {
    out.cores = count;
  } else {
    c.facts.sources.erase("cpu.cores");
    c.degrade("cpu.cores", "neither /sys/devices/system/cpu/online nor /proc/cpuinfo lists them");
  }
}

}  // namespace felloe
