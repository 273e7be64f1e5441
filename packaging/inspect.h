// What a wheel asks of a host, as facts (matrix/facts.h, schema "felloe/wheel/1"). Nothing here
// judges: audit.h does.
#pragma once
#include <filesystem>

#include "matrix/facts.h"

namespace felloe {

struct InspectOptions {
  std::uint64_t max_member = 8ull << 30;  // bytes that one member may inflate to
};

// Throws Error{input} naming the member and the offset: not a zip, an unsound zip (packaging/zip),
// no or malformed METADATA, a malformed file name, a member that can't be inflated, a broken ELF
// file.
WheelFacts inspect_wheel(const std::filesystem::path& path, const InspectOptions& options = {});

}  // namespace felloe
