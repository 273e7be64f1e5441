// Names of published wheels: the same bytes keep their name, other bytes get the next build number.
// What pip and uv make of it is in tests/cli/test_nightly.py.
#include "ci/publish.h"

#include <catch2/catch.hpp>

#include "matrix/base/fs.h"
#include "packaging/index.h"
#include "tests/unit/throws.h"

using namespace felloe;
using felloe::test::error_of;

namespace {

// A project without native code whose wheel differs with `number`, and its nightly's last steps.
struct Site {
  TempDir dir;
  fs::path out = dir.path() / "out";

  PackageRequest request(int number, const std::string& version = "1.0.dev20260102") const {
    write_file(dir.path() / "tree/pure/__init__.py", "number = " + std::to_string(number) + "\n");
    PackageRequest pack;
    pack.tree = dir.path() / "tree";
    pack.name = "Pure.Felloe";
    pack.version = version;
    pack.project_root = dir.path();
    pack.out_dir = dir.path() / "packed";
    return pack;
  }
  static PublishRequest publish_request(const PackageResult& made, const fs::path& out) {
    return {.wheel = made.wheel,
            .project = "Pure.Felloe",
            .version = "1.0.dev20260102",
            .sha256 = made.sha256,
            .out = out,
            .base_url = ""};
  }
  std::string nightly_of(int number, const std::string& version = "1.0.dev20260102") const {
    const PackageResult made = package_for_index(request(number, version), out);
    publish_wheel(publish_request(made, out));
    CHECK(list_files(dir.path() / "packed") == std::vector<std::string>{made.file});
    fs::remove(made.wheel);
    return made.file;
  }
};

}  // namespace

TEST_CASE("another wheel of one version gets the next build number", "[ci]") {
  const Site site;
  CHECK(site.nightly_of(1) == "pure_felloe-1.0.dev20260102-py3-none-any.whl");
  CHECK(site.nightly_of(1) == "pure_felloe-1.0.dev20260102-py3-none-any.whl");
  CHECK(site.nightly_of(2) == "pure_felloe-1.0.dev20260102-1-py3-none-any.whl");
  CHECK(site.nightly_of(2) == "pure_felloe-1.0.dev20260102-1-py3-none-any.whl");
  // Back to what was published first: the newest wheel must be made of the newest sources.
  CHECK(site.nightly_of(1) == "pure_felloe-1.0.dev20260102-2-py3-none-any.whl");
  for (int number = 3; number < 12; ++number) site.nightly_of(number);
  CHECK(site.nightly_of(20) == "pure_felloe-1.0.dev20260102-12-py3-none-any.whl");
  CHECK(site.nightly_of(1, "1.0.dev20260103") == "pure_felloe-1.0.dev20260103-py3-none-any.whl");
  CHECK(verify_index(site.out / "index").empty());
}

TEST_CASE("a name that was published meanwhile keeps its bytes", "[ci]") {
  const Site site;
  const PackageResult mine = package_for_index(site.request(1), site.out);
  PackageRequest other = site.request(2);
  other.out_dir = site.dir.path() / "other";
  const PackageResult theirs = package_for_index(other, site.out);
  CHECK(mine.file == theirs.file);
  publish_wheel(Site::publish_request(theirs, site.out));
  const auto error = error_of([&] { publish_wheel(Site::publish_request(mine, site.out)); });
  CHECK(error.kind() == ErrorKind::input);
  CHECK(error.message().find("has published other bytes as " + mine.file) != std::string::npos);
  CHECK(error.hint().find("--force") != std::string::npos);
  CHECK(read_file(site.out / "index/simple/pure-felloe" / mine.file) == read_file(theirs.wheel));
  CHECK(read_file(site.out / "wheels" / mine.file) == read_file(theirs.wheel));
}
