#include "ci/publish.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/process.h"
#include "matrix/pep440.h"
#include "packaging/index.h"
#include "packaging/index/pages.h"
#include "packaging/wheel/filename.h"

namespace felloe {
namespace {

struct Published {
  int build = 0;
  std::string file, sha256;
};

// What the index lists for a project; nothing if there is no index yet.
std::vector<IndexEntry> published_files(const fs::path& out, const std::string& project) {
  const fs::path page = out / "index" / "simple" / normalize_name(project) / "index.json";
  std::error_code ec;
  if (!fs::exists(page, ec)) return {};
  return parse_project(read_json(page), page.string()).entries;
}

// Of the wheels with this version and these tags the one with the highest build number.
std::optional<Published> newest(const fs::path& out, const PackageRequest& request,
                                const PackageResult& wheel) {
  std::optional<Published> best;
  const auto version = Version::parse(request.version);
  for (const IndexEntry& entry : published_files(out, request.name)) {
    const WheelName name = parse_wheel_filename(entry.file);
    if (Version::parse(entry.version) != version || name.tags() != wheel.tags) continue;
    // PEP 427: a build tag sorts by the digits it starts with.
    const int build = name.build ? std::atoi(name.build->c_str()) : 0;
    if (!best || build > best->build) best = Published{build, entry.file, entry.sha256};
  }
  return best;
}

}  // namespace

PackageResult package_for_index(PackageRequest request, const fs::path& out) {
  PackageResult made = package_tree(request);
  const auto there = newest(out, request, made);
  if (!there) return made;
  const auto pack_as = [&](int build) {
    fs::remove(made.wheel);
    request.build = build;
    made = package_tree(request);
  };
  if (there->build > 0) pack_as(there->build);
  if (made.sha256 != there->sha256) pack_as(there->build + 1);
  return made;
}

std::string install_line(const PublishRequest& request) {
  const std::string url =
      !request.base_url.empty()
          ? request.base_url
          : "file://" + fs::absolute(request.out / "index" / "simple").string() + "/";
  return shell_quote(
      {"pip", "install", "--extra-index-url", url, request.project + "==" + request.version});
}

Json publish_wheel(const PublishRequest& request) {
  const fs::path index = request.out / "index";
  const std::string file = request.wheel.filename().string();
  for (const IndexEntry& entry : published_files(request.out, request.project)) {
    if (entry.file != file || entry.sha256 == request.sha256) continue;
    throw Error(ErrorKind::input, (index / "simple").string(),
                "another run has published other bytes as " + file + " since this one was packed",
                "run again with --force: the wheel then gets the next build number");
  }
  IndexRequest add;
  add.wheels = {request.wheel};
  add.out = index;
  add.base_url = request.base_url;
  add.source_date_epoch = request.source_date_epoch;
  write_index(add);
  remove_stale_temps(request.out / "wheels");
  copy_file_atomic(request.wheel, request.out / "wheels" / file);
  return {{"index", (index / "simple").string()},
          {"wheel", (request.out / "wheels" / file).string()},
          {"install", install_line(request)}};
}

}  // namespace felloe
