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
#include "packaging/wheel/archive.h"
#include "packaging/wheel/python_tags.h"

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

// Qemu alone knows its CPUs. Any program will do: the CPU is made before the program is loaded.
void require_cpu(const ArchRow& row, const std::string& cpu) {
  const auto emulator = find_program(row.emulator);
  if (!emulator) return;  // the cells say so
  Command command;
  command.argv = {emulator->string(), "-cpu", cpu, "/bin/true"};
  command.timeout = std::chrono::seconds(20);
  const ProcessResult result = run_process(command);
  if (result.ok() || result.err.find("find CPU model") == std::string::npos) return;
  throw Error(ErrorKind::usage, cpu, "unknown CPU: " + std::string(trim(result.err)),
              fmt::format("`{} -cpu help` lists them; `oldest` is {}", row.emulator, row.oldest));
}

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// One command under the interpreter of the cell, on its CPU.
Json run_script(const SmokeRequest& request, const std::string& name,
                const std::vector<std::string>& argv, const fs::path& cwd) {
  Command command = python_command(argv, request.log);
  command.cwd = cwd;
  command.unset_env.insert(command.unset_env.end(), request.rules.unset_env.begin(),
                           request.rules.unset_env.end());
  command.timeout = std::chrono::seconds(request.rules.timeout_s *
                                         (request.cell.cpu.empty() ? 1 : kEmulationSlowdown));
  const ProcessResult result = run_process(command);
  Json entry{{"script", name}, {"ok", result.ok()}, {"how", how_it_ended(result)}, {"tail", ""}};
  // Output of a passing script may hold times, and data must not change from run to run.
  if (!result.ok()) entry["tail"] = last_lines(result.err.empty() ? result.out : result.err, 12);
  return entry;
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
    if (const ArchRow* row = find_arch(arch)) require_cpu(*row, cpu);
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

std::vector<std::string> importable_modules(const fs::path& wheel) {
  const WheelArchive archive = open_wheel(wheel);
  std::set<std::string> out;
  for (const ZipEntry& entry : archive.zip.entries()) {
    std::vector<std::string> parts = split(entry.name, '/');
    // NAME-VERSION.data/purelib and platlib land beside the rest.
    if (parts.size() > 2 && parts[0].ends_with(".data") &&
        (parts[1] == "purelib" || parts[1] == "platlib")) {
      parts.erase(parts.begin(), parts.begin() + 2);
    }
    std::string name;
    if (parts.size() == 2 && parts[1] == "__init__.py") {
      name = parts[0];
    } else if (parts.size() == 1 && parts[0].ends_with(".py")) {
      name = parts[0].substr(0, parts[0].size() - 3);
    } else if (parts.size() == 1) {
      const auto suffix = parse_module_suffix(parts[0]);
      // Without a tag it may be a mere library: a module exports its PyInit function.
      if (!suffix || (suffix->kind == ModuleSuffix::Kind::none &&
                      archive.zip.read(entry).text().find("PyInit_" + suffix->stem) ==
                          std::string_view::npos)) {
        continue;
      }
      name = suffix->stem;
    }
    if (is_identifier(name) && name != "__main__") out.insert(name);
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
  const std::vector<std::string> modules =
      scripts.empty() ? importable_modules(request.wheel) : std::vector<std::string>();
  if (scripts.empty() && modules.empty()) {
    return not_run(cell, "no smoke scripts, and nothing in the wheel to import");
  }

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

  const fs::path cwd = home / "cwd";
  make_dirs(cwd);
  // -I: neither the project's folder nor the user's site can stand in for the installed wheel.
  // -u: what it prints stands in the log at once.
  std::vector<std::string> interpreter = runner;
  interpreter.insert(interpreter.end(), {env.python().string(), "-I", "-u"});
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), interpreter.begin(), interpreter.end());
    return more;
  };
  Json results = Json::array();
  for (const std::string& script : scripts) {
    results.push_back(
        run_script(request, script, with({(request.project_root / script).string()}), cwd));
  }
  for (const std::string& module : modules) {
    const std::string import = "import " + module;
    results.push_back(run_script(request, import, with({"-c", import}), cwd));
  }
  const bool all = std::all_of(results.begin(), results.end(),
                               [](const Json& entry) { return entry.at("ok").get<bool>(); });
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
