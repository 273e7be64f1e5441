// JSON in and out. Objects keep their keys sorted (nlohmann's default map), so output is the same
// on every run; input is bounded in size and depth, because some of it comes out of untrusted
// wheels.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

// Its members are compiled once, in json.cpp: they were a fifth of the time of every file that uses
// JSON.
extern template class nlohmann::basic_json<>;

namespace felloe {

using Json = nlohmann::json;

inline constexpr std::size_t kMaxJsonBytes = 64u << 20;
inline constexpr int kMaxJsonDepth = 64;

// Parses `text`; `where` names it in errors. // and /* */ comments are allowed (felloe.json has
// them). Throws Error{input} with line and column on malformed, too large or too deep input.
Json parse_json(std::string_view text, const std::string& where);

// Reads and parses one file.
Json read_json(const std::filesystem::path& path);

// Two-space indented text with a final newline; invalid UTF-8 becomes U+FFFD, never an exception.
std::string dump_json(const Json& value);

// One line, no spaces: for hashing and for logs.
std::string dump_json_compact(const Json& value);

}  // namespace felloe
