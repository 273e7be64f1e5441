// Does the wheel install and work? One cell per interpreter and CPU: a fresh environment, the wheel
// with its dependencies, the project's smoke scripts; where there are none, an import of what the
// wheel has. What a cell found is data; coverage says how it was found: executed on this CPU,
// emulated, or not run and why.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "matrix/facts.h"
#include "matrix/finding.h"
#include "matrix/project.h"

namespace felloe {

struct SmokeCell {
  std::string id;       // "cp311-3.11.7", "cp311-3.11.7-qemu64"
  std::string python;   // path of the interpreter
  std::string version;  // "3.11.7"
  std::string cpu;      // qemu's -cpu name; empty: this machine's own
};

// Every CPython of `host` that smoke.pythons allows, natively; and one of each minor version for
// each CPU of smoke.emulate ("oldest": what a wheel for `arch` promises to run on). Throws
// Error{usage} with qemu's words for a CPU that it doesn't know.
std::vector<SmokeCell> smoke_cells(const SmokeRules& rules, const std::string& arch,
                                   const HostFacts& host);

// The oldest CPU that the platform tags of this architecture promise, as a qemu -cpu name. Throws
// Error{usage} for an architecture without a row.
std::string oldest_cpu(const std::string& arch);

// Whether pip of CPython major.minor accepts one of these expanded tags ("cp312-abi3-PLATFORM"), as
// far as the interpreter decides.
bool tags_support_python(const std::vector<std::string>& tags, int major, int minor);

// What a wheel lets one import, sorted: its top-level packages, .py files and extension modules.
std::vector<std::string> importable_modules(const std::filesystem::path& wheel);

struct SmokeRequest {
  std::filesystem::path wheel;
  std::vector<std::string> tags;  // expanded, of the wheel
  std::string arch;               // what the wheel's code is for
  const SmokeRules& rules;
  std::filesystem::path project_root;  // smoke.scripts are relative to it
  SmokeCell cell;
  std::filesystem::path work;  // the environment is made below and removed afterwards
  std::filesystem::path log;
};

// {"cell", "python", "cpu", "coverage": "executed"|"emulated"|"not run", "ok": bool, "reason",
//  "scripts": [{"script", "ok", "how", "tail"}]}; "ok" is null where nothing was run; an
// import in place of scripts is the script "import NAME". Throws
// Error{environment} without network, Error{child} if pip fails otherwise, Error{usage} if
// smoke.scripts match no file.
Json run_smoke(const SmokeRequest& request);

// A failing script is an error SMOKE001, a cell that was not run a warning SMOKE002.
std::vector<Finding> smoke_findings(const Json& cell, const std::string& wheel);

// Files that match smoke.scripts, sorted, as paths relative to the project.
std::vector<std::string> smoke_scripts(const SmokeRules& rules, const std::filesystem::path& root);

}  // namespace felloe
