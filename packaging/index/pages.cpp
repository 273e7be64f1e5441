#include "packaging/index/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "matrix/base/error.h"
#include "matrix/base/text.h"
#include "matrix/pep440.h"

namespace felloe {
namespace {

// PEP 691's version of the interface. 1.1 brought PEP 700's size, upload-time and versions.
constexpr const char* kApiVersion = "1.1";

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string unescape(std::string_view text) {
  static constexpr std::pair<std::string_view, char> kNames[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}};
  std::string out;
  while (!text.empty()) {
    bool found = false;
    for (const auto& [name, c] : kNames) {
      if (!text.starts_with(name)) continue;
      out += c;
      text.remove_prefix(name.size());
      found = true;
      break;
    }
    if (found) continue;
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

std::string html_page(const std::string& title, const std::string& links) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"pypi:repository-version\" content=\"{}\">\n<title>{}</title>\n</head>\n<body>\n"
      "<h1>{}</h1>\n{}</body>\n</html>\n",
      kApiVersion, escape(title), escape(title), links);
}

// Reads one object of a page, naming its JSON path in errors.
class Fields {
 public:
  Fields(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) fail("", "an object");
  }
  const Json* find(const char* key) const {
    const auto it = json_.find(key);
    return it == json_.end() ? nullptr : &*it;
  }
  std::string text(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr || !value->is_string()) fail(key, "a string");
    return value->get<std::string>();
  }
  std::string digest(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr || !value->is_object() || !value->contains("sha256") ||
        !value->at("sha256").is_string() || value->at("sha256").get<std::string>().size() != 64) {
      fail(key, "{\"sha256\": 64 digits}");
    }
    return value->at("sha256").get<std::string>();
  }
  [[noreturn]] void fail(const std::string& key, const std::string& expected) const {
    throw Error(ErrorKind::input, where_ + (key.empty() ? "" : "/" + key),
                "not a page that felloe wrote: expected " + expected,
                "restore the page, or move the project's folder away and publish again");
  }

 private:
  const Json& json_;
  std::string where_;
};

IndexEntry parse_entry(const Json& json, const std::string& where) {
  const Fields fields(json, where);
  IndexEntry out;
  out.file = fields.text("filename");
  if (out.file.find('/') != std::string::npos || out.file.empty() || out.file[0] == '.') {
    fields.fail("filename", "a plain file name");
  }
  out.url = fields.text("url");
  out.sha256 = fields.digest("hashes");
  out.metadata_sha256 = fields.digest("core-metadata");
  out.upload_time = fields.text("upload-time");
  const Json* size = fields.find("size");
  if (size == nullptr || !size->is_number_unsigned()) fields.fail("size", "a number of bytes");
  out.size = size->get<std::uint64_t>();
  if (fields.find("requires-python") != nullptr) {
    out.requires_python = fields.text("requires-python");
  }
  if (const Json* yanked = fields.find("yanked")) {
    if (yanked->is_string()) {
      out.yanked = yanked->get<std::string>();
    } else if (yanked->is_boolean()) {
      if (yanked->get<bool>()) out.yanked = "";
    } else {
      fields.fail("yanked", "a boolean or a reason");
    }
  }
  // NAME-VERSION-...: our own names are normal forms, so the version is between the first dashes.
  const std::vector<std::string> parts = split(out.file, '-');
  const auto version = parts.size() > 2 ? Version::parse(parts[1]) : std::nullopt;
  if (!version) fields.fail("filename", "a wheel's file name");
  out.version = version->text();
  return out;
}

}  // namespace

void sort_entries(ProjectPage& page) {
  std::sort(page.entries.begin(), page.entries.end(), [](const IndexEntry& a, const IndexEntry& b) {
    const int order = Version::parse(a.version)->compare(*Version::parse(b.version));
    return order != 0 ? order < 0 : a.file < b.file;
  });
}

std::string render_html(const ProjectPage& page) {
  std::string links;
  for (const IndexEntry& e : page.entries) {
    links += fmt::format("<a href=\"{}#sha256={}\"", escape(e.url), e.sha256);
    if (e.requires_python) {
      links += fmt::format(" data-requires-python=\"{}\"", escape(*e.requires_python));
    }
    // PEP 714: the same under its old name, for the clients between PEP 658 and 714.
    links +=
        fmt::format(" data-core-metadata=\"sha256={0}\" data-dist-info-metadata=\"sha256={0}\"",
                    e.metadata_sha256);
    if (e.yanked) links += fmt::format(" data-yanked=\"{}\"", escape(*e.yanked));
    links += fmt::format(">{}</a><br>\n", escape(e.file));
  }
  return html_page("Links for " + page.name, links);
}

// Only "core-metadata": under its old name, "dist-info-metadata", an object here makes pip
// before 23.2 (Debian 12 has 23.0.1) fail with a TypeError. That is why PEP 714 renamed it.
std::string render_json(const ProjectPage& page) {
  Json files = Json::array();
  std::vector<std::string> versions;
  for (const IndexEntry& e : page.entries) {
    Json file = {{"filename", e.file},
                 {"url", e.url},
                 {"hashes", {{"sha256", e.sha256}}},
                 {"core-metadata", {{"sha256", e.metadata_sha256}}},
                 {"size", e.size},
                 {"upload-time", e.upload_time},
                 {"yanked", false}};
    if (e.requires_python) file["requires-python"] = *e.requires_python;
    if (e.yanked) file["yanked"] = e.yanked->empty() ? Json(true) : Json(*e.yanked);
    files.push_back(std::move(file));
    if (versions.empty() || versions.back() != e.version) versions.push_back(e.version);
  }
  return dump_json({{"meta", {{"api-version", kApiVersion}}},
                    {"name", page.name},
                    {"versions", versions},
                    {"files", files}});
}

std::string render_root_html(const std::vector<std::string>& projects) {
  std::string links;
  for (const std::string& name : projects) {
    links += fmt::format("<a href=\"{}/\">{}</a><br>\n", url_quote(name), escape(name));
  }
  return html_page("Simple index", links);
}

std::string render_root_json(const std::vector<std::string>& projects) {
  Json list = Json::array();
  for (const std::string& name : projects) list.push_back({{"name", name}});
  return dump_json({{"meta", {{"api-version", kApiVersion}}}, {"projects", list}});
}

ProjectPage parse_project(const Json& json, const std::string& where) {
  const Fields fields(json, where);
  ProjectPage page;
  page.name = fields.text("name");
  const Json* files = fields.find("files");
  if (files == nullptr || !files->is_array()) fields.fail("files", "an array");
  std::set<std::string> seen;
  for (std::size_t i = 0; i < files->size(); ++i) {
    page.entries.push_back(parse_entry((*files)[i], fmt::format("{}/files/{}", where, i)));
    if (!seen.insert(page.entries.back().file).second) {
      fields.fail(fmt::format("files/{}", i), "each file once");
    }
  }
  sort_entries(page);
  return page;
}

std::vector<HtmlLink> parse_links(std::string_view html) {
  std::vector<HtmlLink> out;
  constexpr std::string_view kStart = "<a href=\"";
  for (std::size_t at = 0; (at = html.find(kStart, at)) != std::string_view::npos;) {
    at += kStart.size();
    const std::size_t end = html.find('"', at);
    if (end == std::string_view::npos) break;
    const std::string text = unescape(html.substr(at, end - at));
    constexpr std::string_view kHash = "#sha256=";
    const std::size_t hash = text.find(kHash);
    out.push_back(
        {text.substr(0, hash), hash == std::string::npos ? "" : text.substr(hash + kHash.size())});
    at = end;
  }
  return out;
}

std::string url_quote(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                            (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    out += unreserved ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string url_unquote(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string upload_time(std::int64_t unix_seconds) {
  using namespace std::chrono;
  const sys_seconds time = std::clamp(sys_seconds(seconds(unix_seconds)), sys_seconds(0s),
                                      sys_seconds(sys_days(year(9999) / 12 / 31)));
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.000000Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::optional<std::string> linked_file(const std::string& href, const std::string& project) {
  const std::size_t slash = href.rfind('/');
  if (slash != std::string::npos) {  // absolute: must go through the project's folder
    const std::string folder = "/" + project;
    if (!href.substr(0, slash).ends_with(folder) || href.find("://") == std::string::npos) {
      return std::nullopt;
    }
  }
  const std::string file = url_unquote(slash == std::string::npos ? href : href.substr(slash + 1));
  if (file.empty() || file[0] == '.' || file.find('/') != std::string::npos) return std::nullopt;
  return file;
}

}  // namespace felloe
