#include "ci/publish.h"

#include <fcntl.h>
#include <stdio.h>

#include <cerrno>
#include <cstring>

#include "ci/state.h"
#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/process.h"
#include "matrix/pep440.h"
#include "packaging/index.h"

namespace felloe {
namespace {

// Puts `fresh` where `old` is and the other way round, in one step (renameat2(2)).
void exchange(const fs::path& fresh, const fs::path& old) {
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, old.c_str(), RENAME_EXCHANGE) == 0) return;
  throw Error(ErrorKind::environment, old.string(),
              std::string("cannot replace the index: ") + std::strerror(errno),
              "choose an output folder on an ordinary file system, or remove the old index");
}

void rebuild_index(const PublishRequest& request, const fs::path& index) {
  const fs::path fresh = request.out / ".index.new";
  std::error_code ec;
  fs::remove_all(fresh, ec);
  IndexRequest rebuilt;
  rebuilt.out = fresh;
  rebuilt.base_url = request.base_url;
  rebuilt.source_date_epoch = request.source_date_epoch;
  rebuilt.wheels = {request.wheel};
  for (const std::string& file : list_files(index)) {
    const fs::path path = index / file;
    if (path.extension() == ".whl" && path.filename() != request.wheel.filename()) {
      rebuilt.wheels.push_back(path);
    }
  }
  write_index(rebuilt);
  exchange(fresh, index);
  fs::remove_all(fresh, ec);
}

}  // namespace

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
  const fs::path file = request.wheel.filename();
  const fs::path published = index / "simple" / normalize_name(request.project) / file;
  std::error_code ec;
  const bool supersedes = fs::exists(published, ec) && content_digest(published) != request.sha256;
  if (supersedes) {
    rebuild_index(request, index);
  } else {
    IndexRequest add;
    add.wheels = {request.wheel};
    add.out = index;
    add.base_url = request.base_url;
    add.source_date_epoch = request.source_date_epoch;
    write_index(add);
  }
  remove_stale_temps(request.out / "wheels");
  copy_file_atomic(request.wheel, request.out / "wheels" / file);
  return {{"index", (index / "simple").string()},
          {"wheel", (request.out / "wheels" / file).string()},
          {"install", install_line(request)},
          {"superseded", supersedes}};
}

}  // namespace felloe
