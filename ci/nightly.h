// The nightly of one target as a plan: probe, environment, build, package, audit, smoke, publish,
// report. `felloe build` runs the first five and puts the wheel into dist/wheels. To add a stage:
// one function here that adds its step, called from make_nightly() in the place where it belongs.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ci/executor.h"
#include "ci/plan.h"
#include "matrix/facts.h"
#include "matrix/finding.h"
#include "matrix/project.h"

namespace felloe {

struct NightlyRequest {
  Project project;
  Target target;
  HostFacts host;
  std::optional<std::string> date;  // YYYYMMDD: a .dev version; nothing: a release
  std::filesystem::path out;        // wheels/, index/simple/, report/ are made here
  std::filesystem::path work;       // state, logs, build folders
  int jobs = 1;
  bool publish = true;  // false: `felloe build`, which ends with the audited wheel in out/wheels
};

// Makes the plan; runs nothing, but asks for the versions of compilers, finds headers and hashes
// the sources. Throws Error{environment} if one is missing here.
Plan make_nightly(const NightlyRequest& request);

// What happened, for people: "felloe/report/1" (docs/nightly.md). The same object is printed by
// --json (under `data`), written to report.json and rendered as the page.
Json make_report(const NightlyRequest& request, const std::vector<StepReport>& steps);

// Of all steps that ended well: build, audit and smoke. Sorted.
std::vector<Finding> nightly_findings(const std::vector<StepReport>& steps);

// Runs the plan and writes out/report/report.json and index.html (with publish). Doesn't throw for
// failed steps: see StepReport::error. `options.work` and `options.jobs` are taken from the
// request. Throws Error{interrupted} when a stop is requested: then no process of ours runs any
// more, and nothing of out/ was touched but by steps that came to their end.
struct NightlyResult {
  Json report;
  std::vector<Finding> findings;
  std::vector<StepReport> steps;
};
NightlyResult run_nightly(const NightlyRequest& request, RunOptions options);

// Today in UTC as YYYYMMDD: what `felloe nightly` uses unless told otherwise.
std::string today_utc();

}  // namespace felloe
