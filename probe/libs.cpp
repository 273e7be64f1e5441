// libs: shared libraries of the system by soname, with the highest symbol version of each family.
#include "probe/libs.h"

#include <set>

#include "matrix/base/error.h"
#include "matrix/base/text.h"
#include "probe/collect.h"

namespace felloe {
namespace {

// glibc sysdeps/generic/ldconfig.h: FLAG_ELF_LIBC6 is 3; the ABI stands in the next byte.
std::uint32_t cache_flags(const std::string& machine) {
  if (machine == "x86_64") return 0x0303;
  if (machine == "aarch64") return 0x0a03;
  if (machine == "armv7l") return 0x0903;
  return 0x0003;
}

std::vector<std::string> default_folders(const std::string& machine) {
  const std::string triple = machine == "armv7l" ? "arm-linux-gnueabihf"
                             : machine == "i686" ? "i386-linux-gnu"
                                                 : machine + "-linux-gnu";
  return {"/lib/" + triple, "/usr/lib/" + triple, "/lib64",  "/usr/lib64",
          "/lib",           "/usr/local/lib",     "/usr/lib"};
}

void add(Collect& c, std::map<std::string, HostLib>& libs, const std::string& soname,
         const std::string& path) {
  if (libs.contains(soname)) return;
  HostLib lib;
  lib.path = path;
  const Json digest = c.source.ask("elf", path);
  const auto versions = digest.is_object() ? digest.find("versions") : digest.end();
  if (versions != digest.end() && versions->is_object()) {
    for (const auto& [family, version] : versions->items()) {
      if (version.is_string()) lib.versions[family] = version.get<std::string>();
    }
  }
  // A text in place of a library is a linker script of a development package: no library at all.
  if (digest.is_object() && digest.contains("error")) return;
  libs.emplace(soname, std::move(lib));
}

void add_folder(Collect& c, std::map<std::string, HostLib>& libs, const std::string& folder) {
  for (const std::string& name : c.source.list(folder, "lib")) {
    if (name.find(".so") != std::string::npos)
      add(c, libs, name, std::string(folder).append("/").append(name));
  }
}

}  // namespace

std::vector<CachedLib> parse_loader_cache(const Bytes& file) {
  constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
  const std::size_t start = file.text().find(kMagic);
  if (start == std::string_view::npos) {
    file.fail(0, "not a loader cache of format 1.1", "run ldconfig of glibc 2.2 or newer");
  }
  // Offsets of strings count from the magic; header 48 bytes, entries 24 (glibc elf/cache.c).
  const Bytes cache = file.slice(start, file.size() - start);
  const std::uint32_t count = cache.u32(20);
  if (count > cache.size() / 24) cache.fail(20, "more entries than the file has room for");
  std::vector<CachedLib> out;
  out.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = 48 + 24 * i;
    out.push_back({std::string(cache.cstr(cache.u32(at + 4))),
                   std::string(cache.cstr(cache.u32(at + 8))), cache.u32(at)});
  }
  return out;
}

void collect_libs(Collect& c) {
  std::map<std::string, HostLib> libs;
  const std::string& machine = c.facts.cpu.machine;
  bool complete = false;
  std::string source;
  for (const std::string& folder : split(c.source.env("LD_LIBRARY_PATH").value_or(""), ':')) {
    if (!folder.starts_with('/')) continue;
    add_folder(c, libs, folder);
    source = "$LD_LIBRARY_PATH, ";
  }
  if (const auto data = c.source.file("/etc/ld.so.cache")) {
    try {
      for (const CachedLib& lib : parse_loader_cache(Bytes(*data, "/etc/ld.so.cache"))) {
        if (lib.flags == cache_flags(machine)) add(c, libs, lib.soname, lib.path);
      }
      complete = true;  // ldconfig read the configured and the built-in folders
      source += "/etc/ld.so.cache";
    } catch (const Error& error) {
      c.degrade("libs", error.where() + ": " + error.message());
    }
  }
  if (!complete) {
    std::vector<std::string> folders = default_folders(machine);
    const auto musl = c.source.file("/etc/ld-musl-" + machine + ".path");
    if (musl) {
      folders.clear();
      for (const std::string& line : split_lines(*musl)) {
        for (const std::string& folder : split(line, ':')) folders.push_back(folder);
      }
    }
    std::set<std::string> seen;  // /lib and /usr/lib are often one folder
    for (const std::string& folder : folders) {
      const auto real = c.source.resolve(folder);
      if (real && seen.insert(*real).second) add_folder(c, libs, folder);
    }
    // musl's loader has no cache: its folders are the whole search path.
    const std::string loader = "/lib/ld-musl-" + machine + ".so.1";
    if (c.source.resolve(loader)) complete = true;
    source += "default folders";
  }
  if (libs.empty()) {
    c.degrade("libs", "no loader cache and no library in the default folders");
    return;
  }
  c.facts.libs = std::move(libs);
  c.facts.libs_complete = complete;
  c.from("libs", source);
}

}  // namespace felloe
