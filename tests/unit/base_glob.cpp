#include <catch2/catch.hpp>

#include "matrix/base/fs.h"
#include "matrix/base/glob.h"

namespace felloe {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("glob_match keeps '*' inside a segment and lets '**' cross") {
  struct Case {
    const char *pattern, *path;
    bool match;
  };
  const Case cases[] = {{"*.py", "a.py", true},
                        {"*.py", "b/a.py", false},
                        {"**/*.py", "a.py", true},
                        {"**/*.py", "b/c/a.py", true},
                        {"src/**", "src/a/b", true},
                        {"src/**", "other", false},
                        {"a/**/b", "a/b", true},
                        {"a/**/b", "a/x/y/b", true},
                        {"a?c", "abc", true},
                        {"a?c", "a/c", false},
                        {"[a-c]x", "bx", true},
                        {"[!a-c]x", "bx", false},
                        {"[", "[", true},
                        {"*a*b*c", "xxaxxbxxc", true},
                        {"*a*b*c", "xxaxxbxx", false},
                        {"LICEN[CS]E*", "LICENSE", true},
                        {"", "", true},
                        {"a", "", false}};
  for (const Case& c : cases) {
    INFO(c.pattern << " on " << c.path);
    CHECK(glob_match(c.pattern, c.path) == c.match);
  }
}

TEST_CASE("glob_match takes no exponential time") {
  CHECK_FALSE(glob_match("*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}

TEST_CASE("glob_files lists files, sorted, without following folder links") {
  const TempDir dir;
  for (const char* name :
       {"LICENSE", "licenses/a.txt", "licenses/sub/b.txt", "src/x.cpp", "src/.hidden"}) {
    write_file(dir.path() / name, "x");
  }
  fs::create_directory_symlink("licenses", dir.path() / "link");
  CHECK(glob_files(dir.path(), "LICENSE") == Names{"LICENSE"});
  CHECK(glob_files(dir.path(), "licenses/*.txt") == Names{"licenses/a.txt"});
  CHECK(glob_files(dir.path(), "licenses/**") == Names{"licenses/a.txt", "licenses/sub/b.txt"});
  CHECK(glob_files(dir.path(), "**/*.txt") == Names{"licenses/a.txt", "licenses/sub/b.txt"});
  CHECK(glob_files(dir.path(), "s*/*") == Names{"src/.hidden", "src/x.cpp"});
  CHECK(glob_files(dir.path(), "nothing*").empty());
  CHECK(glob_files(dir.path(), "src").empty());
}

TEST_CASE("remove_stale_temps removes what dead writers left and nothing else") {
  const TempDir dir;
  write_file(dir.path() / ".w.whl.999999999.0.tmp", "x");         // no such process
  write_file(dir.path() / ".w.whl.999999999.0.tmp.AbCdEf", "x");  // libzip's own suffix
  write_file(temp_path(dir.path() / "alive.whl"), "x");           // ours
  write_file(dir.path() / ".notes.tmp", "x");
  write_file(dir.path() / "w.999999999.0.tmp", "x");
  remove_stale_temps(dir.path());
  CHECK(list_files(dir.path()).size() == 3);
}

}  // namespace
}  // namespace felloe
