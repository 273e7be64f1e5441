#include "packaging/wheel/filename.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "matrix/base/error.h"
#include "matrix/base/text.h"
#include "matrix/pep440.h"

namespace felloe {
namespace {

constexpr const char* kForm = "expected NAME-VERSION(-BUILD)-PYTHON-ABI-PLATFORM.whl (PEP 427)";

std::vector<std::string> tag_set(std::string_view text, std::string_view file, const char* what) {
  std::vector<std::string> out = split(text, '.');
  for (const std::string& tag : out) {
    const bool fine = !tag.empty() && std::all_of(tag.begin(), tag.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_';
    });
    if (!fine) {
      throw Error(ErrorKind::input, std::string(file),
                  fmt::format("the {} tag \"{}\" in the file name is malformed", what, text),
                  kForm);
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> WheelName::tags() const {
  std::vector<std::string> out;
  for (const std::string& p : python) {
    for (const std::string& a : abi) {
      for (const std::string& f : platform) out.push_back(fmt::format("{}-{}-{}", p, a, f));
    }
  }
  return out;
}

WheelName parse_wheel_filename(std::string_view path) {
  const auto slash = path.rfind('/');
  const std::string_view file = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const auto fail = [&](const std::string& message) {
    throw Error(ErrorKind::input, file.empty() ? "wheel file name" : std::string(file), message,
                kForm);
  };
  if (!file.ends_with(".whl")) fail("the file name doesn't end in .whl");
  const std::vector<std::string> parts = split(file.substr(0, file.size() - 4), '-');
  if (parts.size() != 5 && parts.size() != 6) {
    fail(fmt::format("the file name has {} parts between dashes, expected 5, or 6 with a build tag",
                     parts.size()));
  }
  WheelName out;
  out.file = file;
  out.name = parts[0];
  out.version = parts[1];
  if (!valid_name(out.name)) fail(fmt::format("\"{}\" is no package name", out.name));
  if (!Version::parse(out.version)) fail(fmt::format("\"{}\" is no PEP 440 version", out.version));
  if (parts.size() == 6) {
    if (parts[2].empty() || std::isdigit(static_cast<unsigned char>(parts[2][0])) == 0) {
      fail(fmt::format("the build tag \"{}\" doesn't start with a digit", parts[2]));
    }
    out.build = parts[2];
  }
  const std::size_t n = parts.size();
  out.python = tag_set(parts[n - 3], file, "python");
  out.abi = tag_set(parts[n - 2], file, "ABI");
  out.platform = tag_set(parts[n - 1], file, "platform");
  // Sets multiply; nobody has more than a few of each.
  if (out.python.size() * out.abi.size() * out.platform.size() > 4096) {
    fail("the file name stands for more than 4096 tags");
  }
  return out;
}

}  // namespace felloe
