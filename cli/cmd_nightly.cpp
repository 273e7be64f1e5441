// `felloe nightly`: probe, build, package, audit, smoke, publish, report.
#include <memory>

#include "cli/commands.h"
#include "cli/pipeline.h"
#include "cli/printer.h"
#include "cli/stop.h"
#include "matrix/base/text.h"

namespace felloe {
namespace {

std::string cell_word(const Json& cell) {
  if (cell.at("ok").is_null()) return "not run: " + cell.at("reason").get<std::string>();
  return (cell.at("ok").get<bool>() ? "passes, " : "fails, ") +
         cell.at("coverage").get<std::string>();
}

void render(const Json& body, Printer& out) {
  const Json& data = body.at("data");
  if (!data.contains("coverage")) {  // --dry-run
    for (const Json& step : data.at("steps")) {
      out.line(step.at("id").get<std::string>() + "  " + step.at("title").get<std::string>());
    }
    return;
  }
  std::vector<std::vector<std::string>> cells;
  for (const Json& cell : data.at("coverage")) {
    const std::string cpu = cell.at("cpu");
    cells.push_back({cell.at("python"), cpu.empty() ? "this machine's" : cpu, cell_word(cell)});
  }
  out.heading("Smoke tests");
  out.table({"CPYTHON", "CPU", "RESULT"}, cells);
  if (!body.at("findings").empty()) {
    out.line();
    out.findings(body.at("findings"));
  }
  out.line();
  const Json& published = data.at("published");
  std::vector<std::pair<std::string, std::string>> rows;
  if (published.at("ok").get<bool>()) {
    rows = {{"wheel", published.at("wheel")},
            {"size", size_text(data.at("wheel").at("size").get<std::uint64_t>())},
            {"index", published.at("index")}};
  } else {
    rows = {{"published", "no: " + published.at("reason").get<std::string>()}};
  }
  rows.emplace_back("page", data.at("page"));
  out.pairs(rows);
  if (!published.at("ok").get<bool>()) return;
  out.line();
  out.line("install it:");
  out.line("  " + published.at("install").get<std::string>());
}

}  // namespace

Subcommand nightly_command() {
  return {
      "nightly", "build, audit, smoke-test and publish this machine's target",
      [](CLI::App& app) -> std::function<Outcome()> {
        const auto options = std::make_shared<PipelineOptions>();
        add_pipeline_options(app, *options, "wheels/, index/simple/ and report/ are made there");
        app.add_flag("--release", options->release, "the release version, without .devYYYYMMDD");
        app.footer(
            "Steps that are up to date are not run again; a killed run goes on where it was.");
        return [options] {
          catch_stop_signals();
          const NightlyRequest request = pipeline_request(*options, true, true);
          if (options->dry_run) return Outcome{envelope("nightly", true, {}, plan_json(request))};
          NightlyResult result = run_pipeline(request, *options);
          throw_first_failure(result);
          Json data = std::move(result.report);
          data["page"] = (request.out / "report" / "index.html").string();
          const bool ok = data.at("ok").get<bool>();
          return Outcome{envelope("nightly", ok, result.findings, std::move(data)), ok ? 0 : 1};
        };
      },
      render};
}

}  // namespace felloe
