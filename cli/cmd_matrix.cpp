// `felloe matrix`: the targets of felloe.json.
#include <memory>

#include "cli/commands.h"
#include "cli/printer.h"
#include "matrix/base/text.h"
#include "matrix/project.h"

namespace felloe {
namespace {

Json targets_json(const Project& project) {
  Json list = Json::array();
  for (const auto& [name, target] : project.targets) {
    list.push_back(Json{{"name", name},
                        {"arch", target.arch},
                        {"accelerator", target.accelerator},
                        {"sm", target.sm},
                        {"python_abis", target.python_abis},
                        {"optional_abis", target.optional_abis},
                        {"toolchain", target.toolchain},
                        {"version", wheel_version(project, target, std::nullopt)}});
  }
  return list;
}

void render(const Json& body, Printer& out) {
  const Json& data = body.at("data");
  out.heading(data.at("project").get<std::string>() + " " + data.at("version").get<std::string>());
  std::vector<std::vector<std::string>> rows;
  const auto list = [](const Json& json) {
    return json.empty() ? std::string("-") : join(json.get<std::vector<std::string>>(), " ");
  };
  for (const Json& target : data.at("targets")) {
    std::string abis = list(target.at("python_abis"));
    if (!target.at("optional_abis").empty()) abis += " (" + list(target.at("optional_abis")) + ")";
    rows.push_back({target.at("name"), target.at("version"), abis, list(target.at("sm")),
                    target.at("toolchain")});
  }
  out.table({"TARGET", "VERSION", "PYTHON ABIS (optional)", "GPU", "TOOLCHAIN"}, rows);
}

}  // namespace

Subcommand matrix_command() {
  return {"matrix", "show the targets that felloe.json asks for",
          [](CLI::App& app) -> std::function<Outcome()> {
            const auto folder = std::make_shared<std::string>(".");
            app.add_option("--project", *folder, "folder of felloe.json, or the file itself")
                ->capture_default_str();
            return [folder] {
              const Project project = load_project(*folder);
              return Outcome{envelope("matrix", true, {},
                                      Json{{"project", project.name},
                                           {"version", project.version},
                                           {"targets", targets_json(project)}})};
            };
          },
          render};
}

}  // namespace felloe
