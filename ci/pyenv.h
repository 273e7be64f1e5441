// Python environments: made fresh, isolated from the caller's (no PYTHONPATH, no user site), filled
// by pip. And the headers of each CPython, which extension modules are compiled against.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "matrix/base/process.h"
#include "matrix/facts.h"

namespace felloe {

struct PythonEnv {
  std::filesystem::path root;
  std::filesystem::path python() const { return root / "bin" / "python"; }
};

// A command that sees only what it was given: PYTHON* and VIRTUAL_ENV are removed.
Command python_command(std::vector<std::string> argv, const std::filesystem::path& log);

// Removes `folder` and makes a new environment there. Throws Error{environment} if this Python
// can't (Debian splits ensurepip off into python3-venv).
PythonEnv make_env(const std::filesystem::path& python, const std::filesystem::path& folder,
                   const std::filesystem::path& log);

// pip install. Throws Error{environment} if there is no network, else Error{child} with pip's
// words.
void pip_install(const PythonEnv& env, const std::vector<std::string>& requirements,
                 const std::filesystem::path& log);

// Folder with Python.h for modules of `abi`: "cp311" wants exactly that version, "cp312-abi3" that
// version or the next newer one. Looked for in the interpreters of `host`, then in the folders of
// $FELLOE_PYTHON_HEADERS (colon-separated, each with X.Y/Python.h) and of `project`, where that is
// build/python-headers.
struct PythonHeaders {
  std::filesystem::path include;
  std::string version;  // "3.12"
};
std::optional<PythonHeaders> find_headers(const std::string& abi, const HostFacts& host,
                                          const std::filesystem::path& project = {});

// The same headers in a folder that needs no other. Debian's pyconfig.h only forwards to the one of
// the architecture below /usr/include, where a cross compiler must not look: it would find the
// host's C library there. Such headers are copied to `into` with the pyconfig.h of `arch`; others
// are returned as they are. Throws Error{environment} if that file isn't installed.
std::filesystem::path self_contained_headers(const std::filesystem::path& include,
                                             const std::string& arch,
                                             const std::filesystem::path& into);

// "cp312-abi3" -> {3, 12}; the second throws Error{usage} for a word that isn't of this form.
std::optional<std::pair<int, int>> parse_abi(const std::string& abi);
std::pair<int, int> abi_version(const std::string& abi);

}  // namespace felloe
