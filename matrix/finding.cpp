#include "matrix/finding.h"

#include <algorithm>
#include <tuple>

#include "matrix/base/error.h"

namespace felloe {

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::info:
      return "info";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "error";
}

Severity parse_severity(const std::string& name) {
  for (const Severity s : {Severity::info, Severity::warning, Severity::error}) {
    if (name == severity_name(s)) return s;
  }
  throw Error(ErrorKind::usage, name, "unknown severity", "use info, warning or error");
}

Json to_json(const Finding& f) {
  return Json{{"code", f.code},       {"severity", severity_name(f.severity)},
              {"wheel", f.wheel},     {"file", f.file},
              {"symbol", f.symbol},   {"offset", f.offset ? Json(*f.offset) : Json(nullptr)},
              {"message", f.message}, {"hint", f.hint},
              {"data", f.data}};
}

Finding finding_from_json(const Json& json, const std::string& where) {
  try {
    Finding f;
    f.code = json.at("code");
    f.severity = parse_severity(json.at("severity"));
    f.wheel = json.at("wheel");
    f.file = json.at("file");
    f.symbol = json.at("symbol");
    if (!json.at("offset").is_null()) f.offset = json.at("offset").get<std::uint64_t>();
    f.message = json.at("message");
    f.hint = json.at("hint");
    f.data = json.at("data");
    return f;
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::input, where, std::string("not a finding: ") + error.what());
  }
}

void sort_findings(std::vector<Finding>& findings) {
  const auto key = [](const Finding& f) {
    return std::tuple(f.wheel, f.file, f.offset.value_or(0), f.code, f.symbol, f.message);
  };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const Finding& a, const Finding& b) { return key(a) < key(b); });
}

}  // namespace felloe
