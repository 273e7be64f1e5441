#include "packaging/writer/zip_writer.h"

#include <fmt/format.h>
#include <libdeflate.h>
#include <sys/stat.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>

#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/hash.h"

namespace felloe {
namespace {

// zlib's default: 9 takes three times as long and saves half a percent of a shared object.
constexpr std::uint32_t kDeflateLevel = 6;

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, Discard>;

Archive open_archive(const fs::path& temp, const fs::path& path, int flags) {
  int code = 0;
  errno = 0;
  Archive archive(zip_open(temp.c_str(), flags, &code));
  if (archive) return archive;
  if (errno != 0) fail_write(path, errno);
  throw Error(ErrorKind::internal, path.string(), fmt::format("libzip error {} on opening", code));
}

// Which file a libzip failure is about decides who must act: the archive can't be written, or one
// of the sources can't be read.
[[noreturn]] void fail_archive(zip_t* archive, const fs::path& path) {
  const zip_error_t* error = zip_get_error(archive);
  const int system = zip_error_system_type(error) == ZIP_ET_SYS ? zip_error_code_system(error) : 0;
  const int code = zip_error_code_zip(error);
  const bool about_source = code == ZIP_ER_OPEN || code == ZIP_ER_READ || code == ZIP_ER_NOENT;
  const std::string text = zip_strerror(archive);
  if (about_source) {
    throw Error(ErrorKind::input, path.string(),
                fmt::format("a file of the tree cannot be read: {}", text),
                "check that nothing changes the tree while it is packed");
  }
  if (system != 0) fail_write(path, system);
  throw Error(ErrorKind::internal, path.string(), fmt::format("libzip: {}", text));
}

}  // namespace

ZipDosTime zip_time(std::int64_t unix_seconds) {
  using namespace std::chrono;
  const sys_seconds first = sys_days(year(1980) / 1 / 1);
  const sys_seconds last = sys_days(year(2107) / 12 / 31) + 23h + 59min + 58s;
  const sys_seconds time = std::clamp(sys_seconds(seconds(unix_seconds)), first, last);
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  ZipDosTime out;
  out.date = static_cast<std::uint16_t>(((static_cast<int>(date.year()) - 1980) << 9) |
                                        (static_cast<unsigned>(date.month()) << 5) |
                                        static_cast<unsigned>(date.day()));
  out.time =
      static_cast<std::uint16_t>((clock.hours().count() << 11) | (clock.minutes().count() << 5) |
                                 (clock.seconds().count() / 2));
  return out;
}

const PackedMember& ZipWriter::add(PackedMember member, Source source) {
  sources_.push_back(std::move(source));
  members_.push_back(std::move(member));
  return members_.back();
}

const PackedMember& ZipWriter::add_text(std::string name, std::string text, unsigned mode) {
  PackedMember member{std::move(name), sha256_record(text), text.size()};
  const std::uint32_t crc = libdeflate_crc32(0, text.data(), text.size());
  return add(std::move(member), Source{{}, std::move(text), mode, crc});
}

const PackedMember& ZipWriter::add_file(std::string name, const fs::path& file, unsigned mode) {
  PackedMember member{std::move(name), {}, 0};
  Source source{file, {}, mode, 0};
  Sha256 hash;
  read_chunks(file, [&](std::string_view chunk) {
    hash.update(chunk);
    source.crc = libdeflate_crc32(source.crc, chunk.data(), chunk.size());
    member.size += chunk.size();
  });
  member.sha256_record = "sha256=" + base64url(hash.finish());
  return add(std::move(member), std::move(source));
}

void ZipWriter::write_to(const fs::path& temp, const fs::path& path) const {
  Archive archive = open_archive(temp, path, ZIP_CREATE | ZIP_EXCL);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Source& from = sources_[i];
    zip_error_t error;
    zip_error_init(&error);
    // A file's length stays open, so that one that grew is seen by verify() and not cut.
    zip_source_t* source =
        from.file.empty() ? zip_source_buffer_create(from.text.data(), from.text.size(), 0, &error)
                          : zip_source_file_create(from.file.c_str(), 0, -1, &error);
    zip_error_fini(&error);
    if (source == nullptr) {
      throw Error(ErrorKind::environment, path.string(), "out of memory while packing");
    }
    const zip_int64_t added =
        zip_file_add(archive.get(), members_[i].name.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (added < 0) {
      zip_source_free(source);
      fail_archive(archive.get(), path);
    }
    const auto index = static_cast<zip_uint64_t>(added);
    // set_dostime and not set_mtime: the latter goes through the local time zone.
    if (zip_file_set_dostime(archive.get(), index, time_.time, time_.date, 0) != 0 ||
        zip_set_file_compression(archive.get(), index, ZIP_CM_DEFLATE, kDeflateLevel) != 0 ||
        zip_file_set_external_attributes(archive.get(), index, 0, ZIP_OPSYS_UNIX,
                                         (S_IFREG | from.mode) << 16) != 0) {
      fail_archive(archive.get(), path);
    }
  }
  if (zip_close(archive.get()) != 0) fail_archive(archive.get(), path);
  static_cast<void>(archive.release());  // zip_close freed it
}

// The sizes and CRCs that libzip saw must be those that RECORD was made from.
void ZipWriter::verify(const fs::path& temp) const {
  const Archive archive = open_archive(temp, temp, ZIP_RDONLY);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    if (zip_stat_index(archive.get(), i, 0, &stat) == 0 && stat.crc == sources_[i].crc &&
        stat.size == members_[i].size) {
      continue;
    }
    throw Error(ErrorKind::input, sources_[i].file.string(), "changed while it was being packed",
                "make sure that nothing writes to the tree, then package again");
  }
}

void ZipWriter::write(const fs::path& path) const {
  if (path.has_parent_path()) make_dirs(path.parent_path());
  const fs::path temp = temp_path(path);
  try {
    write_to(temp, path);
    verify(temp);
    commit_file(temp, path, 0644);
  } catch (...) {
    std::error_code ignored;
    fs::remove(temp, ignored);
    throw;
  }
}

}  // namespace felloe
