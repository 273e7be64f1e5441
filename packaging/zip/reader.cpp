#include "packaging/zip/reader.h"

#include <fmt/format.h>
#include <libdeflate.h>

#include <algorithm>
#include <map>
#include <set>

#include "matrix/base/text.h"
#include "packaging/zip/structure.h"

namespace felloe {
namespace {

using zip_detail::Directory;
using Kind = ZipProblem::Kind;

// Deflate's best case is 258 bytes for 2 bits: 1032 to 1 (RFC 1951), plus the few bits of a header.
constexpr std::uint64_t kMaxRatio = 1032;
constexpr std::uint64_t kMaxDescriptor = 24;
constexpr std::uint32_t kTypeMask = 0170000, kSymlink = 0120000;

class Checker {
 public:
  Checker(const Bytes& zip, std::vector<ZipEntry>& entries, std::vector<ZipProblem>& problems)
      : zip_(zip), entries_(entries), problems_(problems) {}

  void run(const Directory& directory, const ZipLimits& limits) {
    std::uint64_t total = 0;
    for (ZipEntry& e : entries_) {
      if (const auto why = zip_detail::read_local_header(zip_, e)) {
        add(Kind::header_mismatch, e, e.local_offset,
            "local header and central directory disagree: " + *why);
      }
      check_entry(e, limits);
      total = e.size > ~0ull - total ? ~0ull : total + e.size;
    }
    if (total > limits.total) {
      problems_.push_back({Kind::impossible_size, "", directory.offset,
                           fmt::format("the members declare {} bytes together, allowed are {}",
                                       total, limits.total)});
    }
    check_names();
    check_extents(directory);
  }

 private:
  void add(Kind kind, const ZipEntry& e, std::uint64_t offset, std::string message) {
    problems_.push_back({kind, e.name, offset, std::move(message)});
  }

  void check_entry(const ZipEntry& e, const ZipLimits& limits) {
    if (const auto why = zip_detail::unsafe_name(e.name)) {
      add(Kind::unsafe_name, e, e.central_offset, *why);
    }
    if (e.encrypted()) add(Kind::encrypted, e, e.central_offset, "the member is encrypted");
    if ((e.mode & kTypeMask) == kSymlink) {
      add(Kind::symlink, e, e.central_offset, "the member is a symbolic link");
    }
    if (e.method != 0 && e.method != 8) {
      add(Kind::method, e, e.central_offset,
          fmt::format("compression method {}; wheels use 0 (stored) or 8 (deflated)", e.method));
    }
    const bool stored = e.method == 0;
    if (stored ? e.size != e.compressed : e.size / kMaxRatio > e.compressed) {
      add(Kind::impossible_size, e, e.central_offset,
          fmt::format("declares {} bytes, but {} {} bytes can't hold more than {}", e.size,
                      e.compressed, stored ? "stored" : "deflated",
                      stored ? e.compressed : e.compressed * kMaxRatio));
    } else if (e.size > limits.member) {
      add(Kind::impossible_size, e, e.central_offset,
          fmt::format("declares {} bytes, allowed are {}", e.size, limits.member));
    }
  }

  void check_names() {
    std::set<std::string> seen;
    std::map<std::string, std::string> folded;
    for (const ZipEntry& e : entries_) {
      const std::string name = e.folder() ? e.name.substr(0, e.name.size() - 1) : e.name;
      if (!seen.insert(name).second) {
        add(Kind::duplicate, e, e.central_offset, "the name occurs more than once");
      } else if (const auto [it, fresh] = folded.emplace(to_lower(name), name); !fresh) {
        add(Kind::case_duplicate, e, e.central_offset,
            fmt::format("differs only in upper and lower case from {}", it->second));
      }
    }
    for (const ZipEntry& e : entries_) {
      if (e.folder()) continue;
      // What lies inside sorts right behind "NAME/". No set of all folders: names of 64 kB have
      // 32000 of them each.
      const std::string inside = e.name + '/';
      if (const auto it = seen.lower_bound(inside); it != seen.end() && it->starts_with(inside)) {
        add(Kind::duplicate, e, e.central_offset, "is a file, and other members lie inside it");
      }
    }
  }

  void check_extents(const Directory& directory) {
    std::vector<const ZipEntry*> order;
    for (const ZipEntry& e : entries_) order.push_back(&e);
    std::sort(order.begin(), order.end(), [](const ZipEntry* a, const ZipEntry* b) {
      return a->local_offset < b->local_offset;
    });
    std::uint64_t end = 0;
    bool descriptor = false;
    for (const ZipEntry* e : order) {
      if (e->local_offset < end) {
        add(Kind::overlap, *e, e->local_offset,
            fmt::format("starts at {:#x}, inside the member before it, which ends at {:#x}",
                        e->local_offset, end));
      } else {
        check_gap(end, e->local_offset, descriptor);
      }
      end = std::max(end, e->data_offset + e->compressed);
      descriptor = (e->flags & 8u) != 0;
    }
    if (end > directory.offset) {
      problems_.push_back({Kind::overlap, "", directory.offset,
                           "the last member reaches into the central directory"});
    } else {
      check_gap(end, directory.offset, descriptor);
    }
    check_gap(directory.end, zip_.size(), false);
  }

  void check_gap(std::uint64_t from, std::uint64_t to, bool descriptor) {
    if (to - from > (descriptor ? kMaxDescriptor : 0)) {
      problems_.push_back({Kind::hidden_data, "", from,
                           fmt::format("{} bytes at {:#x} belong to no member", to - from, from)});
    }
  }

  const Bytes& zip_;
  std::vector<ZipEntry>& entries_;
  std::vector<ZipProblem>& problems_;
};

struct Decompressor {
  libdeflate_decompressor* get = libdeflate_alloc_decompressor();
  ~Decompressor() { libdeflate_free_decompressor(get); }
};

}  // namespace

const char* zip_problem_name(Kind kind) {
  switch (kind) {
    case Kind::unsafe_name:
      return "unsafe name";
    case Kind::duplicate:
      return "duplicate member";
    case Kind::case_duplicate:
      return "names that differ only in case";
    case Kind::header_mismatch:
      return "headers disagree";
    case Kind::impossible_size:
      return "impossible size";
    case Kind::overlap:
      return "overlapping members";
    case Kind::hidden_data:
      return "data outside members";
    case Kind::encrypted:
      return "encrypted member";
    case Kind::symlink:
      return "symbolic link";
    case Kind::method:
      return "unusual compression";
  }
  return "";
}

ZipReader::ZipReader(const fs::path& path, const ZipLimits& limits)
    : file_(std::make_unique<MappedFile>(path)),
      bytes_(file_->bytes()),
      name_(path.filename().string()) {
  open(limits);
}

ZipReader::ZipReader(const Bytes& bytes, const ZipLimits& limits)
    : bytes_(bytes), name_(fs::path(bytes.name()).filename().string()) {
  open(limits);
}

void ZipReader::open(const ZipLimits& limits) {
  const Directory directory = zip_detail::find_directory(bytes_);
  entries_ = zip_detail::read_directory(bytes_, directory, limits.entries);
  Checker(bytes_, entries_, problems_).run(directory, limits);
}

const ZipEntry* ZipReader::find(std::string_view name) const {
  const auto it = std::find_if(entries_.begin(), entries_.end(),
                               [&](const ZipEntry& e) { return e.name == name; });
  return it == entries_.end() ? nullptr : &*it;
}

void ZipReader::require_sound() const {
  for (const ZipProblem& p : problems_) {
    if (p.kind == Kind::case_duplicate || p.kind == Kind::hidden_data) continue;
    throw Error(
        ErrorKind::input,
        p.member.empty() ? bytes_.where(p.offset) : bytes_.name() + "!" + p.member,
        fmt::format("{}: {}", zip_problem_name(p.kind), p.message),
        "installers must refuse this wheel; `felloe audit` lists all that is wrong with it");
  }
}

Bytes ZipReader::payload(const ZipEntry& e) const {
  const Bytes raw = bytes_.slice(e.data_offset, e.compressed);
  if (e.encrypted() || (e.method != 0 && e.method != 8)) {
    throw Error(ErrorKind::input, bytes_.name() + "!" + e.name,
                e.encrypted() ? "the member is encrypted"
                              : fmt::format("compression method {} can't be read", e.method),
                "wheels hold stored or deflated members");
  }
  return raw;
}

ZipMember ZipReader::read(const ZipEntry& e, std::uint64_t limit) const {
  const std::string where = bytes_.name() + "!" + e.name;
  const auto fail = [&](const std::string& message) {
    throw Error(ErrorKind::input, where, message, "the wheel is damaged or forged: get it again");
  };
  const Bytes raw = payload(e);
  if (e.size > limit) fail(fmt::format("declares {} bytes, allowed here are {}", e.size, limit));
  if (e.method == 0) {
    if (e.size != e.compressed) {
      fail(fmt::format("declares {} bytes, but {} are stored", e.size, e.compressed));
    }
    if (libdeflate_crc32(0, raw.span().data(), raw.size()) != e.crc) fail("CRC mismatch");
    return ZipMember(Bytes(raw.span(), member_name(e)));
  }
  if (e.size / kMaxRatio > e.compressed) {
    fail(fmt::format("declares {} bytes, more than {} deflated bytes can hold", e.size,
                     e.compressed));
  }
  std::vector<std::uint8_t> out(e.size);
  std::size_t got = 0, used = 0;
  const Decompressor d;
  // An empty vector has no address, and libdeflate wants one.
  std::uint8_t none = 0;
  switch (libdeflate_deflate_decompress_ex(d.get, raw.span().data(), raw.size(),
                                           out.empty() ? &none : out.data(), out.size(), &used,
                                           &got)) {
    case LIBDEFLATE_SUCCESS:
      break;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
      fail(fmt::format("inflates to more than the {} bytes it declares", e.size));
      break;
    default:
      fail("the deflate stream is damaged");
  }
  if (got != e.size) fail(fmt::format("inflates to {} bytes, declares {}", got, e.size));
  if (used != e.compressed) {
    fail(fmt::format("the deflate stream ends after {} of {} bytes", used, e.compressed));
  }
  if (libdeflate_crc32(0, out.data(), out.size()) != e.crc) fail("CRC mismatch");
  return ZipMember(std::move(out), member_name(e));
}

}  // namespace felloe
