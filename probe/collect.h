// Internal to probe: each part of the probe adds its facts, where they came from, and what it could
// not read. To add a part: a function here, its own file, and one line in probe.cpp.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "matrix/facts.h"
#include "probe/cpu/cpu.h"
#include "probe/source.h"

namespace felloe {

struct Collect {
  Source& source;
  std::string where;  // what errors call the machine
  HostFacts facts{};
  Json machine{};  // answer to "machine", null if there is none
  cpu::Cpu cpu{};  // what CPUID or HWCAP said; arch `other` if nobody was asked

  void from(const std::string& fact, const std::string& source_name) {
    facts.sources[fact] = source_name;
  }
  void degrade(const std::string& fact, const std::string& cause) {
    facts.degraded.push_back(fact + ": " + cause);
  }
};

void collect_machine(Collect& c);  // os.kernel, release, machine, page_size; cpu.machine
void collect_cpu(Collect& c);      // cpu.*
void collect_os(Collect& c);       // os.container, wsl, emulated, native_machine, hypervisor
void collect_libc(Collect& c);     // libc
void collect_libs(Collect& c);     // libs, libs_complete
void collect_python(Collect& c);   // python
void collect_gpu(Collect& c);      // gpu

// A string member of an answer, or "" if it isn't there.
std::string text_of(const Json& answer, const char* key);

// Dotted numbers, "3.12.1": what the schema of HostFacts takes as a version.
bool is_version(std::string_view text);

}  // namespace felloe
