#include "matrix/tags.h"

#include <array>

#include "matrix/base/text.h"

namespace felloe {
namespace {

bool digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

struct PythonVersion {
  int major = 0, minor = -1;  // -1: the tag names the major version only
};

// "311" -> 3.11, "3" -> 3.
std::optional<PythonVersion> parse_digits(std::string_view text) {
  if (!digits(text) || text.size() > 4) return std::nullopt;
  PythonVersion out;
  out.major = text[0] - '0';
  if (text.size() > 1) out.minor = std::stoi(std::string(text.substr(1)));
  return out;
}

// "3.14.0rc1" -> 3.14
PythonVersion parse_version(const std::string& text) {
  const std::vector<std::string> parts = split(text, '.');
  const auto number = [](const std::string& part) {
    const std::string head = part.substr(0, part.find_first_not_of("0123456789"));
    return digits(head) && head.size() < 6 ? std::stoi(head) : 0;
  };
  return {number(parts[0]), parts.size() > 1 ? number(parts[1]) : 0};
}

bool at_least(const PythonVersion& have, const PythonVersion& need) {
  return have.major == need.major && have.minor >= need.minor;
}

bool equal(const PythonVersion& have, const PythonVersion& need) {
  return have.major == need.major && (need.minor < 0 || have.minor == need.minor);
}

std::string implementation(const HostPython& python) {
  if (python.implementation.known()) return *python.implementation;
  if (python.abi.known() && python.abi->starts_with("pypy")) return "pypy";
  if (python.abi.known() && python.abi->starts_with("graalpy")) return "graalpy";
  return "cpython";
}

// The names of PEP 513, 571 and 599 and the glibc that PEP 600 says they mean.
struct Legacy {
  const char* prefix;
  const char* floor;
};
constexpr std::array<Legacy, 3> kLegacyManylinux{
    {{"manylinux1_", "2.5"}, {"manylinux2010_", "2.12"}, {"manylinux2014_", "2.17"}}};

// "2_17_x86_64" -> ("2.17", "x86_64")
std::optional<std::pair<std::string, std::string>> split_floor(std::string_view text) {
  const std::size_t first = text.find('_');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = text.find('_', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const std::string_view major = text.substr(0, first);
  const std::string_view minor = text.substr(first + 1, second - first - 1);
  if (!digits(major) || !digits(minor)) return std::nullopt;
  return std::pair(std::string(major) + "." + std::string(minor),
                   std::string(text.substr(second + 1)));
}

std::string mac_machine(const std::string& tag) {
  if (tag.ends_with("_arm64")) return "aarch64";
  if (tag.ends_with("_x86_64")) return "x86_64";
  if (tag.ends_with("_universal2")) return "";
  return tag.substr(tag.rfind('_') + 1);
}

}  // namespace

Tag Tag::parse(const std::string& triple) {
  const std::vector<std::string> parts = split(triple, '-');
  return {parts.at(0), parts.at(1), parts.at(2)};
}

Platform Platform::parse(const std::string& tag) {
  const std::string_view text(tag);
  if (tag == "any") return {"any", "", "", ""};
  for (const Legacy& legacy : kLegacyManylinux) {
    if (tag.starts_with(legacy.prefix)) {
      return {"Linux", "glibc", legacy.floor, tag.substr(std::string(legacy.prefix).size())};
    }
  }
  for (const auto& [prefix, libc] :
       {std::pair("manylinux_", "glibc"), std::pair("musllinux_", "musl")}) {
    if (!tag.starts_with(prefix)) continue;
    if (const auto parts = split_floor(text.substr(std::string_view(prefix).size()))) {
      return {"Linux", libc, parts->first, parts->second};
    }
  }
  if (tag.starts_with("linux_")) return {"Linux", "", "", tag.substr(6)};
  if (tag.starts_with("macosx_")) return {"Darwin", "", "", mac_machine(tag)};
  if (tag == "win32") return {"Windows", "", "", "i686"};
  if (tag == "win_amd64") return {"Windows", "", "", "x86_64"};
  if (tag == "win_arm64") return {"Windows", "", "", "aarch64"};
  return {"", "", "", ""};
}

std::optional<bool> is_free_threaded(const HostPython& python) {
  if (python.free_threaded.known()) return *python.free_threaded;
  if (python.abi.known()) return python.abi->starts_with("cp") && python.abi->ends_with("t");
  const PythonVersion version = parse_version(python.version);
  // PEP 703: the first free-threaded build is 3.13's.
  if (implementation(python) != "cpython" || version.minor < 13) return false;
  return std::nullopt;
}

TagMatch match_python(const Tag& tag, const HostPython& python) {
  const PythonVersion have = parse_version(python.version);
  const std::string kind = implementation(python);
  TagMatch match;
  match.build = true;
  if (tag.python.starts_with("py")) {
    const auto need = parse_digits(std::string_view(tag.python).substr(2));
    match.version = need && tag.abi == "none" && at_least(have, *need);
    return match;
  }
  if (kind != "cpython") {
    const std::string prefix = kind == "pypy" ? "pp" : "graalpy";
    if (!tag.python.starts_with(prefix)) return match;
    const auto need = parse_digits(std::string_view(tag.python).substr(prefix.size()));
    match.version = need && equal(have, *need) &&
                    (tag.abi == "none" || (python.abi.known() && tag.abi == *python.abi));
    return match;
  }
  if (!tag.python.starts_with("cp")) return match;
  const auto need = parse_digits(std::string_view(tag.python).substr(2));
  if (!need) return match;
  if (tag.abi == "none") {
    match.version = equal(have, *need);
    return match;
  }
  const std::optional<bool> free_threaded = is_free_threaded(python);
  const auto wants = [&](bool wanted) -> std::optional<bool> {
    if (!free_threaded) return std::nullopt;
    return *free_threaded == wanted;
  };
  if (tag.abi == "abi3") {
    match.version = at_least(have, *need);
    match.build = wants(false);
  } else if (tag.abi == "abi3t") {
    match.version = at_least(have, *need);
  } else if (tag.abi == tag.python || tag.abi == tag.python + "m" || tag.abi == tag.python + "mu") {
    // "m" (pymalloc) was part of the ABI up to 3.7, "u" (wide unicode) up to 3.2.
    match.version = equal(have, *need);
    match.build = wants(false);
  } else if (tag.abi == tag.python + "t") {
    match.version = equal(have, *need);
    match.build = wants(true);
  }
  return match;
}

int elf_class_of(const std::string& machine) {
  if (machine == "x86_64" || machine == "aarch64") return 64;
  if (machine == "armv7l" || machine == "i686") return 32;
  return 0;
}

bool can_import(const std::string& suffix, const HostPython& python) {
  if (suffix.empty()) return true;
  const bool cpython = implementation(python) == "cpython";
  const bool threaded = is_free_threaded(python).value_or(false);
  const PythonVersion have = parse_version(python.version);
  if (suffix == "abi3") return cpython && !threaded;
  if (suffix == "abi3t") return cpython && at_least(have, {3, 15});  // PEP 803
  const std::vector<std::string> parts = split(suffix, '-');
  if (parts[0].starts_with("pypy")) return implementation(python) == "pypy";
  if (parts[0].starts_with("graalpy")) return implementation(python) == "graalpy";
  if (parts[0] != "cpython" || parts.size() < 2) return false;
  const std::string& version = parts[1];  // "312", "314t", "37m"
  const std::size_t end = std::min(version.find_first_not_of("0123456789"), version.size());
  const auto need = parse_digits(std::string_view(version).substr(0, end));
  const std::string flags = version.substr(end);
  if (!cpython || !need || !equal(have, *need) || (flags == "t") != threaded) return false;
  if (parts.size() < 3) return true;
  // The multiarch name: i386 for i686, arm for armv7l.
  const std::string& arch = parts[2];
  if (python.machine == "i686") return arch == "i386" || arch == "i686";
  if (python.machine == "armv7l") return arch == "arm";
  return arch == python.machine;
}

}  // namespace felloe
