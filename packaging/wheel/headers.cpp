#include "packaging/wheel/headers.h"

#include <fmt/format.h>

#include <algorithm>

#include "matrix/base/error.h"
#include "matrix/base/text.h"

namespace felloe {
namespace {

constexpr std::size_t kMaxBytes = 16u << 20;

// RFC 822: printable ASCII without blank and colon.
bool valid_key(std::string_view key) {
  return !key.empty() &&
         std::all_of(key.begin(), key.end(), [](char c) { return c > 32 && c < 127 && c != ':'; });
}

}  // namespace

std::optional<std::string> Headers::get(std::string_view key) const {
  const std::string wanted = to_lower(key);
  for (const auto& [k, v] : fields) {
    if (to_lower(k) == wanted) return v;
  }
  return std::nullopt;
}

std::vector<std::string> Headers::all(std::string_view key) const {
  const std::string wanted = to_lower(key);
  std::vector<std::string> out;
  for (const auto& [k, v] : fields) {
    if (to_lower(k) == wanted) out.push_back(v);
  }
  return out;
}

Headers parse_headers(std::string_view text, const std::string& where) {
  if (text.size() > kMaxBytes) {
    throw Error(ErrorKind::input, where,
                fmt::format("is {} bytes, expected at most {}", text.size(), kMaxBytes));
  }
  Headers out;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  for (std::size_t line = 1; !text.empty(); ++line) {
    const auto end = text.find('\n');
    std::string_view row = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (row.empty()) {
      out.body = text;
      return out;
    }
    if (row.find('\0') != std::string_view::npos) {
      throw Error(ErrorKind::input, where, fmt::format("line {} holds a NUL byte", line));
    }
    if ((row[0] == ' ' || row[0] == '\t') && !out.fields.empty()) {
      out.fields.back().second += '\n';
      out.fields.back().second += trim(row);
      continue;
    }
    const auto colon = row.find(':');
    if (colon == std::string_view::npos || !valid_key(row.substr(0, colon))) {
      throw Error(ErrorKind::input, where,
                  fmt::format("line {} is no \"Key: value\" line: {}", line, row.substr(0, 60)));
    }
    out.fields.emplace_back(row.substr(0, colon), trim(row.substr(colon + 1)));
  }
  return out;
}

}  // namespace felloe
