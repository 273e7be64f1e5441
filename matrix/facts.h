// HostFacts and WheelFacts: what a machine offers and what a wheel asks, as values. `probe` and
// `packaging` make them, `fit` (matrix/fit.h) compares them; JSON schemas stand in docs/schema/.
//
// Three kinds of nothing: a field that is absent is *unknown* (nobody looked), null or [] is *none*
// (looked for, not there). Fact<T> keeps them apart; unknown never turns into a fit.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "matrix/base/json.h"

namespace felloe {

template <class T>
class Fact {
 public:
  Fact() = default;                                                  // unknown
  Fact(T value) : state_(State::known), value_(std::move(value)) {}  // NOLINT: implicit by design
  static Fact none() {
    Fact f;
    f.state_ = State::none;
    return f;
  }
  bool unknown() const { return state_ == State::unknown; }
  bool is_none() const { return state_ == State::none; }
  bool known() const { return state_ == State::known; }
  const T& operator*() const { return value_; }
  T& operator*() { return value_; }
  const T* operator->() const { return &value_; }
  T* operator->() { return &value_; }
  T value_or(T other) const { return known() ? value_ : std::move(other); }

 private:
  enum class State { unknown, none, known };
  State state_ = State::unknown;
  T value_{};
};

// ---- HostFacts: "felloe/host/1" ---------------------------------------------------------------

struct HostOs {
  std::string kernel;  // "Linux", "Darwin", "Windows"
  Fact<std::string> release;
  std::string machine;  // what uname says; never decides
  Fact<std::string> native_machine;
  Fact<std::int64_t> page_size;  // bytes
  Fact<std::string> container;
  Fact<bool> wsl;
  Fact<bool> emulated;
  Fact<std::string> hypervisor;
};

struct HostLibc {
  std::string name;  // "glibc" or "musl"
  Fact<std::string> version;
};

struct HostLib {
  Fact<std::string> path;
  std::map<std::string, std::string> versions;  // symbol family -> highest version
};

struct HostCpu {
  std::string machine;  // "x86_64", "aarch64", "armv7l", "i686"
  Fact<std::string> vendor, model, part;
  Fact<std::vector<std::string>> features;  // kernel names, usable on every online core
  Fact<std::string> level;                  // "v1".."v4"
  Fact<std::int64_t> sve_vl_bits, cores;
  Fact<std::vector<std::string>> some_cores, os_disabled;
};

struct HostPython {
  Fact<std::string> path;
  Fact<std::string> implementation;  // "cpython", "pypy", "graalpy"
  std::string version;               // "3.11.7"
  Fact<std::string> abi;             // "cp311", "cp314t"
  std::string machine;
  int elf_class = 64;
  Fact<bool> free_threaded;
};

struct HostLibcuda {
  Fact<std::string> path, version;
  Fact<bool> compat;
};

struct HostGpuDevice {
  std::int64_t index = 0;
  Fact<std::string> name, cc;
  Fact<std::int64_t> memory_bytes;
  Json mig;  // absent (null here): unknown; bool; {enabled, slices}
  Fact<std::string> product;
};

struct HostGpu {
  Fact<std::string> driver, cuda;
  Fact<HostLibcuda> libcuda;
  Fact<std::string> soc, l4t;
  Fact<std::vector<std::int64_t>> visible;
  Fact<std::vector<HostGpuDevice>> devices;
};

struct HostFacts {
  Fact<std::string> name;
  HostOs os;
  Fact<HostLibc> libc;
  Fact<std::map<std::string, HostLib>> libs;
  Fact<bool> libs_complete;
  HostCpu cpu;
  Fact<std::vector<HostPython>> python;
  Fact<HostGpu> gpu;
  std::map<std::string, std::string> sources;  // fact path -> where it was read
  std::vector<std::string> degraded;           // facts that could not be read, with the cause
};

// ---- WheelFacts: "felloe/wheel/1" -------------------------------------------------------------

struct Where {
  Fact<std::string> module, symbol, mnemonic;
  Fact<std::int64_t> offset;
};

struct LibcFloor {
  std::string name, version;
  Fact<Where> where;
};

struct LibFloor {
  std::string lib, family, version;
  Fact<Where> where;
};

struct Unresolved {
  std::string soname;
  Fact<std::string> where;
};

struct IsaRequirement {
  std::string feature;
  std::string when;            // "load" or "call"
  std::string guard = "none";  // "none" or "unknown"
  Fact<Where> where;
};

struct ModuleIsa {
  std::vector<IsaRequirement> requirements;
  std::vector<std::string> dispatched;
};

struct IsaNote {
  Fact<std::string> needed, used;
};

struct PythonAbi {
  Fact<bool> imports_cpython;
  Fact<std::string> suffix;
};

struct WheelModule {
  std::string path;
  Fact<std::string> kind;  // "extension", "library", "executable"
  std::string machine;     // "x86_64", ..., "none"
  Fact<std::int64_t> elf_class;
  Fact<std::vector<std::string>> needed;
  Fact<ModuleIsa> isa;
  Fact<IsaNote> isa_note;
  Fact<std::int64_t> sve_vl_bits, p_align, allocator_page_size;
  Fact<bool> exec_stack, static_tls;
  Fact<std::int64_t> tls_size;
  Fact<PythonAbi> python_abi;
};

struct IsaSummary {
  std::vector<std::string> load, call, dispatched;
};

struct PtxImage {
  std::string arch;
  Fact<std::string> isa;
};

struct CudaLibrary {
  std::vector<std::string> sass;
  std::vector<PtxImage> ptx;
};

struct WheelCuda {
  Fact<std::string> runtime;
  std::vector<std::string> sass;
  std::vector<PtxImage> ptx;
  std::vector<std::string> ambiguous;
  Fact<std::string> soc;
  bool alternatives = false;
  std::map<std::string, CudaLibrary> per_library;
};

struct WheelFacts {
  std::string file, name, version;
  Fact<std::string> build;
  std::vector<std::string> tags;  // expanded triples
  Fact<std::string> requires_python;
  Fact<std::vector<std::string>> requires_dist;
  Fact<LibcFloor> libc_floor;
  Fact<std::vector<LibFloor>> lib_floors;
  Fact<std::vector<Unresolved>> unresolved;
  Fact<std::vector<WheelModule>> modules;
  Fact<IsaSummary> isa;
  Fact<WheelCuda> cuda;
};

// Unknown fields are left out, none is written as null. Reading ignores fields it doesn't know and
// throws Error{input} with the JSON path of a field that is missing or has the wrong type.
Json to_json(const HostFacts& facts);
Json to_json(const WheelFacts& facts);
HostFacts host_from_json(const Json& json, const std::string& where);
WheelFacts wheel_from_json(const Json& json, const std::string& where);

}  // namespace felloe
