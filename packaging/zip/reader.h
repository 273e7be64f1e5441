// Reads zip files that may be hostile. The whole structure is checked before a byte is inflated:
// the central directory against the local headers, names, overlaps, sizes that deflate can't
// produce. What a careful reader could still read is listed in problems(); what nobody can read (no
// zip, cut short) is an Error. Source: PKWARE APPNOTE.TXT 6.3.10 (sections 4.3, 4.4, 4.5.3). To
// check one more thing: a ZipProblem::Kind, a line in reader.cpp, a rule in
// packaging/audit/zip.cpp.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/base/fs.h"

namespace felloe {

struct ZipEntry {
  std::string name;
  std::uint16_t method = 0;  // 0 stored, 8 deflated
  std::uint16_t flags = 0;
  std::uint32_t crc = 0;
  std::uint64_t compressed = 0, size = 0;  // bytes, as the central directory declares them
  std::uint64_t central_offset = 0, local_offset = 0, data_offset = 0;  // bytes in the zip
  std::uint32_t mode = 0;  // Unix mode, 0 when not recorded
  std::uint16_t dos_time = 0, dos_date = 0;
  bool folder() const { return !name.empty() && name.back() == '/'; }
  bool encrypted() const { return (flags & 1u) != 0; }
};

struct ZipProblem {
  enum class Kind {
    unsafe_name,      // absolute, "..", backslash, drive letter, control character, not UTF-8
    duplicate,        // two members of one name, or a file where another member has a folder
    case_duplicate,   // names that differ only in case: one file on macOS and Windows
    header_mismatch,  // local header and central directory disagree
    impossible_size,  // declared size that the compressed bytes can't hold, or more than allowed
    overlap,          // two members share bytes
    hidden_data,      // bytes that no member owns: before, between or behind the members
    encrypted,
    symlink,
    method,  // neither stored nor deflated: installers can't read it
  };
  Kind kind;
  std::string member;
  std::uint64_t offset = 0;  // of the header concerned, bytes in the zip
  std::string message;
};

const char* zip_problem_name(ZipProblem::Kind kind);

// The bytes of one member; owns them unless the member is stored (then they are the zip's own).
class ZipMember {
 public:
  ZipMember(std::vector<std::uint8_t> owned, std::string name)
      : owned_(std::move(owned)), bytes_(owned_, std::move(name)) {}
  explicit ZipMember(const Bytes& view) : bytes_(view) {}
  ZipMember(ZipMember&&) = default;
  ZipMember& operator=(ZipMember&&) = default;
  ZipMember(const ZipMember&) = delete;
  ZipMember& operator=(const ZipMember&) = delete;
  const Bytes& bytes() const { return bytes_; }
  std::string_view text() const { return bytes_.text(); }

 private:
  std::vector<std::uint8_t> owned_;
  Bytes bytes_;
};

struct ZipLimits {
  std::uint64_t member = 8ull << 30;  // declared size of one member, bytes
  std::uint64_t total = 32ull << 30;  // declared sizes together, bytes
  std::uint64_t entries = 1'000'000;
};

class ZipReader {
 public:
  // Throws Error{input}: no such file, not a zip, cut short, a directory that can't be walked.
  explicit ZipReader(const fs::path& path, const ZipLimits& limits = {});
  // The same on bytes that outlive this object, for tests and fuzzing.
  ZipReader(const Bytes& bytes, const ZipLimits& limits = {});

  const std::string& name() const { return name_; }  // file name, without folders
  const std::vector<ZipEntry>& entries() const { return entries_; }
  const std::vector<ZipProblem>& problems() const { return problems_; }
  std::uint64_t file_size() const { return bytes_.size(); }

  // The first entry of this name, or null.
  const ZipEntry* find(std::string_view name) const;

  // Throws Error{input} for the first problem that makes the contents ambiguous or unsafe (all
  // kinds but case_duplicate and hidden_data).
  void require_sound() const;

  // Inflates one member, checking size and CRC. Throws Error{input} naming `wheel!member`: larger
  // than `limit`, encrypted, other method, broken stream, more or fewer bytes than declared, wrong
  // CRC.
  ZipMember read(const ZipEntry& entry, std::uint64_t limit = ~0ull) const;

 private:
  void open(const ZipLimits& limits);
  std::string member_name(const ZipEntry& entry) const { return name_ + "!" + entry.name; }
  Bytes payload(const ZipEntry& entry) const;

  std::unique_ptr<MappedFile> file_;
  Bytes bytes_;
  std::string name_;
  std::vector<ZipEntry> entries_;
  std::vector<ZipProblem> problems_;
};

}  // namespace felloe
