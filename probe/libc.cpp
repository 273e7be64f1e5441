// libc: what the running process says, else the loader that the system's programs name.
#include "matrix/base/text.h"
#include "probe/collect.h"

namespace felloe {
namespace {

// "musl libc (x86_64)\nVersion 1.2.5\n...": what musl's loader prints when it is run.
std::string musl_version(const std::string& banner) {
  for (const std::string& line : split_lines(banner)) {
    if (line.starts_with("Version ")) {
      const std::string version(trim(std::string_view(line).substr(8)));
      return version.substr(0, version.find_first_not_of("0123456789."));
    }
  }
  return {};
}

// The loader of the first program there that names one.
std::string system_loader(Collect& c) {
  for (const char* program : {"/bin/sh", "/usr/bin/env", "/bin/busybox"}) {
    const std::string interp = text_of(c.source.ask("elf", program), "interp");
    if (!interp.empty()) return interp;
  }
  return {};
}

}  // namespace

void collect_libc(Collect& c) {
  const std::string linked = text_of(c.source.ask("libc"), "gnu_get_libc_version");
  if (is_version(linked)) {
    c.facts.libc = HostLibc{"glibc", linked};
    c.from("libc", "gnu_get_libc_version");
    return;
  }
  const std::string loader = system_loader(c);
  if (loader.find("ld-musl") != std::string::npos) {
    HostLibc libc{"musl", {}};
    const std::string version = musl_version(text_of(c.source.ask("musl", loader), "banner"));
    if (is_version(version)) libc.version = version;
    if (libc.version.unknown()) c.degrade("libc.version", loader + " did not print its version");
    c.facts.libc = libc;
    c.from("libc", loader);
    return;
  }
  if (!c.facts.libs.unknown() && c.facts.libs->contains("libc.so.6")) {
    const HostLib& lib = c.facts.libs->at("libc.so.6");
    if (const auto it = lib.versions.find("GLIBC");
        it != lib.versions.end() && is_version(it->second)) {
      c.facts.libc = HostLibc{"glibc", it->second};
      c.from("libc", lib.path.value_or("libc.so.6") + ": highest symbol version");
      return;
    }
  }
  c.degrade("libc", loader.empty() ? "no program tells which loader it needs"
                                   : "version of the C library behind " + loader + " not found");
}

}  // namespace felloe
