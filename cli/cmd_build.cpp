// `felloe build`: an audited wheel of one target in dist/wheels.
#include <memory>

#include "cli/commands.h"
#include "cli/pipeline.h"
#include "cli/printer.h"
#include "cli/stop.h"

namespace felloe {
namespace {

Json wheel_json(const NightlyResult& result) {
  Json data = Json::object();
  for (const StepReport& step : result.steps) {
    if (step.kind == "package") {
      for (const char* key : {"file", "sha256", "size", "tags", "evidence"}) {
        data[key] = step.data.at(key);
      }
    }
    if (step.kind == "deliver") data["wheel"] = step.data.at("wheel");
  }
  return data;
}

void render(const Json& body, Printer& out) {
  const Json& data = body.at("data");
  if (data.contains("steps")) {  // --dry-run
    for (const Json& step : data.at("steps")) {
      out.line(step.at("id").get<std::string>() + "  " + step.at("title").get<std::string>());
    }
    return;
  }
  if (!body.at("findings").empty()) {
    out.findings(body.at("findings"));
    out.line();
  }
  out.pairs({{"wheel", data.at("wheel")}, {"sha256", data.at("sha256")}});
}

}  // namespace

Subcommand build_command() {
  return {
      "build", "build a target of felloe.json into an audited wheel",
      [](CLI::App& app) -> std::function<Outcome()> {
        const auto options = std::make_shared<PipelineOptions>();
        add_pipeline_options(app, *options, "the wheel lands in wheels/ there");
        return [options] {
          catch_stop_signals();
          const NightlyRequest request = pipeline_request(*options, false, false);
          if (options->dry_run) return Outcome{envelope("build", true, {}, plan_json(request))};
          const NightlyResult result = run_pipeline(request, *options);
          throw_first_failure(result);
          bool ok = true;
          for (const Finding& finding : result.findings) {
            ok = ok && finding.severity != Severity::error;
          }
          return Outcome{envelope("build", ok, result.findings, wheel_json(result)), ok ? 0 : 1};
        };
      },
      render};
}

}  // namespace felloe
