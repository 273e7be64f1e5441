// The install tree as a list of wheel members. What a wheel can't hold is refused here: links out
// of the tree, links to folders, devices, names that aren't portable, somebody else's .dist-info.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace felloe {

struct TreeFile {
  std::string path;            // in the wheel, '/' separators
  std::filesystem::path file;  // what to read
  unsigned mode = 0644;        // from the content, see tree.cpp
  enum class Kind {
    plain,
    elf,
    foreign_code,  // PE, Mach-O, static archive: native, but no tag can be computed from it
  } kind = Kind::plain;
};

struct InstallTree {
  std::vector<TreeFile> files;        // sorted by path
  std::vector<std::string> left_out;  // bytecode: it holds time stamps and belongs to one machine
};

// `data_folder` is "NAME-VERSION.data". Throws Error{input} naming the file.
InstallTree read_tree(const std::filesystem::path& root, const std::string& data_folder);

// Two names that are one file on macOS and Windows: refused for wheels that go there. Throws
// Error{input} naming both.
void refuse_case_collisions(const InstallTree& tree, const std::filesystem::path& root);

}  // namespace felloe
