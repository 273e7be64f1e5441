#include "ci/toolchain.h"

#include <algorithm>

#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/process.h"
#include "matrix/base/text.h"

namespace felloe {
namespace {

constexpr const char* kZig = "ziglang==0.17.1";  // used where the project pins none

// Debian's package for a program, for the hint.
std::string package_of(const std::string& program) {
  static const std::pair<const char*, const char*> known[] = {
      {"gcc", "gcc"},     {"g++", "g++"},       {"cc", "gcc"},      {"c++", "g++"},
      {"clang", "clang"}, {"clang++", "clang"}, {"cmake", "cmake"}, {"ninja", "ninja-build"}};
  for (const auto& [name, package] : known) {
    if (program == name) return package;
  }
  return program;
}

// The first line of `PROGRAM --version`.
std::string version_of(const std::string& program, const std::string& needed_by) {
  Command command;
  command.argv = {program, "--version"};
  const ProcessResult result = run_process(command);
  if (!result.started) {
    throw Error(ErrorKind::environment, program, "program not found, but needed by " + needed_by,
                "install it: apt-get install " + package_of(program));
  }
  const std::vector<std::string> lines = split_lines(result.out);
  if (!result.ok() || lines.empty()) {
    throw Error(ErrorKind::environment, program,
                "`" + program + " --version` fails: " + result.describe(),
                "is it complete? reinstall it: apt-get install --reinstall " + package_of(program));
  }
  return lines.front();
}

void write_wrapper(const fs::path& path, const std::vector<std::string>& argv) {
  write_file_if_changed(path, "#!/bin/sh\nexec " + shell_quote(argv) + " \"$@\"\n", 0755);
}

fs::path find_zig(const PythonEnv& env) {
  const ProcessResult result = run_checked(python_command(
      {env.python().string(), "-c", "import ziglang, os; print(os.path.dirname(ziglang.__file__))"},
      {}));
  return fs::path(std::string(trim(result.out))) / "zig";
}

}  // namespace

std::vector<std::string> toolchain_requirements(const Toolchain& toolchain,
                                                const SourceRules& source) {
  if (toolchain.kind != "zig") return {};
  const bool pinned = std::any_of(source.build_requires.begin(), source.build_requires.end(),
                                  [](const std::string& r) { return r.starts_with("ziglang"); });
  return pinned ? std::vector<std::string>{} : std::vector<std::string>{kZig};
}

Json toolchain_identity(const Toolchain& toolchain, const SourceRules& source) {
  Json out{{"name", toolchain.name},
           {"kind", toolchain.kind},
           {"cmake", version_of("cmake", "every build")},
           {"ninja", version_of("ninja", "every build")},
           {"c_flags", toolchain.c_flags},
           {"cxx_flags", toolchain.cxx_flags},
           {"link_flags", toolchain.link_flags}};
  if (toolchain.kind == "zig") {
    out["target"] = toolchain.zig_target;
    out["requires"] = toolchain_requirements(toolchain, source);
  } else {
    const std::string by = "toolchain " + toolchain.name + " of felloe.json";
    out["cc"] = version_of(toolchain.cc, by);
    out["cxx"] = version_of(toolchain.cxx, by);
  }
  return out;
}

ReadyToolchain make_toolchain(const Toolchain& toolchain, const PythonEnv& env,
                              const fs::path& folder, const fs::path& cache) {
  ReadyToolchain out;
  out.c_flags = toolchain.c_flags;
  out.cxx_flags = toolchain.cxx_flags;
  out.link_flags = toolchain.link_flags;
  if (toolchain.kind != "zig") {
    out.cc = find_program(toolchain.cc).value_or(toolchain.cc);
    out.cxx = find_program(toolchain.cxx).value_or(toolchain.cxx);
    return out;
  }
  const std::string zig = find_zig(env).string();
  const fs::path wrappers = folder / ("zig-" + toolchain.zig_target);
  out.cc = wrappers / "cc";
  out.cxx = wrappers / "c++";
  out.ar = wrappers / "ar";
  out.ranlib = wrappers / "ranlib";
  write_wrapper(out.cc, {zig, "cc", "-target", toolchain.zig_target});
  write_wrapper(out.cxx, {zig, "c++", "-target", toolchain.zig_target});
  write_wrapper(out.ar, {zig, "ar"});
  write_wrapper(out.ranlib, {zig, "ranlib"});
  // Its libc and libc++ are compiled once per target and kept here, not in a home folder.
  out.env = {{"ZIG_GLOBAL_CACHE_DIR", (cache / "zig").string()},
             {"ZIG_LOCAL_CACHE_DIR", (cache / "zig-local").string()}};
  return out;
}

}  // namespace felloe
