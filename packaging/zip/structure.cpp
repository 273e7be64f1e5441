#include "packaging/zip/structure.h"

#include <fmt/format.h>

#include <algorithm>

#include "matrix/base/text.h"
#include "matrix/base/visible.h"

namespace felloe::zip_detail {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr std::uint64_t kEndSize = 22, kCentralSize = 46, kLocalSize = 30;
constexpr std::uint32_t kMax32 = 0xffffffff;
constexpr std::uint16_t kDataDescriptor = 8;

std::optional<std::uint64_t> find_end(const Bytes& zip) {
  if (zip.size() < kEndSize) return std::nullopt;
  const std::uint64_t first = zip.size() - std::min<std::uint64_t>(zip.size(), kEndSize + 0xffff);
  for (std::uint64_t at = zip.size() - kEndSize + 1; at-- > first;) {
    if (zip.u32(at) == kEnd && at + kEndSize + zip.u16(at + 20) <= zip.size()) return at;
  }
  return std::nullopt;
}

// Zip64 extra field (0x0001): the wide values of those fields that hold their maximum, in order.
void read_zip64(const Bytes& extra, std::uint64_t& size, std::uint64_t& compressed,
                std::uint64_t* offset) {
  std::uint64_t at = 0;
  while (at + 4 <= extra.size()) {
    const std::uint16_t id = extra.u16(at), length = extra.u16(at + 2);
    if (id != 1) {
      at += 4ull + length;
      continue;
    }
    const Bytes field = extra.slice(at + 4, length);
    std::uint64_t next = 0;
    for (std::uint64_t* value : {&size, &compressed, offset}) {
      if (value == nullptr || *value != kMax32) continue;
      *value = field.u64(next);
      next += 8;
    }
    return;
  }
}

}  // namespace

Directory find_directory(const Bytes& zip) {
  const auto end = find_end(zip);
  if (!end) {
    if (zip.size() >= 4 && zip.u32(0) == kLocal) {
      zip.fail(zip.size(), "the zip file is truncated: its end record is missing",
               "download or build it again; the copy is incomplete");
    }
    zip.fail(0,
             zip.empty() ? "the file is empty, expected a zip file"
                         : "not a zip file: no end-of-central-directory record",
             "a wheel is a zip file; check that this is the right file and a complete download");
  }
  Directory d;
  d.entries = zip.u16(*end + 10);
  d.size = zip.u32(*end + 12);
  d.offset = zip.u32(*end + 16);
  d.end = *end + kEndSize + zip.u16(*end + 20);
  std::uint64_t record = *end;
  if (*end >= 20 && zip.u32(*end - 20) == kEnd64Locator) {
    record = zip.u64(*end - 20 + 8);
    if (!zip.contains(record, 56) || zip.u32(record) != kEnd64) {
      zip.fail(*end - 20, "the zip64 locator points to no zip64 end record",
               "the file is truncated or damaged");
    }
    d.entries = zip.u64(record + 32);
    d.size = zip.u64(record + 40);
    d.offset = zip.u64(record + 48);
  } else if (zip.u16(*end + 4) != zip.u16(*end + 6) || zip.u16(*end + 4) != 0) {
    zip.fail(*end, "the zip is split over several disks; wheels are single files",
             "build the wheel again, as one file");
  }
  if (d.offset > record || d.size > record - d.offset) {
    zip.fail(*end,
             fmt::format("the central directory ({} bytes at {:#x}) reaches past its end record "
                         "at {:#x}",
                         d.size, d.offset, record),
             "the file is truncated or damaged: download or build it again");
  }
  return d;
}

std::vector<ZipEntry> read_directory(const Bytes& zip, const Directory& directory,
                                     std::uint64_t max_entries) {
  const std::uint64_t room = directory.size / kCentralSize;
  if (directory.entries > room || directory.entries > max_entries) {
    zip.fail(
        directory.offset,
        fmt::format("the end record counts {} members, but there is room for {} and {} are allowed",
                    directory.entries, room, max_entries),
        "the file is damaged or forged: download or build it again");
  }
  std::vector<ZipEntry> out;
  out.reserve(directory.entries);
  std::uint64_t at = directory.offset;
  const std::uint64_t end = directory.offset + directory.size;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (at + kCentralSize > end || zip.u32(at) != kCentral) {
      zip.fail(at,
               fmt::format("central directory entry {} of {} is missing", i + 1, directory.entries),
               "the file is truncated or damaged: download or build it again");
    }
    ZipEntry e;
    e.central_offset = at;
    e.flags = zip.u16(at + 8);
    e.method = zip.u16(at + 10);
    e.dos_time = zip.u16(at + 12);
    e.dos_date = zip.u16(at + 14);
    e.crc = zip.u32(at + 16);
    e.compressed = zip.u32(at + 20);
    e.size = zip.u32(at + 24);
    const std::uint64_t name = zip.u16(at + 28), extra = zip.u16(at + 30),
                        comment = zip.u16(at + 32);
    if (zip.u8(at + 5) == 3) e.mode = zip.u32(at + 38) >> 16;  // made on Unix
    e.local_offset = zip.u32(at + 42);
    e.name = zip.slice(at + kCentralSize, name).text();
    read_zip64(zip.slice(at + kCentralSize + name, extra), e.size, e.compressed, &e.local_offset);
    at += kCentralSize + name + extra + comment;
    out.push_back(std::move(e));
  }
  if (at != end) {
    zip.fail(at,
             fmt::format("the central directory ends at {:#x}, its end record says {:#x}", at, end),
             "the file is damaged or forged: download or build it again");
  }
  return out;
}

std::optional<std::string> read_local_header(const Bytes& zip, ZipEntry& e) {
  const std::uint64_t at = e.local_offset;
  if (!zip.contains(at, kLocalSize) || zip.u32(at) != kLocal) {
    zip.fail(e.central_offset, fmt::format("member {}: no local header at {:#x}", e.name, at),
             "the file is truncated or damaged: download or build it again");
  }
  const std::uint64_t name = zip.u16(at + 26), extra = zip.u16(at + 28);
  e.data_offset = at + kLocalSize + name + extra;
  if (!zip.contains(e.data_offset, e.compressed)) {
    zip.fail(
        e.central_offset,
        fmt::format("member {}: its {} bytes reach past the end of the file", e.name, e.compressed),
        "the file is truncated or damaged: download or build it again");
  }
  const std::string_view local_name = zip.slice(at + kLocalSize, name).text();
  if (local_name != e.name) return fmt::format("the local header is named {}", local_name);
  const std::uint16_t flags = zip.u16(at + 6), method = zip.u16(at + 8);
  if (method != e.method)
    return fmt::format("compression method {} here, {} there", method, e.method);
  if (((flags ^ e.flags) & 0x2001u) != 0) return std::string("only one of them says encrypted");
  std::uint64_t size = zip.u32(at + 22), compressed = zip.u32(at + 18);
  read_zip64(zip.slice(at + kLocalSize + name, extra), size, compressed, nullptr);
  const std::uint32_t crc = zip.u32(at + 14);
  // With a data descriptor the local header may leave the three fields zero.
  const bool later = (flags & kDataDescriptor) != 0;
  const auto differs = [&](std::uint64_t here, std::uint64_t there) {
    return here != there && !(later && here == 0);
  };
  if (differs(size, e.size)) return fmt::format("size {} here, {} there", size, e.size);
  if (differs(compressed, e.compressed)) {
    return fmt::format("compressed size {} here, {} there", compressed, e.compressed);
  }
  if (differs(crc, e.crc)) return fmt::format("CRC {:08x} here, {:08x} there", crc, e.crc);
  return std::nullopt;
}

std::optional<std::string> unsafe_name(std::string_view name) {
  if (name.empty()) return "the name is empty";
  if (!is_utf8(name)) return "the name is not UTF-8";
  if (std::any_of(name.begin(), name.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; })) {
    return "the name holds a control character";
  }
  if (name.find('\\') != std::string_view::npos) return "the name holds a backslash";
  if (name.front() == '/') return "the name is an absolute path";
  if (name.size() > 1 && name[1] == ':') return "the name starts with a drive letter";
  if (name.back() == '/') name.remove_suffix(1);
  for (const std::string& part : split(name, '/')) {
    if (part == "..") return "the name climbs out of the target folder with \"..\"";
    if (part.empty() || part == ".") return "the name has an empty or \".\" part";
  }
  return std::nullopt;
}

}  // namespace felloe::zip_detail
