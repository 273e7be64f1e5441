// This machine, running.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/process.h"
#include "matrix/base/text.h"
#include "probe/cuda_query.h"
#include "probe/elf.h"
#include "probe/processor.h"
#include "probe/source.h"
#include "probe/tree.h"

extern char** environ;

namespace felloe {
namespace {

constexpr std::chrono::milliseconds kPythonLimit{3000};

Environment process_environment() {
  Environment env;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t eq = text.find('=');
    if (eq != std::string_view::npos) env.emplace(text.substr(0, eq), text.substr(eq + 1));
  }
  return env;
}

// The instruction set this file was compiled for is that of the process's own ELF header.
constexpr const char* own_machine() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__i386__)
  return "i686";
#elif defined(__aarch64__)
  return "aarch64";
#elif defined(__arm__)
  return "armv7l";
#else
#error "felloe runs on x86-64, i686, AArch64 and 32-bit Arm"
#endif
}

Json machine() {
  struct utsname name {};
  ::uname(&name);  // cannot fail with a valid pointer
  return Json{{"kernel", name.sysname},       {"release", name.release},
              {"machine", name.machine},      {"page_size", ::sysconf(_SC_PAGESIZE)},
              {"elf_machine", own_machine()}, {"elf_class", 8 * static_cast<int>(sizeof(void*))}};
}

Json libc() {
  // By name, so that the same source links against musl.
  using Version = const char*();
  auto* version = reinterpret_cast<Version*>(::dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
  if (version == nullptr) return Json::object();
  return Json{{"gnu_get_libc_version", version()}};
}

Json musl_banner(const std::string& loader) {
  Command command;
  command.argv = {loader};
  command.timeout = std::chrono::seconds(2);
  command.max_output = 4096;
  return Json{{"banner", run_process(command).err}};  // it exits with 1 after saying who it is
}

Json elf(const std::string& path) {
  try {
    const MappedFile file(path);
    return elf_digest(file.bytes());
  } catch (const Error& error) {
    return Json{{"error", error.message()}};
  }
}

// sys alone answers at once: sysconfig would read the build's Makefile data. abiflags has the `t`
// of free-threaded builds (PEP 703), `d` of debug builds and the `m` of CPython 3.7 and older.
constexpr const char* kScript =
    "import sys;v=sys.version_info;n=sys.implementation.name;f=getattr(sys,'abiflags','');"
    "p=getattr(sys,'pypy_version_info',v);"
    "a=('cp%d%d%s'%(v[0],v[1],f)) if n=='cpython' else '%s%d%d_%s%d%d'%(n,v[0],v[1],"
    "'pp' if n=='pypy' else n,p[0],p[1]);"
    "print('felloe|%s|%d.%d.%d|%s|%d'%(n,v[0],v[1],v[2],a,'t' in f))";

Json python(const std::string& path) {
  Command command;
  command.argv = {path, "-I", "-S", "-c", kScript};
  command.cwd = "/";
  command.unset_env = {"PYTHON*", "LD_PRELOAD"};
  command.timeout = kPythonLimit;
  command.max_output = 1 << 16;
  const ProcessResult result = run_process(command);
  if (result.timed_out) {
    return Json{{"error", fmt::format("did not answer within {} s", kPythonLimit.count() / 1000)}};
  }
  for (const std::string& line : split_lines(result.out)) {
    const std::vector<std::string> part = split(line, '|');
    if (part.size() != 5 || part[0] != "felloe") continue;
    return Json{{"implementation", part[1]},
                {"version", part[2]},
                {"abi", part[3]},
                {"free_threaded", part[4] == "1"}};
  }
  std::string why = "does not run: " + result.describe();
  if (const std::string last = last_lines(result.err, 1); !last.empty()) {
    why += ": " + last.substr(0, 200);
  }
  return Json{{"error", why}};
}

class Live : public Source {
 public:
  explicit Live(Environment env) : env_(std::move(env)), tree_("/") {}

  std::optional<std::string> file(const std::string& path) override { return tree_.file(path); }
  std::vector<std::string> list(const std::string& folder, const std::string& prefix) override {
    return tree_.list(folder, prefix);
  }
  std::optional<std::string> resolve(const std::string& path) override {
    return tree_.resolve(path);
  }
  std::optional<std::string> env(const std::string& name) override {
    const auto it = env_.find(name);
    return it == env_.end() ? std::nullopt : std::optional(it->second);
  }

  std::vector<Json> ask_all(const std::string& kind,
                            const std::vector<std::string>& keys) override {
    std::vector<Json> out(keys.size());
    if (kind != "python") {
      for (std::size_t i = 0; i < keys.size(); ++i) out[i] = answer(kind, keys[i]);
      return out;
    }
    // Each Python takes 20 ms to start and a broken one may take its whole limit: side by side.
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < keys.size(); i = next++) out[i] = answer(kind, keys[i]);
    };
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < std::min<std::size_t>(8, keys.size()); ++i) {
      threads.emplace_back(work);
    }
    threads.clear();
    return out;
  }

 private:
  Json answer(const std::string& kind, const std::string& key) {
    if (kind == "machine") return machine();
    if (kind == "cpu") return cpu_to_json(cpu::read_raw());
    if (kind == "libc") return libc();
    if (kind == "musl") return musl_banner(key);
    if (kind == "elf") return elf(key);
    if (kind == "python") return python(key);
    if (kind == "nvml") {
      const bool uuids = env("CUDA_VISIBLE_DEVICES").value_or("").find("GPU-") != std::string::npos;
      return query_nvml("libnvidia-ml.so.1", uuids);
    }
    if (kind == "libcuda") return query_libcuda("libcuda.so.1");
    if (kind == "libcuda_devices") return query_libcuda_devices("libcuda.so.1");
    throw Error(ErrorKind::internal, "probe", "no such question: " + kind);
  }

  Environment env_;
  Tree tree_;
};

}  // namespace

std::unique_ptr<Source> live_source(const std::optional<Environment>& env) {
  return std::make_unique<Live>(env ? *env : process_environment());
}

}  // namespace felloe
