// Files. Writing is always temp file + fsync + rename, so a reader sees the old bytes or the new
// ones, never half. Errors name the path and say what to do (full disk, read-only, missing).
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/base/bytes.h"

namespace felloe {

namespace fs = std::filesystem;

// Whole file as text or bytes. Throws Error{input} if it is missing, no regular file or larger.
std::string read_file(const fs::path& path, std::uint64_t max_bytes = 1ull << 32);

// As read_file, but a missing or unreadable file gives an empty string: for optional facts
// (/proc, /sys), whose absence the caller reports itself.
std::string read_file_or_empty(const fs::path& path, std::uint64_t max_bytes = 1u << 20);

// Hands the file's bytes to `take`, piece by piece: for hashing what needn't stay in memory.
void read_chunks(const fs::path& path, const std::function<void(std::string_view)>& take);

// Atomically replaces `path`, creating its folder. `mode` is the permission bits of the new file.
// Throws Error{environment}; leaves no temp file behind.
void write_file(const fs::path& path, std::string_view data, unsigned mode = 0644);

// As write_file, but does nothing if the file already holds these bytes. Returns whether it wrote.
bool write_file_if_changed(const fs::path& path, std::string_view data, unsigned mode = 0644);

// Atomically puts a copy of `from` at `to` (hard link where possible).
void copy_file_atomic(const fs::path& from, const fs::path& to);

// Removes what killed writers left in `folder`: the temporary files of write_file and
// copy_file_atomic (and of others who name theirs with temp_path) whose process is gone.
void remove_stale_temps(const fs::path& folder);

// The temporary name that will be renamed to `path`: same folder, hidden, with our process id.
fs::path temp_path(const fs::path& path);

// Gives the finished file `temp` its mode, syncs it and renames it to `path`.
void commit_file(const fs::path& temp, const fs::path& path, unsigned mode = 0644);

// Throws the Error{environment} for an errno met while writing `path`.
[[noreturn]] void fail_write(const fs::path& path, int error);

// What std::filesystem threw, as an error that names the path: of the input if its kind or length
// is wrong, else of the environment.
Error file_error(const fs::filesystem_error& error);

// mkdir -p, with an Error{environment} that names the folder.
void make_dirs(const fs::path& path);

// Regular files under `root`, as sorted relative paths with '/' separators. Symlinks aren't
// followed into folders; a symlink to a file is listed. Throws Error{input} if root is no folder.
std::vector<std::string> list_files(const fs::path& root);

// Read-only memory map of a file.
class MappedFile {
 public:
  explicit MappedFile(const fs::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  Bytes bytes() const { return Bytes(std::span(data_, size_), name_); }

 private:
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  std::string name_;
};

// A fresh folder under $TMPDIR (or `parent`), removed with its contents by the destructor.
class TempDir {
 public:
  explicit TempDir(const fs::path& parent = {});
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace felloe
