// A zip archive whose bytes depend on its members alone: order as added, one time stamp, given
// modes, one compression level, no time zone, umask or locale. Written beside its place and
// renamed.
#pragma once
#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace felloe {

struct ZipDosTime {
  std::uint16_t date = 0, time = 0;
};

// Zip's time stamp (UTC, two seconds' steps) of a Unix time, clamped to 1980-01-01 .. 2107-12-31.
ZipDosTime zip_time(std::int64_t unix_seconds);

struct PackedMember {
  std::string name;
  std::string sha256_record;  // "sha256=...", as RECORD has it
  std::uint64_t size = 0;     // bytes, uncompressed
};

class ZipWriter {
 public:
  explicit ZipWriter(std::int64_t unix_seconds) : time_(zip_time(unix_seconds)) {}

  // Hashes the file now and packs it in write(). `mode`: permission bits.
  const PackedMember& add_file(std::string name, const std::filesystem::path& file, unsigned mode);
  const PackedMember& add_text(std::string name, std::string text, unsigned mode);
  const std::deque<PackedMember>& members() const { return members_; }

  // Writes the archive to `path` (mode 0644, synced). Throws Error{environment} if it can't be
  // written, Error{input} if a file changed after it was added. Leaves no temporary file.
  void write(const std::filesystem::path& path) const;

 private:
  struct Source {
    std::filesystem::path file;  // empty: `text` is the content
    std::string text;
    unsigned mode = 0644;
    std::uint32_t crc = 0;
  };
  const PackedMember& add(PackedMember member, Source source);
  void write_to(const std::filesystem::path& temp, const std::filesystem::path& path) const;
  void verify(const std::filesystem::path& temp) const;

  ZipDosTime time_;
  std::deque<PackedMember> members_;
  std::deque<Source> sources_;  // same order as members_
};

}  // namespace felloe
