// UTF-8 from strangers: whether it is well-formed, and what of it is safe to show. To keep another
// code point from being printed as it is, add it to steers() in visible.cpp.
#pragma once
#include <string>
#include <string_view>

namespace felloe {

// Whether `text` is well-formed UTF-8 (RFC 3629).
bool is_utf8(std::string_view text);

// `text` with everything written out that could steer a terminal or reorder what it shows: control
// characters but line feed and tab (and these as well with Lines::escape), bidirectional controls
// and line separators become \uXXXX, bytes that aren't UTF-8 become \xXX. Names in a wheel are
// anybody's, so whatever is printed goes through here. Of JSON text it makes the same JSON.
enum class Lines { keep, escape };
std::string visible(std::string_view text, Lines lines = Lines::keep);

}  // namespace felloe
