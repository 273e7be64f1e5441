// Runs a plan on this machine: as many steps at once as `jobs`, cached ones not at all, failing
// ones again as often as they allow. A failed step never throws out of here: it is reported, and
// the steps that need it are skipped. When a stop is requested (matrix/base/stop.h), child
// processes end, no other step begins, and what didn't begin is reported as skipped.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ci/plan.h"
#include "matrix/base/error.h"

namespace felloe {

enum class StepState { done, cached, failed, skipped };

const char* step_state_name(StepState state);

struct StepReport {
  std::string id, kind, title;
  StepState state = StepState::skipped;
  double seconds = 0;  // of the run that made the result, also where it is cached
  int attempts = 0;
  std::filesystem::path log;
  Json data = Json::object();
  std::optional<Error> error;  // failed: the last attempt's; skipped: none
  std::string because;         // skipped: the step that failed
};

struct Progress {
  enum class Event { started, retrying, ended } event;
  const Step& step;
  const StepReport& report;
  std::size_t finished, total;  // steps
};

struct RunOptions {
  std::filesystem::path work;  // state/ and logs/ are kept there
  int jobs = 1;
  bool force = false;        // run every step, whatever is recorded
  double retry_pause = 1.0;  // seconds before the second try, doubled for each one after
  std::function<void(const Progress&)> progress;  // called under a lock, from any thread
};

// One report per step, in the order of the plan.
std::vector<StepReport> run_plan(const Plan& plan, const RunOptions& options);

// A step's report as the report page and --json show it. `paths`: with the log's path.
Json to_json(const StepReport& report, const std::filesystem::path& relative_to);

}  // namespace felloe
