// `felloe init`: a commented felloe.json for a CMake project, to be edited.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "ci/pyenv.h"
#include "cli/commands.h"
#include "cli/printer.h"
#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/text.h"
#include "matrix/cmake_project.h"
#include "matrix/pep440.h"
#include "matrix/project.h"
#include "probe/probe.h"

namespace felloe {
namespace {

struct InitArgs {
  std::string folder = ".";
  std::string name;
  bool force = false;
};

std::string quoted(const std::string& text) { return dump_json_compact(Json(text)); }

// The value of `version`: a file that holds it, or the number CMake has.
std::string version_value(const fs::path& folder, const CMakeProject& cmake) {
  if (!trim(read_file_or_empty(folder / "VERSION", 4096)).empty()) return R"({"file": "VERSION"})";
  return quoted(cmake.version.empty() ? "0.1.0" : cmake.version);
}

std::string file_if_there(const fs::path& folder, const char* key, const char* file, bool list) {
  std::error_code ec;
  if (!fs::exists(folder / file, ec)) return "";
  return list ? fmt::format("    \"{}\": [\"{}\"],\n", key, file)
              : fmt::format("    \"{}\": \"{}\",\n", key, file);
}

// Whether any CMake file of the project makes a Python module. Hidden folders and those that CMake
// built in don't belong to it.
bool has_python_module(const fs::path& folder) {
  std::error_code ec, ignored;
  auto at =
      fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, ec);
  for (; !ec && at != fs::recursive_directory_iterator(); at.increment(ec)) {
    const fs::path& path = at->path();
    const std::string name = path.filename().string();
    if (at->is_directory(ignored)) {
      if (name.starts_with('.') || name == "build" || fs::exists(path / "CMakeCache.txt", ignored))
        at.disable_recursion_pending();
    } else if ((name == "CMakeLists.txt" || path.extension() == ".cmake") &&
               makes_python_module(read_file_or_empty(path))) {
      return true;
    }
  }
  return false;
}

// What this machine can build: the stable ABI, else the newest CPython with headers. Where there
// are none, the stable ABI all the same: building says what is missing.
std::string python_abi(const fs::path& folder) {
  if (!has_python_module(folder)) return "none";
  const HostFacts host = probe_host({});
  const std::string stable = "cp312-abi3";
  if (find_headers(stable, host, folder)) return stable;
  for (const char* abi : {"cp311", "cp310"}) {
    if (find_headers(abi, host, folder)) return abi;
  }
  return stable;
}

std::string document(const fs::path& folder, const std::string& name, const std::string& version,
                     const std::string& arch, const std::string& abi) {
  return fmt::format(
      R"(// What felloe builds here. Every key: docs/felloe-json.md of felloe. Comments are allowed.
{{
  // The project's name on PyPI.
  "name": {name},
  // "1.2.0", or {{"file": "VERSION"}}. Nightlies get .devYYYYMMDD, targets +cpu, +cu126, ...
  "version": {version},

  "source": {{
    // Folder of the top CMakeLists.txt. It is configured with
    //   FELLOE_PYTHON_ABIS  a list of pairs: ABI, folder of its headers
    //   FELLOE_VERSION      the version of the wheel
    "cmake": ".",
    // install(... COMPONENT wheel): what goes into the wheel, laid out as in site-packages.
    "component": "wheel",
    // -D options of the build.
    "define": {{}},
    // PyPI packages that the build needs, pinned: "nanobind==3.1.0".
    "build_requires": []
  }},

  "package": {{
    "summary": "",
    // "license_expression": "MIT",
{readme}{license}    "requires_python": ">=3.10"
  }},

  "toolchains": {{
    // "zig": a cross compiler from PyPI; the number is the lowest glibc the wheel runs on.
    "zig-{arch}": {{"kind": "zig", "zig_target": "{arch}-linux-gnu.2.17"}}
    // "gcc": {{"kind": "system", "cc": "gcc", "cxx": "g++"}}
  }},

  "targets": {{
    // ARCH-ACCELERATOR: x86_64 or aarch64; cpu, cu126, cu130, ...
    "{arch}-cpu": {{
      "arch": "{arch}",
      "accelerator": "cpu",
      // Python ABIs that must be built: "cp311" serves CPython 3.11, "cp312-abi3" 3.12 and newer,
      // "none" is for a wheel without extension modules.
      "python_abis": ["{abi}"],
      // Built where this machine has their headers, reported where not.
      "optional_abis": [],
      "toolchain": "zig-{arch}"
    }}
  }},

  "smoke": {{
    // Run in a fresh environment of each Python found, with the wheel installed.
    "scripts": [],
    "pythons": ">=3.10",
    // Run again on emulated CPUs: "oldest" is what the wheel's tag promises.
    "emulate": ["oldest"],
    "timeout_s": 300
  }},

  "publish": {{
    // Append +cpu, +cu126, ... to the version.
    "local_version": true
  }}
}}
)",
      fmt::arg("name", quoted(name)), fmt::arg("version", version), fmt::arg("arch", arch),
      fmt::arg("abi", abi),
      fmt::arg("readme", file_if_there(folder, "description_file", "README.md", false)),
      fmt::arg("license", file_if_there(folder, "license_files", "LICENSE", true)));
}

std::string project_name(const InitArgs& args, const CMakeProject& cmake, const fs::path& lists) {
  const std::string name = args.name.empty() ? cmake.name : args.name;
  if (name.empty()) {
    throw Error(ErrorKind::usage, lists.string(), "no project() command with a plain name",
                "name the project with --name");
  }
  if (!valid_name(name)) {
    throw Error(ErrorKind::usage, lists.string(), "not a name for a Python package: " + name,
                "name the project with --name: letters, digits, and . _ - between them");
  }
  return name;
}

Outcome run(const InitArgs& args) {
  const fs::path folder(args.folder);
  const fs::path lists = folder / "CMakeLists.txt";
  const fs::path target = folder / "felloe.json";
  std::error_code ec;
  if (!fs::exists(lists, ec) && !ec) {
    throw Error(ErrorKind::usage, lists.string(), "no such file",
                "run felloe init in the folder of a CMake project, or name it with --project");
  }
  if (fs::exists(target, ec) && !args.force) {
    throw Error(ErrorKind::usage, target.string(), "exists already",
                "edit it, or replace it with --force");
  }
  const CMakeProject cmake = read_cmake_project(read_file(lists, 16u << 20));
  const std::string name = project_name(args, cmake, lists);
  utsname machine{};
  ::uname(&machine);
  const std::string arch = machine.machine;
  write_file(target,
             document(folder, name, version_value(folder, cmake), arch, python_abi(folder)));
  const Project project = load_project(target);
  return {envelope("init", true, {},
                   Json{{"file", target.lexically_normal().string()},
                        {"project", project.name},
                        {"version", project.version},
                        {"targets", Json::array({arch + "-cpu"})}})};
}

void render(const Json& body, Printer& out) {
  const Json& data = body.at("data");
  out.line(fmt::format("wrote {} for {} {}", data.at("file").get<std::string>(),
                       data.at("project").get<std::string>(),
                       data.at("version").get<std::string>()));
  out.line("next: edit it, then `felloe matrix` and `felloe nightly`");
}

}  // namespace

Subcommand init_command() {
  return {"init", "write a commented felloe.json for a CMake project",
          [](CLI::App& app) -> std::function<Outcome()> {
            const auto args = std::make_shared<InitArgs>();
            app.add_option("--project", args->folder, "folder of the project's CMakeLists.txt")
                ->capture_default_str();
            app.add_option("--name", args->name, "name on PyPI; without it, that of project()");
            app.add_flag("--force", args->force, "replace a felloe.json that is there");
            return [args] { return run(*args); };
          },
          render};
}

}  // namespace felloe
