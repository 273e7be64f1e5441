// An opened wheel: the zip, its file name taken apart, its .dist-info files parsed. inspect and
// audit both start here; inspect wants everything sound (strict), audit wants to list what isn't.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "packaging/wheel/filename.h"
#include "packaging/wheel/headers.h"
#include "packaging/wheel/record.h"
#include "packaging/zip/reader.h"

namespace felloe {

// Something in .dist-info that should be there and parse, but isn't or doesn't.
struct WheelTrouble {
  enum class Kind { file_name, no_dist_info, many_dist_info, missing, malformed };
  Kind kind;
  std::string file;     // the member
  std::string message;  // lower case, no final stop
};

struct WheelArchive {
  explicit WheelArchive(ZipReader reader) : zip(std::move(reader)) {}

  ZipReader zip;
  std::optional<WheelName> name;
  std::string dist_info;  // "treadle-0.1.0.dist-info", without a slash; empty if there is none
  std::optional<Headers> metadata, wheel;
  std::optional<std::vector<RecordRow>> record;
  std::vector<WheelTrouble> troubles;

  std::string dist_info_file(std::string_view file) const {
    return dist_info + "/" + std::string(file);
  }

  // Throws Error{input} for the first trouble or unsound zip problem.
  void require_sound() const;
};

// Throws Error{input} only if the file is missing or no readable zip.
WheelArchive open_wheel(const fs::path& path, const ZipLimits& limits = {});

}  // namespace felloe
