#include "cli/pipeline.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "cli/options.h"
#include "cli/printer.h"
#include "matrix/base/fs.h"
#include "matrix/base/visible.h"
#include "probe/probe.h"

namespace felloe {
namespace {

// YYYYMMDD that the calendar has.
bool is_date(const std::string& text) {
  if (text.size() != 8 || text.find_first_not_of("0123456789") != std::string::npos) return false;
  const int number = std::stoi(text);
  const auto part = [&](int unit, int range) {
    return static_cast<unsigned>(number / unit % range);
  };
  return std::chrono::year_month_day(std::chrono::year(number / 10000),
                                     std::chrono::month(part(100, 100)),
                                     std::chrono::day(part(1, 100)))
      .ok();
}

std::string date_of(const PipelineOptions& options) {
  if (options.date.empty()) return today_utc();
  if (!is_date(options.date)) {
    throw Error(ErrorKind::usage, "--nightly-date", "not a date: " + options.date,
                "write it as YYYYMMDD, e.g. 20261130");
  }
  return options.date;
}

void show(const Progress& progress) {
  Printer& out = status();
  const StepReport& report = progress.report;
  const std::string count = fmt::format("[{:>{}}/{}]", progress.finished,
                                        std::to_string(progress.total).size(), progress.total);
  switch (progress.event) {
    case Progress::Event::started: {
      const std::string text = fmt::format("{} ...      {}", count, progress.step.title);
      if (out.is_terminal()) {
        out.progress(text);
      } else {
        out.line(text);
      }
      return;
    }
    case Progress::Event::retrying:
      out.progress("");
      out.line(fmt::format("{} again    {}: {}", count, progress.step.title,
                           visible(report.error ? report.error->message() : "")));
      return;
    case Progress::Event::ended: {
      const bool stopped = report.error && report.error->kind() == ErrorKind::interrupted;
      const Style style = stopped || report.state == StepState::skipped ? Style::warn
                          : report.state == StepState::failed           ? Style::bad
                                                                        : Style::good;
      const char* state = stopped ? "stopped" : step_state_name(report.state);
      const std::string time = report.state == StepState::done || report.state == StepState::failed
                                   ? fmt::format(" ({:.1f} s)", report.seconds)
                                   : std::string();
      out.progress("");
      out.line(fmt::format("{} {} {}{}", count, out.paint(style, fmt::format("{:<8}", state)),
                           progress.step.title, time));
      return;
    }
  }
}

}  // namespace

void add_pipeline_options(CLI::App& app, PipelineOptions& options, const std::string& out_help) {
  app.add_option("--project", options.project, "folder of felloe.json, or the file itself")
      ->capture_default_str();
  app.add_option("--target", options.target,
                 "a target of felloe.json; default: this machine's, on CPU");
  app.add_option("--out", options.out, out_help + "; default: dist in the project");
  app.add_option(
      "--work", options.work,
      "where builds, logs and the record of finished steps are kept; default: build/work in "
      "the project");
  app.add_option("--nightly-date", options.date, "YYYYMMDD: the version becomes X.Y.Z.devYYYYMMDD");
  app.add_option("--jobs,-j", options.jobs, "steps and compilers at once; default: one per core")
      ->check(check_positive);
  app.add_flag("--force", options.force, "run every step, also those that are up to date");
  app.add_flag("--dry-run", options.dry_run, "show the steps and run none");
}

NightlyRequest pipeline_request(const PipelineOptions& options, bool dated, bool publish) {
  NightlyRequest request;
  request.project = load_project(options.project);
  request.project.root = fs::canonical(request.project.root);
  request.target = options.target.empty() ? host_target(request.project)
                                          : find_target(request.project, options.target);
  if (options.release && !options.date.empty()) {
    throw Error(ErrorKind::usage, "--release", "--release and --nightly-date exclude each other",
                "leave one of them out");
  }
  if (!options.date.empty() || (dated && !options.release)) request.date = date_of(options);
  request.host = probe_host({});
  const auto place = [&](const std::string& given, const char* otherwise) {
    return given.empty() ? request.project.root / otherwise
                         : fs::weakly_canonical(fs::absolute(given));
  };
  request.out = place(options.out, "dist");
  request.work = place(options.work, "build/work");
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  request.jobs = options.jobs > 0 ? options.jobs : static_cast<int>(cores);
  request.publish = publish;
  return request;
}

NightlyResult run_pipeline(const NightlyRequest& request, const PipelineOptions& options) {
  RunOptions run;
  run.force = options.force;
  run.progress = show;
  return run_nightly(request, run);
}

void throw_first_failure(const NightlyResult& result) {
  for (const StepReport& step : result.steps) {
    if (step.state != StepState::failed || !step.error) continue;
    const std::string log = "log: " + step.log.string();
    std::string hint = step.error->hint();
    if (hint.find(step.log.string()) == std::string::npos) {
      if (!hint.empty()) hint += "; ";
      hint += log;
    }
    throw Error(step.error->kind(), step.error->where(), step.error->message(), hint);
  }
}

Json plan_json(const NightlyRequest& request) {
  return {{"target", request.target.name},
          {"version", wheel_version(request.project, request.target, request.date)},
          {"steps", make_nightly(request).to_json()}};
}

}  // namespace felloe
