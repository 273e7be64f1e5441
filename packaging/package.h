// Packing an install tree as a wheel. Same tree, same request: same bytes (docs/packaging.md).
// The tags aren't assumed but read from the tree's own ELF files; see packaging/writer/tags.h.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "matrix/base/json.h"
#include "matrix/project.h"

namespace felloe {

// A license text that isn't in the project's sources, e.g. the notices of bundled libraries.
struct LicenseFile {
  std::string name;  // path under .dist-info/licenses/, '/' separators
  std::filesystem::path file;
};

struct PackageRequest {
  std::filesystem::path
      tree;             // what becomes site-packages; NAME-VERSION.data/ folders may stand in it
  std::string name;     // as people write it; the file name gets the normal form
  std::string version;  // any PEP 440 version, with the local part ("+cpu") if wanted
  int build = 0;        // PEP 427's build number, which sorts wheels of one version; 0: none
  PackageInfo info;     // METADATA; `description_file` and `license_files` (globs) are
                        // relative to `project_root`
  std::filesystem::path project_root;
  std::vector<LicenseFile> extra_licenses;
  std::optional<std::string> python_tag, abi_tag, platform_tag;  // absent: computed from the tree
  std::filesystem::path out_dir;
  std::int64_t source_date_epoch = 0;  // seconds; clamped to zip's 1980-01-01..2107-12-31
};

struct PackageResult {
  std::filesystem::path wheel;        // out_dir / file
  std::string file;                   // "treadle-0.1.0+cpu-cp310-abi3-manylinux_2_17_x86_64.whl"
  std::vector<std::string> tags;      // expanded triples, as in WHEEL
  Json evidence;                      // {"python": [...], "platform": {...}}: what decided each tag
  std::vector<std::string> left_out;  // files of the tree that a wheel must not hold (bytecode)
  int build = 0;                      // of the request
  std::string sha256;                 // hex, of the wheel
  std::uint64_t size = 0;             // bytes
};

// Throws Error{input} for a tree that can't be packed (empty, links out of it, colliding or
// unportable names, mixed architectures, modules whose Pythons no tag can express), Error{usage}
// for metadata that PyPI would refuse, Error{environment} if `out_dir` can't be written. On any
// error out_dir holds neither a new wheel nor a temporary file.
PackageResult package_tree(const PackageRequest& request);

}  // namespace felloe
