// `felloe audit`: what is wrong with wheels, by the rules of packaging/audit.h.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/printer.h"
#include "matrix/base/text.h"
#include "packaging/audit.h"

namespace felloe {
namespace {

struct Options {
  std::vector<std::string> wheels;
  AuditOptions audit;
  std::string fail_on = "error";
  bool list = false, markdown = false;
};

Json rules_json() {
  Json rules = Json::array();
  for (const Rule& r : audit_rules()) {
    rules.push_back(Json{{"code", r.code},
                         {"severity", severity_name(r.severity)},
                         {"title", r.title},
                         {"cause", r.cause},
                         {"cure", r.cure},
                         {"source", r.source}});
  }
  return rules;
}

Outcome run(const Options& o) {
  if (o.list) {
    Json data{{"rules", rules_json()}};
    if (o.markdown) data["markdown"] = rules_markdown();
    return {envelope("audit", true, {}, std::move(data))};
  }
  if (o.markdown) throw Error(ErrorKind::usage, "--markdown", "belongs to --list", "add --list");
  if (o.wheels.empty()) {
    throw Error(ErrorKind::usage, "audit", "no wheel given", "name a .whl file, or use --list");
  }
  const Severity limit = parse_severity(o.fail_on);
  std::vector<Finding> findings;
  Json wheels = Json::array();
  for (const std::string& wheel : o.wheels) {
    const AuditReport report = audit_wheel(wheel, o.audit);
    findings.insert(findings.end(), report.findings.begin(), report.findings.end());
    wheels.push_back(to_json(report));
  }
  sort_findings(findings);
  const bool ok = std::none_of(findings.begin(), findings.end(),
                               [&](const Finding& f) { return f.severity >= limit; });
  return {
      envelope("audit", ok, findings, Json{{"fail_on", o.fail_on}, {"wheels", std::move(wheels)}}),
      ok ? 0 : 1};
}

void render_rules(const Json& data, Printer& out) {
  if (data.contains("markdown")) {
    std::string text = data.at("markdown");
    if (text.ends_with('\n')) text.pop_back();  // line() adds it
    out.line(text);
    return;
  }
  std::vector<std::vector<std::string>> rows;
  for (const Json& r : data.at("rules"))
    rows.push_back({r.at("code"), r.at("severity"), r.at("title")});
  out.table({"CODE", "SEVERITY", "RULE"}, rows);
}

// What forces the platform tag, in a line: "GLIBC_2.27 of libm.so.6 (numpy/...so)".
std::string evidence_line(const Json& e) {
  const std::string subject = e.at("subject"), lib = e.at("lib");
  return fmt::format("{}{} in {}", subject, subject == lib ? "" : " of " + lib,
                     e.at("module").get<std::string>());
}

void render_wheel(const Json& wheel, Printer& out) {
  out.heading(wheel.at("wheel").get<std::string>());
  const Json& platform = wheel.at("platform");
  const Json& python = wheel.at("python");
  out.pairs({{"the code fits", platform.at("tag").is_null()
                                   ? "unknown: " + platform.at("trouble").get<std::string>()
                                   : platform.at("compressed").get<std::string>()},
             {"and serves", python.at("python").is_null()
                                ? "unknown: " + python.at("trouble").get<std::string>()
                                : fmt::format("{}-{}", python.at("python").get<std::string>(),
                                              python.at("abi").get<std::string>())}});
  const Json evidence = platform.value("evidence", Json::array());
  constexpr std::size_t kShown = 3;
  for (std::size_t i = 0; i < std::min(kShown, evidence.size()); ++i) {
    out.wrapped("because of " + evidence_line(evidence[i]), 4);
  }
  if (evidence.size() > kShown) out.line(fmt::format("    and {} more", evidence.size() - kShown));
}

void render(const Json& body, Printer& out) {
  const Json& data = body.at("data");
  if (data.contains("rules")) return render_rules(data, out);
  for (const Json& wheel : data.at("wheels")) render_wheel(wheel, out);
  out.line();
  if (body.at("findings").empty()) {
    out.line(out.paint(Style::good, "no findings"));
  } else {
    out.findings(body.at("findings"));
  }
}

}  // namespace

Subcommand audit_command() {
  return {
      "audit", "check wheels against the rules; exit code 1 if any is broken",
      [](CLI::App& app) -> std::function<Outcome()> {
        const auto o = std::make_shared<Options>();
        app.add_option("wheels", o->wheels, "wheel files (.whl)");
        app.add_option("--select", o->audit.select, "only these rules: codes or their beginnings")
            ->delimiter(',')
            ->allow_extra_args(false);
        app.add_option("--ignore", o->audit.ignore, "not these rules")
            ->delimiter(',')
            ->allow_extra_args(false);
        app.add_option("--fail-on", o->fail_on, "lowest severity that fails: info, warning, error")
            ->capture_default_str();
        app.add_flag("--list", o->list, "show all rules");
        app.add_flag("--markdown", o->markdown, "with --list: as docs/rules.md");
        return [o] { return run(*o); };
      },
      render};
}

}  // namespace felloe
