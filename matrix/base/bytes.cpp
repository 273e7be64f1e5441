#include "matrix/base/bytes.h"

#include <fmt/format.h>

#include <algorithm>

namespace felloe {

std::string_view Bytes::cstr(std::uint64_t offset, std::uint64_t max) const {
  check(offset, 0);
  const std::uint64_t limit = std::min<std::uint64_t>(max, data_.size() - offset);
  for (std::uint64_t i = 0; i < limit; ++i) {
    if (data_[offset + i] == 0) return text().substr(offset, i);
  }
  fail(offset, fmt::format("string is not terminated within {} bytes", limit));
}

std::string Bytes::where(std::uint64_t offset) const {
  return fmt::format("{}@{:#x}", name_, base_ + offset);
}

void Bytes::fail(std::uint64_t offset, const std::string& message, const std::string& hint) const {
  throw Error(ErrorKind::input, where(offset), message,
              hint.empty() ? "the file is damaged or forged: get or build it again" : hint);
}

void Bytes::fail_bounds(std::uint64_t offset, std::uint64_t count) const {
  fail(offset,
       fmt::format("needs {} bytes here, but only {} are left", count,
                   offset <= data_.size() ? data_.size() - offset : 0),
       "the file is truncated or an offset in it is wrong");
}

}  // namespace felloe
