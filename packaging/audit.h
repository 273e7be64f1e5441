// What is wrong with a wheel. One table of rules; each looks at the same opened wheel and reports
// findings with evidence. Rules are grouped by subject in packaging/audit/*.cpp; docs/rules.md is
// generated from the table. To add one: a row in its group's array (the code after the last of the
// group; codes are never used again), a test, `felloe audit --list --markdown > docs/rules.md`.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "matrix/finding.h"
#include "packaging/policy/platform.h"
#include "packaging/wheel/python_tags.h"

namespace felloe {

struct AuditInput;
class AuditSink;

struct Rule {
  const char* code;  // "ELF003"; the group is the letters
  Severity severity;
  const char* title;
  const char* cause;   // why it matters
  const char* cure;    // what to do; the finding's hint
  const char* source;  // the public text that says so
  void (*run)(const AuditInput& input, AuditSink& sink);
};

// All rules, sorted by code.
const std::vector<Rule>& audit_rules();

struct AuditOptions {
  // Codes or their beginnings ("ELF", "ELF003"). `select` empty: all. `ignore` wins.
  std::vector<std::string> select, ignore;
  std::uint64_t max_member = 8ull << 30;  // bytes that one member may inflate to
};

struct AuditReport {
  std::string wheel;                 // file name
  std::vector<Finding> findings;     // sorted
  PlatformTag platform;              // what the code honours; `tag` empty if that can't be said
  std::string platform_trouble;      // why it can't
  std::optional<PythonTags> python;  // likewise
  std::string python_trouble;
  std::vector<std::string> tags;  // what the file name promises, as triples
};

// Throws Error{input} if the file is no readable zip, Error{usage} for an unknown code (with the
// nearest known one).
AuditReport audit_wheel(const std::filesystem::path& path, const AuditOptions& options = {});

// {"wheel", "tags", "platform": {...}, "python": {...}}: the `data` of `felloe audit`.
Json to_json(const AuditReport& report);

// docs/rules.md.
std::string rules_markdown();

}  // namespace felloe
