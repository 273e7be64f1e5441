#include "packaging/wheel/python_tags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "matrix/base/error.h"
#include "matrix/base/text.h"

namespace felloe {
namespace {

constexpr int kAllMinors = 1000;  // stands for "no end" where a number is wanted

std::string_view basename(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "312", "313t" -> minor and build.
bool parse_cpython(std::string_view text, int& minor, bool& free_threaded) {
  free_threaded = text.ends_with('t');
  if (free_threaded) text.remove_suffix(1);
  if (text.size() < 2 || text[0] != '3') return false;
  const auto value = number(text.substr(1));
  if (!value || *value >= kAllMinors) return false;
  minor = *value;
  return true;
}

bool python_symbol(std::string_view name) {
  return name.starts_with("Py") || name.starts_with("_Py");
}

bool exports_init(const ElfFile& elf) {
  return std::any_of(elf.symbols.begin(), elf.symbols.end(), [](const ElfSymbol& s) {
    return !s.undefined() && (s.name.starts_with("PyInit_") || s.name.starts_with("PyModExport_"));
  });
}

// Single versions that reach up to `from` belong to the range.
PythonSet normal(PythonSet s) {
  if (!s.from) return s;
  std::erase_if(s.minors, [&](int m) { return m >= *s.from; });
  while (s.minors.contains(*s.from - 1)) s.minors.erase(--*s.from);
  return s;
}

std::string join_tags(const std::set<int>& minors, const char* end) {
  std::vector<std::string> out;
  for (const int m : minors) out.push_back(fmt::format("cp3{}{}", m, end));
  return join(out, ".");
}

// Which interpreters a python-abi tag pair promises to serve.
struct Promise {
  bool known = false;  // false: no interpreter accepts such a pair, so it promises nothing
  PythonSet gil, free_threaded;
};

Promise promise_of(std::string_view python, std::string_view abi) {
  if (!python.starts_with("cp") && !python.starts_with("py")) return {};
  const std::string_view digits = python.substr(2);
  if (digits.empty() || digits[0] != '3') return {};
  const int minor = digits.size() > 1 ? number(digits.substr(1)).value_or(0) : 0;
  const PythonSet one{{minor}, std::nullopt};
  if (python.starts_with("py")) return {true, PythonSet::since(minor), PythonSet::since(minor)};
  if (abi == "abi3") return {true, PythonSet::since(minor), {}};
  if (abi == "abi3t") return {true, PythonSet::since(minor), PythonSet::since(minor)};
  if (abi == "none") return {true, one, one};
  int abi_minor = 0;
  bool free_threaded = false;
  if (!abi.starts_with("cp") || !parse_cpython(abi.substr(2), abi_minor, free_threaded) ||
      abi_minor != minor) {
    return {};
  }
  return free_threaded ? Promise{true, {}, one} : Promise{true, one, {}};
}

// What of `promised` isn't in `have`.
PythonSet missing_from(const PythonSet& promised, const PythonSet& have) {
  PythonSet out;
  for (const int m : promised.minors) {
    if (!have.contains(m)) out.minors.insert(m);
  }
  if (promised.from) {
    int top = *promised.from;
    for (const int m : have.minors) top = std::max(top, m + 1);
    if (have.from) top = std::max(*promised.from, *have.from);
    for (int m = *promised.from; m < top; ++m) {
      if (!have.contains(m)) out.minors.insert(m);
    }
    if (!have.from) out.from = top;
  }
  return normal(out);
}

void add_module(PythonSupport& out, std::map<std::string, ModuleGroup>& groups,
                const PythonModule& m) {
  const auto suffix = parse_module_suffix(basename(m.path));
  if (!suffix) return;
  const bool init = exports_init(*m.elf);
  if (suffix->kind == ModuleSuffix::Kind::none && !init) return;  // an ordinary library
  const std::string folder(m.path.substr(0, m.path.size() - basename(m.path).size()));
  ModuleGroup& group = groups[folder + suffix->stem];
  group.name = folder + suffix->stem;
  group.members.push_back(m.path);
  PythonSet gil, free_threaded;
  switch (suffix->kind) {
    case ModuleSuffix::Kind::version:
      (suffix->free_threaded ? free_threaded : gil).minors.insert(suffix->minor);
      break;
    case ModuleSuffix::Kind::abi3:
    case ModuleSuffix::Kind::abi3t: {
      const StableAbiUse use = stable_abi_use(*m.elf);
      gil = PythonSet::since(use.floor);
      if (suffix->kind == ModuleSuffix::Kind::abi3t) free_threaded = gil;
      out.abi3.emplace(m.path, use);
      break;
    }
    case ModuleSuffix::Kind::none:
      // Without a name and without the API any build loads it; with the API nobody can tell which.
      if (!imports_cpython(*m.elf)) gil = free_threaded = PythonSet::since(0);
      break;
  }
  group.gil = unite(group.gil, gil);
  group.free_threaded = unite(group.free_threaded, free_threaded);
}

}  // namespace

std::optional<ModuleSuffix> parse_module_suffix(std::string_view file) {
  if (!file.ends_with(".so")) return std::nullopt;
  file.remove_suffix(3);
  const auto dot = file.find('.');
  ModuleSuffix out;
  out.stem = file.substr(0, dot);
  if (out.stem.empty()) return std::nullopt;
  if (dot == std::string_view::npos) return out;
  out.text = file.substr(dot + 1);
  if (out.text == "abi3" || out.text == "abi3t") {
    out.kind = out.text == "abi3" ? ModuleSuffix::Kind::abi3 : ModuleSuffix::Kind::abi3t;
    return out;
  }
  constexpr std::string_view kCpython = "cpython-";
  if (!out.text.starts_with(kCpython)) return std::nullopt;
  const std::string_view rest = std::string_view(out.text).substr(kCpython.size());
  const auto dash = rest.find('-');
  if (!parse_cpython(rest.substr(0, dash), out.minor, out.free_threaded)) return std::nullopt;
  out.kind = ModuleSuffix::Kind::version;
  if (dash != std::string_view::npos) out.triplet = rest.substr(dash + 1);
  return out;
}

PythonSet unite(const PythonSet& a, const PythonSet& b) {
  PythonSet out = a;
  out.minors.insert(b.minors.begin(), b.minors.end());
  if (b.from) out.from = a.from ? std::min(*a.from, *b.from) : b.from;
  return normal(out);
}

PythonSet intersect(const PythonSet& a, const PythonSet& b) {
  PythonSet out;
  for (const int m : a.minors) {
    if (b.contains(m)) out.minors.insert(m);
  }
  for (const int m : b.minors) {
    if (a.contains(m)) out.minors.insert(m);
  }
  if (a.from && b.from) out.from = std::max(*a.from, *b.from);
  return normal(out);
}

std::string to_text(const PythonSet& set) {
  std::vector<std::string> out;
  for (const int m : set.minors) out.push_back(fmt::format("3.{}", m));
  if (set.from) out.push_back(fmt::format("3.{} and later", *set.from));
  return out.empty() ? "none" : join(out, ", ");
}

StableAbiUse stable_abi_use(const ElfFile& elf) {
  StableAbiUse out;
  for (const ElfSymbol& s : elf.symbols) {
    if (!s.undefined() || !python_symbol(s.name)) continue;
    const auto since = wheel_detail::stable_abi_since(s.name);
    if (!since) {
      // A weak import may be absent: the module tests for it at run time.
      if (s.bind != 2) out.outside.emplace_back(s.name);
    } else if (*since > out.floor && s.bind != 2) {
      out.floor = *since;
      out.symbol = s.name;
      out.offset = s.offset;
    }
  }
  std::sort(out.outside.begin(), out.outside.end());
  return out;
}

bool imports_cpython(const ElfFile& elf) {
  return std::any_of(elf.symbols.begin(), elf.symbols.end(),
                     [](const ElfSymbol& s) { return s.undefined() && python_symbol(s.name); });
}

PythonSupport python_support(const std::vector<PythonModule>& modules) {
  PythonSupport out;
  std::map<std::string, ModuleGroup> groups;
  for (const PythonModule& m : modules) add_module(out, groups, m);
  for (auto& [name, group] : groups) {
    std::sort(group.members.begin(), group.members.end());
    out.gil = out.any ? group.gil : intersect(out.gil, group.gil);
    out.free_threaded =
        out.any ? group.free_threaded : intersect(out.free_threaded, group.free_threaded);
    out.any = false;
    out.groups.push_back(std::move(group));
  }
  return out;
}

PythonTags python_tags(const PythonSupport& support) {
  if (support.any) return {"py3", "none"};
  const auto fail = [](const std::string& message, const std::string& hint) {
    throw Error(ErrorKind::input, "python tags", message, hint);
  };
  for (const ModuleGroup& g : support.groups) {
    if (g.gil.empty() && g.free_threaded.empty()) {
      throw Error(ErrorKind::input, g.members.front(),
                  "the file name names no Python version, but the module uses the CPython API",
                  "build it with its suffix (.cpython-312-….so or .abi3.so)");
    }
  }
  const PythonSet& gil = support.gil;
  const PythonSet& ft = support.free_threaded;
  if (gil.empty() && ft.empty()) {
    fail("no Python finds all modules: they are built for different versions",
         "build every module for the same versions");
  }
  if (gil.from) {
    if (!gil.minors.empty()) {
      fail(fmt::format(
               "the modules serve {}: no tag says that, cp3{}-abi3 would promise the gap too",
               to_text(gil), *gil.minors.begin()),
           "build the missing versions as well, or split the wheel");
    }
    if (!ft.empty() && !(ft.from && *ft.from == *gil.from && ft.minors.empty())) {
      fail(fmt::format("the modules serve {} and, free-threaded, {}: no single tag says that",
                       to_text(gil), to_text(ft)),
           "build a wheel of its own for free-threaded Pythons");
    }
    if (*gil.from == 0) return {"py3", "none"};
    return {fmt::format("cp3{}", *gil.from), ft.empty() ? "abi3" : "abi3t"};
  }
  if (ft.from) {
    fail(fmt::format("the modules serve free-threaded {} only in a range", to_text(ft)),
         "build the module for ordinary Pythons too");
  }
  std::set<int> both = gil.minors;
  both.insert(ft.minors.begin(), ft.minors.end());
  PythonTags out{join_tags(both, ""), join_tags(gil.minors, "")};
  if (!ft.minors.empty()) out.abi += (out.abi.empty() ? "" : ".") + join_tags(ft.minors, "t");
  return out;
}

std::optional<std::string> unsupported_promise(const PythonSupport& support,
                                               std::string_view python, std::string_view abi) {
  if (support.any) return std::nullopt;
  const auto promise = promise_of(python, abi);
  if (!promise.known) return std::nullopt;
  const PythonSet gil = missing_from(promise.gil, support.gil);
  const PythonSet ft = missing_from(promise.free_threaded, support.free_threaded);
  if (gil.empty() && ft.empty()) return std::nullopt;
  // Under py3-none and cpXY-none free-threaded builds are only promised along with ordinary ones; a
  // module that ordinary ones load is judged by PY_ABI_NONE (fit), not here.
  if (gil.empty() && abi == "none") return std::nullopt;
  return gil.empty() ? "free-threaded " + to_text(ft) : to_text(gil);
}

}  // namespace felloe
