// `felloe inspect`: what a wheel asks of a host. JSON is WheelFacts itself, without an envelope.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/printer.h"
#include "matrix/base/text.h"
#include "packaging/inspect.h"

namespace felloe {
namespace {

std::string text_of(const Json& json, const char* key) {
  const auto it = json.find(key);
  if (it == json.end()) return "unknown";
  return it->is_null() ? "none" : it->is_string() ? it->get<std::string>() : it->dump();
}

std::string words(const Json& list) {
  return list.empty() ? "none" : join(list.get<std::vector<std::string>>(), " ");
}

// "GLIBCXX 3.4.21 of libstdc++.so.6"
std::string floors(const Json& body) {
  std::vector<std::string> out;
  if (const auto it = body.find("libc_floor"); it != body.end() && !it->is_null()) {
    out.push_back(fmt::format("{} {}", text_of(*it, "name"), text_of(*it, "version")));
  }
  for (const Json& f : body.value("lib_floors", Json::array())) {
    out.push_back(
        fmt::format("{} {} of {}", text_of(f, "family"), text_of(f, "version"), text_of(f, "lib")));
  }
  return out.empty() ? "none" : join(out, ", ");
}

std::string isa_words(const Json& isa) {
  std::vector<std::string> out;
  for (const Json& r : isa.value("requires", Json::array())) {
    const bool sure = r.value("guard", "none") == "none";
    out.push_back(
        fmt::format("{} at {}{}", text_of(r, "feature"), text_of(r, "when"), sure ? "" : "?"));
  }
  const Json dispatched = isa.value("dispatched", Json::array());
  if (!dispatched.empty()) out.push_back("if present: " + words(dispatched));
  return out.empty() ? "baseline" : join(out, ", ");
}

void render(const Json& body, Printer& out) {
  out.heading(text_of(body, "file"));
  std::vector<std::string> unresolved;
  for (const Json& u : body.value("unresolved", Json::array())) {
    unresolved.push_back(text_of(u, "soname"));
  }
  out.pairs({{"project", text_of(body, "name") + " " + text_of(body, "version")},
             {"tags", words(body.at("tags"))},
             {"python", text_of(body, "requires_python")},
             {"libraries", floors(body)},
             {"not provided", unresolved.empty() ? "none" : join(unresolved, ", ")}});
  std::vector<std::vector<std::string>> rows;
  for (const Json& m : body.value("modules", Json::array())) {
    rows.push_back({text_of(m, "path"), text_of(m, "kind"), text_of(m, "machine"),
                    text_of(m, "p_align"),
                    m.contains("isa") ? isa_words(m.at("isa")) : "not scanned"});
  }
  out.line();
  if (rows.empty()) {
    out.line("no native code");
  } else {
    out.table({"MODULE", "KIND", "MACHINE", "ALIGN", "CPU FEATURES"}, rows);
  }
}

}  // namespace

Subcommand inspect_command() {
  return {"inspect", "show what a wheel asks of a host",
          [](CLI::App& app) -> std::function<Outcome()> {
            const auto wheel = std::make_shared<std::string>();
            app.add_option("wheel", *wheel, "the wheel file (.whl)")->required();
            return [wheel] { return Outcome{to_json(inspect_wheel(*wheel))}; };
          },
          render};
}

}  // namespace felloe
