// Platform tags and libc (PEP 513, 571, 599, 600, 656), system libraries, and what the dynamic
// loader refuses.
#include <fmt/format.h>

#include <algorithm>

#include "matrix/base/text.h"
#include "matrix/fit_judge.h"
#include "matrix/tags.h"

namespace felloe {
namespace {

Json where_or_null(const Fact<Where>& where) {
  return where.known() ? to_json(*where) : Json(nullptr);
}

std::string place(const Fact<Where>& where) {
  if (!where.known() || !where->module.known()) return "";
  return " in " + *where->module;
}

// What the accepted tags say of libc: the family that matches the host, and its lowest floor.
struct TagLibc {
  bool promises = false;  // some tag names a libc
  bool matches = false;   // ... of the host's family
  bool free = false;      // some tag names none (any, linux_*)
  std::string family, floor;
};

TagLibc tag_libc(const Judge& judge) {
  TagLibc out;
  const std::string host = judge.host.libc.known() ? judge.host.libc->name : "";
  for (const std::string& tag : judge.platforms) {
    const Platform platform = Platform::parse(tag);
    if (platform.libc.empty()) {
      out.free = true;
      continue;
    }
    const bool match = platform.libc == host;
    if (!out.promises || (match && !out.matches) ||
        (match == out.matches && compare_versions(platform.libc_floor, out.floor) < 0)) {
      out.family = platform.libc;
      out.floor = platform.libc_floor;
    }
    out.promises = true;
    out.matches = out.matches || match;
  }
  return out;
}

void judge_libc_tag(Judge& judge, const TagLibc& tag) {
  if (!tag.promises || tag.free) return;
  const HostLibc& libc = *judge.host.libc;
  if (!tag.matches) {
    Reason& r =
        judge.add("LIBC_FAMILY", Weight::error,
                  fmt::format("the wheel is for {}, the host has {}", tag.family, libc.name));
    r.need = tag.family;
    r.have = libc.name;
    r.source = judge.source("libc");
    r.hint = libc.name == "musl" ? "take the musllinux wheel" : "take the manylinux wheel";
  } else if (libc.version.known() && compare_versions(tag.floor, *libc.version) > 0) {
    Reason& r = judge.add("LIBC_TAG", Weight::error,
                          fmt::format("the tag asks for {} {}, the host has {}", tag.family,
                                      tag.floor, *libc.version));
    r.need = tag.floor;
    r.have = *libc.version;
    r.source = judge.source("libc.version");
  }
}

void judge_libc_code(Judge& judge, const TagLibc& tag) {
  const Fact<LibcFloor>& floor = judge.wheel.libc_floor;
  if (!floor.known()) return;
  const HostLibc& libc = *judge.host.libc;
  if (floor->name != libc.name) {
    if (tag.promises && !tag.free && !tag.matches) return;  // said already
    Reason& r =
        judge.add("LIBC_FAMILY", Weight::error,
                  fmt::format("the code is linked to {}, the host has {}", floor->name, libc.name));
    r.need = floor->name;
    r.have = libc.name;
    r.where = where_or_null(floor->where);
    r.source = judge.source("libc");
  } else if (libc.version.known() && compare_versions(floor->version, *libc.version) > 0) {
    Reason& r =
        judge.add("LIBC_SYMBOL", Weight::error,
                  fmt::format("the code{} needs {} {}, the host has {}", place(floor->where),
                              floor->name, floor->version, *libc.version));
    r.need = floor->version;
    r.have = *libc.version;
    r.where = where_or_null(floor->where);
    r.source = judge.source("libc.version");
  }
}

void judge_libc(Judge& judge) {
  const TagLibc tag = tag_libc(judge);
  const bool tag_asks = tag.promises && !tag.free;
  const bool code_asks = judge.wheel.libc_floor.known();
  // linux_* promises nothing: without the code's own floor nobody knows what it needs.
  const bool floor_unknown =
      judge.wheel.libc_floor.unknown() && !tag_asks && !tag.promises && !judge.no_native_code();
  if (judge.host.libc.known()) {
    judge_libc_tag(judge, tag);
    judge_libc_code(judge, tag);
  }
  const bool host_unknown =
      (tag_asks || code_asks) && (!judge.host.libc.known() || !judge.host.libc->version.known());
  if (host_unknown) {
    judge.add("LIBC_UNKNOWN", Weight::unknown, "the host's libc or its version is not known").need =
        tag_asks ? tag.family + " " + tag.floor
                 : judge.wheel.libc_floor->name + " " + judge.wheel.libc_floor->version;
  } else if (floor_unknown) {
    judge.add("LIBC_UNKNOWN", Weight::unknown,
              "the tag promises no libc version and the code's own floor is not known");
  }
}

void judge_lib_floors(Judge& judge) {
  if (!judge.wheel.lib_floors.known()) return;
  for (const LibFloor& floor : *judge.wheel.lib_floors) {
    const std::string need = fmt::format("{} {}_{}", floor.lib, floor.family, floor.version);
    const HostLib* lib = nullptr;
    if (judge.host.libs.known()) {
      const auto it = judge.host.libs->find(floor.lib);
      if (it != judge.host.libs->end()) lib = &it->second;
    }
    Reason* reason = nullptr;
    if (lib == nullptr && judge.host.libs.known() && judge.host.libs_complete.value_or(false)) {
      reason =
          &judge.add("LIB_MISSING", Weight::error, fmt::format("{} is not on the host", floor.lib));
    } else if (lib == nullptr || !lib->versions.contains(floor.family)) {
      reason = &judge.add("LIB_UNKNOWN", Weight::unknown,
                          fmt::format("the code{} needs {}, and the host doesn't say what it has",
                                      place(floor.where), need));
    } else if (compare_versions(floor.version, lib->versions.at(floor.family)) > 0) {
      reason = &judge.add(
          "LIB_SYMBOL", Weight::error,
          fmt::format("the code{} needs {}, the host's {} ends at {}", place(floor.where), need,
                      floor.lib, lib->versions.at(floor.family)));
      reason->have = lib->versions.at(floor.family);
    }
    if (reason == nullptr) continue;
    reason->need = need;
    reason->where = where_or_null(floor.where);
    reason->source = judge.source("libs." + floor.lib);
  }
}

void judge_unresolved(Judge& judge) {
  if (!judge.wheel.unresolved.known()) return;
  for (const Unresolved& needed : *judge.wheel.unresolved) {
    if (judge.host.libs.known() && judge.host.libs->contains(needed.soname)) continue;
    const bool complete = judge.host.libs.known() && judge.host.libs_complete.value_or(false);
    Reason& r = judge.add(
        complete ? "LIB_MISSING" : "LIB_UNKNOWN", complete ? Weight::error : Weight::unknown,
        fmt::format("{} is needed, neither in the wheel nor declared, and {}", needed.soname,
                    complete ? "not on the host" : "the host doesn't say whether it is there"));
    r.need = needed.soname;
    if (needed.where.known()) r.where = Json{{"module", *needed.where}};
    r.hint = "install the library, or a package that brings it";
  }
}

// ---- Single modules -----------------------------------------------------------------------------

Json at(const WheelModule& module) { return Json{{"module", module.path}}; }

bool is_x86(const std::string& machine) { return machine == "x86_64" || machine == "i686"; }

void judge_machine(Judge& judge, const WheelModule& module) {
  const int implied = elf_class_of(judge.machine);
  const bool wrong_class = module.elf_class.known() && implied != 0 && *module.elf_class != implied;
  if (module.machine == judge.machine && !wrong_class) return;
  Reason& r = judge.add(
      "MODULE_MACHINE", Weight::error,
      module.machine == "none"
          ? fmt::format("the ELF header of {} names no machine", module.path)
          : fmt::format("{} is code for {}{}, the interpreter is {}", module.path, module.machine,
                        wrong_class ? fmt::format(" ({}-bit)", *module.elf_class) : "",
                        judge.machine));
  r.need = module.machine;
  r.have = judge.machine;
  r.where = at(module);
}

// The largest page size that Linux has on any machine of the facts.
constexpr std::int64_t kLargestPage = 65536;

void judge_page_size(Judge& judge, const WheelModule& module) {
  const Fact<std::int64_t>& known = judge.host.os.page_size;
  const bool x86 = is_x86(judge.host.cpu.machine);
  const std::int64_t page = known.known() ? *known : (x86 ? 4096 : 0);
  const auto too_small = [&](const Fact<std::int64_t>& size) {
    return size.known() && *size < (page != 0 ? page : kLargestPage);
  };
  if (page != 0) {
    if (too_small(module.p_align)) {
      Reason& r = judge.add("PAGE_SIZE", Weight::error,
                            fmt::format("{} is aligned to {} bytes, the host's pages have {}",
                                        module.path, *module.p_align, page));
      r.need = page;
      r.have = *module.p_align;
      r.where = at(module);
      r.source = judge.source("os.page_size");
      r.hint = "the project must link with -Wl,-z,max-page-size=65536";
    } else if (module.p_align.unknown() && page > 4096) {
      judge
          .add("PAGE_SIZE_UNKNOWN", Weight::unknown,
               fmt::format("the alignment of {} is not known, and the host's pages have {} bytes",
                           module.path, page))
          .where = at(module);
    }
    if (too_small(module.allocator_page_size)) {
      Reason& r =
          judge.add("PAGE_SIZE_ALLOCATOR", Weight::unknown,
                    fmt::format("{} embeds an allocator for pages of {} bytes, the host's have {}",
                                module.path, *module.allocator_page_size, page));
      r.need = *module.allocator_page_size;
      r.have = page;
      r.where = at(module);
    }
  } else if (too_small(module.p_align) || module.p_align.unknown() ||
             too_small(module.allocator_page_size)) {
    judge
        .add("PAGE_SIZE_UNKNOWN", Weight::unknown,
             fmt::format("the host's page size is not known, and {} isn't built for 64 KiB pages",
                         module.path))
        .where = at(module);
  }
}

void judge_stack(Judge& judge, const WheelModule& module) {
  // glibc 2.41's release notes: dlopen no longer makes the stack executable. A program of its own
  // gets its stack from the kernel.
  const bool program = module.kind.known() && *module.kind == "executable";
  const bool refuses = judge.glibc_at_least("2.41") && !program;
  if (module.exec_stack.known() && *module.exec_stack) {
    const bool libc_known = judge.host.libc.known() && judge.host.libc->version.known();
    Reason& r = judge.add(
        libc_known || program ? "EXEC_STACK" : "EXEC_STACK_UNKNOWN",
        refuses ? Weight::error : (libc_known || program ? Weight::warning : Weight::unknown),
        fmt::format("{} wants an executable stack{}", module.path,
                    refuses ? "; glibc 2.41 and newer refuse to load it" : ""));
    r.where = at(module);
    r.hint = "the project must link with -Wl,-z,noexecstack";
  } else if (!module.exec_stack.known() && refuses) {
    judge
        .add("EXEC_STACK_UNKNOWN", Weight::unknown,
             fmt::format("whether {} wants an executable stack is not known, and this glibc would "
                         "refuse it",
                         module.path))
        .where = at(module);
  }
}

void judge_static_tls(Judge& judge, const WheelModule& module) {
  // glibc 2.32 added the tunable reserve for static TLS of loaded objects.
  if (!module.static_tls.value_or(false) || !judge.host.libc.known() ||
      judge.host.libc->name != "glibc" || !judge.host.libc->version.known() ||
      judge.glibc_at_least("2.32")) {
    return;
  }
  Reason& r = judge.add("STATIC_TLS", Weight::warning,
                        fmt::format("{} uses static TLS; before glibc 2.32 it may fail to load "
                                    "after other libraries",
                                    module.path));
  r.where = at(module);
  r.have = *judge.host.libc->version;
  r.hint = "import it first, or preload it";
}

}  // namespace

void judge_platform(Judge& judge) {
  if (judge.platforms.empty()) {
    judge
        .add("PLATFORM_TAG", Weight::error,
             fmt::format("every platform tag is for another system than {}", judge.host.os.kernel))
        .need = join(judge.wheel.tags, " ");
    return;
  }
  if (judge.host.os.kernel != "Linux") return;
  judge_libc(judge);
  judge_lib_floors(judge);
  judge_unresolved(judge);
}

void judge_elf(Judge& judge) {
  if (!judge.wheel.modules.known() || judge.platforms.empty()) return;
  for (const WheelModule& module : *judge.wheel.modules) {
    judge_machine(judge, module);
    judge_page_size(judge, module);
    judge_stack(judge, module);
    judge_static_tls(judge, module);
  }
}

}  // namespace felloe
