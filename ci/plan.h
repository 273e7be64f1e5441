// A nightly as data: steps, what each needs, what decides its result. The executor runs a plan, the
// report shows it, `--dry-run` prints it; none of them knows what a step does. To add a step: one
// `plan.add({...})` in nightly.cpp.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "matrix/base/json.h"

namespace felloe {

// What an action hands to the steps after it. `data` must say everything they use and nothing that
// changes from run to run (no times, no temporary names): its hash is part of their keys.
struct StepOutput {
  Json data = Json::object();
  std::vector<std::filesystem::path> files;  // files and folders it made; verified before reuse
};

struct StepContext {
  const std::map<std::string, Json>& results;  // data of each step in `deps` that succeeded
  std::filesystem::path log;                   // the step's own log; child processes append to it
  int attempt = 1;
  const Json& result(const std::string& id) const;  // throws Error{internal} if it isn't a dep
};

struct Step {
  std::string id;     // unique, e.g. "build:x86_64-cpu"
  std::string kind;   // what it is, e.g. "build": groups steps in the report
  std::string title;  // for people
  std::vector<std::string> deps = {};
  Json inputs = Json::object();  // all that decides the result besides the results of `deps`
  std::function<StepOutput(StepContext&)> action;
  int attempts = 1;                 // tries for failures that may pass: child processes, network
  bool runs_after_failure = false;  // the report is made of failures too
};

class Plan {
 public:
  // Throws Error{internal} for a second step of that id or a dep that was not added before: so
  // plans have no cycles, and the order of adding is an order of running.
  void add(Step step);
  const std::vector<Step>& steps() const { return steps_; }
  const Step* find(const std::string& id) const;

  // [{id, kind, title, deps}]: what --dry-run prints.
  Json to_json() const;

 private:
  std::vector<Step> steps_;
  std::map<std::string, std::size_t> index_;
};

}  // namespace felloe
