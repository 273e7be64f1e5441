// RECORD: one CSV row per file, path,algorithm=urlsafe-base64-digest,size (PEP 376, PEP 427, PEP
// 627).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace felloe {

struct RecordRow {
  std::string path, algorithm, digest;  // algorithm and digest empty: no hash given
  std::optional<std::uint64_t> size;    // bytes
  std::size_t line = 0;                 // from 1
};

// Throws Error{input} with the line number for malformed CSV, a row without three fields, a hash
// without algorithm, a size that is no number.
std::vector<RecordRow> parse_record(std::string_view text, const std::string& where);

}  // namespace felloe
