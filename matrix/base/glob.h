// File name patterns relative to a folder: '*' and '?' stay inside one path segment, "[a-z]" is a
// set
// ("[!a]" its complement), a segment "**" stands for any number of folders. Bytes, no locale.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace felloe {

// Whether `pattern` has a character that makes it more than a plain path.
bool is_glob(std::string_view pattern);

// Whether the pattern matches the whole of `path` ('/' separators, no leading one).
bool glob_match(std::string_view pattern, std::string_view path);

// The files under `root` that match, as sorted relative paths with '/' separators. Folders that the
// pattern can't reach aren't read; symbolic links to folders aren't followed. A pattern that is a
// plain path gives that file, if it is there.
std::vector<std::string> glob_files(const std::filesystem::path& root, std::string_view pattern);

}  // namespace felloe
