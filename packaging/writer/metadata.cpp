#include "packaging/writer/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/glob.h"
#include "matrix/base/text.h"
#include "matrix/base/visible.h"
#include "packaging/zip/structure.h"

namespace felloe {
namespace {

constexpr std::uint64_t kMaxText = 16u << 20;  // bytes of a description or license

[[noreturn]] void refuse(const std::string& key, const std::string& message,
                         const std::string& hint) {
  throw Error(ErrorKind::usage, "felloe.json: package/" + key, message, hint);
}

// One field is one line: a newline would start a new field of an attacker's or typist's choice.
const std::string& one_line(const std::string& key, const std::string& value) {
  for (const char c : value) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t') {
      refuse(key, "expected one line of text", "remove the line breaks");
    }
  }
  if (!is_utf8(value)) refuse(key, "not UTF-8", "write the value in UTF-8");
  return value;
}

std::string read_text(const fs::path& file) {
  std::string text = read_file(file, kMaxText);
  if (!is_utf8(text)) {
    throw Error(ErrorKind::input, file.string(), "not UTF-8; METADATA is UTF-8",
                "convert the file");
  }
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {  // one line ending on every platform
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out += text[i];
  }
  return out;
}

std::string description_type(const std::string& file) {
  const std::string name = to_lower(file);
  if (name.ends_with(".md") || name.ends_with(".markdown")) return "text/markdown; charset=UTF-8";
  if (name.ends_with(".rst")) return "text/x-rst; charset=UTF-8";
  return "text/plain; charset=UTF-8";
}

// PEP 508's outline: a name, extras, a version set or URL, a marker. The name and the version set
// are checked; a marker is passed on as it is.
void check_requirement(const std::string& key, const std::string& text) {
  one_line(key, text);
  std::string_view rest = trim(text);
  const std::size_t name_end = rest.find_first_of(" \t[(<>=!~;@");
  if (!valid_name(rest.substr(0, name_end))) {
    refuse(key, fmt::format("not a requirement: `{}`", text),
           "write NAME, NAME>=1.2 or NAME[EXTRA]>=1.2; MARKER");
  }
  rest = name_end == std::string_view::npos ? "" : trim(rest.substr(name_end));
  if (rest.starts_with('[')) {
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos) {
      refuse(key, fmt::format("no `]` after the extras: `{}`", text), "close the bracket");
    }
    rest = trim(rest.substr(close + 1));
  }
  if (rest.starts_with('@')) return;
  std::string_view versions = trim(rest.substr(0, rest.find(';')));
  if (versions.starts_with('(') && versions.ends_with(')')) {
    versions = versions.substr(1, versions.size() - 2);
  }
  if (!Specifiers::parse(versions)) {
    refuse(key, fmt::format("not a set of versions: `{}` in `{}`", versions, text),
           "write it as PEP 440 has it, e.g. `>=1.2,<2`");
  }
}

// "req; marker" becomes "req; (marker) and extra == 'x'".
std::string with_extra(const std::string& requirement, const std::string& extra) {
  const std::size_t semicolon = requirement.find(';');
  const std::string condition = fmt::format("extra == \"{}\"", extra);
  if (semicolon == std::string::npos) {
    return fmt::format("{}; {}", trim(requirement), condition);
  }
  return fmt::format("{}; ({}) and {}", trim(std::string_view(requirement).substr(0, semicolon)),
                     trim(std::string_view(requirement).substr(semicolon + 1)), condition);
}

std::vector<LicenseFile> find_licenses(const PackageRequest& request) {
  std::map<std::string, fs::path> found;
  for (const std::string& pattern : request.info.license_files) {
    const std::vector<std::string> parts = split(pattern, '/');
    if (pattern.starts_with('/') || std::find(parts.begin(), parts.end(), "..") != parts.end()) {
      refuse("license_files", fmt::format("a pattern may not leave the project: `{}`", pattern),
             "write it relative to felloe.json, without `..` (PEP 639)");
    }
    const std::vector<std::string> files = glob_files(request.project_root, pattern);
    if (files.empty()) {
      refuse("license_files", fmt::format("no file matches `{}`", pattern),
             "every pattern must match a file (PEP 639); remove it or add the file");
    }
    for (const std::string& file : files) found.emplace(file, request.project_root / file);
  }
  for (const LicenseFile& extra : request.extra_licenses) {
    if (const auto why = zip_detail::unsafe_name(extra.name)) {
      throw Error(
          ErrorKind::usage, extra.file.string(),
          fmt::format("no name for a license file in the wheel: `{}`: {}", extra.name, *why),
          "write it relative to .dist-info/licenses/, e.g. LICENSE or vendored/zlib.txt");
    }
    const auto [it, fresh] = found.emplace(extra.name, extra.file);
    if (!fresh && it->second != extra.file) {
      throw Error(ErrorKind::input, extra.file.string(),
                  fmt::format("a second license file of the name `{}`", extra.name),
                  "give it another name");
    }
  }
  std::vector<LicenseFile> out;
  for (const auto& [name, file] : found) {
    read_text(file);  // PEP 639: license files are UTF-8 text
    out.push_back({name, file});
  }
  return out;
}

std::string make_entry_points(const PackageInfo& info) {
  if (info.entry_points.empty()) return {};
  std::string out = "[console_scripts]\n";
  for (const auto& [name, target] : info.entry_points) {
    const bool bad_name =
        name.empty() || name != trim(name) || name.find_first_of("=[]\n\r/\\") != std::string::npos;
    const std::size_t colon = target.find(':');
    const auto is_path = [](std::string_view text) {
      return !text.empty() && text.find_first_of(" \t\n\r=[]") == std::string_view::npos;
    };
    if (bad_name || colon == std::string::npos ||
        !is_path(std::string_view(target).substr(0, colon)) ||
        !is_path(std::string_view(target).substr(colon + 1))) {
      refuse("entry_points", fmt::format("not a console script: `{} = {}`", name, target),
             "write \"NAME\": \"module:function\"");
    }
    out += fmt::format("{} = {}\n", name, target);
  }
  return out;
}

void add_people(std::string& out, const PackageInfo& info) {
  const std::string& author = one_line("author", info.author);
  const std::string& email = one_line("author_email", info.author_email);
  if (!email.empty()) {
    // As pyproject.toml's authors are written: the name goes before the address (PEP 621).
    out += author.empty() || email.find('<') != std::string::npos
               ? fmt::format("Author-email: {}\n", email)
               : fmt::format("Author-email: {} <{}>\n", author, email);
  } else if (!author.empty()) {
    out += fmt::format("Author: {}\n", author);
  }
}

void add_license(std::string& out, const PackageInfo& info,
                 const std::vector<LicenseFile>& licenses) {
  if (!info.license_expression.empty()) {
    if (!valid_license_expression(info.license_expression)) {
      refuse("license_expression",
             fmt::format("not an SPDX expression: `{}`", info.license_expression),
             "write e.g. `Apache-2.0 AND (MIT OR BSD-3-Clause)`");
    }
    out += fmt::format("License-Expression: {}\n", info.license_expression);
  }
  for (const LicenseFile& license : licenses) {
    out += fmt::format("License-File: {}\n", one_line("license_files", license.name));
  }
  for (const std::string& classifier : info.classifiers) {
    if (classifier.starts_with("License ::") && !info.license_expression.empty()) {
      refuse("classifiers", fmt::format("`{}` beside a license expression", classifier),
             "remove the classifier: the expression replaces it (PEP 639)");
    }
    out += fmt::format("Classifier: {}\n", one_line("classifiers", classifier));
  }
}

void add_requirements(std::string& out, const PackageInfo& info) {
  if (!info.requires_python.empty()) {
    if (!Specifiers::parse(info.requires_python)) {
      refuse("requires_python", fmt::format("not a set of versions: `{}`", info.requires_python),
             "write it as PEP 440 has it, e.g. `>=3.10`");
    }
    out += fmt::format("Requires-Python: {}\n", one_line("requires_python", info.requires_python));
  }
  for (const std::string& requirement : info.requires_dist) {
    check_requirement("requires_dist", requirement);
    out += fmt::format("Requires-Dist: {}\n", requirement);
  }
  std::map<std::string, std::vector<std::string>> extras;  // PEP 685: names in normal form
  for (const auto& [name, requirements] : info.extras) {
    if (!valid_name(name)) {
      refuse("extras", fmt::format("not a name: `{}`", name), "use letters, digits and '-'");
    }
    std::vector<std::string>& all = extras[normalize_name(name)];
    all.insert(all.end(), requirements.begin(), requirements.end());
  }
  for (const auto& [name, requirements] : extras) {
    out += fmt::format("Provides-Extra: {}\n", name);
    for (const std::string& requirement : requirements) {
      check_requirement("extras/" + name, requirement);
      out += fmt::format("Requires-Dist: {}\n", with_extra(requirement, name));
    }
  }
}

void add_urls(std::string& out, const PackageInfo& info) {
  for (const auto& [label, url] : info.urls) {
    if (label.empty() || label.size() > 32 || label.find(',') != std::string::npos) {
      refuse("urls", fmt::format("not a label: `{}`", label),
             "use at most 32 characters and no comma (core metadata, Project-URL)");
    }
    out += fmt::format("Project-URL: {}, {}\n", one_line("urls", label), one_line("urls", url));
  }
}

}  // namespace

bool valid_license_expression(const std::string& text) {
  int depth = 0;
  bool want_operand = true;
  bool last_was_with = false;
  std::string_view rest = text;
  while (!(rest = trim(rest)).empty()) {
    if (rest[0] == '(' || rest[0] == ')') {
      const bool open = rest[0] == '(';
      if (open != want_operand || last_was_with) return false;
      depth += open ? 1 : -1;
      if (depth < 0) return false;
      rest.remove_prefix(1);
      continue;
    }
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t()"));
    rest.remove_prefix(word.size());
    const bool is_operator = word == "AND" || word == "OR" || word == "WITH";
    if (is_operator == want_operand) return false;
    if (!is_operator && !std::all_of(word.begin(), word.end(), [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '.' || c == '-' || c == '+' || c == ':';
        })) {
      return false;
    }
    want_operand = is_operator;
    last_was_with = word == "WITH";
  }
  return !want_operand && depth == 0;
}

DistInfo make_dist_info(const PackageRequest& request, const Version& version) {
  const PackageInfo& info = request.info;
  DistInfo out;
  out.licenses = find_licenses(request);
  out.entry_points = make_entry_points(info);
  std::string& text = out.metadata;
  text =
      fmt::format("Metadata-Version: 2.4\nName: {}\nVersion: {}\n", request.name, version.text());
  if (!info.summary.empty())
    text += fmt::format("Summary: {}\n", one_line("summary", info.summary));
  if (!info.keywords.empty()) {
    text += fmt::format("Keywords: {}\n", one_line("keywords", join(info.keywords, ",")));
  }
  add_people(text, info);
  add_license(text, info, out.licenses);
  add_requirements(text, info);
  add_urls(text, info);
  if (!info.description_file.empty()) {
    text +=
        fmt::format("Description-Content-Type: {}\n\n", description_type(info.description_file));
    text += read_text(request.project_root / info.description_file);
  }
  return out;
}

std::string make_wheel_file(const std::string& generator, bool purelib,
                            const std::vector<std::string>& tags, int build) {
  std::string out = fmt::format("Wheel-Version: 1.0\nGenerator: {}\nRoot-Is-Purelib: {}\n",
                                generator, purelib ? "true" : "false");
  for (const std::string& tag : tags) out += fmt::format("Tag: {}\n", tag);
  if (build > 0) out += fmt::format("Build: {}\n", build);
  return out;
}

}  // namespace felloe
