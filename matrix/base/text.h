// Small text helpers that several folders need.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace felloe {

std::vector<std::string> split(std::string_view text, char separator);
std::vector<std::string> split_lines(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);

// The last `count` non-empty lines.
std::string last_lines(std::string_view text, std::size_t count);

// The candidate with the smallest edit distance (Levenshtein), if it is close enough to be what was
// meant: for "did you mean `audit`?".
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

// A size for people, in decimal units: "999 bytes", "12.30 kB", "9.74 MB", "1.20 GB".
std::string size_text(std::uint64_t bytes);

// Compares dotted numbers as numbers: "2.9" < "2.17" == "2.17.0". Returns <0, 0 or >0. Parts that
// aren't numbers compare as 0.
int compare_versions(std::string_view a, std::string_view b);

}  // namespace felloe
