// `felloe smoke WHEEL`: install it into fresh environments and run the project's smoke scripts.
#include <memory>

#include "ci/smoke.h"
#include "cli/commands.h"
#include "cli/printer.h"
#include "cli/stop.h"
#include "matrix/base/fs.h"
#include "matrix/base/text.h"
#include "matrix/project.h"
#include "packaging/wheel/filename.h"
#include "probe/probe.h"

namespace felloe {
namespace {

struct SmokeOptions {
  std::string wheel, project = ".", log;
  std::vector<std::string> cpus, pythons;
  bool only_native = false;
};

HostPython named_python(const HostFacts& host, const std::string& name) {
  std::vector<std::string> known;
  std::error_code ec;
  for (const HostPython& python : host.python.value_or({})) {
    if (!python.path.known()) continue;
    known.push_back(*python.path);
    if (fs::equivalent(*python.path, name, ec) || python.version == name) return python;
  }
  throw Error(ErrorKind::usage, "--python", "no such CPython on this machine: " + name,
              "known here: " + join(known, ", "));
}

Outcome run(const SmokeOptions& options) {
  catch_stop_signals();
  Project project = load_project(options.project);
  project.root = fs::canonical(project.root);
  if (options.only_native) project.smoke.emulate.clear();
  if (!options.cpus.empty()) project.smoke.emulate = options.cpus;
  HostFacts host = probe_host({});
  if (!options.pythons.empty()) {
    std::vector<HostPython> chosen;
    for (const std::string& name : options.pythons) chosen.push_back(named_python(host, name));
    host.python = chosen;
  }
  const fs::path wheel = fs::absolute(options.wheel);
  static_cast<void>(MappedFile(wheel));  // a missing file, a folder, a pipe: says which
  const WheelName name = parse_wheel_filename(wheel.filename().string());
  const TempDir work;
  const fs::path log = options.log.empty() ? work.path() / "log" : fs::absolute(options.log);
  Json cells = Json::array();
  std::vector<Finding> findings;
  for (const SmokeCell& cell : smoke_cells(project.smoke, host.cpu.machine, host)) {
    status().progress("smoke " + cell.id);
    Json result = run_smoke({.wheel = wheel,
                             .tags = name.tags(),
                             .arch = host.cpu.machine,
                             .rules = project.smoke,
                             .project_root = project.root,
                             .cell = cell,
                             .work = work.path() / "smoke",
                             .log = log});
    for (Finding& finding : smoke_findings(result, wheel.filename().string())) {
      findings.push_back(std::move(finding));
    }
    cells.push_back(std::move(result));
  }
  status().progress("");
  bool any = false, ok = true;
  for (const Json& cell : cells) {
    if (cell.at("ok").is_null()) continue;
    any = true;
    ok = ok && cell.at("ok").get<bool>();
  }
  sort_findings(findings);
  return {envelope("smoke", any && ok, findings,
                   {{"wheel", wheel.filename().string()}, {"cells", cells}}),
          any && ok ? 0 : 1};
}

void render(const Json& body, Printer& out) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& cell : body.at("data").at("cells")) {
    const std::string cpu = cell.at("cpu");
    const std::string result = cell.at("ok").is_null()     ? "not run"
                               : cell.at("ok").get<bool>() ? "passes"
                                                           : "fails";
    rows.push_back(
        {cell.at("python"), cpu.empty() ? "this machine's" : cpu, result, cell.at("coverage")});
  }
  out.table({"CPYTHON", "CPU", "RESULT", "COVERAGE"}, rows);
  if (!body.at("findings").empty()) {
    out.line();
    out.findings(body.at("findings"));
  }
}

}  // namespace

Subcommand smoke_command() {
  return {
      "smoke", "install a wheel into fresh Pythons, also emulated, and test it",
      [](CLI::App& app) -> std::function<Outcome()> {
        const auto options = std::make_shared<SmokeOptions>();
        app.add_option("wheel", options->wheel, "the wheel")->required();
        app.add_option("--project", options->project,
                       "folder of the felloe.json with the smoke tests")
            ->capture_default_str();
        app.add_option("--python", options->pythons,
                       "only this CPython (path or version); may be repeated. Default: all that "
                       "smoke.pythons allows");
        app.add_option("--cpu", options->cpus,
                       "emulate this CPU (a qemu -cpu name, or `oldest`) instead of smoke.emulate");
        app.add_flag("--native", options->only_native, "emulate nothing");
        app.add_option("--log", options->log,
                       "append the output of pip and of the scripts to this file");
        return [options] { return run(*options); };
      },
      render};
}

}  // namespace felloe
