#include "ci/pyenv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/text.h"

namespace felloe {
namespace {

// What pip, urllib3 and the C library say when nothing answers.
constexpr const char* kNoNetwork[] = {"Failed to establish a new connection",
                                      "NewConnectionError",
                                      "ProxyError",
                                      "Temporary failure in name resolution",
                                      "Name or service not known",
                                      "Network is unreachable",
                                      "Connection refused",
                                      "ConnectTimeoutError",
                                      "Cannot connect to proxy"};

bool says_no_network(const std::string& text) {
  return std::any_of(std::begin(kNoNetwork), std::end(kNoNetwork),
                     [&](const char* words) { return text.find(words) != std::string::npos; });
}

// The include folder an interpreter reports, if it has Python.h; nothing for a broken interpreter.
std::optional<fs::path> include_of(const fs::path& python) {
  Command command = python_command(
      {python.string(), "-I", "-S", "-c", "import sysconfig; print(sysconfig.get_path('include'))"},
      {});
  command.timeout = std::chrono::seconds(20);
  const ProcessResult result = run_process(command);
  if (!result.ok()) return std::nullopt;
  const fs::path folder{std::string(trim(result.out))};
  std::error_code ec;
  if (folder.empty() || !fs::is_regular_file(folder / "Python.h", ec)) return std::nullopt;
  return folder;
}

bool parse_int(std::string_view text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

Command python_command(std::vector<std::string> argv, const fs::path& log) {
  Command command;
  command.argv = std::move(argv);
  command.unset_env = {"PYTHON*", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__"};
  command.set_env = {{"PYTHONNOUSERSITE", "1"},
                     {"PYTHONDONTWRITEBYTECODE", "1"},
                     {"PIP_DISABLE_PIP_VERSION_CHECK", "1"},
                     {"PIP_NO_INPUT", "1"},
                     {"PYTHONUNBUFFERED", "1"}};  // its lines are in the log at once
  command.log = log;
  return command;
}

PythonEnv make_env(const fs::path& python, const fs::path& folder, const fs::path& log) {
  std::error_code ec;
  fs::remove_all(folder, ec);
  make_dirs(folder.parent_path());
  const ProcessResult made =
      run_process(python_command({python.string(), "-m", "venv", folder.string()}, log));
  if (!made.ok()) {
    const std::string text = made.out + made.err;
    const bool split_off = text.find("ensurepip") != std::string::npos;
    throw Error(ErrorKind::environment, python.string(),
                fmt::format("cannot make a virtual environment: {}\n{}", made.describe(),
                            last_lines(text, 6)),
                split_off ? "install the package python3-venv" : "is this Python complete?");
  }
  return {folder};
}

void pip_install(const PythonEnv& env, const std::vector<std::string>& requirements,
                 const fs::path& log) {
  if (requirements.empty()) return;
  std::vector<std::string> argv{env.python().string(), "-m", "pip", "install", "--no-compile"};
  argv.insert(argv.end(), requirements.begin(), requirements.end());
  const ProcessResult result = run_process(python_command(argv, log));
  if (result.ok()) return;
  const std::string text = result.out + result.err;
  const std::string tail = last_lines(result.err.empty() ? result.out : result.err, 8);
  if (says_no_network(text)) {
    throw Error(ErrorKind::environment, "pip",
                "no network: pip can't reach the package index\n" + tail,
                "check the network and the proxy settings, or point PIP_INDEX_URL at a mirror");
  }
  throw Error(
      ErrorKind::child, "pip",
      fmt::format("cannot install {}: {}\n{}", join(requirements, " "), result.describe(), tail),
      text.find("(from versions: none)") != std::string::npos
          ? "is the name right, and does the package index answer here?"
          : "the whole output is in the step's log");
}

std::optional<std::pair<int, int>> parse_abi(const std::string& abi) {
  const std::string digits = split(abi, '-').front();
  int major = 0, minor = 0;
  if (!digits.starts_with("cp") || digits.size() < 4 ||
      !parse_int(std::string_view(digits).substr(2, 1), major) ||
      !parse_int(std::string_view(digits).substr(3), minor)) {
    return std::nullopt;
  }
  return std::pair(major, minor);
}

std::pair<int, int> abi_version(const std::string& abi) {
  if (const auto version = parse_abi(abi)) return *version;
  throw Error(ErrorKind::usage, abi, "not a Python ABI",
              "write cp311 for one version or cp312-abi3 for the stable ABI from 3.12 on");
}

fs::path self_contained_headers(const fs::path& include, const std::string& arch,
                                const fs::path& into) {
  const std::string own = read_file_or_empty(include / "pyconfig.h");
  const std::string forwarded = arch + "-linux-gnu/" + include.filename().string() + "/pyconfig.h";
  if (own.find("<" + forwarded + ">") == std::string::npos) return include;
  const fs::path real = include.parent_path() / forwarded;
  std::error_code ec;
  if (!fs::is_regular_file(real, ec)) {
    throw Error(ErrorKind::environment, real.string(),
                "no such file, but " + (include / "pyconfig.h").string() + " forwards to it",
                "install the package lib" + include.filename().string() + "-dev for " + arch);
  }
  // Kept if it is of the same Python: a new copy would rebuild what includes it.
  const auto same = [&](const fs::path& a, const fs::path& b) {
    const std::string text = read_file_or_empty(a);
    return !text.empty() && text == read_file_or_empty(b);
  };
  if (same(into / "pyconfig.h", real) && same(into / "patchlevel.h", include / "patchlevel.h")) {
    return into;
  }
  const fs::path fresh = into.string() + ".new";
  fs::remove_all(fresh, ec);
  make_dirs(fresh.parent_path());
  fs::copy(include, fresh, fs::copy_options::recursive);
  fs::copy_file(real, fresh / "pyconfig.h", fs::copy_options::overwrite_existing);
  fs::remove_all(into, ec);
  fs::rename(fresh, into);
  return into;
}

std::optional<PythonHeaders> find_headers(const std::string& abi, const HostFacts& host,
                                          const fs::path& project) {
  const auto wanted = abi_version(abi);
  const bool stable = abi.ends_with("-abi3");
  const auto fits = [&](std::pair<int, int> have) {
    return stable ? have.first == wanted.first && have >= wanted : have == wanted;
  };
  // Version -> where to look; the lowest fitting version first, an interpreter before bare headers.
  std::vector<std::pair<std::pair<int, int>, fs::path>> pythons, folders;
  for (const HostPython& python : host.python.value_or({})) {
    const std::vector<std::string> parts = split(python.version, '.');
    std::pair<int, int> version{0, 0};
    if (parts.size() < 2 || !parse_int(parts[0], version.first) ||
        !parse_int(parts[1], version.second)) {
      continue;
    }
    const bool cpython = python.implementation.value_or("cpython") == "cpython";
    if (python.path.known() && cpython && !python.free_threaded.value_or(false) && fits(version)) {
      pythons.emplace_back(version, *python.path);
    }
  }
  const char* extra = std::getenv("FELLOE_PYTHON_HEADERS");
  std::vector<std::string> roots = split(extra == nullptr ? "" : extra, ':');
  if (!project.empty()) roots.push_back((project / "build/python-headers").string());
  for (const std::string& root : roots) {
    std::error_code ec;
    if (root.empty() || !fs::is_directory(root, ec)) continue;
    for (const auto& entry : fs::directory_iterator(root, ec)) {
      const std::vector<std::string> parts = split(entry.path().filename().string(), '.');
      std::pair<int, int> version{0, 0};
      if (parts.size() == 2 && parse_int(parts[0], version.first) &&
          parse_int(parts[1], version.second) && fits(version) &&
          fs::is_regular_file(entry.path() / "Python.h", ec)) {
        folders.emplace_back(version, entry.path());
      }
    }
  }
  std::sort(pythons.begin(), pythons.end());
  std::sort(folders.begin(), folders.end());
  const auto named = [](std::pair<int, int> v) { return fmt::format("{}.{}", v.first, v.second); };
  for (const auto& [version, python] : pythons) {
    if (const auto include = include_of(python)) return PythonHeaders{*include, named(version)};
  }
  if (!folders.empty()) return PythonHeaders{folders.front().second, named(folders.front().first)};
  return std::nullopt;
}

}  // namespace felloe
