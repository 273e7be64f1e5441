// Option values that several subcommands read the same way.
#pragma once
#include <cstdint>
#include <string>

namespace felloe {

// Unix seconds from `written` (--epoch), else from $SOURCE_DATE_EPOCH, else 0. Throws Error{usage}
// if it is no number: a wrong time stamp would silently change every hash.
std::int64_t source_date_epoch(const std::string& written);

}  // namespace felloe
