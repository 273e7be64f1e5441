// METADATA and WHEEL: "Key: value" lines with continuation lines, then an empty line and a body
// (RFC 822 style; core metadata specification, PEP 566 and 643; PEP 427).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace felloe {

struct Headers {
  std::vector<std::pair<std::string, std::string>> fields;  // as written, in order
  std::string body;

  // Keys compare without case. First value, or nothing.
  std::optional<std::string> get(std::string_view key) const;
  std::vector<std::string> all(std::string_view key) const;
};

// `where` names the file in errors. Throws Error{input} with the line number for a line that is no
// field, for control characters, and for more than 16 MB.
Headers parse_headers(std::string_view text, const std::string& where);

}  // namespace felloe
