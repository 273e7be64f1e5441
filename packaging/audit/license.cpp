// LIC0xx: the wheel says under which terms it may be used.
#include <fmt/format.h>

#include <algorithm>

#include "packaging/audit/rule.h"

namespace felloe {
namespace {

Place field(const AuditInput& in, const char* key) {
  return {.file = in.archive.dist_info_file("METADATA"), .symbol = key};
}

void none(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.metadata) return;
  const Headers& m = *in.archive.metadata;
  const std::vector<std::string> classifiers = m.all("Classifier");
  const bool classified =
      std::any_of(classifiers.begin(), classifiers.end(),
                  [](const std::string& c) { return c.starts_with("License ::"); });
  if (!classified && !m.get("License-Expression") && !m.get("License") && !m.get("License-File")) {
    sink.add(field(in, "License-Expression"), "METADATA names no license");
  }
}

void missing_file(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.metadata) return;
  for (const std::string& file : in.archive.metadata->all("License-File")) {
    // PEP 639 puts them into licenses/; wheels from before it have them beside METADATA.
    if (in.archive.zip.find(in.archive.dist_info_file("licenses/" + file)) == nullptr &&
        in.archive.zip.find(in.archive.dist_info_file(file)) == nullptr) {
      sink.add(field(in, "License-File"), fmt::format("{} is not in the wheel", file));
    }
  }
}

void both(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.metadata) return;
  if (in.archive.metadata->get("License-Expression") && in.archive.metadata->get("License")) {
    sink.add(field(in, "License"), "METADATA has both License and License-Expression");
  }
}

}  // namespace

const std::vector<Rule> kLicenseRules = {
    {"LIC001", Severity::warning, "no license named", "nobody knows whether they may use it",
     "set License-Expression (an SPDX expression)", "PEP 639", none},
    {"LIC002", Severity::error, "license file missing", "METADATA promises a text that isn't there",
     "put the file into .dist-info/licenses/", "PEP 639", missing_file},
    {"LIC003", Severity::error, "License beside License-Expression", "indexes refuse the upload",
     "keep License-Expression only", "PEP 639", both},
};

}  // namespace felloe
