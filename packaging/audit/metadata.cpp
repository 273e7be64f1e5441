// MET0xx: file name, METADATA and WHEEL agree with each other and with the standards.
#include <fmt/format.h>

#include <algorithm>

#include "matrix/base/text.h"
#include "matrix/pep440.h"
#include "packaging/audit/rule.h"

namespace felloe {
namespace {

using Kind = WheelTrouble::Kind;
constexpr const char* kRebuild = "build the wheel again; rename and edit wheels only with tools";
constexpr const char* kCore = "core metadata specification";

void file_name(const AuditInput& in, AuditSink& sink) {
  for (const WheelTrouble& t : in.archive.troubles) {
    if (t.kind == Kind::file_name) sink.add({}, t.message);
  }
}

void dist_info(const AuditInput& in, AuditSink& sink) {
  for (const WheelTrouble& t : in.archive.troubles) {
    if (t.kind == Kind::no_dist_info || t.kind == Kind::many_dist_info) sink.add({}, t.message);
  }
}

void part(const AuditInput& in, AuditSink& sink, std::string_view file) {
  for (const WheelTrouble& t : in.archive.troubles) {
    if ((t.kind == Kind::missing || t.kind == Kind::malformed) && t.file.ends_with(file)) {
      sink.add({.file = t.file}, t.message);
    }
  }
}

void metadata_file(const AuditInput& in, AuditSink& sink) { part(in, sink, "/METADATA"); }
void wheel_file(const AuditInput& in, AuditSink& sink) { part(in, sink, "/WHEEL"); }

bool same_version(const std::string& a, const std::string& b) {
  const auto x = Version::parse(a), y = Version::parse(b);
  return x && y ? *x == *y : a == b;
}

Place field(const AuditInput& in, const char* file, const char* key) {
  return {.file = in.archive.dist_info_file(file), .symbol = key};
}

void name_version(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.metadata || !in.archive.name) return;
  const auto name = in.archive.metadata->get("Name"), version = in.archive.metadata->get("Version");
  if (name && normalize_name(*name) != normalize_name(in.archive.name->name)) {
    sink.add(field(in, "METADATA", "Name"),
             fmt::format("METADATA is of {}, the file name of {}", *name, in.archive.name->name));
  }
  if (version && !same_version(*version, in.archive.name->version)) {
    sink.add(field(in, "METADATA", "Version"),
             fmt::format("METADATA says version {}, the file name {}", *version,
                         in.archive.name->version));
  }
}

void folder_name(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.name || in.archive.dist_info.empty()) return;
  const std::string stem = in.archive.dist_info.substr(
      0, in.archive.dist_info.size() - std::string_view(".dist-info").size());
  const auto dash = stem.find('-');
  const std::string version = dash == std::string::npos ? "" : stem.substr(dash + 1);
  if (normalize_name(stem.substr(0, dash)) != normalize_name(in.archive.name->name) ||
      !same_version(version, in.archive.name->version)) {
    sink.add({.file = in.archive.dist_info},
             fmt::format("the folder is {}, the file name says {}-{}", in.archive.dist_info,
                         in.archive.name->name, in.archive.name->version));
  }
}

void tags_agree(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.wheel || !in.archive.name) return;
  const std::vector<std::string> promised = in.archive.name->tags();
  std::set<std::string> wheel;
  for (const std::string& tag : in.archive.wheel->all("Tag")) {
    // Compressed sets are written out in WHEEL, but some tools forget it.
    const auto parts = split(tag, '-');
    if (parts.size() != 3) {
      sink.add(field(in, "WHEEL", "Tag"),
               fmt::format("Tag \"{}\" is no python-abi-platform triple", tag));
      continue;
    }
    WheelName expanded;
    expanded.python = split(parts[0], '.');
    expanded.abi = split(parts[1], '.');
    expanded.platform = split(parts[2], '.');
    for (const std::string& t : expanded.tags()) wheel.insert(t);
  }
  const std::set<std::string> name(promised.begin(), promised.end());
  for (const std::string& t : name) {
    if (!wheel.contains(t)) {
      sink.add(field(in, "WHEEL", "Tag"),
               fmt::format("{} is in the file name but not in WHEEL", t));
    }
  }
  for (const std::string& t : wheel) {
    if (!name.contains(t)) {
      sink.add(field(in, "WHEEL", "Tag"),
               fmt::format("{} is in WHEEL but not in the file name", t));
    }
  }
}

void wheel_version(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.wheel) return;
  const std::string version = in.archive.wheel->get("Wheel-Version").value_or("");
  if (!version.starts_with("1.")) {
    sink.add(field(in, "WHEEL", "Wheel-Version"),
             version.empty() ? std::string("Wheel-Version is missing, expected 1.0")
                             : fmt::format("Wheel-Version is {}, expected 1.0", version));
  }
}

void purelib(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.wheel || in.scan.modules.empty()) return;
  if (to_lower(in.archive.wheel->get("Root-Is-Purelib").value_or("")) != "true") return;
  const std::string& path = in.scan.modules.front().path;
  if (path.find(".data/") == std::string::npos) {
    sink.add(field(in, "WHEEL", "Root-Is-Purelib"),
             fmt::format("says there is only Python code, but {} is native", path));
  }
}

void required_fields(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.metadata) return;
  for (const char* key : {"Metadata-Version", "Name", "Version"}) {
    if (!in.archive.metadata->get(key)) {
      sink.add(field(in, "METADATA", key), fmt::format("{} is missing", key));
    }
  }
  const auto version = in.archive.metadata->get("Metadata-Version");
  static const std::set<std::string> known = {"1.0", "1.1", "1.2", "2.0", "2.1",
                                              "2.2", "2.3", "2.4", "2.5"};
  if (version && !known.contains(*version)) {
    sink.add(field(in, "METADATA", "Metadata-Version"),
             fmt::format("Metadata-Version {} is unknown", *version));
  }
}

void requires_python(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.metadata) return;
  const auto text = in.archive.metadata->get("Requires-Python");
  if (text && !Specifiers::parse(*text)) {
    sink.add(field(in, "METADATA", "Requires-Python"),
             fmt::format("\"{}\" is no set of version specifiers", *text));
  }
}

void build_tag(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.wheel || !in.archive.name) return;
  const auto build = in.archive.wheel->get("Build");
  if (build != in.archive.name->build) {
    sink.add(field(in, "WHEEL", "Build"),
             fmt::format("WHEEL says build {}, the file name {}", build.value_or("none"),
                         in.archive.name->build.value_or("none")));
  }
}

}  // namespace

const std::vector<Rule> kMetadataRules = {
    {"MET001", Severity::error, "malformed file name",
     "installers choose a wheel by its file name alone",
     "name it NAME-VERSION(-BUILD)-PYTHON-ABI-PLATFORM.whl", "PEP 427, PEP 491", file_name},
    {"MET002", Severity::error, "not exactly one .dist-info folder",
     "without it nothing says what the wheel is; with several nobody knows which counts", kRebuild,
     "PEP 427", dist_info},
    {"MET003", Severity::error, "METADATA missing or malformed",
     "it says name, version and what the wheel needs", kRebuild, kCore, metadata_file},
    {"MET004", Severity::error, "WHEEL missing or malformed", "it says how to install the wheel",
     kRebuild, "PEP 427", wheel_file},
    {"MET005", Severity::error, "METADATA and file name disagree",
     "pip refuses such a wheel; an index would list it as something else", kRebuild,
     "PEP 427, PEP 440", name_version},
    {"MET006", Severity::error, ".dist-info folder and file name disagree",
     "pip refuses such a wheel", kRebuild, "PEP 427", folder_name},
    {"MET007", Severity::error, "WHEEL and file name name different tags",
     "the wheel was renamed, or built for something else than it says", kRebuild,
     "PEP 425, PEP 427", tags_agree},
    {"MET008", Severity::error, "unknown Wheel-Version",
     "installers refuse a major version other than 1", kRebuild, "PEP 427", wheel_version},
    {"MET009", Severity::warning, "native code in a wheel that says pure",
     "on systems with a separate lib64 it is installed into the wrong folder",
     "set Root-Is-Purelib: false", "PEP 427", purelib},
    {"MET010", Severity::error, "required METADATA field missing or unknown version",
     "core metadata requires Metadata-Version, Name and Version", kRebuild, kCore, required_fields},
    {"MET011", Severity::error, "malformed Requires-Python",
     "installers ignore or refuse it, so the wheel lands on Pythons it isn't for",
     "write PEP 440 specifiers, e.g. >=3.10", "PEP 440, PEP 345", requires_python},
    {"MET012", Severity::warning, "build tags disagree", "the wheel was renamed", kRebuild,
     "PEP 427", build_tag},
};

}  // namespace felloe
