// os.*: kernel, page size, container, WSL, emulation, hypervisor.
#include <array>

#include "matrix/base/error.h"
#include "matrix/base/text.h"
#include "probe/collect.h"
#include "probe/processor.h"

namespace felloe {
namespace {

struct Mark {
  const char* where;  // file, or environment variable
  const char* kind;
};
// Files and variables that container engines leave inside (their own documentation).
constexpr Mark kContainerFiles[] = {
    {"/.dockerenv", "docker"}, {"/run/.containerenv", "podman"}, {"/.singularity.d", "apptainer"}};
constexpr Mark kContainerEnv[] = {{"KUBERNETES_SERVICE_HOST", "kubernetes"},
                                  {"APPTAINER_CONTAINER", "apptainer"},
                                  {"SINGULARITY_CONTAINER", "apptainer"}};
// Parts of cgroup paths.
constexpr Mark kCgroups[] = {
    {"kubepods", "kubernetes"},   {"docker", "docker"}, {"libpod", "podman"},
    {"containerd", "containerd"}, {"lxc", "lxc"},       {"machine.slice", "systemd-nspawn"}};

// CPUID 0x40000000 (vendors' documentation; Linux arch/x86/kernel/cpu/hypervisor.c).
constexpr Mark kHypervisors[] = {
    {"KVMKVMKVM", "kvm"},           {"Microsoft Hv", "hyperv"},  {"VMwareVMware", "vmware"},
    {"XenVMMXenVMM", "xen"},        {"TCGTCGTCGTCG", "qemu"},    {"bhyve bhyve", "bhyve"},
    {"VBoxVBoxVBox", "virtualbox"}, {"lrpepyh vr", "parallels"}, {"ACRNACRNACRN", "acrn"}};
// Beginnings of /sys/class/dmi/id/sys_vendor or product_name.
constexpr Mark kDmi[] = {{"KVM", "kvm"},        {"QEMU", "kvm"},
                         {"Amazon EC2", "kvm"}, {"Google", "kvm"},
                         {"OpenStack", "kvm"},  {"Microsoft Corporation", "hyperv"},
                         {"VMware", "vmware"},  {"innotek", "virtualbox"},
                         {"Xen", "xen"},        {"Parallels", "parallels"}};

std::string line_of(Source& source, const std::string& path) {
  return std::string(trim(source.file(path).value_or("")));
}

void find_container(Collect& c) {
  const auto found = [&c](const std::string& kind, const std::string& source) {
    c.facts.os.container = kind;
    c.from("os.container", source);
  };
  for (const Mark& mark : kContainerEnv) {
    if (c.source.env(mark.where)) return found(mark.kind, std::string("$") + mark.where);
  }
  for (const Mark& mark : kContainerFiles) {
    if (c.source.resolve(mark.where)) return found(mark.kind, mark.where);
  }
  // systemd's interface: https://systemd.io/CONTAINER_INTERFACE
  const std::string told = line_of(c.source, "/run/systemd/container");
  if (!told.empty()) return found(told, "/run/systemd/container");
  if (const auto env = c.source.env("container"); env && !env->empty()) {
    return found(*env, "$container");
  }
  for (const char* path : {"/proc/self/cgroup", "/proc/1/cgroup"}) {
    const std::string cgroups = c.source.file(path).value_or("");
    for (const Mark& mark : kCgroups) {
      if (cgroups.find(mark.where) != std::string::npos) return found(mark.kind, path);
    }
  }
  c.facts.os.container = Fact<std::string>::none();
  c.from("os.container", "marker files, /proc/self/cgroup");
}

void find_hypervisor(Collect& c) {
  const auto found = [&c](const std::string& kind, const std::string& source) {
    c.facts.os.hypervisor = kind;
    c.from("os.hypervisor", source);
  };
  if (c.cpu.hypervisor[0] != 0) {
    const std::string id = c.cpu.hypervisor;
    for (const Mark& mark : kHypervisors) {
      if (id.starts_with(mark.where)) return found(mark.kind, "CPUID 0x40000000");
    }
    return found("unknown: " + id, "CPUID 0x40000000");
  }
  if (const std::string type = line_of(c.source, "/sys/hypervisor/type"); !type.empty()) {
    return found(type, "/sys/hypervisor/type");
  }
  if (c.cpu.arch == cpu::Arch::x86) {  // the CPU would have said so
    c.facts.os.hypervisor = Fact<std::string>::none();
    c.from("os.hypervisor", "CPUID 1");
    return;
  }
  const std::string product = line_of(c.source, "/sys/class/dmi/id/product_name");
  for (const char* path : {"/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name"}) {
    const std::string name = line_of(c.source, path);
    for (const Mark& mark : kDmi) {
      // Bare-metal instances of clouds carry the cloud's name too.
      if (name.starts_with(mark.where) && product.find("metal") == std::string::npos) {
        return found(mark.kind, path);
      }
    }
  }
  const std::string node = c.source.file("/proc/device-tree/hypervisor/compatible").value_or("");
  if (!node.empty()) {
    return found(node.find("kvm") != std::string::npos   ? "kvm"
                 : node.find("xen") != std::string::npos ? "xen"
                                                         : "unknown",
                 "/proc/device-tree/hypervisor/compatible");
  }
  c.facts.os.hypervisor = Fact<std::string>::none();
  c.from("os.hypervisor", "DMI, device tree");
}

// A translated process sees its own instruction set in its ELF header and the hardware's in
// /proc/cpuinfo, or a CPU that only translators sell.
void find_emulation(Collect& c) {
  const bool arm = c.facts.cpu.machine == "aarch64" || c.facts.cpu.machine == "armv7l";
  const std::string own = arm ? "arm" : "x86";
  const auto cores = parse_cpuinfo(c.source.file("/proc/cpuinfo").value_or(""));
  const std::string seen = cpuinfo_dialect(cores);
  c.facts.os.emulated = false;
  c.from("os.emulated", "/proc/cpuinfo, ELF header");
  if (!seen.empty() && seen != own) {
    c.facts.os.emulated = true;
    c.facts.os.native_machine = std::string(seen == "arm" ? "aarch64" : "x86_64");
    return;
  }
  const std::string vendor = c.cpu.vendor, hypervisor = c.cpu.hypervisor;
  if (vendor == "VirtualApple") {  // Rosetta 2
    c.facts.os.emulated = true;
    c.facts.os.native_machine = std::string("aarch64");
    c.from("os.emulated", "CPUID 0: VirtualApple");
  } else if (hypervisor == "TCGTCGTCGTCG") {  // QEMU without KVM, user or system mode
    c.facts.os.emulated = true;
    c.from("os.emulated", "CPUID 0x40000000: TCG");
  } else if (seen.empty() && c.cpu.arch == cpu::Arch::other) {
    c.facts.os.emulated = {};
    c.facts.sources.erase("os.emulated");
    c.degrade("os.emulated", "/proc/cpuinfo could not be read");
  }
}

}  // namespace

void collect_machine(Collect& c) {
  HostOs& os = c.facts.os;
  c.machine = c.source.ask("machine");
  os.kernel = text_of(c.machine, "kernel");
  os.machine = text_of(c.machine, "machine");
  if (const std::string release = text_of(c.machine, "release"); !release.empty()) {
    os.release = release;
  }
  c.facts.cpu.machine = text_of(c.machine, "elf_machine");
  c.from("os", "uname");
  c.from("cpu.machine", "ELF header of felloe");
  const auto page = c.machine.is_object() ? c.machine.find("page_size") : c.machine.end();
  if (page != c.machine.end() && page->is_number_integer()) {
    os.page_size = page->get<std::int64_t>();
    c.from("os.page_size", "auxv AT_PAGESZ");
  }
  if (c.machine.is_null()) {
    // The tree of a system that isn't running: a program of it tells the machine, nobody the
    // kernel.
    for (const char* program : {"/bin/sh", "/usr/bin/env", "/bin/busybox", "/sbin/ldconfig"}) {
      const std::string machine = text_of(c.source.ask("elf", program), "machine");
      if (machine.empty()) continue;
      os.kernel = "Linux";
      os.machine = c.facts.cpu.machine = machine;
      c.facts.sources.erase("os");
      c.from("cpu.machine", program);
      c.degrade("os", "not a recorded machine: kernel, page size and CPU are not known");
      break;
    }
  }
  const bool known_kernel = os.kernel == "Linux" || os.kernel == "Darwin" || os.kernel == "Windows";
  const std::string& own = c.facts.cpu.machine;
  const bool known_machine =
      own == "x86_64" || own == "aarch64" || own == "armv7l" || own == "i686";
  if (!c.machine.is_null() && !(known_kernel && known_machine)) {
    throw Error(ErrorKind::input, c.where + ": machine",
                "kernel `" + os.kernel + "` or ELF machine `" + own + "` is not known",
                "expected Linux and x86_64, aarch64, armv7l or i686 (docs/probe.md)");
  }
  if (own.empty()) {
    throw Error(ErrorKind::input, c.where, "no machine can be read here",
                "record one with `felloe probe --record DIR`, or give the root folder of a system");
  }
}

void collect_os(Collect& c) {
  find_container(c);
  find_hypervisor(c);
  find_emulation(c);
  if (c.facts.os.release.known()) {
    c.facts.os.wsl = to_lower(*c.facts.os.release).find("microsoft") != std::string::npos;
    c.from("os.wsl", "uname release");
  }
}

}  // namespace felloe
