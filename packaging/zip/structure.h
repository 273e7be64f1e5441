// The central directory as the file holds it. Internal to packaging/zip.
#pragma once
#include "packaging/zip/reader.h"

namespace felloe::zip_detail {

struct Directory {
  std::uint64_t offset = 0, size = 0, entries = 0;  // of the central directory
  std::uint64_t end = 0;  // where the last record ends; bytes behind it belong to nobody
};

// Finds the end record (and its zip64 form). Throws Error{input} if there is none or it points
// outside.
Directory find_directory(const Bytes& zip);

// Walks the central directory. Throws Error{input} if it can't be walked.
std::vector<ZipEntry> read_directory(const Bytes& zip, const Directory& directory,
                                     std::uint64_t max_entries);

// Reads the local header of `entry`, sets its data_offset, and returns what differs from the
// central directory, or nothing. Throws Error{input} if the header lies outside the file.
std::optional<std::string> read_local_header(const Bytes& zip, ZipEntry& entry);

// Why an installer must not use this member name; nothing if it is fine.
std::optional<std::string> unsafe_name(std::string_view name);

}  // namespace felloe::zip_detail
