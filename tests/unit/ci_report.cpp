// The report page: everything shown, nothing unescaped, nothing from outside. How it looks in a
// browser is tests/cli/test_report.py.
#include <catch2/catch.hpp>

#include "ci/report.h"

using namespace felloe;

namespace {

Json sample() {
  return Json::parse(R"({
    "schema": "felloe/report/1", "ok": false, "project": "tiny", "version": "1.0", "target": "x86_64-cpu",
    "wheel": {"file": "tiny-1.0.whl", "size": 1234567, "sha256": "ab", "tags": ["cp311-cp311-linux_x86_64"]},
    "published": {"ok": false, "reason": "smoke tests fail in 1 of 3 cells", "install": ""},
    "coverage": [
      {"cell": "a", "python": "3.11.2", "cpu": "", "coverage": "executed", "ok": true, "reason": "", "scripts": [{"script": "s.py", "ok": true, "how": "exit code 0", "tail": ""}]},
      {"cell": "b", "python": "3.11.2", "cpu": "qemu64", "coverage": "emulated", "ok": false, "reason": "", "scripts": [{"script": "s.py", "ok": false, "how": "killed by signal 4", "tail": "x"}]},
      {"cell": "c", "python": "3.10.1", "cpu": "", "coverage": "not run", "ok": null, "reason": "no tag", "scripts": []}],
    "findings": [{"code": "SMOKE001", "severity": "error", "wheel": "w", "file": "s.py", "symbol": "b", "offset": 255, "message": "fails", "hint": "look", "data": {"k": "<v>"}}],
    "steps": [{"id": "build", "kind": "build", "title": "Build", "state": "failed", "seconds": 61.5, "attempts": 2, "log": "logs/b.log",
               "error": {"kind": "child", "where": "cc", "message": "bad <code>", "hint": "h"}},
              {"id": "p", "kind": "p", "title": "P", "state": "skipped", "seconds": 0, "attempts": 0, "log": "l", "because": "build"}],
    "host": {"CPU": "A & B"}})");
}

}  // namespace

TEST_CASE("the page shows each kind of state in words", "[ci]") {
  const std::string page = report_html(sample());
  for (const char* words :
       {"not good", "not published", "smoke tests fail in 1 of 3 cells", "passes, executed",
        "fails, emulated", "not run", "no tag", "at 0xff", "1 min 01 s", "2 tries", "needs build",
        "1.23 MB", "A &amp; B", "bad &lt;code&gt;", "&lt;v&gt;"}) {
    INFO(words);
    CHECK(page.find(words) != std::string::npos);
  }
}

TEST_CASE("a small wheel's size isn't 0.01 MB", "[ci]") {
  Json report = sample();
  report["wheel"]["size"] = 8'412;
  CHECK(report_html(report).find("<dd>8.41 kB</dd>") != std::string::npos);
}

TEST_CASE("no text of a wheel or a child process becomes markup", "[ci]") {
  const std::string evil = "<script>alert(1)</script>\"'&\x01";
  Json report = sample();
  // Every string of the report, wherever it stands, except the words that the page itself tests.
  std::function<void(Json&, const std::string&)> spoil = [&](Json& node, const std::string& key) {
    if (node.is_string() && key != "state" && key != "coverage" && key != "severity") node = evil;
    if (node.is_array()) {
      for (Json& item : node) spoil(item, key);
    }
    if (node.is_object()) {
      for (auto& [name, value] : node.items()) spoil(value, name);
    }
  };
  spoil(report, "");
  const std::string page = report_html(report);
  CHECK(page.find("<script") == std::string::npos);
  CHECK(page.find("\"'&") == std::string::npos);
  CHECK(page.find('\x01') == std::string::npos);
  CHECK(page.find("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;\xef\xbf\xbd") !=
        std::string::npos);
}

TEST_CASE("the page needs nothing from outside", "[ci]") {
  const std::string page = report_html(sample());
  for (const char* outside : {"http:", "https:", "//", "src=", "@import", "url("}) {
    INFO(outside);
    CHECK(page.find(outside) == std::string::npos);
  }
  CHECK(page.find("prefers-color-scheme: dark") != std::string::npos);
}
