// What `build` and `nightly` have in common: their options, progress on standard error, and how a
// failed step becomes the command's failure.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "ci/nightly.h"

namespace felloe {

struct PipelineOptions {
  std::string project = ".", target, out, work, date;
  bool release = false, force = false, dry_run = false;
  int jobs = 0;
};

// Declares the options both commands have. `out_help` says what lands in --out.
void add_pipeline_options(CLI::App& app, PipelineOptions& options, const std::string& out_help);

// Loads the project, picks the target, probes this machine. `dated`: a version is .devYYYYMMDD
// unless
// --release; else only with --nightly-date.
NightlyRequest pipeline_request(const PipelineOptions& options, bool dated, bool publish);

// Runs with a line per step on standard error.
NightlyResult run_pipeline(const NightlyRequest& request, const PipelineOptions& options);

// Throws the error of the first failed step, naming its log, if there is one.
void throw_first_failure(const NightlyResult& result);

// The plan as --dry-run shows it.
Json plan_json(const NightlyRequest& request);

}  // namespace felloe
