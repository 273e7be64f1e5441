// One thing that audit, smoke or build found: data, never an exception. The fields are those of the
// `findings` array that every command prints (docs/json.md).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "matrix/base/json.h"

namespace felloe {

enum class Severity { info, warning, error };

const char* severity_name(Severity severity);
// Throws Error{usage} naming the valid words.
Severity parse_severity(const std::string& name);

struct Finding {
  std::string code;  // a row of the rule table, e.g. "ELF003"
  Severity severity = Severity::error;
  std::string wheel;                    // file name of the wheel, empty if none
  std::string file;                     // member or path it was seen in
  std::string symbol;                   // symbol or field, may be empty
  std::optional<std::uint64_t> offset;  // bytes from the start of `file`
  std::string message;                  // what was seen and what was expected
  std::string hint;                     // what to do
  Json data = Json::object();           // machine-readable details
};

Json to_json(const Finding& finding);
// The same backwards. Throws Error{input} (`where` names the JSON) if a field is missing or wrong.
Finding finding_from_json(const Json& json, const std::string& where);

// Sorted by (wheel, file, offset, code, message), so that output doesn't depend on the order of
// work.
void sort_findings(std::vector<Finding>& findings);

}  // namespace felloe
