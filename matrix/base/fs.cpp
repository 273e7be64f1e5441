#include "matrix/base/fs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "matrix/base/error.h"
#include "matrix/base/text.h"

namespace felloe {
namespace {

const char* hint_for(int error) {
  switch (error) {
    case ENOENT:
      return "check the path";
    case EACCES:
    case EPERM:
      return "check the permissions of the file and its folder";
    case EROFS:
      return "the file system is read-only: choose another place";
    case ENOSPC:
    case EDQUOT:
      return "the disk is full: free some space or choose another place";
    case EISDIR:
      return "this is a folder; a file was expected";
    case ENOTDIR:
      return "a part of the path is a file, not a folder";
    case ELOOP:
      return "the link leads in a circle: remove it or point it at a file";
    case ENAMETOOLONG:
      return "the path is too long: check it, or use a shorter one";
    case EMFILE:
    case ENFILE:
      return "too many open files: raise `ulimit -n`";
    default:
      return "check that the file can be used with `ls -l` and `cat`";
  }
}

[[noreturn]] void fail_read(const fs::path& path, int error) {
  throw Error(ErrorKind::input, path.string(), fmt::format("cannot read: {}", std::strerror(error)),
              hint_for(error));
}

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

// Opening a named pipe waits for its writer, forever if there is none. So it is opened without
// waiting, and only the reading waits: `<(felloe probe --json)` of a shell has its writer already.
int open_now(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) fail_read(path, errno);
  ::fcntl(fd, F_SETFL, 0);
  return fd;
}

}  // namespace

void fail_write(const fs::path& path, int error) {
  throw Error(ErrorKind::environment, path.string(),
              fmt::format("cannot write: {}", std::strerror(error)), hint_for(error));
}

Error file_error(const fs::filesystem_error& error) {
  const int code = error.code().value();
  const bool input =
      code == ELOOP || code == ENAMETOOLONG || code == ENOTDIR || code == EISDIR || code == ENOENT;
  return Error(input ? ErrorKind::input : ErrorKind::environment, error.path1().string(),
               fmt::format("cannot be used: {}", std::strerror(code)), hint_for(code));
}

void read_chunks(const fs::path& path, const std::function<void(std::string_view)>& take) {
  const Fd fd(open_now(path));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) fail_read(path, errno);
  bool silent_pipe = S_ISFIFO(info.st_mode);
  std::vector<char> buffer(1 << 16);
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_read(path, errno);  // EISDIR for a folder
    if (got == 0) {
      if (silent_pipe) {
        throw Error(ErrorKind::input, path.string(), "a pipe into which nobody writes",
                    "name a file, or start the program that writes first");
      }
      return;
    }
    silent_pipe = false;
    take({buffer.data(), static_cast<std::size_t>(got)});
  }
}

// Files in /proc report size 0, so the bytes are counted as they come.
std::string read_file(const fs::path& path, std::uint64_t max_bytes) {
  std::string data;
  read_chunks(path, [&](std::string_view chunk) {
    if (data.size() + chunk.size() > max_bytes) {
      throw Error(ErrorKind::input, path.string(),
                  fmt::format("file is larger than the {} bytes allowed here", max_bytes),
                  "check that this is the right file");
    }
    data.append(chunk);
  });
  return data;
}

std::string read_file_or_empty(const fs::path& path, std::uint64_t max_bytes) {
  try {
    return read_file(path, max_bytes);
  } catch (const Error&) {
    return {};
  }
}

void write_file(const fs::path& path, std::string_view data, unsigned mode) {
  if (path.has_parent_path()) make_dirs(path.parent_path());
  const fs::path temp = temp_path(path);
  Fd fd(::open(temp.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (fd.get() < 0) fail_write(path, errno);
  const auto give_up = [&](int error) {
    ::unlink(temp.c_str());
    fail_write(path, error);
  };
  while (!data.empty()) {
    const ssize_t put = ::write(fd.get(), data.data(), data.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) give_up(errno);
    data.remove_prefix(static_cast<std::size_t>(put));
  }
  // fchmod because open's mode is cut by the umask, and outputs must not depend on it.
  if (::fchmod(fd.get(), mode) != 0) give_up(errno);
  if (::fsync(fd.get()) != 0 && errno != EINVAL) give_up(errno);
  if (!fd.close()) give_up(errno);
  if (::rename(temp.c_str(), path.c_str()) != 0) give_up(errno);
}

bool write_file_if_changed(const fs::path& path, std::string_view data, unsigned mode) {
  std::error_code ec;
  if (fs::is_regular_file(path, ec) && fs::file_size(path, ec) == data.size() &&
      read_file_or_empty(path, data.size() + 1) == data) {
    return false;
  }
  write_file(path, data, mode);
  return true;
}

void copy_file_atomic(const fs::path& from, const fs::path& to) {
  if (to.has_parent_path()) make_dirs(to.parent_path());
  const fs::path temp = temp_path(to);
  std::error_code ec;
  fs::create_hard_link(from, temp, ec);
  if (ec) {
    ec.clear();
    fs::copy_file(from, temp, ec);
  }
  if (!ec) fs::rename(temp, to, ec);
  // rename of two hard links to one inode does nothing and leaves the temp name.
  std::error_code ignored;
  fs::remove(temp, ignored);
  if (ec) fail_write(to, ec.value());
}

fs::path temp_path(const fs::path& path) {
  static std::atomic<unsigned> counter{0};
  return path.parent_path() /
         fmt::format(".{}.{}.{}.tmp", path.filename().string(), ::getpid(), counter++);
}

void commit_file(const fs::path& temp, const fs::path& path, unsigned mode) {
  Fd fd(::open(temp.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0 || ::fchmod(fd.get(), mode) != 0) fail_write(path, errno);
  if (::fsync(fd.get()) != 0 && errno != EINVAL) fail_write(path, errno);
  if (::rename(temp.c_str(), path.c_str()) != 0) fail_write(path, errno);
}

void remove_stale_temps(const fs::path& folder) {
  std::error_code ec;
  for (auto it = fs::directory_iterator(folder, ec); !ec && it != fs::end(it); it.increment(ec)) {
    // ".NAME.PID.COUNTER.tmp", and what a library made of that by adding its own suffix
    const std::string name = it->path().filename().string();
    const std::size_t tmp = name.rfind(".tmp");
    if (name.front() != '.' || tmp == std::string::npos) continue;
    const std::vector<std::string> parts = split(std::string_view(name).substr(0, tmp), '.');
    if (parts.size() < 4) continue;
    const std::string& pid = parts[parts.size() - 2];
    if (pid.empty() || pid.size() > 9 || pid.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    std::error_code ignored;
    if (::kill(std::stoi(pid), 0) != 0 && errno == ESRCH) fs::remove(it->path(), ignored);
  }
}

void make_dirs(const fs::path& path) {
  std::error_code ec;
  fs::create_directories(path, ec);
  if (ec) fail_write(path, ec.value());
}

std::vector<std::string> list_files(const fs::path& root) {
  std::error_code ec;
  if (!fs::is_directory(root, ec)) {
    throw Error(ErrorKind::input, root.string(), "not a folder", "check the path");
  }
  std::vector<std::string> out;
  for (auto it = fs::recursive_directory_iterator(root, ec); !ec && it != fs::end(it);
       it.increment(ec)) {
    // Links first: where a link leads in a circle, asking what it leads to throws.
    if (it->is_symlink() || !it->is_directory()) {
      out.push_back(it->path().lexically_relative(root).generic_string());
    }
  }
  if (ec) fail_read(root, ec.value());
  std::sort(out.begin(), out.end());
  return out;
}

MappedFile::MappedFile(const fs::path& path) : name_(path.string()) {
  const Fd fd(open_now(path));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) fail_read(path, errno);
  if (S_ISDIR(info.st_mode)) fail_read(path, EISDIR);
  if (!S_ISREG(info.st_mode))
    throw Error(ErrorKind::input, name_, "not a regular file, but a device or a pipe",
                "copy what it holds into a file first");
  size_ = static_cast<std::size_t>(info.st_size);
  if (size_ == 0) return;
  void* map = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (map == MAP_FAILED) fail_read(path, errno);
  data_ = static_cast<const std::uint8_t*>(map);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

TempDir::TempDir(const fs::path& parent) {
  const char* tmp = std::getenv("TMPDIR");
  fs::path base = !parent.empty() ? parent : fs::path(tmp != nullptr && *tmp != 0 ? tmp : "/tmp");
  make_dirs(base);
  std::string pattern = (base / "felloe-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) fail_write(pattern, errno);
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace felloe
