#include "ci/nightly.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "ci/build.h"
#include "ci/lock.h"
#include "ci/publish.h"
#include "ci/report.h"
#include "ci/smoke.h"
#include "ci/source.h"
#include "ci/state.h"
#include "ci/toolchain.h"
#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/glob.h"
#include "matrix/base/stop.h"
#include "matrix/base/text.h"
#include "matrix/pep440.h"
#include "packaging/audit.h"
#include "packaging/package.h"

namespace felloe {
namespace {

constexpr int kNetworkAttempts = 3;

// What all the stages share while the plan is made; actions copy what they need from it.
struct Stage {
  const NightlyRequest request;
  std::string version;
  std::int64_t epoch = 0;
  std::string felloe;  // digest of this program: its changes may change every result
  BuildAbis abis;
  std::string id(const std::string& kind) const { return kind + ":" + request.target.name; }
};
using StagePtr = std::shared_ptr<const Stage>;

const Toolchain& toolchain_of(const NightlyRequest& request) {
  return request.project.toolchains.at(request.target.toolchain);
}

// CPythons of this machine that may run the build, newest first.
std::vector<std::string> build_pythons(const HostFacts& host) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const HostPython& python : host.python.value_or({})) {
    const auto version = Version::parse(python.version);
    if (!python.path.known() || !version || python.free_threaded.value_or(false) ||
        python.implementation.value_or("cpython") != "cpython" ||
        compare_versions(python.version, "3.10") < 0) {
      continue;
    }
    found.emplace_back(python.version, *python.path);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return compare_versions(a.first, b.first) > 0;
  });
  std::vector<std::string> out;
  for (auto& [version, path] : found) out.push_back(std::move(path));
  return out;
}

void add_probe(Plan& plan, const StagePtr& stage) {
  plan.add({.id = "probe",
            .kind = "probe",
            .title = "Probe this machine",
            .inputs = to_json(stage->request.host),
            .action = [stage](StepContext&) {
              return StepOutput{to_json(stage->request.host), {}};
            }});
}

void add_environment(Plan& plan, const StagePtr& stage) {
  const Project& project = stage->request.project;
  std::vector<std::string> wanted = project.source.build_requires;
  const std::vector<std::string> own =
      toolchain_requirements(toolchain_of(stage->request), project.source);
  wanted.insert(wanted.end(), own.begin(), own.end());
  const std::vector<std::string> pythons = build_pythons(stage->request.host);
  const fs::path folder = stage->request.work / "env" / stage->request.target.name;
  plan.add({.id = stage->id("environment"),
            .kind = "environment",
            .title = "Make the build's Python environment",
            .inputs = {{"requires", wanted}, {"pythons", pythons}, {"folder", folder.string()}},
            .action =
                [wanted, pythons, folder](StepContext& context) {
                  std::optional<Error> last;
                  for (const std::string& python : pythons) {
                    try {
                      const PythonEnv env = make_env(python, folder, context.log);
                      pip_install(env, wanted, context.log);
                      const fs::path stamp = folder / "felloe-made";
                      write_file(stamp, join(wanted, "\n") + "\n" + python + "\n");
                      return StepOutput{{{"requires", wanted}}, {stamp}};
                    } catch (const Error& error) {
                      // A broken interpreter is passed over; pip's own failures are not its fault.
                      if (error.where() != python) throw;
                      last = error;
                    }
                  }
                  if (last) throw *last;
                  throw Error(ErrorKind::environment, "python",
                              "no CPython >= 3.10 on this machine",
                              "install python3 and python3-venv");
                },
            .attempts = kNetworkAttempts});
}

void add_build(Plan& plan, const StagePtr& stage) {
  const NightlyRequest& request = stage->request;
  Json abis = Json::array();
  for (const BuildAbi& abi : stage->abis.found) {
    abis.push_back({{"abi", abi.abi}, {"include", abi.headers.include.string()}});
  }
  plan.add(
      {.id = stage->id("build"),
       .kind = "build",
       .title = "Build for " + request.target.name,
       .deps = {stage->id("environment")},
       .inputs = {{"sources", source_digest(request.project)},
                  {"toolchain", toolchain_identity(toolchain_of(request), request.project.source)},
                  {"define", request.project.source.define},
                  {"target_define", request.target.define},
                  {"component", request.project.source.component},
                  {"abis", abis},
                  {"version", stage->version},
                  {"epoch", stage->epoch},
                  {"root", request.project.root.string()},
                  {"felloe", stage->felloe}},
       .action =
           [stage](StepContext& context) {
             const NightlyRequest& r = stage->request;
             const fs::path tree = build_tree({.project = r.project,
                                               .target = r.target,
                                               .version = stage->version,
                                               .abis = stage->abis.found,
                                               .env = {r.work / "env" / r.target.name},
                                               .source_date_epoch = stage->epoch,
                                               .work = r.work,
                                               .log = context.log,
                                               .jobs = r.jobs});
             return StepOutput{{{"tree", tree.string()}, {"missing", stage->abis.missing}}, {tree}};
           },
       .attempts = 1});
}

void add_package(Plan& plan, const StagePtr& stage) {
  const NightlyRequest& request = stage->request;
  const PackageInfo& info = request.project.package;
  Json texts = Json::object();  // what goes into the wheel besides the tree
  std::vector<std::string> patterns = info.license_files;
  if (!info.description_file.empty()) patterns.push_back(info.description_file);
  for (const std::string& pattern : patterns) {
    for (const std::string& file : glob_files(request.project.root, pattern)) {
      texts[file] = content_digest(request.project.root / file);
    }
  }
  plan.add({.id = stage->id("package"),
            .kind = "package",
            .title = "Pack the wheel",
            .deps = {stage->id("build")},
            .inputs = {{"package", request.project.raw.value("package", Json::object())},
                       {"name", request.project.name},
                       {"version", stage->version},
                       {"epoch", stage->epoch},
                       {"index", request.publish ? request.out.string() : ""},
                       {"texts", texts},
                       {"felloe", stage->felloe}},
            .action = [stage](StepContext& context) {
              const NightlyRequest& r = stage->request;
              PackageRequest pack;
              pack.tree = context.result(stage->id("build")).at("tree").get<std::string>();
              pack.name = r.project.name;
              pack.version = stage->version;
              pack.info = r.project.package;
              pack.project_root = r.project.root;
              pack.out_dir = r.work / "wheels" / r.target.name;
              pack.source_date_epoch = stage->epoch;
              std::error_code ec;
              fs::remove_all(pack.out_dir, ec);  // one wheel per target, and no older one
              const PackageResult made =
                  r.publish ? package_for_index(pack, r.out) : package_tree(pack);
              return StepOutput{{{"path", made.wheel.string()},
                                 {"file", made.file},
                                 {"build", made.build},
                                 {"tags", made.tags},
                                 {"evidence", made.evidence},
                                 {"left_out", made.left_out},
                                 {"sha256", made.sha256},
                                 {"size", made.size}},
                                {made.wheel}};
            }});
}

void add_audit(Plan& plan, const StagePtr& stage) {
  plan.add({.id = stage->id("audit"),
            .kind = "audit",
            .title = "Audit the wheel",
            .deps = {stage->id("package")},
            .inputs = {{"felloe", stage->felloe}},
            .action = [stage](StepContext& context) {
              const Json& wheel = context.result(stage->id("package"));
              Json findings = Json::array();
              for (const Finding& finding :
                   audit_wheel(wheel.at("path").get<std::string>()).findings) {
                findings.push_back(to_json(finding));
              }
              return StepOutput{{{"findings", findings}}, {}};
            }});
}

// Returns the ids of the cells' steps.
std::vector<std::string> add_smoke(Plan& plan, const StagePtr& stage) {
  const NightlyRequest& request = stage->request;
  const SmokeRules& rules = request.project.smoke;
  Json scripts = Json::object();
  for (const std::string& script : smoke_scripts(rules, request.project.root)) {
    scripts[script] = content_digest(request.project.root / script);
  }
  std::vector<std::string> ids;
  for (const SmokeCell& cell : smoke_cells(rules, request.target.arch, request.host)) {
    const std::string cpu = cell.cpu.empty() ? "" : " on " + cell.cpu + " (emulated)";
    const std::string id = "smoke:" + request.target.name + ":" + cell.id;
    plan.add({.id = id,
              .kind = "smoke",
              .title = "Smoke-test with CPython " + cell.version + cpu,
              .deps = {stage->id("package")},
              .inputs = {{"rules", request.project.raw.value("smoke", Json::object())},
                         {"scripts", scripts},
                         {"python", cell.python},
                         {"cpu", cell.cpu},
                         {"felloe", stage->felloe}},
              .action =
                  [stage, cell](StepContext& context) {
                    const Json& wheel = context.result(stage->id("package"));
                    const NightlyRequest& r = stage->request;
                    return StepOutput{
                        run_smoke({.wheel = wheel.at("path").get<std::string>(),
                                   .tags = wheel.at("tags").get<std::vector<std::string>>(),
                                   .arch = r.target.arch,
                                   .rules = r.project.smoke,
                                   .project_root = r.project.root,
                                   .cell = cell,
                                   .work = r.work / "smoke",
                                   .log = context.log}),
                        {}};
                  },
              .attempts = kNetworkAttempts});
    ids.push_back(id);
  }
  return ids;
}

bool is_error(const Json& finding) { return finding.at("severity") == "error"; }

// Why this wheel must not be published; empty if nothing speaks against it.
std::string objection(const std::map<std::string, Json>& results) {
  std::size_t errors = 0, run = 0, cells = 0, failing = 0;
  for (const auto& [id, data] : results) {
    if (id.starts_with("audit:")) {
      const Json& findings = data.at("findings");
      errors += static_cast<std::size_t>(std::count_if(findings.begin(), findings.end(), is_error));
    } else if (id.starts_with("smoke:")) {
      ++cells;
      if (data.at("ok").is_null()) continue;
      ++run;
      failing += data.at("ok").get<bool>() ? 0 : 1;
    }
  }
  if (errors > 0) return fmt::format("the audit found {} error{}", errors, errors == 1 ? "" : "s");
  if (failing > 0) return fmt::format("smoke tests fail in {} of {} cells", failing, cells);
  if (run == 0) return fmt::format("no smoke test was run in any of {} cells", cells);
  return {};
}

void add_publish(Plan& plan, const StagePtr& stage, const std::vector<std::string>& smoke) {
  const NightlyRequest& request = stage->request;
  std::vector<std::string> deps{stage->id("package"), stage->id("audit")};
  deps.insert(deps.end(), smoke.begin(), smoke.end());
  plan.add({.id = stage->id("publish"),
            .kind = "publish",
            .title = "Publish to the index",
            .deps = deps,
            .inputs = {{"out", request.out.string()},
                       {"base_url", request.project.publish.base_url},
                       {"epoch", stage->epoch},
                       {"felloe", stage->felloe}},
            .action = [stage](StepContext& context) {
              const std::string reason = objection(context.results);
              if (!reason.empty()) {
                return StepOutput{{{"ok", false}, {"reason", reason}, {"install", ""}}, {}};
              }
              const NightlyRequest& r = stage->request;
              const Json& wheel = context.result(stage->id("package"));
              Json made = publish_wheel({.wheel = wheel.at("path").get<std::string>(),
                                         .project = r.project.name,
                                         .version = stage->version,
                                         .sha256 = wheel.at("sha256"),
                                         .out = r.out,
                                         .base_url = r.project.publish.base_url,
                                         .source_date_epoch = stage->epoch});
              made["ok"] = true;
              made["reason"] = "";
              return StepOutput{
                  made, {made.at("index").get<std::string>(), made.at("wheel").get<std::string>()}};
            }});
}

// `felloe build`: the audited wheel, whatever the audit says of it, in out/wheels.
void add_deliver(Plan& plan, const StagePtr& stage) {
  plan.add({.id = stage->id("deliver"),
            .kind = "deliver",
            .title = "Put the wheel into " + (stage->request.out / "wheels").filename().string(),
            .deps = {stage->id("package"), stage->id("audit")},
            .inputs = {{"out", stage->request.out.string()}},
            .action = [stage](StepContext& context) {
              const Json& wheel = context.result(stage->id("package"));
              const fs::path to =
                  stage->request.out / "wheels" / wheel.at("file").get<std::string>();
              copy_file_atomic(wheel.at("path").get<std::string>(), to);
              return StepOutput{{{"wheel", to.string()}}, {to}};
            }});
}

StagePtr make_stage(const NightlyRequest& request) {
  auto stage = std::make_shared<Stage>(Stage{request, {}, 0, {}, {}});
  stage->version = wheel_version(request.project, request.target, request.date);
  stage->epoch = source_date_epoch(request.project);
  stage->felloe = content_digest("/proc/self/exe");
  stage->abis = find_build_abis(request.target, request.host, request.project.root);
  return stage;
}

Json host_summary(const HostFacts& host) {
  Json out{{"CPU", host.cpu.model.value_or("unknown")},
           {"architecture", host.cpu.machine},
           {"kernel", host.os.kernel + " " + host.os.release.value_or("")}};
  if (host.libc.known()) out["libc"] = host.libc->name + " " + host.libc->version.value_or("");
  if (host.os.container.known()) out["container"] = *host.os.container;
  if (host.os.hypervisor.known()) out["hypervisor"] = *host.os.hypervisor;
  return out;
}

bool ended_well(const StepReport& step) {
  return step.state == StepState::done || step.state == StepState::cached;
}

}  // namespace

Plan make_nightly(const NightlyRequest& request) {
  const StagePtr stage = make_stage(request);
  Plan plan;
  add_probe(plan, stage);
  add_environment(plan, stage);
  add_build(plan, stage);
  add_package(plan, stage);
  add_audit(plan, stage);
  if (request.publish) {
    add_publish(plan, stage, add_smoke(plan, stage));
  } else {
    add_deliver(plan, stage);
  }
  return plan;
}

std::vector<Finding> nightly_findings(const std::vector<StepReport>& steps) {
  std::vector<Finding> out;
  std::string wheel;
  for (const StepReport& step : steps) {
    if (!ended_well(step)) continue;
    if (step.kind == "package") {
      wheel = step.data.at("file");
      if (const int build = step.data.at("build"); build > 0) {
        Finding finding;
        finding.code = "PUBLISH001";
        finding.severity = Severity::info;
        finding.wheel = wheel;
        finding.message = fmt::format(
            "build {} of this version: the index has another one, made from other sources", build);
        finding.hint =
            "pip and uv take the newest; where the version is installed already, "
            "--force-reinstall gets it";
        out.push_back(std::move(finding));
      }
    }
    if (step.kind == "build") {
      for (const Json& abi : step.data.at("missing")) {
        Finding finding;
        finding.code = "BUILD001";
        finding.severity = Severity::warning;
        finding.symbol = abi;
        finding.message = "the wheel has no module for " + abi.get<std::string>() +
                          ": this machine has no headers of it";
        finding.hint =
            "set FELLOE_PYTHON_HEADERS=DIR, where DIR/X.Y/Python.h is, or install that CPython "
            "with "
            "its headers";
        out.push_back(std::move(finding));
      }
    }
    if (step.kind == "audit") {
      for (const Json& finding : step.data.at("findings"))
        out.push_back(finding_from_json(finding, step.id));
    }
    if (step.kind == "smoke") {
      for (Finding& finding : smoke_findings(step.data, wheel)) out.push_back(std::move(finding));
    }
  }
  sort_findings(out);
  return out;
}

Json make_report(const NightlyRequest& request, const std::vector<StepReport>& steps) {
  Json coverage = Json::array(), step_list = Json::array(), finding_list = Json::array();
  Json wheel, published{{"ok", false}, {"reason", "a step before it failed"}, {"install", ""}};
  bool ok = true;
  for (const StepReport& step : steps) {
    step_list.push_back(to_json(step, request.work));
    ok = ok && ended_well(step);
    if (!ended_well(step)) continue;
    if (step.kind == "package") wheel = step.data;
    if (step.kind == "smoke") coverage.push_back(step.data);
    if (step.kind == "publish") published = step.data;
  }
  for (const Finding& finding : nightly_findings(steps)) {
    ok = ok && finding.severity != Severity::error;
    finding_list.push_back(to_json(finding));
  }
  Json report{{"schema", "felloe/report/1"},
              {"ok", ok && published.at("ok").get<bool>()},
              {"project", request.project.name},
              {"version", wheel_version(request.project, request.target, request.date)},
              {"target", request.target.name},
              {"wheel", wheel},
              {"published", published},
              {"coverage", coverage},
              {"findings", finding_list},
              {"steps", step_list},
              {"host", host_summary(request.host)}};
  // Logs and wheels may hold any bytes; dumping once makes all text valid UTF-8.
  return parse_json(dump_json(report), "report");
}

NightlyResult run_nightly(const NightlyRequest& request, RunOptions options) {
  WorkLock lock(request.work);
  options.work = request.work;
  options.jobs = request.jobs;
  NightlyResult out;
  out.steps = run_plan(make_nightly(request), options);
  if (stop_requested() != 0) {
    lock.end_leftovers();
    throw_if_stopped("run it again: it goes on after the steps that were done");
  }
  out.findings = nightly_findings(out.steps);
  out.report = make_report(request, out.steps);
  if (request.publish) {
    const fs::path folder = request.out / "report";
    make_dirs(folder);
    remove_stale_temps(folder);
    write_file(folder / "report.json", dump_json(out.report));
    write_file(folder / "index.html", report_html(out.report));
  }
  return out;
}

std::string today_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:04}{:02}{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

}  // namespace felloe
