// Option values that several subcommands read the same way.
#pragma once
#include <cstdint>
#include <string>

namespace felloe {

// Unix seconds from `written` (--epoch), else from $SOURCE_DATE_EPOCH, else 0. Throws Error{usage}
// if it is no number: a wrong time stamp would silently change every hash.
std::int64_t source_date_epoch(const std::string& written);

// An error text for what isn't a whole number from 1 (CLI11's own check prints the largest double),
// else an empty one.
std::string check_positive(const std::string& written);

}  // namespace felloe
