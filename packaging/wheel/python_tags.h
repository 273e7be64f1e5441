// Which CPythons find and can load a wheel's extension modules, and the python and ABI tags that
// say exactly that. One wheel may hold several builds of one module: `_C.cpython-310-….so`,
// `_C.cpython-311-….so` and `_C.abi3.so` with a real floor of 3.12 together serve every CPython
// from 3.10, so "cp310-abi3" is true of the set although it isn't of the abi3 file alone. Sources:
// PEP 425, PEP 384 and CPython's Misc/stable_abi.toml (stable_abi.cpp), PEP 703, PEP 803, PEP 3149
// (file name suffixes), importlib.machinery.EXTENSION_SUFFIXES.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "packaging/elf/elf.h"

namespace felloe {

// The part of an extension's file name that limits the interpreter.
struct ModuleSuffix {
  enum class Kind {
    version,  // cpython-312-x86_64-linux-gnu, cpython-313t-…
    abi3,
    abi3t,  // PEP 803: free-threaded and ordinary builds
    none,   // plain .so: any interpreter tries it
  };
  Kind kind = Kind::none;
  std::string stem;  // "_C"
  std::string text;  // "cpython-312-x86_64-linux-gnu", "abi3"; empty for none
  int minor = 0;     // 3.<minor>, for version
  bool free_threaded = false;
  std::string triplet;  // "x86_64-linux-gnu", may be empty
};

// Of a file name without folders that ends in .so; nothing for others ("libfoo.so.1", "x.py").
std::optional<ModuleSuffix> parse_module_suffix(std::string_view file);

// A set of CPython 3.x versions: some single ones, and all from `from` on.
struct PythonSet {
  std::set<int> minors;     // those below `from`
  std::optional<int> from;  // all 3.y with y >= from
  bool contains(int minor) const { return minors.contains(minor) || (from && minor >= *from); }
  bool empty() const { return minors.empty() && !from; }
  static PythonSet since(int minor) { return {{}, minor}; }
};
PythonSet unite(const PythonSet& a, const PythonSet& b);
PythonSet intersect(const PythonSet& a, const PythonSet& b);
std::string to_text(const PythonSet& set);  // "3.10, 3.11, 3.12 and later"; "none"

struct StableAbiUse {
  int floor = 2;                        // the lowest 3.x that has every stable symbol used
  std::string symbol;                   // one that sets the floor
  std::optional<std::uint64_t> offset;  // of its symbol entry, bytes in the file
  std::vector<std::string> outside;     // Py* symbols used that are not in the stable ABI, sorted
};
// Of the undefined Py* and _Py* symbols of a module.
StableAbiUse stable_abi_use(const ElfFile& elf);

// Whether the file imports anything of the CPython API.
bool imports_cpython(const ElfFile& elf);

struct PythonModule {
  std::string path;
  const ElfFile* elf = nullptr;
};

// What one import name offers.
struct ModuleGroup {
  std::string name;                  // "treadle/_C"
  PythonSet gil, free_threaded;      // which builds of CPython find a module that they can load
  std::vector<std::string> members;  // paths, sorted
};

struct PythonSupport {
  bool any = true;               // no extension modules: every Python (py3-none)
  PythonSet gil, free_threaded;  // those that find *every* module
  std::vector<ModuleGroup> groups;
  std::map<std::string, StableAbiUse> abi3;  // of each *.abi3.so
};

// A module is an ELF file that exports PyInit_* or whose name has an extension suffix.
PythonSupport python_support(const std::vector<PythonModule>& modules);

struct PythonTags {
  std::string python, abi;  // compressed sets: "cp310", "cp310.cp311", "py3"
};

// The tags that stand for exactly this support. Throws Error{input} if none do (a gap between
// single versions and an abi3 range, or an untagged .so that uses the CPython API): the message
// says why.
PythonTags python_tags(const PythonSupport& support);

// Whether python tag + ABI tag promise an interpreter that the support doesn't cover: then what is
// missing, as text; nothing if the tag is true.
std::optional<std::string> unsupported_promise(const PythonSupport& support,
                                               std::string_view python, std::string_view abi);

namespace wheel_detail {
// The 3.x minor version that added a symbol to the stable ABI; nothing if it isn't in it.
std::optional<int> stable_abi_since(std::string_view symbol);
}  // namespace wheel_detail

}  // namespace felloe
