#include "probe/tree.h"

#include <algorithm>

#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/text.h"

namespace felloe {
namespace {
constexpr std::uint64_t kMaxFile = 8u << 20;
constexpr int kMaxLinks = 40;           // Linux's own limit
constexpr std::size_t kMaxParts = 512;  // of a path with its links expanded
}  // namespace

fs::path Tree::host(const std::string& path) const {
  return root_ / fs::path(path).lexically_normal().relative_path();
}

std::optional<std::string> Tree::resolve(const std::string& path) const {
  std::vector<std::string> todo = split(path, '/');
  std::reverse(todo.begin(), todo.end());
  std::vector<std::string> done;
  int links = 0;
  std::error_code ec;
  while (!todo.empty()) {
    const std::string part = todo.back();
    todo.pop_back();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!done.empty()) done.pop_back();
      continue;
    }
    done.push_back(part);
    const fs::path here = root_ / join(done, "/");
    const fs::file_status status = fs::symlink_status(here, ec);
    if (!fs::exists(status)) return std::nullopt;
    if (!fs::is_symlink(status)) continue;
    const std::string target = fs::read_symlink(here, ec).string();
    if (ec || ++links > kMaxLinks || todo.size() > kMaxParts) return std::nullopt;
    done.pop_back();
    if (target.starts_with('/')) done.clear();
    std::vector<std::string> parts = split(target, '/');
    todo.insert(todo.end(), parts.rbegin(), parts.rend());
  }
  return "/" + join(done, "/");
}

std::optional<std::string> Tree::file(const std::string& path) const {
  const std::optional<std::string> real = resolve(path);
  if (!real) return std::nullopt;
  std::error_code ec;
  if (!fs::is_regular_file(host(*real), ec)) return std::nullopt;  // a pipe or device would block
  try {
    return read_file(host(*real), kMaxFile);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<std::string> Tree::list(const std::string& folder, const std::string& prefix) const {
  std::vector<std::string> names;
  const std::optional<std::string> real = resolve(folder);
  if (!real) return names;
  std::error_code ec;
  for (auto it = fs::directory_iterator(host(*real), ec); !ec && it != fs::directory_iterator();
       it.increment(ec)) {
    std::string name = it->path().filename().string();
    if (name.starts_with(prefix)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace felloe
