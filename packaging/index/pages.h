// The pages of an index as values and as text. index.json is the state: what it lists is published;
// the HTML is rendered from it. To add an attribute: a field here, then render_html, render_json
// and parse_project in pages.cpp.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/base/json.h"

namespace felloe {

struct IndexEntry {
  std::string file, version;    // version in PEP 440's normal form
  std::string url;              // as linked: the quoted file name, or absolute
  std::string sha256;           // hex, of the wheel
  std::string metadata_sha256;  // hex, of FILE.metadata (PEP 658)
  std::optional<std::string> requires_python;
  std::uint64_t size = 0;             // bytes
  std::string upload_time;            // "2026-11-30T12:00:00.000000Z"
  std::optional<std::string> yanked;  // the reason, may be empty
};

struct ProjectPage {
  std::string name;                 // PEP 503 normal form
  std::vector<IndexEntry> entries;  // sorted by (version, file)
};

void sort_entries(ProjectPage& page);

std::string render_html(const ProjectPage& page);  // PEP 503, 592, 658, 714
std::string render_json(const ProjectPage& page);  // PEP 691, 700
std::string render_root_html(const std::vector<std::string>& projects);
std::string render_root_json(const std::vector<std::string>& projects);

// Throws Error{input} with the JSON path for a page that felloe didn't write or that is damaged.
ProjectPage parse_project(const Json& json, const std::string& where);

struct HtmlLink {
  std::string href;    // without fragment, unescaped
  std::string sha256;  // of the fragment, may be empty
};
// The links of a page that render_html or render_root_html wrote, also an older one.
std::vector<HtmlLink> parse_links(std::string_view html);

std::string url_quote(std::string_view text);  // everything but unreserved characters as %XX
std::string url_unquote(std::string_view text);
std::string upload_time(std::int64_t unix_seconds);

// The file of this project's folder that a link means; nothing if it leads anywhere else.
std::optional<std::string> linked_file(const std::string& href, const std::string& project);

}  // namespace felloe
