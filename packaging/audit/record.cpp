// REC0xx: RECORD lists every file with hash and size, and nothing else.
#include <fmt/format.h>

#include <map>
#include <set>

#include "packaging/audit/rule.h"

namespace felloe {
namespace {

constexpr const char* kSource = "PEP 376, PEP 427, PEP 627";
constexpr const char* kRebuild = "build the wheel again; don't edit wheels by hand";

std::string record_file(const AuditInput& in) { return in.archive.dist_info_file("RECORD"); }

// RECORD can't hold its own hash; signatures are made after it.
bool exempt(const AuditInput& in, const std::string& path) {
  const std::string record = record_file(in);
  return path == record || path == record + ".jws" || path == record + ".p7s";
}

Place row_place(const RecordRow& row) {
  return {.file = row.path, .data = {{"record_line", row.line}}};
}

void missing(const AuditInput& in, AuditSink& sink) {
  for (const WheelTrouble& t : in.archive.troubles) {
    if (t.kind == WheelTrouble::Kind::missing && t.file.ends_with("/RECORD")) {
      sink.add({.file = t.file}, t.message);
    }
  }
}

void malformed(const AuditInput& in, AuditSink& sink) {
  for (const WheelTrouble& t : in.archive.troubles) {
    if (t.kind == WheelTrouble::Kind::malformed && t.file.ends_with("/RECORD")) {
      sink.add({.file = t.file}, t.message);
    }
  }
}

void not_listed(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.record) return;
  std::set<std::string> listed;
  for (const RecordRow& row : *in.archive.record) listed.insert(row.path);
  for (const ZipEntry& e : in.archive.zip.entries()) {
    if (!e.folder() && !listed.contains(e.name) && !exempt(in, e.name)) {
      sink.add({.file = e.name}, "is in the wheel but not in RECORD");
    }
  }
}

void not_there(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.record) return;
  std::set<std::string> members;
  for (const ZipEntry& e : in.archive.zip.entries()) members.insert(e.name);
  for (const RecordRow& row : *in.archive.record) {
    if (!members.contains(row.path)) sink.add(row_place(row), "is in RECORD but not in the wheel");
  }
}

void wrong_hash(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.record) return;
  for (const RecordRow& row : *in.archive.record) {
    const auto it = in.scan.sha256.find(row.path);
    if (row.algorithm != "sha256" || it == in.scan.sha256.end()) continue;
    const std::string have = it->second.substr(it->second.find('=') + 1);
    if (have != row.digest) {
      Place place = row_place(row);
      place.data["recorded"] = row.digest;
      place.data["actual"] = have;
      sink.add(place, fmt::format("sha256 is {}, RECORD says {}", have, row.digest));
    }
  }
}

void wrong_size(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.record) return;
  std::map<std::string, std::uint64_t> sizes;
  for (const ZipEntry& e : in.archive.zip.entries()) sizes.emplace(e.name, e.size);
  for (const RecordRow& row : *in.archive.record) {
    const auto it = sizes.find(row.path);
    if (row.size && it != sizes.end() && it->second != *row.size) {
      sink.add(row_place(row), fmt::format("is {} bytes, RECORD says {}", it->second, *row.size));
    }
  }
}

void weak_hash(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.record) return;
  for (const RecordRow& row : *in.archive.record) {
    if (exempt(in, row.path)) continue;
    const bool strong =
        row.algorithm == "sha256" || row.algorithm == "sha384" || row.algorithm == "sha512";
    if (row.algorithm.empty()) {
      sink.add(row_place(row), "RECORD gives no hash, expected sha256");
    } else if (!strong) {
      sink.add(row_place(row), fmt::format("RECORD's hash is {}, expected sha256", row.algorithm));
    }
  }
}

void twice(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.record) return;
  std::set<std::string> seen;
  for (const RecordRow& row : *in.archive.record) {
    if (!seen.insert(row.path).second) sink.add(row_place(row), "is in RECORD more than once");
  }
}

void not_checked(const AuditInput& in, AuditSink& sink) {
  if (!in.archive.record) return;
  for (const RecordRow& row : *in.archive.record) {
    if (row.algorithm == "sha384" || row.algorithm == "sha512") {
      sink.add(row_place(row), fmt::format("the {} hash was not checked", row.algorithm));
    }
  }
}

}  // namespace

const std::vector<Rule> kRecordRules = {
    {"REC001", Severity::error, "RECORD is missing", "pip refuses a wheel without RECORD", kRebuild,
     kSource, missing},
    {"REC002", Severity::error, "RECORD is malformed",
     "it must be a CSV file of path,sha256=DIGEST,SIZE rows", kRebuild, kSource, malformed},
    {"REC003", Severity::error, "file not in RECORD",
     "nothing vouches for it, and uninstalling leaves it behind", kRebuild, kSource, not_listed},
    {"REC004", Severity::error, "RECORD names a file that is not there",
     "something was taken out after the wheel was built", kRebuild, kSource, not_there},
    {"REC005", Severity::error, "wrong hash in RECORD",
     "the file was changed after the wheel was built, by accident or by somebody", kRebuild,
     kSource, wrong_hash},
    {"REC006", Severity::error, "wrong size in RECORD",
     "the file was changed after the wheel was built", kRebuild, kSource, wrong_size},
    {"REC007", Severity::error, "missing or weak hash in RECORD",
     "wheels need sha256 or better for each file but RECORD and its signatures", kRebuild,
     "PEP 427 (md5 and sha1 are not allowed)", weak_hash},
    {"REC008", Severity::warning, "file twice in RECORD", "tools disagree on which row counts",
     kRebuild, kSource, twice},
    {"REC009", Severity::info, "hash not checked", "only sha256 is checked here",
     "record sha256, as every current tool does", kSource, not_checked},
};

}  // namespace felloe
