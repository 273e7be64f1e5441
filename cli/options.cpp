#include "cli/options.h"

#include <charconv>
#include <cstdlib>

#include "matrix/base/error.h"

namespace felloe {

std::int64_t source_date_epoch(const std::string& written) {
  const char* env = std::getenv("SOURCE_DATE_EPOCH");
  const std::string text = !written.empty() ? written : env != nullptr ? env : "";
  if (text.empty()) return 0;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw Error(ErrorKind::usage, written.empty() ? "SOURCE_DATE_EPOCH" : "--epoch",
                "expected Unix seconds, got `" + text + "`",
                "give a number, e.g. the time of the last commit: git log -1 --format=%ct");
  }
  return value;
}

std::string check_positive(const std::string& written) {
  int value = 0;
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value);
  const bool whole = error == std::errc() && end == written.data() + written.size();
  return whole && value > 0 ? "" : "expected a number from 1, got `" + written + "`";
}

}  // namespace felloe
