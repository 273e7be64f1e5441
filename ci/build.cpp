#include "ci/build.h"

#include <fmt/format.h>

#include "ci/toolchain.h"
#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/hash.h"
#include "matrix/base/process.h"
#include "matrix/base/text.h"

namespace felloe {
namespace {

std::string define(const std::string& name, const std::string& value) {
  return "-D" + name + "=" + value;
}

std::vector<std::string> configure_arguments(const BuildRequest& request,
                                             const ReadyToolchain& tools, const fs::path& source,
                                             const fs::path& build) {
  // No absolute path in what is compiled: the same bytes in every clone. CMake puts flags into the
  // compiler's command line as they are, so a folder with a space in its name needs quotes.
  const auto map = [](const fs::path& from, const char* to) {
    return shell_quote({"-ffile-prefix-map=" + from.string() + "=" + to});
  };
  const std::vector<std::string> maps{map(request.project.root, "."), map(request.work, "./work")};
  const auto flags = [&](std::vector<std::string> own) {
    own.insert(own.end(), maps.begin(), maps.end());
    // CMake takes quotes off a -D value that begins and ends with one; the blank keeps ours.
    return " " + join(own, " ");
  };
  std::vector<std::string> abis;
  for (const BuildAbi& abi : request.abis) {
    abis.push_back(abi.abi);
    abis.push_back(self_contained_headers(abi.headers.include, request.target.arch,
                                          request.work / "python-headers" /
                                              (abi.headers.version + "-" + request.target.arch))
                       .string());
  }
  std::vector<std::string> argv{"cmake",
                                "-G",
                                "Ninja",
                                "-S",
                                source.string(),
                                "-B",
                                build.string(),
                                define("CMAKE_BUILD_TYPE", "Release"),
                                define("CMAKE_C_COMPILER", tools.cc.string()),
                                define("CMAKE_CXX_COMPILER", tools.cxx.string()),
                                define("CMAKE_C_FLAGS", flags(tools.c_flags)),
                                define("CMAKE_CXX_FLAGS", flags(tools.cxx_flags)),
                                define("FELLOE_VERSION", request.version),
                                define("FELLOE_PYTHON_ABIS", join(abis, ";")),
                                define("FELLOE_BUILD_PYTHON", request.env.python().string())};
  for (const char* kind : {"SHARED", "MODULE", "EXE"}) {
    argv.push_back(define(fmt::format("CMAKE_{}_LINKER_FLAGS", kind), join(tools.link_flags, " ")));
  }
  if (!tools.ar.empty()) argv.push_back(define("CMAKE_AR", tools.ar.string()));
  if (!tools.ranlib.empty()) argv.push_back(define("CMAKE_RANLIB", tools.ranlib.string()));
  std::map<std::string, std::string> own = request.project.source.define;
  for (const auto& [name, value] : request.target.define) own[name] = value;
  for (const auto& [name, value] : own) argv.push_back(define(name, value));
  return argv;
}

}  // namespace

BuildAbis find_build_abis(const Target& target, const HostFacts& host, const fs::path& project) {
  BuildAbis out;
  for (const std::string& abi : target.python_abis) {
    if (abi == "none") continue;  // a wheel without extension modules
    const auto headers = find_headers(abi, host, project);
    if (!headers) {
      const auto [major, minor] = abi_version(abi);
      throw Error(
          ErrorKind::environment, abi,
          fmt::format("no headers of CPython {}.{}{} on this machine (looked at {} interpreters, "
                      "$FELLOE_PYTHON_HEADERS and {})",
                      major, minor, abi.ends_with("-abi3") ? " or newer" : "",
                      host.python.value_or({}).size(), (project / "build/python-headers").string()),
          fmt::format("set FELLOE_PYTHON_HEADERS=DIR, where DIR/{}.{}/Python.h is", major, minor));
    }
    out.found.push_back({abi, *headers});
  }
  for (const std::string& abi : target.optional_abis) {
    if (const auto headers = find_headers(abi, host, project)) {
      out.found.push_back({abi, *headers});
    } else {
      out.missing.push_back(abi);
    }
  }
  return out;
}

fs::path build_tree(const BuildRequest& request) {
  const auto toolchain = request.project.toolchains.find(request.target.toolchain);
  if (toolchain == request.project.toolchains.end()) {
    throw Error(ErrorKind::usage, "felloe.json#/targets/" + request.target.name + "/toolchain",
                "no toolchain of this name: " + request.target.toolchain, "see `toolchains` there");
  }
  const ReadyToolchain tools = make_toolchain(toolchain->second, request.env,
                                              request.work / "toolchain", request.work / "cache");
  const fs::path source = fs::weakly_canonical(request.project.root / request.project.source.cmake);
  const fs::path build = request.work / "cmake" / request.target.name;
  const fs::path tree = request.work / "tree" / request.target.name;

  const auto run = [&](std::vector<std::string> argv) {
    Command command;
    command.argv = std::move(argv);
    command.set_env = tools.env;
    command.set_env["SOURCE_DATE_EPOCH"] = std::to_string(request.source_date_epoch);
    command.set_env["DESTDIR"] = "";
    command.log = request.log;
    run_checked(command, "the whole output is in " + request.log.string());
  };

  // A build folder that was configured otherwise can't be trusted to take new settings: compilers
  // and flags stick in CMake's cache.
  const std::vector<std::string> configure = configure_arguments(request, tools, source, build);
  const fs::path stamp = build / "felloe-configure";
  const std::string key = sha256_hex(shell_quote(configure));
  std::error_code ec;
  if (read_file_or_empty(stamp) != key) fs::remove_all(build, ec);
  run(configure);
  write_file(stamp, key);
  run({"cmake", "--build", build.string(), "-j", std::to_string(request.jobs)});
  fs::remove_all(tree, ec);
  run({"cmake", "--install", build.string(), "--prefix", tree.string(), "--component",
       request.project.source.component});
  if (!fs::is_directory(tree, ec) || list_files(tree).empty()) {
    throw Error(ErrorKind::input, source.string(),
                "the install component `" + request.project.source.component + "` is empty",
                "add install(... COMPONENT " + request.project.source.component +
                    ") rules, or name another one in felloe.json#/source/component");
  }
  return tree;
}

}  // namespace felloe
