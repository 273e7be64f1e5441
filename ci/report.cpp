#include "ci/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "matrix/base/text.h"

namespace felloe {
namespace {

// Colours are named once per scheme; contrast of text on its ground is at least 4.5:1 in both.
constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --ground: #ffffff; --text: #1c2430; --quiet: #566173; --line: #d5dbe3; --panel: #f5f7fa;
  --good: #116329; --good-ground: #dff5e3; --bad: #a40e26; --bad-ground: #ffe3e6; --warn: #7a4b00; --warn-ground: #fff1d0;
  --info: #0b5394; --info-ground: #e0efff; }
@media (prefers-color-scheme: dark) { :root { --ground: #12161c; --text: #e4e9f0; --quiet: #9aa7b8; --line: #313a46; --panel: #1a2029;
  --good: #7ee29a; --good-ground: #12351d; --bad: #ff9aa5; --bad-ground: #47131b; --warn: #f3c96b; --warn-ground: #3e2e07;
  --info: #8cc4ff; --info-ground: #10304f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 1.5rem; background: var(--ground); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.quiet { color: var(--quiet); } code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: .4rem; padding: .7rem; overflow-x: auto; white-space: pre-wrap;
  overflow-wrap: anywhere; margin: .4rem 0; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
caption { text-align: left; color: var(--quiet); padding-bottom: .3rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.badge { display: inline-block; border-radius: .3rem; padding: 0 .5rem; font-weight: 600; white-space: nowrap; }
.good { color: var(--good); background: var(--good-ground); } .bad { color: var(--bad); background: var(--bad-ground); }
.warn { color: var(--warn); background: var(--warn-ground); } .info { color: var(--info); background: var(--info-ground); }
.finding { border-left: .3rem solid var(--line); padding: .2rem 0 .2rem .8rem; margin: .8rem 0; }
.bar { background: var(--info); height: .5rem; border-radius: .25rem; min-width: 2px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: .5rem 0; } dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }
)css";

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return {};
  return found->is_string() ? found->get<std::string>() : dump_json_compact(*found);
}

std::string escaped(const Json& object, const char* key) {
  return html_escape(text_of(object, key));
}

std::string badge(const char* style, const std::string& words) {
  return fmt::format(R"(<span class="badge {}">{}</span>)", style, html_escape(words));
}

std::string duration(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  return fmt::format("{} min {:02} s", static_cast<int>(seconds) / 60,
                     static_cast<int>(seconds) % 60);
}

std::string state_badge(const std::string& state) {
  const char* style = state == "failed" ? "bad" : state == "skipped" ? "warn" : "good";
  return badge(style, state);
}

std::string cell_badge(const Json& cell) {
  const std::string coverage = text_of(cell, "coverage");
  if (coverage == "not run") return badge("warn", "not run");
  return cell.at("ok").get<bool>()
             ? badge(coverage == "emulated" ? "info" : "good", "passes, " + coverage)
             : badge("bad", "fails, " + coverage);
}

void pair(std::string& out, const char* name, const std::string& html) {
  if (!html.empty()) out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, html);
}

void header(std::string& out, const Json& report) {
  const bool ok = report.at("ok").get<bool>();
  out +=
      fmt::format("<header>\n<h1>{} {} {}</h1>\n", escaped(report, "project"),
                  escaped(report, "version"), badge(ok ? "good" : "bad", ok ? "good" : "not good"));
  out += fmt::format("<p class=\"quiet\">target {}</p>\n</header>\n<main>\n",
                     escaped(report, "target"));
}

void wheel(std::string& out, const Json& report) {
  const Json& wheel = report.at("wheel");
  const Json& published = report.at("published");
  out += "<h2 id=\"install\">Install</h2>\n";
  if (published.at("ok").get<bool>()) {
    out += fmt::format("<pre>{}</pre>\n", escaped(published, "install"));
  } else {
    out +=
        fmt::format("<p>{} {}</p>\n", badge("bad", "not published"), escaped(published, "reason"));
  }
  out += "<h2 id=\"wheel\">Wheel</h2>\n";
  if (wheel.is_null()) {
    out += "<p>No wheel was made.</p>\n";
    return;
  }
  out += "<dl>\n";
  pair(out, "file", "<code>" + escaped(wheel, "file") + "</code>");
  pair(out, "size", size_text(wheel.at("size").get<std::uint64_t>()));
  pair(out, "sha256", "<code>" + escaped(wheel, "sha256") + "</code>");
  std::string tags;
  for (const Json& tag : wheel.at("tags"))
    tags += "<code>" + html_escape(tag.get<std::string>()) + "</code> ";
  pair(out, "tags", tags);
  out += "</dl>\n";
}

void coverage(std::string& out, const Json& report) {
  out +=
      "<h2 id=\"coverage\">Smoke tests</h2>\n<div class=\"scroll\"><table>\n"
      "<caption>Each interpreter and CPU in a fresh environment. Emulated runs use qemu-user; a "
      "cell "
      "that was not run says why.</caption>\n"
      "<thead><tr><th scope=\"col\">CPython</th><th scope=\"col\">CPU</th><th "
      "scope=\"col\">Result</th>"
      "<th scope=\"col\">Scripts</th></tr></thead>\n<tbody>\n";
  for (const Json& cell : report.at("coverage")) {
    std::string scripts;
    for (const Json& script : cell.at("scripts")) {
      scripts += fmt::format("{} <code>{}</code> {}<br>", script.at("ok").get<bool>() ? "✓" : "✗",
                             escaped(script, "script"),
                             script.at("ok").get<bool>() ? "" : escaped(script, "how"));
    }
    if (scripts.empty()) scripts = escaped(cell, "reason");
    const std::string cpu = text_of(cell, "cpu");
    out += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                       escaped(cell, "python"), cpu.empty() ? "this machine's" : html_escape(cpu),
                       cell_badge(cell), scripts);
  }
  out += "</tbody>\n</table></div>\n";
}

void findings(std::string& out, const Json& report) {
  const Json& list = report.at("findings");
  out += fmt::format("<h2 id=\"findings\">Findings ({})</h2>\n", list.size());
  if (list.empty()) out += "<p>None.</p>\n";
  for (const Json& finding : list) {
    const std::string severity = text_of(finding, "severity");
    std::string where = text_of(finding, "file");
    if (const std::string symbol = text_of(finding, "symbol"); !symbol.empty())
      where += " : " + symbol;
    if (!finding.at("offset").is_null()) {
      where += fmt::format(" at 0x{:x}", finding.at("offset").get<std::uint64_t>());
    }
    out += fmt::format(
        "<section class=\"finding\">{} <strong>{}</strong> <code>{}</code>\n<pre>{}</pre>\n",
        badge(severity == "error"     ? "bad"
              : severity == "warning" ? "warn"
                                      : "info",
              severity),
        escaped(finding, "code"), html_escape(where), escaped(finding, "message"));
    if (const std::string hint = escaped(finding, "hint"); !hint.empty())
      out += "<p>" + hint + "</p>\n";
    const Json& data = finding.at("data");
    if (!data.empty()) {
      out += "<details><summary>evidence</summary><pre>" + html_escape(dump_json(data)) +
             "</pre></details>\n";
    }
    out += "</section>\n";
  }
}

void steps(std::string& out, const Json& report) {
  double longest = 0.1;
  for (const Json& step : report.at("steps"))
    longest = std::max(longest, step.at("seconds").get<double>());
  out +=
      "<h2 id=\"steps\">Steps</h2>\n<div class=\"scroll\"><table>\n"
      "<caption>A cached step shows the time of the run that made its result.</caption>\n"
      "<thead><tr><th scope=\"col\">Step</th><th scope=\"col\">State</th><th "
      "scope=\"col\">Time</th>"
      "<th scope=\"col\" style=\"width:30%\"><span "
      "class=\"quiet\">share</span></th></tr></thead>\n<tbody>\n";
  for (const Json& step : report.at("steps")) {
    std::string about;
    if (step.contains("error")) {
      const Json& error = step.at("error");
      about = fmt::format("<pre>{}: {}</pre>{}", escaped(error, "where"), escaped(error, "message"),
                          escaped(error, "hint"));
    } else if (step.contains("because")) {
      about = "<br><span class=\"quiet\">needs " + escaped(step, "because") + "</span>";
    }
    const int attempts = step.at("attempts").get<int>();
    if (attempts > 1) about += fmt::format("<br><span class=\"quiet\">{} tries</span>", attempts);
    const double seconds = step.at("seconds").get<double>();
    out += fmt::format(
        "<tr><th scope=\"row\">{}<br><span class=\"quiet\">{}</span></th><td>{}{}</td><td "
        "class=\"number\">{}</td>"
        "<td><div class=\"bar\" style=\"width:{:.0f}%\"></div></td></tr>\n",
        escaped(step, "title"), escaped(step, "log"), state_badge(text_of(step, "state")), about,
        duration(seconds), 100 * seconds / longest);
  }
  out += "</tbody>\n</table></div>\n";
}

void host(std::string& out, const Json& report) {
  const Json& host = report.at("host");
  out += "<h2 id=\"host\">Made on</h2>\n<dl>\n";
  for (const auto& [name, value] : host.items()) {
    pair(out, html_escape(name).c_str(),
         html_escape(value.is_string() ? value.get<std::string>() : dump_json_compact(value)));
  }
  out += "</dl>\n";
}

}  // namespace

std::string html_escape(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\n':
      case '\t':
        out += c;
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += "\xef\xbf\xbd";
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::string report_html(const Json& report) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n";  // or a browser asks the host for one
  out += fmt::format("<title>{} {} for {}</title>\n<style>{}</style>\n</head>\n<body>\n",
                     escaped(report, "project"), escaped(report, "version"),
                     escaped(report, "target"), kStyle);
  header(out, report);
  wheel(out, report);
  coverage(out, report);
  findings(out, report);
  steps(out, report);
  host(out, report);
  out += "</main>\n</body>\n</html>\n";
  return out;
}

}  // namespace felloe
