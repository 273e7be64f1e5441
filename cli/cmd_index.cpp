// `felloe index`: a static package index, written or verified.
#include "packaging/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/printer.h"
#include "matrix/base/error.h"
#include "matrix/base/fs.h"

namespace felloe {
namespace {

struct Options {
  std::vector<std::string> wheels, yank, unyank;
  std::string out = "dist/index", base_url, epoch, verify;
};

// Wheels as given; a folder stands for the wheels in it.
std::vector<fs::path> find_wheels(const std::vector<std::string>& given) {
  std::vector<fs::path> out;
  for (const std::string& text : given) {
    std::error_code ec;  // of what is no folder, opening it says what is wrong
    if (!fs::is_directory(text, ec)) {
      out.emplace_back(text);
      continue;
    }
    const std::size_t before = out.size();
    for (const fs::directory_entry& entry : fs::directory_iterator(text)) {
      if (entry.path().extension() == ".whl") out.push_back(entry.path());
    }
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
    if (out.size() == before) {
      throw Error(ErrorKind::input, text, "the folder holds no wheels", "check the path");
    }
  }
  return out;
}

Outcome verify(const std::string& folder) {
  const std::vector<Finding> findings = verify_index(folder);
  const bool bad = std::any_of(findings.begin(), findings.end(),
                               [](const Finding& f) { return f.severity == Severity::error; });
  return Outcome{envelope("index", !bad, findings, Json{{"verified", folder}}), bad ? 1 : 0};
}

Outcome write(const Options& o) {
  IndexRequest request;
  request.wheels = find_wheels(o.wheels);
  request.out = o.out;
  request.base_url = o.base_url;
  request.source_date_epoch = source_date_epoch(o.epoch);
  for (const std::string& text : o.yank) {
    const std::size_t equals = text.find('=');
    request.yank[text.substr(0, equals)] =
        equals == std::string::npos ? "" : text.substr(equals + 1);
  }
  request.unyank = {o.unyank.begin(), o.unyank.end()};
  if (request.wheels.empty() && request.yank.empty() && request.unyank.empty()) {
    throw Error(ErrorKind::usage, "index", "nothing to do",
                "give wheels or a folder of wheels, --yank FILE, or --verify DIR");
  }
  const IndexResult result = write_index(request);
  Json files = Json::array();
  for (const IndexedFile& f : result.files) {
    files.push_back({{"project", f.project},
                     {"file", f.file},
                     {"version", f.version},
                     {"sha256", f.sha256},
                     {"size", f.size},
                     {"added", f.added}});
  }
  return Outcome{envelope("index", true, {},
                          Json{{"simple", result.simple.generic_string()},
                               {"files", files},
                               {"projects", result.projects}})};
}

void render(const Json& body, Printer& out) {
  const Json& data = body.at("data");
  if (data.contains("verified")) {
    out.findings(body.at("findings"));
    out.line(fmt::format("{}: {}", data.at("verified").get<std::string>(),
                         body.at("findings").empty() ? "every link leads to what it says"
                         : body.at("ok").get<bool>() ? "every link leads to what it says, "
                                                       "but a publish is unfinished"
                                                     : "the index is damaged"));
    return;
  }
  out.heading(data.at("simple").get<std::string>());
  for (const Json& f : data.at("files")) {
    out.line(fmt::format("  {} {}", f.at("added").get<bool>() ? "added    " : "unchanged",
                         f.at("file").get<std::string>()));
  }
}

}  // namespace

Subcommand index_command() {
  return {"index", "publish wheels to a static package index, or verify one",
          [](CLI::App& app) -> std::function<Outcome()> {
            const auto o = std::make_shared<Options>();
            app.add_option("WHEELS", o->wheels, "wheels, or folders of wheels");
            app.add_option("--out", o->out, "folder of the index; its pages are under simple/")
                ->capture_default_str();
            app.add_option("--base-url", o->base_url,
                           "URL of simple/, for absolute links [relative links]");
            app.add_option(
                "--epoch", o->epoch,
                "upload time of new wheels, Unix seconds [$SOURCE_DATE_EPOCH, else 1970]");
            app.add_option("--yank", o->yank, "FILE or FILE=REASON to mark as yanked; repeatable");
            app.add_option("--unyank", o->unyank, "FILE whose yank is taken back; repeatable");
            app.add_option("--verify", o->verify,
                           "only check the index in this folder: every link, hash and page");
            return [o] { return o->verify.empty() ? write(*o) : verify(o->verify); };
          },
          render};
}

}  // namespace felloe
