// felloe.json as a value: what a project builds, for which targets, and how it is tested and
// published. docs/schema/felloe.schema.json is the same in JSON Schema; `felloe init` writes a
// commented one. To add a key: a field here, a row in the key table of project.cpp, the schema.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "matrix/base/json.h"

namespace felloe {

// How one compiler is called. kind "zig": PyPI's ziglang, cross and with a glibc floor;
// kind "system": the named programs from PATH.
struct Toolchain {
  std::string name;
  std::string kind;        // "zig" or "system"
  std::string zig_target;  // zig: e.g. "x86_64-linux-gnu.2.17"
  std::string cc, cxx;     // system: program names
  std::vector<std::string> c_flags, cxx_flags, link_flags;
};

// One cell of the matrix: `arch`-`accelerator`, e.g. "x86_64-cpu".
struct Target {
  std::string name;
  std::string arch;                      // "x86_64", "aarch64"
  std::string accelerator;               // "cpu", "cu126", "cu130"
  std::vector<std::string> sm;           // GPU architectures, empty for cpu
  std::vector<std::string> python_abis;  // modules that must be built, e.g. "cp311", "cp312-abi3"
  std::vector<std::string>
      optional_abis;      // built where this machine has the headers; else reported
  std::string toolchain;  // key of Project::toolchains
  std::map<std::string, std::string> define;  // CMake -D of this cell
};

struct PackageInfo {  // METADATA (core metadata 2.4)
  std::string summary, description_file, license_expression, requires_python, author, author_email;
  std::vector<std::string> license_files, requires_dist, keywords, classifiers;
  std::map<std::string, std::vector<std::string>> extras;
  std::map<std::string, std::string> urls, entry_points;  // console scripts
};

struct SmokeRules {
  std::vector<std::string> scripts;        // globs relative to the project, run with each Python
  std::string pythons = ">=3.10";          // PEP 440 specifier over CPythons found on the host
  std::vector<std::string> requires_dist;  // installed besides the wheel, from the index
  std::vector<std::string> emulate;        // qemu -cpu names; "oldest" is what the tag promises
  std::vector<std::string> unset_env;      // variables removed for every run, "PREFIX_*" allowed
  int timeout_s = 300;
};

struct PublishRules {
  std::string base_url;       // empty: relative links
  bool local_version = true;  // append +cpu/+cu126/+cu130
};

struct SourceRules {
  std::string cmake = ".";          // folder of the CMake project, relative to felloe.json
  std::string component = "wheel";  // `cmake --install --component`
  std::map<std::string, std::string> define;
  std::vector<std::string>
      build_requires;               // PyPI requirements of the build, pinned (name==version)
  std::vector<std::string> inputs;  // globs that the build reads; empty: every tracked file
};

struct Project {
  std::filesystem::path root;  // folder of felloe.json
  std::string file;            // its name: felloe.json, or what --project says
  std::string name;            // PyPI name
  std::string version;         // X.Y.Z, resolved when it came from a file
  PackageInfo package;
  SourceRules source;
  std::map<std::string, Target> targets;
  std::map<std::string, Toolchain> toolchains;
  SmokeRules smoke;
  PublishRules publish;
  Json raw;  // as written, without comments
};

// Reads and checks a felloe.json (or the one in a folder). Throws Error{usage} with the JSON path;
// an unknown key names the nearest valid one.
Project load_project(const std::filesystem::path& path);

// Throws Error{usage} with the nearest name and the list.
const Target& find_target(const Project& project, const std::string& name);

// The cell for this machine: "<arch>-cpu". Throws Error{usage} if the project has none.
const Target& host_target(const Project& project);

// "0.1.0", nightly: "0.1.0.dev20261130" (`date` is YYYYMMDD, UTC), plus "+cpu" by
// publish.local_version.
std::string wheel_version(const Project& project, const Target& target,
                          const std::optional<std::string>& nightly_date);

}  // namespace felloe
