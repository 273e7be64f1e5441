// The headers of a CPython as a build gets them. Environments and pip are in
// tests/cli/test_nightly.py.
#include "ci/pyenv.h"

#include <catch2/catch.hpp>

#include "matrix/base/fs.h"
#include "tests/unit/throws.h"

using namespace felloe;
using felloe::test::error_of;

TEST_CASE("headers that forward to the architecture's pyconfig.h become one folder", "[pyenv]") {
  const TempDir dir;
  const fs::path include = dir.path() / "include/python3.11",
                 into = dir.path() / "work/3.11-x86_64";
  write_file(include / "Python.h", "#include \"pyconfig.h\"\n");
  write_file(include / "cpython/object.h", "object\n");
  write_file(include / "patchlevel.h", "3.11.2\n");

  SECTION("ordinary headers stay where they are") {
    write_file(include / "pyconfig.h", "#define SIZEOF_LONG 8\n");
    CHECK(self_contained_headers(include, "x86_64", into) == include);
    CHECK(!fs::exists(into));
  }
  SECTION("Debian's") {
    // As libpython3.11-dev has it.
    write_file(include / "pyconfig.h",
               "#if defined(__x86_64__)\n#  include <x86_64-linux-gnu/python3.11/pyconfig.h>\n"
               "#elif defined(__aarch64__)\n#  include "
               "<aarch64-linux-gnu/python3.11/pyconfig.h>\n#endif\n");
    const fs::path real = dir.path() / "include/x86_64-linux-gnu/python3.11/pyconfig.h";
    write_file(real, "#define SIZEOF_LONG 8\n");
    CHECK(self_contained_headers(include, "x86_64", into) == into);
    CHECK(read_file(into / "pyconfig.h") == "#define SIZEOF_LONG 8\n");
    CHECK(read_file(into / "cpython/object.h") == "object\n");

    const auto written = fs::last_write_time(into / "Python.h");
    CHECK(self_contained_headers(include, "x86_64", into) == into);
    CHECK(fs::last_write_time(into / "Python.h") == written);

    write_file(real, "#define SIZEOF_LONG 4\n");
    CHECK(self_contained_headers(include, "x86_64", into) == into);
    CHECK(read_file(into / "pyconfig.h") == "#define SIZEOF_LONG 4\n");

    const Error missing = error_of([&] { (void)self_contained_headers(include, "aarch64", into); });
    CHECK(missing.kind() == ErrorKind::environment);
    CHECK(missing.hint() == "install the package libpython3.11-dev for aarch64");
  }
}
