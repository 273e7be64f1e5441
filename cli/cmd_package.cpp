// `felloe package TREE`: an install tree as a wheel.
#include "packaging/package.h"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/printer.h"
#include "matrix/base/error.h"
#include "matrix/base/text.h"

namespace felloe {
namespace {

struct Options {
  std::string tree, project, target, name, version, out = "dist/wheels";
  std::string python_tag, abi_tag, platform_tag, nightly, epoch;
  std::vector<std::string> licenses;
  int build = 0;
};

std::optional<std::string> given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

// "NAME=FILE" or FILE, whose name it then keeps.
LicenseFile parse_license(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    return {std::filesystem::path(text).filename().string(), text};
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

PackageRequest make_request(const Options& o) {
  PackageRequest request;
  request.tree = o.tree;
  request.out_dir = o.out;
  request.project_root = std::filesystem::current_path();
  if (!o.project.empty()) {
    const Project project = load_project(o.project);
    const Target& target = o.target.empty() ? host_target(project) : find_target(project, o.target);
    request.project_root = project.root;
    request.name = project.name;
    request.version = wheel_version(project, target, given(o.nightly));
    request.info = project.package;
  } else if (!o.target.empty() || !o.nightly.empty()) {
    throw Error(ErrorKind::usage, "package", "--target and --nightly need --project",
                "add --project FOLDER, the one that holds felloe.json");
  }
  if (!o.name.empty()) request.name = o.name;
  if (!o.version.empty()) request.version = o.version;
  if (request.name.empty() || request.version.empty()) {
    throw Error(ErrorKind::usage, "package", "the wheel has no name or no version",
                "give --project FOLDER, or both --name and --version");
  }
  for (const std::string& license : o.licenses) {
    request.extra_licenses.push_back(parse_license(license));
  }
  request.build = o.build;
  request.python_tag = given(o.python_tag);
  request.abi_tag = given(o.abi_tag);
  request.platform_tag = given(o.platform_tag);
  request.source_date_epoch = source_date_epoch(o.epoch);
  return request;
}

Outcome run(const Options& options) {
  const PackageResult result = package_tree(make_request(options));
  return Outcome{envelope("package", true, {},
                          Json{{"file", result.file},
                               {"wheel", result.wheel.generic_string()},
                               {"tags", result.tags},
                               {"evidence", result.evidence},
                               {"left_out", result.left_out},
                               {"build", result.build},
                               {"sha256", result.sha256},
                               {"size", result.size}})};
}

void render(const Json& body, Printer& out) {
  const Json& data = body.at("data");
  out.heading(data.at("wheel").get<std::string>());
  std::vector<std::pair<std::string, std::string>> rows = {
      {"size", fmt::format("{} bytes", data.at("size").get<std::uint64_t>())},
      {"sha256", data.at("sha256").get<std::string>()}};
  for (const Json& module : data.at("evidence").at("python").at("modules")) {
    rows.emplace_back("module", module.at("module").get<std::string>() + " for Python " +
                                    module.at("pythons").get<std::string>());
  }
  const Json& platform = data.at("evidence").at("platform");
  rows.emplace_back("platform", platform.at("tag").get<std::string>() +
                                    (platform.contains("given") ? " (as given)" : ""));
  if (platform.contains("evidence")) {
    for (const Json& e : platform.at("evidence")) {
      rows.emplace_back(
          "", fmt::format("{} of {} in {}", e.at("subject").get<std::string>(),
                          e.at("lib").get<std::string>(), e.at("module").get<std::string>()));
    }
  }
  const std::size_t left_out = data.at("left_out").size();
  if (left_out > 0) rows.emplace_back("left out", fmt::format("{} bytecode files", left_out));
  out.pairs(rows);
}

}  // namespace

Subcommand package_command() {
  return {"package", "pack an install tree as a wheel, with the tags its code has",
          [](CLI::App& app) -> std::function<Outcome()> {
            const auto o = std::make_shared<Options>();
            app.add_option("TREE", o->tree, "install tree: what becomes site-packages")->required();
            app.add_option("--project", o->project,
                           "felloe.json or its folder: name, version and metadata");
            app.add_option("--target", o->target, "target whose version is meant [this machine's]");
            app.add_option("--nightly", o->nightly, "date YYYYMMDD: version X.Y.Z.devYYYYMMDD");
            app.add_option("--name", o->name, "package name, instead of felloe.json's");
            app.add_option("--version", o->version, "PEP 440 version, instead of felloe.json's");
            app.add_option("--build-number", o->build,
                           "which wheel of this version it is: of several, pip takes the highest")
                ->check(check_positive);
            app.add_option("--license", o->licenses,
                           "further license text, FILE or NAME-IN-THE-WHEEL=FILE; repeatable");
            app.add_option("--python-tag", o->python_tag, "instead of the computed one");
            app.add_option("--abi-tag", o->abi_tag, "instead of the computed one");
            app.add_option("--platform-tag", o->platform_tag, "instead of the computed one");
            app.add_option("--epoch", o->epoch,
                           "time stamp in the wheel, Unix seconds [$SOURCE_DATE_EPOCH, else 1980]");
            app.add_option("--out", o->out, "folder of the wheel")->capture_default_str();
            return [o] { return run(*o); };
          },
          render};
}

}  // namespace felloe
