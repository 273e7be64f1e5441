// Paths inside a root folder, as a process chrooted there would see them: symbolic links are
// followed within the root and never lead out of it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace felloe {

class Tree {
 public:
  explicit Tree(std::filesystem::path root) : root_(std::move(root)) {}

  // The path on this machine of an absolute path in the tree, as it stands: no link is followed.
  std::filesystem::path host(const std::string& path) const;

  // Absolute path in the tree without links, `.` and `..`; nothing if it leads nowhere or in
  // circles.
  std::optional<std::string> resolve(const std::string& path) const;

  std::optional<std::string> file(const std::string& path) const;
  std::vector<std::string> list(const std::string& folder, const std::string& prefix) const;

 private:
  std::filesystem::path root_;
};

}  // namespace felloe
