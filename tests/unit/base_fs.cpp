#include "matrix/base/fs.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/unit/throws.h"

using namespace felloe;
using felloe::test::error_of;

namespace {

// A file system of one size, to fill up. `mounted` is false where this user or container may not.
class SmallDisk {
 public:
  SmallDisk(const fs::path& at, const char* options, unsigned long flags = 0) : at_(at) {
    make_dirs(at);
    mounted = ::mount("tmpfs", at.c_str(), "tmpfs", flags, options) == 0;
  }
  ~SmallDisk() {
    if (mounted) ::umount2(at_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool remount_read_only() const {
    return ::mount("tmpfs", at_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }
  bool mounted = false;

 private:
  fs::path at_;
};

}  // namespace

TEST_CASE("written files are complete, have their mode and leave nothing behind") {
  const TempDir dir;
  const fs::path path = dir.path() / "a" / "b.txt";
  write_file(path, "one", 0755);
  CHECK(read_file(path) == "one");
  write_file(path, "two", 0640);
  CHECK(read_file(path) == "two");
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0640);
  CHECK(list_files(dir.path()) == std::vector<std::string>{"a/b.txt"});
}

TEST_CASE("an unchanged file is not written again") {
  const TempDir dir;
  const fs::path path = dir.path() / "f";
  CHECK(write_file_if_changed(path, "x"));
  CHECK_FALSE(write_file_if_changed(path, "x"));
  CHECK(write_file_if_changed(path, "y"));
}

TEST_CASE("a full disk keeps the old bytes and says what to do") {
  const TempDir dir;
  const fs::path disk = dir.path() / "disk";
  const SmallDisk small(disk, "size=64k");
  if (!small.mounted) {
    WARN("not run: mounting a tmpfs is not allowed here");
    return;
  }
  write_file(disk / "f", "old");
  const auto error = error_of([&] { write_file(disk / "f", std::string(1 << 20, 'x')); });
  CHECK(error.kind() == ErrorKind::environment);
  CHECK(error.where() == (disk / "f").string());
  CHECK(error.message() == "cannot write: No space left on device");
  CHECK(error.hint() == "the disk is full: free some space or choose another place");
  CHECK(read_file(disk / "f") == "old");
  CHECK(list_files(disk) == std::vector<std::string>{"f"});
}

TEST_CASE("a read-only place is named") {
  const TempDir dir;
  const fs::path disk = dir.path() / "disk";
  const SmallDisk small(disk, "size=64k");
  if (!small.mounted || !small.remount_read_only()) {
    WARN("not run: mounting a tmpfs is not allowed here");
    return;
  }
  const auto error = error_of([&] { write_file(disk / "f", "x"); });
  CHECK(error.kind() == ErrorKind::environment);
  CHECK(error.hint() == "the file system is read-only: choose another place");
}

TEST_CASE("a target that can't be replaced leaves no temporary file") {
  const TempDir dir;
  make_dirs(dir.path() / "taken" / "x");
  const auto error = error_of([&] { write_file(dir.path() / "taken", "x"); });
  CHECK(error.kind() == ErrorKind::environment);
  CHECK(list_files(dir.path()).empty());
}

TEST_CASE("what can't be read is an input error") {
  const TempDir dir;
  CHECK(error_of([&] { read_file(dir.path() / "none"); }).message() ==
        "cannot read: No such file or directory");
  CHECK(error_of([&] { read_file(dir.path()); }).hint() == "this is a folder; a file was expected");
  write_file(dir.path() / "f", "12345");
  CHECK(error_of([&] { read_file(dir.path() / "f", 4); }).message() ==
        "file is larger than the 4 bytes allowed here");
  CHECK(error_of([&] { list_files(dir.path() / "f"); }).message() == "not a folder");
  error_of([&] { MappedFile map(dir.path() / "none"); });
  error_of([&] { MappedFile map("/dev/null"); });
  CHECK(read_file_or_empty(dir.path() / "none").empty());
}

TEST_CASE("a mapped file shows its bytes, an empty one too") {
  const TempDir dir;
  write_file(dir.path() / "f", "abc");
  write_file(dir.path() / "e", "");
  CHECK(MappedFile(dir.path() / "f").bytes().text() == "abc");
  CHECK(MappedFile(dir.path() / "e").bytes().empty());
}

TEST_CASE("files in /proc, whose size is reported as 0, are read whole") {
  CHECK(read_file("/proc/self/status").find("Pid:") != std::string::npos);
}

TEST_CASE("copies replace atomically, also onto the same inode") {
  const TempDir dir;
  write_file(dir.path() / "a", "1");
  copy_file_atomic(dir.path() / "a", dir.path() / "b");
  copy_file_atomic(dir.path() / "a", dir.path() / "b");
  CHECK(list_files(dir.path()) == std::vector<std::string>{"a", "b"});
  CHECK(read_file(dir.path() / "b") == "1");
}

TEST_CASE("a temporary folder goes away with its contents") {
  fs::path path;
  {
    const TempDir dir;
    path = dir.path();
    write_file(path / "x" / "y", "z");
  }
  CHECK_FALSE(fs::exists(path));
}
