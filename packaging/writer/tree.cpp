#include "packaging/writer/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>

#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/text.h"
#include "matrix/base/visible.h"
#include "packaging/elf/elf.h"

namespace felloe {
namespace {

// The folders of NAME-VERSION.data that installers know (binary distribution format specification).
constexpr std::array<std::string_view, 5> kDataSchemes = {"purelib", "platlib", "headers",
                                                          "scripts", "data"};

[[noreturn]] void refuse(const fs::path& file, const std::string& message,
                         const std::string& hint) {
  throw Error(ErrorKind::input, file.string(), message, hint);
}

std::string first_bytes(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(file, "cannot read", "check the permissions of the file");
  std::string head(8, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(in.gcount()));
  return head;
}

// Native code that isn't ELF: PE ("MZ"), Mach-O (either byte order, and universal: with at most 30
// architectures, else it is a Java class), "!<arch>\n" archives.
bool is_foreign_code(std::string_view head, std::string_view path) {
  if (head.starts_with("!<arch>\n")) return true;
  if (head.starts_with("MZ")) {
    const std::string name = to_lower(path);
    return name.ends_with(".dll") || name.ends_with(".pyd") || name.ends_with(".exe");
  }
  for (const std::string_view magic :
       {"\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe"}) {
    if (head.starts_with(magic)) return true;
  }
  return head.size() == 8 && head.starts_with("\xca\xfe\xba\xbe") && head[4] == 0 && head[5] == 0 &&
         head[6] == 0 && static_cast<unsigned char>(head[7]) < 30;
}

void check_name(const std::string& path, const fs::path& file) {
  if (!is_utf8(path)) refuse(file, "the file name is not UTF-8", "rename the file");
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\') {
      refuse(file,
             fmt::format("the file name holds the byte 0x{:02x}, which installers refuse",
                         static_cast<unsigned char>(c)),
             "rename the file");
    }
  }
  if (visible(path, Lines::escape) != path) {
    refuse(file, "the file name holds a character that steers terminals or reorders text",
           "rename the file");
  }
}

void check_place(const std::string& path, const std::string& data_folder, const fs::path& file) {
  const std::vector<std::string> parts = split(path, '/');
  const std::string& top = parts.front();
  if (parts.size() > 1 && top.ends_with(".dist-info")) {
    refuse(file, fmt::format("the tree holds a folder `{}`, which felloe writes itself", top),
           "take it out of the tree; metadata comes from felloe.json");
  }
  if (parts.size() == 1 || !top.ends_with(".data") || top.find('-') == std::string::npos) return;
  if (top != data_folder) {
    refuse(file,
           fmt::format("expected the data folder to be called `{}`, not `{}`", data_folder, top),
           "rename the folder");
  }
  if (parts.size() < 3 ||
      std::find(kDataSchemes.begin(), kDataSchemes.end(), parts[1]) == kDataSchemes.end()) {
    refuse(file, fmt::format("`{}` is none of the folders that installers know", parts[1]),
           fmt::format("use one of {}", fmt::join(kDataSchemes, ", ")));
  }
}

// Links become copies, because zip installers write no links; so a link may only lead to a file
// that belongs to the tree anyway.
void check_link(const fs::path& file, const fs::path& canonical_root) {
  std::error_code ec;
  const fs::path target = fs::canonical(file, ec);
  if (ec) refuse(file, "a symbolic link that leads nowhere", "remove it or point it at a file");
  if (fs::is_directory(target)) {
    refuse(file, "a symbolic link to a folder; wheels hold no links",
           "install a copy of the folder, or the files where they are wanted");
  }
  const auto [root_end, ignored] =
      std::mismatch(canonical_root.begin(), canonical_root.end(), target.begin(), target.end());
  if (root_end != canonical_root.end()) {
    refuse(file, "a symbolic link that leads out of the tree",
           "install the file itself (cmake's install(FILES) copies links as they are)");
  }
}

bool is_bytecode(const std::string& path) {
  return path.ends_with(".pyc") || path.ends_with(".pyo") ||
         path.find("__pycache__/") != std::string::npos;
}

// Modes come from the content, so that umask, checkout and file system don't change the wheel:
// executable is what the kernel can execute (ELF, scripts with "#!"), and what pip puts on PATH.
TreeFile make_file(std::string path, const fs::path& file, const std::string& data_folder) {
  TreeFile out;
  const std::string head = first_bytes(file);
  if (is_elf(Bytes(head, file.string()))) {
    out.kind = TreeFile::Kind::elf;
  } else if (is_foreign_code(head, path)) {
    out.kind = TreeFile::Kind::foreign_code;
  }
  const bool executable = out.kind == TreeFile::Kind::elf || head.starts_with("#!") ||
                          path.starts_with(data_folder + "/scripts/");
  out.mode = executable ? 0755 : 0644;
  out.path = std::move(path);
  out.file = file;
  return out;
}

}  // namespace

InstallTree read_tree(const fs::path& root, const std::string& data_folder) {
  std::error_code ec;
  const fs::path canonical_root = fs::canonical(root, ec);
  if (ec || !fs::is_directory(canonical_root)) {
    refuse(root, "not a folder; the install tree was expected here",
           "run `cmake --install BUILD --prefix TREE` first, or check the path");
  }
  InstallTree tree;
  for (const std::string& path : list_files(root)) {
    const fs::path file = root / path;
    check_name(path, file);
    if (is_bytecode(path)) {
      tree.left_out.push_back(path);
      continue;
    }
    if (fs::is_symlink(file)) check_link(file, canonical_root);
    if (!fs::is_regular_file(file)) {
      refuse(file, "neither a file nor a folder", "remove it from the tree");
    }
    check_place(path, data_folder, file);
    tree.files.push_back(make_file(path, file, data_folder));
  }
  if (tree.files.empty()) {
    refuse(
        root,
        tree.left_out.empty() ? "the tree holds no files" : "the tree holds no files but bytecode",
        "check the install rules and the component that was installed");
  }
  return tree;
}

void refuse_case_collisions(const InstallTree& tree, const fs::path& root) {
  std::map<std::string, std::string> seen;
  for (const TreeFile& file : tree.files) {
    const auto [it, fresh] = seen.emplace(to_lower(file.path), file.path);
    if (fresh) continue;
    refuse(root / file.path,
           fmt::format("this name and `{}` are one file on macOS and Windows, where this wheel "
                       "can be installed",
                       it->second),
           "rename one of them");
  }
}

}  // namespace felloe
