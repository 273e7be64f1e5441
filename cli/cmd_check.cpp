// `felloe check`: which of these wheels run on this machine, or on one described by a file.
#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/printer.h"
#include "matrix/base/error.h"
#include "matrix/base/text.h"
#include "matrix/fit.h"
#include "matrix/pep440.h"
#include "packaging/inspect.h"
#include "probe/probe.h"

namespace felloe {
namespace {

struct CheckArgs {
  std::vector<std::string> wheels;
  std::string host;
  std::string devices = "any";
};

WheelFacts read_wheel(const std::string& path) {
  if (path.ends_with(".whl")) return inspect_wheel(path);
  return wheel_from_json(read_json(path), path);
}

HostFacts read_host(const std::string& path) {
  return path.empty() ? probe_host({}) : host_from_json(read_json(path), path);
}

// Another argument of the same project that has code for GPUs.
bool has_gpu_sibling(const std::vector<WheelFacts>& wheels, std::size_t self) {
  for (std::size_t i = 0; i < wheels.size(); ++i) {
    if (i != self && has_device_code(wheels[i]) &&
        normalize_name(wheels[i].name) == normalize_name(wheels[self].name)) {
      return true;
    }
  }
  return false;
}

Outcome run(const CheckArgs& args) {
  const HostFacts host = read_host(args.host);
  std::vector<WheelFacts> wheels;
  for (const std::string& path : args.wheels) wheels.push_back(read_wheel(path));
  std::vector<Verdict> verdicts;
  Json list = Json::array();
  bool some_fit = false;
  for (std::size_t i = 0; i < wheels.size(); ++i) {
    FitOptions options;
    options.all_devices = args.devices == "all";
    options.sibling_has_device_code = has_gpu_sibling(wheels, i);
    verdicts.push_back(fit(host, wheels[i], options));
    list.push_back(to_json(verdicts.back()));
    const FitResult result = verdicts.back().result;
    some_fit = some_fit || result == FitResult::fits || result == FitResult::fits_without_gpu;
  }
  const auto best = best_wheel(wheels, verdicts);
  return {Json{{"schema", "felloe/check/1"},
               {"best", best ? Json(wheels[*best].file) : Json(nullptr)},
               {"verdicts", std::move(list)}},
          some_fit ? 0 : 1};
}

Style style_of(const std::string& verdict) {
  if (verdict == "fits" || verdict == "fits_without_gpu") return Style::good;
  return verdict == "undecided" ? Style::warn : Style::bad;
}

Style style_of_severity(const std::string& severity) {
  if (severity == "error") return Style::bad;
  return severity == "info" ? Style::dim : Style::warn;
}

std::string words(std::string verdict) {
  std::replace(verdict.begin(), verdict.end(), '_', ' ');
  return verdict;
}

void render(const Json& body, Printer& out) {
  for (const Json& verdict : body.at("verdicts")) {
    const std::string result = verdict.at("verdict");
    out.line(out.paint(Style::bold, verdict.at("wheel").get<std::string>()));
    const Json& python = verdict.at("python");
    out.line("  " + out.paint(style_of(result), words(result)) +
             (python.is_string() ? " (" + python.get<std::string>() + ")" : ""));
    for (const Json& reason : verdict.at("reasons")) {
      const std::string severity = reason.at("severity");
      out.line("  " + out.paint(style_of_severity(severity), severity) + " " +
               reason.at("code").get<std::string>());
      out.wrapped(reason.at("message").get<std::string>(), 4);
      if (reason.contains("hint")) {
        out.wrapped("hint: " + reason.at("hint").get<std::string>(), 4);
      }
    }
  }
  if (body.at("verdicts").size() > 1) {
    const Json& best = body.at("best");
    out.line("best: " + (best.is_string() ? best.get<std::string>() : std::string("none fits")));
  }
}

}  // namespace

Subcommand check_command() {
  return {"check", "say whether wheels run on this machine, and why not",
          [](CLI::App& app) -> std::function<Outcome()> {
            const auto args = std::make_shared<CheckArgs>();
            app.add_option("WHEEL", args->wheels,
                           "wheels, or facts about wheels written by `felloe inspect --json`")
                ->required();
            app.add_option("--host", args->host,
                           "facts about a machine, written by `felloe probe --json`; without it, "
                           "this machine is probed");
            app.add_option(
                   "--devices", args->devices,
                   "`any`: one served GPU is enough; `all`: every visible GPU must be served")
                ->check(CLI::IsMember({"any", "all"}))
                ->capture_default_str();
            return [args] { return run(*args); };
          },
          render};
}

}  // namespace felloe
