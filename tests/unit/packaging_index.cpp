// The pages of an index: rendering, reading back, links.
#include "matrix/base/fs.h"
#include "packaging/index.h"
#include "packaging/index/pages.h"
#include "packaging/package.h"
#include "tests/unit/throws.h"

namespace felloe {
namespace {

using test::error_of;

ProjectPage sample() {
  ProjectPage page;
  page.name = "demo";
  const std::string hash(64, 'a');
  page.entries = {
      {"demo-1.10-py3-none-any.whl", "1.10", "demo-1.10-py3-none-any.whl", hash, hash, ">=3.10,<4",
       10, upload_time(0), std::nullopt},
      {"demo-1.9+cpu-py3-none-any.whl", "1.9+cpu", url_quote("demo-1.9+cpu-py3-none-any.whl"), hash,
       hash, std::nullopt, 20, upload_time(1700000000), "a \"reason\" & <more>"}};
  sort_entries(page);
  return page;
}

TEST_CASE("versions are sorted as versions") {
  CHECK(sample().entries.front().version == "1.9+cpu");
  CHECK(Json::parse(render_json(sample())).at("versions") == Json{"1.9+cpu", "1.10"});
}

TEST_CASE("what render_json writes, parse_project reads") {
  const std::string text = render_json(sample());
  CHECK(render_json(parse_project(Json::parse(text), "page")) == text);
}

TEST_CASE("attributes are escaped in HTML and the links read back") {
  const std::string html = render_html(sample());
  CHECK(html.find("data-requires-python=\"&gt;=3.10,&lt;4\"") != std::string::npos);
  CHECK(html.find("data-yanked=\"a &quot;reason&quot; &amp; &lt;more&gt;\"") != std::string::npos);
  const std::vector<HtmlLink> links = parse_links(html);
  REQUIRE(links.size() == 2);
  CHECK(links[0].href == "demo-1.9%2Bcpu-py3-none-any.whl");
  CHECK(links[0].sha256 == std::string(64, 'a'));
}

TEST_CASE("URL quoting") {
  CHECK(url_quote("a+b c~d-e_f.g/\xc3\xa4") == "a%2Bb%20c~d-e_f.g%2F%C3%A4");
  CHECK(url_unquote("a%2Bb%2fc%") == "a+b/c%");
}

TEST_CASE("links stay in their project's folder") {
  CHECK(linked_file("a%2Bb.whl", "p") == "a+b.whl");
  CHECK(linked_file("https://example.org/simple/p/a.whl", "p") == "a.whl");
  for (const char* bad : {"../q/a.whl", "/etc/passwd", "https://example.org/q/a.whl", "", "p/a.whl",
                          "..%2Fa", ".hidden", "https://example.org/xp/a.whl"}) {
    INFO(bad);
    CHECK_FALSE(linked_file(bad, "p").has_value());
  }
}

TEST_CASE("upload times are ISO 8601 in UTC") {
  CHECK(upload_time(0) == "1970-01-01T00:00:00.000000Z");
  CHECK(upload_time(1700000000) == "2023-11-14T22:13:20.000000Z");
  CHECK(upload_time(-1) == upload_time(0));
}

TEST_CASE("a damaged page is an Error that names the field") {
  const auto where = [](const char* key, const Json& value) {
    Json page = Json::parse(render_json(sample()));
    page["files"][1][key] = value;
    return error_of([&] { parse_project(page, "page"); }).where();
  };
  CHECK(where("size", -1) == "page/files/1/size");
  CHECK(where("filename", "../x") == "page/files/1/filename");
  CHECK(where("filename", "demo.whl") == "page/files/1/filename");
  CHECK(where("hashes", Json::object()) == "page/files/1/hashes");
  CHECK(where("yanked", 3) == "page/files/1/yanked");
  CHECK(where("url", nullptr) == "page/files/1/url");
  CHECK(error_of([] { parse_project(Json::array(), "page"); }).where() == "page");
  CHECK(error_of([] { parse_project(Json{{"name", "x"}}, "page"); }).where() == "page/files");
}

TEST_CASE("an index is written, kept, and verified") {
  const TempDir dir;
  write_file(dir.path() / "tree/p.py", "");
  PackageRequest package;
  package.tree = dir.path() / "tree";
  package.out_dir = dir.path() / "wheels";
  package.name = "P";
  package.version = "1";
  package.info.requires_python = ">=3.10";
  IndexRequest request;
  request.wheels = {package_tree(package).wheel};
  request.out = dir.path() / "index";
  const IndexResult first = write_index(request);
  REQUIRE(first.files.size() == 1);
  CHECK(first.files[0].added);
  CHECK(first.files[0].project == "p");
  CHECK_FALSE(write_index(request).files[0].added);
  CHECK(verify_index(request.out).empty());
  const ProjectPage page =
      parse_project(read_json(request.out / "simple/p/index.json"), "index.json");
  CHECK(page.entries[0].requires_python == ">=3.10");
  CHECK(error_of([&] { verify_index(dir.path()); }).kind() == ErrorKind::input);
}

}  // namespace
}  // namespace felloe
