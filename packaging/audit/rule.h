// What a rule sees and how it reports. Internal to packaging/audit.
#pragma once
#include <set>

#include "packaging/audit.h"
#include "packaging/scan.h"

namespace felloe {

struct AuditInput {
  WheelArchive archive;
  WheelScan scan;
  PythonSupport support;
  std::set<std::string> inside;    // sonames and file names of the wheel's own modules
  std::set<std::string> provided;  // patterns of what dependencies and the driver bring
};

// Where a finding was seen; empty parts are left out.
struct Place {
  std::string file = {};
  std::string symbol = {};
  std::optional<std::uint64_t> offset = std::nullopt;
  Json data = Json::object();
};

class AuditSink {
 public:
  AuditSink(const Rule& rule, const std::string& wheel, std::vector<Finding>& out)
      : rule_(rule), wheel_(wheel), out_(out) {}

  void add(const Place& place, const std::string& message) {
    out_.push_back({rule_.code, rule_.severity, wheel_, place.file, place.symbol, place.offset,
                    message, rule_.cure, place.data});
  }

 private:
  const Rule& rule_;
  const std::string& wheel_;
  std::vector<Finding>& out_;
};

// The groups, each defined in the file of its name.
extern const std::vector<Rule> kElfRules, kIsaRules, kLicenseRules, kMetadataRules, kRecordRules,
    kTagRules, kZipRules;

}  // namespace felloe
