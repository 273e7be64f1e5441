#include "ci/smoke.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ci/pyenv.h"
#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/glob.h"
#include "matrix/base/process.h"
#include "matrix/base/text.h"
#include "matrix/pep440.h"

namespace felloe {
namespace {

constexpr int kEmulationSlowdown = 10;  // of smoke.timeout_s

// Which emulator runs a wheel's code, and the oldest CPU its platform tags promise. Plain x86_64
// tags promise the psABI baseline (x86-64-v1), which qemu64 is; aarch64 ones Armv8.0-A, which a
// Cortex-A53 is.
struct ArchRow {
  const char* arch;
  const char* emulator;
  const char* oldest;
};
constexpr ArchRow kArchs[] = {
    {"x86_64", "qemu-x86_64", "qemu64"},
    {"aarch64", "qemu-aarch64", "cortex-a53"},
};

const ArchRow* find_arch(const std::string& arch) {
  for (const ArchRow& row : kArchs) {
    if (arch == row.arch) return &row;
  }
  return nullptr;
}

std::pair<int, int> minor_of(const std::string& version) {
  const auto parsed = Version::parse(version);
  if (!parsed || parsed->release().size() < 2) return {0, 0};
  return {static_cast<int>(parsed->release()[0]), static_cast<int>(parsed->release()[1])};
}

Json not_run(const SmokeCell& cell, const std::string& reason) {
  return {{"cell", cell.id},         {"python", cell.version}, {"cpu", cell.cpu},
          {"coverage", "not run"},   {"ok", nullptr},          {"reason", reason},
          {"scripts", Json::array()}};
}

// Signal names tell more than numbers: an illegal instruction is what the emulated run looks for.
std::string how_it_ended(const ProcessResult& result) {
  std::string how = result.describe();
  if (result.signal == 4) how += ", an instruction this CPU lacks";
  return how;
}

}  // namespace

std::string oldest_cpu(const std::string& arch) {
  if (const ArchRow* row = find_arch(arch)) return row->oldest;
  throw Error(ErrorKind::usage, arch, "no emulator is known for this architecture",
              "name the CPU in felloe.json#/smoke/emulate only for x86_64 and aarch64");
}

std::vector<SmokeCell> smoke_cells(const SmokeRules& rules, const std::string& arch,
                                   const HostFacts& host) {
  const auto allowed = Specifiers::parse(rules.pythons);
  if (!allowed) {
    throw Error(ErrorKind::usage, "felloe.json#/smoke/pythons",
                "not a version specifier: " + rules.pythons,
                "write it as in Requires-Python, e.g. >=3.10");
  }
  std::vector<SmokeCell> out;
  std::set<std::string> used;
  std::set<std::string> files;  // one binary under two names is one interpreter
  const auto add = [&](SmokeCell cell) {
    const std::string id = cell.id;
    for (int n = 2; !used.insert(cell.id).second; ++n) cell.id = fmt::format("{}-{}", id, n);
    out.push_back(std::move(cell));
  };
  std::map<std::pair<int, int>, SmokeCell> newest;
  for (const HostPython& python : host.python.value_or({})) {
    const auto version = Version::parse(python.version);
    if (!python.path.known() || !version || !allowed->contains(*version)) continue;
    if (python.implementation.value_or("cpython") != "cpython" ||
        python.free_threaded.value_or(false)) {
      continue;
    }
    std::error_code ec;
    const fs::path real = fs::canonical(*python.path, ec);
    if (!ec && !files.insert(real.string()).second) continue;
    const auto minor = minor_of(python.version);
    SmokeCell cell{fmt::format("cp{}{}-{}", minor.first, minor.second, python.version),
                   *python.path, python.version, ""};
    add(cell);
    auto [at, first] = newest.try_emplace(minor, cell);
    if (!first && compare_versions(at->second.version, cell.version) < 0) at->second = cell;
  }
  for (const std::string& name : rules.emulate) {
    const std::string cpu = name == "oldest" ? oldest_cpu(arch) : name;
    for (const auto& [minor, cell] : newest) {
      add({fmt::format("cp{}{}-{}-{}", minor.first, minor.second, cell.version, cpu), cell.python,
           cell.version, cpu});
    }
  }
  return out;
}

bool tags_support_python(const std::vector<std::string>& tags, int major, int minor) {
  for (const std::string& tag : tags) {
    const std::vector<std::string> parts = split(tag, '-');
    if (parts.size() != 3) continue;
    if (parts[0] == fmt::format("py{}", major) || parts[0] == fmt::format("py{}{}", major, minor)) {
      if (parts[1] == "none") return true;
      continue;
    }
    if (!parts[0].starts_with("cp")) continue;
    const std::string own = fmt::format("cp{}{}", major, minor);
    if (parts[0] == own && (parts[1] == own || parts[1] == "abi3" || parts[1] == "none"))
      return true;
    if (parts[1] != "abi3") continue;
    const auto from = parse_abi(parts[0]);
    if (from && from->first == major && from->second <= minor) return true;
  }
  return false;
}

std::vector<std::string> smoke_scripts(const SmokeRules& rules, const fs::path& root) {
  std::set<std::string> out;
  for (std::size_t i = 0; i < rules.scripts.size(); ++i) {
    const std::vector<std::string> files = glob_files(root, rules.scripts[i]);
    if (files.empty()) {
      throw Error(ErrorKind::usage, fmt::format("felloe.json#/smoke/scripts/{}", i),
                  "no file matches: " + rules.scripts[i], "patterns are relative to felloe.json");
    }
    out.insert(files.begin(), files.end());
  }
  return {out.begin(), out.end()};
}

Json run_smoke(const SmokeRequest& request) {
  const SmokeCell& cell = request.cell;
  const auto [major, minor] = minor_of(cell.version);
  if (!tags_support_python(request.tags, major, minor)) {
    return not_run(cell, fmt::format("the wheel has no tag for CPython {}.{}", major, minor));
  }
  std::vector<std::string> runner;
  if (!cell.cpu.empty()) {
    const ArchRow* row = find_arch(request.arch);
    const auto emulator = row == nullptr ? std::nullopt : find_program(row->emulator);
    if (!emulator) {
      return not_run(
          cell, fmt::format("no emulator for {} on this machine: install qemu-user", request.arch));
    }
    runner = {emulator->string(), "-cpu", cell.cpu};
  }
  const std::vector<std::string> scripts = smoke_scripts(request.rules, request.project_root);

  const fs::path home = request.work / cell.id;
  PythonEnv env;
  try {
    env = make_env(cell.python, home / "env", request.log);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted) throw;
    return not_run(cell, error.message() + (error.hint().empty() ? "" : " (" + error.hint() + ")"));
  }
  // Installing runs natively also for an emulated cell: what is looked at is the wheel, not pip.
  std::vector<std::string> wanted{request.wheel.string()};
  wanted.insert(wanted.end(), request.rules.requires_dist.begin(),
                request.rules.requires_dist.end());
  pip_install(env, wanted, request.log);

  Json results = Json::array();
  bool all = true;
  const fs::path cwd = home / "cwd";
  make_dirs(cwd);
  for (const std::string& script : scripts) {
    std::vector<std::string> argv = runner;
    // -I: neither the project's folder nor the user's site can stand in for the installed wheel.
    // -u: what it prints stands in the log at once.
    argv.insert(argv.end(),
                {env.python().string(), "-I", "-u", (request.project_root / script).string()});
    Command command = python_command(argv, request.log);
    command.cwd = cwd;
    command.unset_env.insert(command.unset_env.end(), request.rules.unset_env.begin(),
                             request.rules.unset_env.end());
    command.timeout =
        std::chrono::seconds(request.rules.timeout_s * (cell.cpu.empty() ? 1 : kEmulationSlowdown));
    const ProcessResult result = run_process(command);
    all = all && result.ok();
    Json entry{
        {"script", script}, {"ok", result.ok()}, {"how", how_it_ended(result)}, {"tail", ""}};
    // Output of a passing script may hold times, and data must not change from run to run.
    if (!result.ok()) entry["tail"] = last_lines(result.err.empty() ? result.out : result.err, 12);
    results.push_back(std::move(entry));
  }
  std::error_code ignored;
  fs::remove_all(home, ignored);
  return {{"cell", cell.id},
          {"python", cell.version},
          {"cpu", cell.cpu},
          {"coverage", cell.cpu.empty() ? "executed" : "emulated"},
          {"ok", all},
          {"reason", ""},
          {"scripts", std::move(results)}};
}

std::vector<Finding> smoke_findings(const Json& cell, const std::string& wheel) {
  std::vector<Finding> out;
  const std::string id = cell.at("cell");
  const std::string on = cell.at("cpu").get<std::string>().empty()
                             ? std::string()
                             : " on an emulated " + cell.at("cpu").get<std::string>();
  if (cell.at("coverage") == "not run") {
    Finding finding;
    finding.code = "SMOKE002";
    finding.severity = Severity::warning;
    finding.wheel = wheel;
    finding.symbol = id;
    finding.message =
        fmt::format("not run with CPython {}{}: {}", cell.at("python").get<std::string>(), on,
                    cell.at("reason").get<std::string>());
    finding.hint = "coverage of this cell is unknown";
    out.push_back(std::move(finding));
  }
  for (const Json& script : cell.at("scripts")) {
    if (script.at("ok").get<bool>()) continue;
    Finding finding;
    finding.code = "SMOKE001";
    finding.wheel = wheel;
    finding.file = script.at("script");
    finding.symbol = id;
    finding.message =
        fmt::format("fails with CPython {}{}: {}\n{}", cell.at("python").get<std::string>(), on,
                    script.at("how").get<std::string>(), script.at("tail").get<std::string>());
    finding.hint = "the whole output is in the log of this cell";
    out.push_back(std::move(finding));
  }
  return out;
}

}  // namespace felloe
