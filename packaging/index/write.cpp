// Publishing. Order is the promise: wheel, then its .metadata, then index.json (from here on it is
// published), then index.html, then the root pages; each by rename.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/hash.h"
#include "matrix/pep440.h"
#include "packaging/index.h"
#include "packaging/index/pages.h"
#include "packaging/wheel/archive.h"

namespace felloe {
namespace {

// Two writers would each rewrite the other's pages from what they read before.
class IndexLock {
 public:
  explicit IndexLock(const fs::path& out) {
    const fs::path path = out / ".index.lock";
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd_ < 0) fail_write(path, errno);
    while (::flock(fd_, LOCK_EX) != 0) {
      if (errno != EINTR) fail_write(path, errno);
    }
  }
  ~IndexLock() { ::close(fd_); }
  IndexLock(const IndexLock&) = delete;
  IndexLock& operator=(const IndexLock&) = delete;

 private:
  int fd_ = -1;
};

struct Incoming {
  fs::path wheel;
  std::string project;
  IndexEntry entry;
  std::string metadata;
};

std::string hash_file(const fs::path& file, std::uint64_t& size) {
  Sha256 hash;
  size = 0;
  read_chunks(file, [&](std::string_view chunk) {
    hash.update(chunk);
    size += chunk.size();
  });
  return hex(hash.finish());
}

Incoming read_incoming(const fs::path& wheel, const IndexRequest& request) {
  const WheelArchive archive = open_wheel(wheel);
  archive.require_sound();
  Incoming out;
  out.wheel = wheel;
  out.project = normalize_name(archive.name->name);
  out.entry.file = archive.name->file;
  const auto refuse = [&](const std::string& message) {
    throw Error(ErrorKind::input, wheel.string(), message,
                "build the wheel again; `felloe audit` lists what is wrong with it");
  };
  const auto version = Version::parse(archive.name->version);
  if (!version) refuse(fmt::format("not a PEP 440 version: `{}`", archive.name->version));
  out.entry.version = version->text();
  const auto name = archive.metadata->get("Name");
  const auto inner = archive.metadata->get("Version");
  const auto inner_version = inner ? Version::parse(*inner) : std::nullopt;
  if (!name || normalize_name(*name) != out.project || !inner_version ||
      !(*inner_version == *version)) {
    refuse(fmt::format("METADATA says `{} {}`, the file name says `{} {}`", name.value_or(""),
                       inner.value_or(""), archive.name->name, archive.name->version));
  }
  const ZipEntry* entry = archive.zip.find(archive.dist_info_file("METADATA"));
  if (entry == nullptr) refuse("has no METADATA");
  out.metadata = std::string(archive.zip.read(*entry).text());
  out.entry.metadata_sha256 = sha256_hex(out.metadata);
  out.entry.requires_python = archive.metadata->get("Requires-Python");
  out.entry.sha256 = hash_file(wheel, out.entry.size);
  out.entry.upload_time = upload_time(request.source_date_epoch);
  return out;
}

class Publisher {
 public:
  Publisher(const IndexRequest& request, fs::path simple)
      : request_(request), simple_(std::move(simple)) {}

  // Everything that can be refused is refused here, before anything is written.
  void plan() {
    for (const fs::path& wheel : request_.wheels) accept(read_incoming(wheel, request_));
    for (const auto& [file, reason] : request_.yank) entry_of(file).yanked = reason;
    for (const std::string& file : request_.unyank) entry_of(file).yanked.reset();
    if (pages_.empty()) load_all();  // rewrite what a killed run may have left unfinished
    for (auto& [project, page] : pages_) {
      sort_entries(page);
      for (IndexEntry& entry : page.entries) entry.url = url_of(project, entry.file);
    }
  }

  IndexResult write() {
    for (const Incoming& in : incoming_) {
      const fs::path target = simple_ / in.project / in.entry.file;
      // A copy, not a hard link: what is published must not change with somebody's build folder.
      // One that was damaged since is put right.
      std::uint64_t size = 0;
      if (!fs::exists(target) || hash_file(target, size) != in.entry.sha256) {
        const MappedFile bytes(in.wheel);
        if (sha256_hex(bytes.bytes().text()) != in.entry.sha256) {
          throw Error(ErrorKind::input, in.wheel.string(), "changed while it was being published",
                      "make sure that nothing writes to it, then publish again");
        }
        write_file(target, bytes.bytes().text());
      }
      write_file_if_changed(metadata_path(target), in.metadata);
    }
    for (const auto& [project, page] : pages_) {
      write_file_if_changed(simple_ / project / "index.json", render_json(page));
      write_file_if_changed(simple_ / project / "index.html", render_html(page));
      remove_stale_temps(simple_ / project);
    }
    IndexResult result;
    result.simple = simple_;
    result.projects = project_names();
    write_file_if_changed(simple_ / "index.json", render_root_json(result.projects));
    write_file_if_changed(simple_ / "index.html", render_root_html(result.projects));
    remove_stale_temps(simple_);
    for (const Incoming& in : incoming_) {
      result.files.push_back({in.project, in.entry.file, in.entry.version, in.entry.sha256,
                              in.entry.size, !published_.contains(in.entry.file)});
    }
    std::sort(result.files.begin(), result.files.end(),
              [](const IndexedFile& a, const IndexedFile& b) {
                if (a.project != b.project) return a.project < b.project;
                const int order = Version::parse(a.version)->compare(*Version::parse(b.version));
                return order != 0 ? order < 0 : a.file < b.file;
              });
    return result;
  }

 private:
  static fs::path metadata_path(const fs::path& wheel) {
    return wheel.parent_path() / (wheel.filename().string() + ".metadata");
  }

  std::string url_of(const std::string& project, const std::string& file) const {
    if (request_.base_url.empty()) return url_quote(file);
    const std::string slash = request_.base_url.ends_with('/') ? "" : "/";
    return request_.base_url + slash + project + "/" + url_quote(file);
  }

  // The project's page as published so far.
  ProjectPage& page_of(const std::string& project) {
    const auto [it, fresh] = pages_.try_emplace(project);
    if (!fresh) return it->second;
    const fs::path path = simple_ / project / "index.json";
    if (fs::exists(path)) {
      it->second = parse_project(read_json(path), path.string());
      for (const IndexEntry& entry : it->second.entries) published_.insert(entry.file);
    }
    it->second.name = project;
    return it->second;
  }

  void accept(Incoming in) {
    ProjectPage& page = page_of(in.project);
    const auto same = std::find_if(page.entries.begin(), page.entries.end(),
                                   [&](const IndexEntry& e) { return e.file == in.entry.file; });
    if (same == page.entries.end()) {
      page.entries.push_back(in.entry);
      incoming_.push_back(std::move(in));
      return;
    }
    if (same->sha256 != in.entry.sha256) {
      const bool old = published_.contains(in.entry.file);
      throw Error(
          ErrorKind::input, in.wheel.string(),
          fmt::format("{} with other bytes: sha256 {} there, {} here",
                      old ? "this file name is published" : "the file name is given twice",
                      same->sha256, in.entry.sha256),
          "published names are immutable: raise the version or the build number, or publish to "
          "another index");
    }
    const bool again = std::any_of(incoming_.begin(), incoming_.end(), [&](const Incoming& other) {
      return other.entry.file == in.entry.file;
    });
    if (!again) incoming_.push_back(std::move(in));
  }

  IndexEntry& entry_of(const std::string& file) {
    const std::string project = normalize_name(parse_wheel_filename(file).name);
    ProjectPage& page = page_of(project);
    for (IndexEntry& entry : page.entries) {
      if (entry.file == file) return entry;
    }
    throw Error(ErrorKind::usage, file, "the index has no such file",
                fmt::format("see {} for the names it has", (simple_ / project).string()));
  }

  std::vector<std::string> project_names() const {
    std::vector<std::string> out;
    std::error_code ec;
    for (auto it = fs::directory_iterator(simple_, ec); !ec && it != fs::end(it);
         it.increment(ec)) {
      std::error_code ignored;  // a link in a circle is no project
      if (fs::exists(it->path() / "index.json", ignored))
        out.push_back(it->path().filename().string());
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  void load_all() {
    for (const std::string& project : project_names()) page_of(project);
  }

  const IndexRequest& request_;
  fs::path simple_;
  std::map<std::string, ProjectPage> pages_;
  std::set<std::string> published_;  // file names that the pages had before
  std::vector<Incoming> incoming_;
};

}  // namespace

IndexResult write_index(const IndexRequest& request) {
  make_dirs(request.out / "simple");
  const IndexLock lock(request.out);
  Publisher publisher(request, request.out / "simple");
  publisher.plan();
  return publisher.write();
}

}  // namespace felloe
