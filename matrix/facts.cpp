// Facts to and from JSON. Each struct's fields are listed once (`fields`) and visited by a Reader
// or a Writer. To add a fact: the member in facts.h, one line here, the schema in docs/schema/.
#include "matrix/facts.h"

#include <algorithm>
#include <concepts>
#include <initializer_list>
#include <type_traits>

#include "matrix/base/json_reader.h"

namespace felloe {
namespace {

// ---- Forms of text: the enums and patterns of the schemas ---------------------------------------

struct Check {
  const char* expected;
  bool (*ok)(const std::string&);
};

bool one_of(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* w) { return text == w; });
}

// D.D, D.D.D, ...
bool is_version(const std::string& text) {
  int parts = 0;
  bool digit = false;
  for (const char c : text + ".") {
    if (c >= '0' && c <= '9') {
      digit = true;
    } else if (c == '.' && digit) {
      ++parts;
      digit = false;
    } else {
      return false;
    }
  }
  return parts >= 2;
}

// Two or three digits and at most one suffix.
bool is_arch(const std::string& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string suffix = text.substr(digits);
  return (digits == 2 || digits == 3) && one_of(suffix, {"", "a", "f"});
}

bool is_triple(const std::string& text) {
  return std::count(text.begin(), text.end(), '-') == 2 && text.front() != '-' &&
         text.back() != '-' && text.find("--") == std::string::npos;
}

const Check kAny{"", nullptr};
const Check kArch{"a GPU architecture such as \"90a\"", is_arch};
const Check kVersion{"a version such as \"2.17\"", is_version};
const Check kTriple{"a tag of the form python-abi-platform", is_triple};
const Check kWheelName{"a file name that ends in .whl",
                       [](const std::string& s) { return s.ends_with(".whl"); }};
const Check kKernel{"Linux, Darwin or Windows", [](const std::string& s) {
                      return one_of(s, {"Linux", "Darwin", "Windows"});
                    }};
const Check kMachine{"x86_64, aarch64, armv7l or i686", [](const std::string& s) {
                       return one_of(s, {"x86_64", "aarch64", "armv7l", "i686"});
                     }};
const Check kLibc{"glibc or musl", [](const std::string& s) {
                    return one_of(s, {"glibc", "musl"});
                  }};
const Check kLevel{"v1, v2, v3 or v4", [](const std::string& s) {
                     return one_of(s, {"v1", "v2", "v3", "v4"});
                   }};
const Check kNote{"x86-64-v1, x86-64-v2, x86-64-v3 or x86-64-v4", [](const std::string& s) {
                    return one_of(s, {"x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4"});
                  }};
const Check kImplementation{"cpython, pypy or graalpy", [](const std::string& s) {
                              return one_of(s, {"cpython", "pypy", "graalpy"});
                            }};
const Check kSoc{"sbsa or tegra", [](const std::string& s) {
                   return one_of(s, {"sbsa", "tegra"});
                 }};
const Check kProduct{"geforce, workstation, datacenter or embedded", [](const std::string& s) {
                       return one_of(s, {"geforce", "workstation", "datacenter", "embedded"});
                     }};
const Check kKind{"extension, library or executable", [](const std::string& s) {
                    return one_of(s, {"extension", "library", "executable"});
                  }};
const Check kWhen{"load or call", [](const std::string& s) { return one_of(s, {"load", "call"}); }};
const Check kGuard{"none or unknown", [](const std::string& s) {
                     return one_of(s, {"none", "unknown"});
                   }};

// ---- The fields ---------------------------------------------------------------------------------
// io(key, member): a plain member is required, a Fact may be absent; io.optional: has a default.

template <class V, class T>
concept Is = std::same_as<std::remove_const_t<V>, T>;

void fields(auto& io, Is<HostOs> auto& v) {
  io("kernel", v.kernel, kKernel);
  io("release", v.release);
  io("machine", v.machine);
  io("native_machine", v.native_machine);
  io("page_size", v.page_size);
  io("container", v.container);
  io("wsl", v.wsl);
  io("emulated", v.emulated);
  io("hypervisor", v.hypervisor);
}

void fields(auto& io, Is<HostLibc> auto& v) {
  io("name", v.name, kLibc);
  io("version", v.version, kVersion);
}

void fields(auto& io, Is<HostLib> auto& v) {
  io("path", v.path);
  io.optional("versions", v.versions);
}

void fields(auto& io, Is<HostCpu> auto& v) {
  io("machine", v.machine, kMachine);
  io("vendor", v.vendor);
  io("model", v.model);
  io("part", v.part);
  io("features", v.features);
  io("level", v.level, kLevel);
  io("sve_vl_bits", v.sve_vl_bits);
  io("cores", v.cores);
  io("some_cores", v.some_cores);
  io("os_disabled", v.os_disabled);
}

void fields(auto& io, Is<HostPython> auto& v) {
  io("path", v.path);
  io("implementation", v.implementation, kImplementation);
  io("version", v.version);
  io("abi", v.abi);
  io("machine", v.machine, kMachine);
  io("elf_class", v.elf_class);
  io("free_threaded", v.free_threaded);
}

void fields(auto& io, Is<HostLibcuda> auto& v) {
  io("path", v.path);
  io("version", v.version);
  io("compat", v.compat);
}

void fields(auto& io, Is<HostGpuDevice> auto& v) {
  io("index", v.index);
  io("name", v.name);
  io("cc", v.cc, kVersion);
  io("memory_bytes", v.memory_bytes);
  io.optional("mig", v.mig);
  io("product", v.product, kProduct);
}

void fields(auto& io, Is<HostGpu> auto& v) {
  io("driver", v.driver, kVersion);
  io("cuda", v.cuda, kVersion);
  io("libcuda", v.libcuda);
  io("soc", v.soc, kSoc);
  io("l4t", v.l4t);
  io("visible", v.visible);
  io("devices", v.devices);
}

void fields(auto& io, Is<HostFacts> auto& v) {
  io.schema("felloe/host/1");
  io("name", v.name);
  io("os", v.os);
  io("libc", v.libc);
  io("libs", v.libs);
  io("libs_complete", v.libs_complete);
  io("cpu", v.cpu);
  io("python", v.python);
  io("gpu", v.gpu);
  io.optional("sources", v.sources);
  io.optional("degraded", v.degraded);
}

void fields(auto& io, Is<Where> auto& v) {
  io("module", v.module);
  io("symbol", v.symbol);
  io("mnemonic", v.mnemonic);
  io("offset", v.offset);
}

void fields(auto& io, Is<LibcFloor> auto& v) {
  io("name", v.name, kLibc);
  io("version", v.version, kVersion);
  io("where", v.where);
}

void fields(auto& io, Is<LibFloor> auto& v) {
  io("lib", v.lib);
  io("family", v.family);
  io("version", v.version);
  io("where", v.where);
}

void fields(auto& io, Is<Unresolved> auto& v) {
  io("soname", v.soname);
  io("where", v.where);
}

void fields(auto& io, Is<IsaRequirement> auto& v) {
  io("feature", v.feature);
  io("when", v.when, kWhen);
  io.optional("guard", v.guard, kGuard);
  io("where", v.where);
}

void fields(auto& io, Is<ModuleIsa> auto& v) {
  io.optional("requires", v.requirements);
  io.optional("dispatched", v.dispatched);
}

void fields(auto& io, Is<IsaNote> auto& v) {
  io("needed", v.needed, kNote);
  io("used", v.used);
}

void fields(auto& io, Is<PythonAbi> auto& v) {
  io("imports_cpython", v.imports_cpython);
  io("suffix", v.suffix);
}

void fields(auto& io, Is<WheelModule> auto& v) {
  io("path", v.path);
  io("kind", v.kind, kKind);
  io("machine", v.machine);
  io("elf_class", v.elf_class);
  io("needed", v.needed);
  io("isa", v.isa);
  io("isa_note", v.isa_note);
  io("sve_vl_bits", v.sve_vl_bits);
  io("p_align", v.p_align);
  io("allocator_page_size", v.allocator_page_size);
  io("exec_stack", v.exec_stack);
  io("static_tls", v.static_tls);
  io("tls_size", v.tls_size);
  io("python_abi", v.python_abi);
}

void fields(auto& io, Is<IsaSummary> auto& v) {
  io.optional("load", v.load);
  io.optional("call", v.call);
  io.optional("dispatched", v.dispatched);
}

void fields(auto& io, Is<PtxImage> auto& v) {
  io("arch", v.arch, kArch);
  io("isa", v.isa, kVersion);
}

void fields(auto& io, Is<CudaLibrary> auto& v) {
  io("sass", v.sass, kArch);
  io("ptx", v.ptx);
}

void fields(auto& io, Is<WheelCuda> auto& v) {
  io("runtime", v.runtime, kVersion);
  io("sass", v.sass, kArch);
  io("ptx", v.ptx);
  io.optional("ambiguous", v.ambiguous, kArch);
  io("soc", v.soc, kSoc);
  io.optional("alternatives", v.alternatives);
  io.optional("per_library", v.per_library);
}

void fields(auto& io, Is<WheelFacts> auto& v) {
  io.schema("felloe/wheel/1");
  io("file", v.file, kWheelName);
  io("name", v.name);
  io("version", v.version);
  io("build", v.build);
  io("tags", v.tags, kTriple);
  io("requires_python", v.requires_python);
  io("requires_dist", v.requires_dist);
  io("libc_floor", v.libc_floor);
  io("lib_floors", v.lib_floors);
  io("unresolved", v.unresolved);
  io("modules", v.modules);
  io("isa", v.isa);
  io("cuda", v.cuda);
}

// ---- Reading ------------------------------------------------------------------------------------

class Reader {
 public:
  explicit Reader(JsonNode node) : node_(std::move(node)) { node_.check_object(); }

  void schema(const std::string& expected) {
    std::string got;
    node_.at("schema").read(got);
    if (got != expected) {
      node_.at("schema").fail("must be \"" + expected + "\", not \"" + got + "\"",
                              "`felloe probe` writes host facts, `felloe inspect` wheel facts");
    }
  }

  template <class T>
  void operator()(const char* key, T& out, const Check& check = kAny) {
    value(node_.at(key), out, check);
  }

  template <class T>
  void operator()(const char* key, Fact<T>& out, const Check& check = kAny) {
    if (!node_.has(key)) return;
    const JsonNode node = node_.at(key);
    if (node.is_null()) {
      out = Fact<T>::none();
      return;
    }
    T known{};
    value(node, known, check);
    out = std::move(known);
  }

  // A scan without its list of requirements is no scan: absent means unknown.
  void operator()(const char* key, Fact<ModuleIsa>& out) {
    if (!node_.has(key) || !node_.at(key).has("requires")) return;
    ModuleIsa known;
    value(node_.at(key), known, kAny);
    out = std::move(known);
  }

  template <class T>
  void optional(const char* key, T& out, const Check& check = kAny) {
    if (node_.has(key)) value(node_.at(key), out, check);
  }

 private:
  static void value(const JsonNode& node, std::string& out, const Check& check) {
    node.read(out);
    if (check.ok != nullptr && !check.ok(out)) node.fail_type(check.expected);
  }
  static void value(const JsonNode& node, bool& out, const Check&) { node.read(out); }
  static void value(const JsonNode& node, int& out, const Check&) { node.read(out); }
  static void value(const JsonNode& node, std::int64_t& out, const Check&) { node.read(out); }
  static void value(const JsonNode& node, Json& out, const Check&) { out = node.json(); }
  template <class T>
  static void value(const JsonNode& node, std::vector<T>& out, const Check& check) {
    out.resize(node.size());
    for (std::size_t i = 0; i < out.size(); ++i) value(node.item(i), out[i], check);
  }
  template <class T>
  static void value(const JsonNode& node, std::map<std::string, T>& out, const Check& check) {
    node.check_object();
    for (const auto& [key, ignored] : node.json().items()) value(node.at(key), out[key], check);
  }
  template <class T>
  requires std::is_class_v<T>
  static void value(const JsonNode& node, T& out, const Check&) {
    Reader reader(node);
    fields(reader, out);
  }

  JsonNode node_;
};

// ---- Writing ------------------------------------------------------------------------------------

class Writer {
 public:
  void schema(const std::string& name) { out_["schema"] = name; }

  template <class T>
  void operator()(const char* key, const T& v, const Check& = kAny) {
    out_[key] = value(v);
  }

  template <class T>
  void operator()(const char* key, const Fact<T>& v, const Check& = kAny) {
    if (v.known()) {
      out_[key] = value(*v);
    } else if (v.is_none()) {
      out_[key] = nothing(*v);
    }
  }

  template <class T>
  void optional(const char* key, const T& v, const Check& = kAny) {
    out_[key] = value(v);
  }
  void optional(const char* key, const Json& v) {
    if (!v.is_null()) out_[key] = v;
  }

  Json take() { return std::move(out_); }

 private:
  // "Looked for and not there": an empty list where the schema has a list, else null. The one list
  // of numbers, gpu.visible, is null for "all".
  template <class T>
  static Json nothing(const T&) {
    return nullptr;
  }
  template <class T>
  static Json nothing(const std::vector<T>&) {
    if constexpr (std::is_same_v<T, std::int64_t>) return nullptr;
    return Json::array();
  }
  template <class T>
  static Json nothing(const std::map<std::string, T>&) {
    return Json::object();
  }

  static Json value(const std::string& v) { return v; }
  static Json value(bool v) { return v; }
  static Json value(int v) { return v; }
  static Json value(std::int64_t v) { return v; }
  template <class T>
  static Json value(const std::vector<T>& v) {
    Json out = Json::array();
    for (const T& item : v) out.push_back(value(item));
    return out;
  }
  template <class T>
  static Json value(const std::map<std::string, T>& v) {
    Json out = Json::object();
    for (const auto& [key, item] : v) out[key] = value(item);
    return out;
  }
  template <class T>
  requires std::is_class_v<T>
  static Json value(const T& v) {
    Writer writer;
    fields(writer, v);
    return writer.take();
  }

  Json out_ = Json::object();
};

template <class T>
Json write(const T& facts) {
  Writer writer;
  fields(writer, facts);
  return writer.take();
}

template <class T>
T read(const Json& json, const std::string& where) {
  Reader reader(JsonNode(json, where));
  T facts;
  fields(reader, facts);
  return facts;
}

}  // namespace

Json to_json(const HostFacts& facts) { return write(facts); }
Json to_json(const WheelFacts& facts) { return write(facts); }

HostFacts host_from_json(const Json& json, const std::string& where) {
  return read<HostFacts>(json, where);
}

WheelFacts wheel_from_json(const Json& json, const std::string& where) {
  return read<WheelFacts>(json, where);
}

}  // namespace felloe
