// Interpreter and tags: PEP 425, 703, 803; Requires-Python by PEP 440.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "matrix/base/text.h"
#include "matrix/fit_judge.h"
#include "matrix/pep440.h"
#include "matrix/tags.h"

namespace felloe {
namespace {

// Why one interpreter doesn't take the wheel, most important first: PY_MACHINE, PY_FREE_THREADED,
// PY_TAG, PY_UNKNOWN, then PY_VERSION and what the modules say.
using Codes = std::vector<const char*>;

struct Attempt {
  const HostPython* python = nullptr;
  Codes codes;
  std::vector<std::string> platforms;  // of the tags it accepts
  std::vector<std::string> modules;    // with PY_ABI_NONE, PY_SUFFIX: which
  bool none_abi = false;               // every accepted tag has ABI `none`
};

Codes tag_codes(const Tag& tag, const Platform& platform, const HostPython& python) {
  Codes codes;
  const int implied = elf_class_of(platform.machine);
  if (!platform.runs_on(python.machine) || (implied != 0 && implied != python.elf_class)) {
    codes.push_back("PY_MACHINE");
  }
  const TagMatch match = match_python(tag, python);
  if (match.build == false) codes.push_back("PY_FREE_THREADED");
  if (!match.version) codes.push_back("PY_TAG");
  if (match.version && !match.build) codes.push_back("PY_UNKNOWN");
  return codes;
}

// The interpreter's release: pip judges Requires-Python by X.Y.Z, so that 3.15.0rc1 is >= 3.15.
std::optional<Version> release_of(const HostPython& python) {
  const auto version = Version::parse(python.version);
  return version ? Version::parse(version->base_text()) : std::nullopt;
}

// Python modules grouped by the name they are imported under: one variant that this interpreter can
// import is enough, since a wheel may carry one per Python.
std::vector<std::string> unimportable(const WheelFacts& wheel, const HostPython& python) {
  std::set<std::string> seen, importable;
  if (!wheel.modules.known()) return {};
  for (const WheelModule& module : *wheel.modules) {
    if (!module.python_abi.known() || module.python_abi->suffix.unknown()) continue;
    if (module.kind.known() && *module.kind != "extension") continue;
    const std::string suffix = module.python_abi->suffix.value_or("");
    const std::string ending = suffix.empty() ? ".so" : "." + suffix + ".so";
    std::string stem = module.path;
    if (stem.ends_with(ending)) stem.resize(stem.size() - ending.size());
    seen.insert(stem);
    if (can_import(suffix, python)) importable.insert(stem);
  }
  std::vector<std::string> out;
  std::set_difference(seen.begin(), seen.end(), importable.begin(), importable.end(),
                      std::back_inserter(out));
  return out;
}

std::vector<std::string> cpython_importers(const WheelFacts& wheel) {
  std::vector<std::string> out;
  if (!wheel.modules.known()) return out;
  for (const WheelModule& module : *wheel.modules) {
    if (module.python_abi.known() && module.python_abi->imports_cpython.value_or(false)) {
      out.push_back(module.path);
    }
  }
  return out;
}

// The best that this interpreter makes of the wheel's tags.
Attempt attempt(const Judge& judge, const std::vector<Tag>& tags, const HostPython& python) {
  Attempt best;
  best.python = &python;
  bool first = true;
  for (const Tag& tag : tags) {
    const Codes codes = tag_codes(tag, Platform::parse(tag.platform), python);
    if (codes.empty()) {
      best.none_abi = (best.platforms.empty() || best.none_abi) && tag.abi == "none";
      best.platforms.push_back(tag.platform);
    }
    if (first || codes.size() < best.codes.size()) best.codes = codes;
    first = false;
  }
  if (judge.wheel.requires_python.known()) {
    const auto wanted = Specifiers::parse(*judge.wheel.requires_python);
    const auto version = release_of(python);
    if (!wanted || !version) {
      best.codes.push_back("PY_UNKNOWN");
    } else if (!wanted->contains(*version)) {
      best.codes.push_back("PY_VERSION");
    }
  }
  if (!best.codes.empty()) return best;
  if (best.none_abi && is_free_threaded(python).value_or(false)) {
    best.modules = cpython_importers(judge.wheel);
    if (!best.modules.empty()) best.codes.push_back("PY_ABI_NONE");
  }
  if (const auto modules = unimportable(judge.wheel, python); !modules.empty()) {
    best.codes.push_back("PY_SUFFIX");
    best.modules.insert(best.modules.end(), modules.begin(), modules.end());
  }
  return best;
}

std::string describe(const HostPython& python) {
  return fmt::format("Python {}{} for {}", python.version,
                     is_free_threaded(python).value_or(false) ? " (free-threaded)" : "",
                     python.machine);
}

void explain(Judge& judge, const Attempt& attempt) {
  const HostPython& python = *attempt.python;
  const std::string have = describe(python);
  const std::string tags = join(judge.wheel.tags, " ");
  for (const std::string code : attempt.codes) {
    if (code == "PY_MACHINE") {
      Reason& r = judge.add("PY_MACHINE", Weight::error,
                            fmt::format("the wheel is for another machine than {}", have));
      r.need = tags;
      r.have = fmt::format("{} ({}-bit)", python.machine, python.elf_class);
      r.hint = "take the wheel of the interpreter's machine; the kernel's doesn't count";
    } else if (code == "PY_FREE_THREADED") {
      Reason& r =
          judge.add("PY_FREE_THREADED", Weight::error,
                    fmt::format("the wheel is for the other kind of CPython build than {}", have));
      r.need = tags;
      r.have = python.abi.known() ? *python.abi : have;
    } else if (code == "PY_TAG") {
      Reason& r =
          judge.add("PY_TAG", Weight::error,
                    fmt::format("no interpreter accepts a tag of the wheel; nearest: {}", have));
      r.need = tags;
      r.have = python.abi.known() ? *python.abi : python.version;
    } else if (code == "PY_VERSION") {
      Reason& r = judge.add("PY_VERSION", Weight::error,
                            fmt::format("Requires-Python {} excludes Python {}",
                                        *judge.wheel.requires_python, python.version));
      r.need = *judge.wheel.requires_python;
      r.have = python.version;
    } else if (code == "PY_ABI_NONE") {
      Reason& r = judge.add("PY_ABI_NONE", Weight::error,
                            "the ABI tag is `none`, but a module uses the CPython API, and the "
                            "interpreter is free-threaded");
      r.have = have;
      r.where = Json{{"module", attempt.modules.front()}};
    } else if (code == "PY_SUFFIX") {
      Reason& r =
          judge.add("PY_SUFFIX", Weight::error,
                    fmt::format("{} can't import a module of the wheel by its file name", have));
      r.where = Json{{"module", attempt.modules.back()}};
    } else {
      judge.add("PY_UNKNOWN", Weight::unknown,
                fmt::format("whether {} takes the wheel can't be told: its kind of build or the "
                            "wheel's Requires-Python is not readable",
                            have));
    }
  }
}

// With no interpreter known, only a wheel for every Python 3 on every machine is sure to be taken.
bool any_python_will_do(const Judge& judge, const std::vector<Tag>& tags) {
  return judge.host.python.unknown() && !judge.wheel.requires_python.known() &&
         std::any_of(tags.begin(), tags.end(), [](const Tag& tag) {
           return tag.python == "py3" && tag.abi == "none" && tag.platform == "any";
         });
}

}  // namespace

void judge_python(Judge& judge) {
  // Tags of other systems are judge_platform's; they count here only when there are no others.
  std::vector<Tag> tags, foreign;
  for (const std::string& triple : judge.wheel.tags) {
    const Tag tag = Tag::parse(triple);
    const Platform platform = Platform::parse(tag.platform);
    const bool ours = platform.os == "any" || platform.os == judge.host.os.kernel;
    (ours ? tags : foreign).push_back(tag);
  }
  if (tags.empty()) {
    // Another system's machine names say nothing here: judge Python and ABI alone.
    for (Tag tag : foreign) {
      tag.platform = "any";
      tags.push_back(tag);
    }
  } else {
    for (const Tag& tag : tags) judge.platforms.push_back(tag.platform);
  }
  if (!judge.host.python.known() || judge.host.python->empty()) {
    if (any_python_will_do(judge, tags)) return;
    judge.add("PY_UNKNOWN", Weight::unknown, "the host lists no Python interpreter").need =
        join(judge.wheel.tags, " ");
    return;
  }
  std::optional<Attempt> best;
  for (const HostPython& python : *judge.host.python) {
    Attempt next = attempt(judge, tags, python);
    if (!best || next.codes.size() < best->codes.size()) best = std::move(next);
  }
  judge.machine = best->python->machine;
  if (!best->codes.empty()) {
    explain(judge, *best);
    return;
  }
  judge.verdict.python = best->python->path.value_or("python" + best->python->version);
  if (!foreign.empty() && judge.platforms.empty()) return;
  judge.platforms = best->platforms;
}

}  // namespace felloe
