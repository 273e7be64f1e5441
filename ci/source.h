// What a build reads: the project's source files, their hash and their date.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "matrix/project.h"

namespace felloe {

// Sorted relative paths of the files the build may read: those git knows or would add, else (no
// git, no repository) every file outside build folders, dist/ and dot folders; then only those that
// match one of source.inputs, where `*` also matches '/'. Throws Error{usage} if a pattern matches
// nothing.
std::vector<std::string> source_files(const Project& project);

// SHA-256 over names, modes and contents of source_files().
std::string source_digest(const Project& project);

// Seconds since 1970 that stand in everything dated in the wheel: $SOURCE_DATE_EPOCH, else the date
// of the last git commit, else kFixedEpoch. Throws Error{usage} if the variable is no number.
inline constexpr std::int64_t kFixedEpoch = 1577836800;  // 2020-01-01T00:00:00Z
std::int64_t source_date_epoch(const Project& project);

}  // namespace felloe
