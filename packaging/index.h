// A static package index that pip and uv install from: PEP 503 HTML, PEP 691/700 JSON, PEP 658/714
// metadata files, PEP 592 yanks. docs/index.md has the layout, the promises and an nginx config.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "matrix/finding.h"

namespace felloe {

struct IndexRequest {
  std::vector<std::filesystem::path> wheels;  // to add; those already in the index stay
  std::filesystem::path out;                  // the index is out/simple/
  std::string base_url;  // URL of simple/ for absolute links; empty: relative, works on any host
  std::int64_t source_date_epoch = 0;       // upload-time of wheels that are new
  std::map<std::string, std::string> yank;  // file name -> reason (may be empty), PEP 592
  std::set<std::string> unyank;             // file names
};

struct IndexedFile {
  std::string project;  // normal form
  std::string file;
  std::string version;
  std::string sha256;  // hex
  std::uint64_t size = 0;
  bool added = false;  // false: it was there already, with the same bytes
};

struct IndexResult {
  std::filesystem::path simple;       // out/simple
  std::vector<IndexedFile> files;     // of the request, sorted by (project, version, file)
  std::vector<std::string> projects;  // every project in the index, sorted
};

// Adds wheels and rewrites the pages of their projects. A page is replaced after everything it
// links to is in place, so the index is consistent after a kill at any moment; running again
// completes it. Throws Error{input} if a wheel is unreadable or if a published file name comes with
// other bytes (both hashes are named), Error{usage} for a yank of an unknown file,
// Error{environment} if `out` can't be written.
IndexResult write_index(const IndexRequest& request);

// Re-hashes every link of every page and looks for what doesn't belong: missing, changed,
// half-written and stray files, pages that disagree. The codes (IDX...) are listed in
// docs/index.md. Throws Error{input} if out/simple is missing.
std::vector<Finding> verify_index(const std::filesystem::path& out);

}  // namespace felloe
