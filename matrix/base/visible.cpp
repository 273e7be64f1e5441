#include "matrix/base/visible.h"

#include <fmt/format.h>

#include <cstdint>

namespace felloe {
namespace {

// Bytes of the code point that `text` begins with; 0 if that is no well-formed UTF-8.
std::size_t code_point_length(std::string_view text) {
  const auto byte = [&](std::size_t at) -> unsigned {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(k) & 0xc0u) != 0x80) return 0;
  }
  // overlong forms, surrogates, beyond U+10FFFF
  if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f) ||
      (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f)) {
    return 0;
  }
  return length;
}

std::uint32_t code_point(std::string_view bytes) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  if (bytes.size() == 1) return byte(0);
  std::uint32_t code = byte(0) & (0xffu >> (bytes.size() + 1));
  for (std::size_t k = 1; k < bytes.size(); ++k) code = code << 6 | (byte(k) & 0x3fu);
  return code;
}

// C0, DEL and C1 (ECMA-48), the bidirectional controls (UAX #9), line and paragraph separators.
bool steers(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = code_point_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string visible(std::string_view text, Lines lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = code_point_length(text);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
      continue;
    }
    const std::uint32_t code = code_point(text.substr(0, length));
    if (steers(code) && (lines == Lines::escape || (code != '\n' && code != '\t'))) {
      out += fmt::format("\\u{:04x}", code);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace felloe
