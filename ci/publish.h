// The last gate: wheels reach the index only if nothing found an error in them.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "matrix/base/json.h"

namespace felloe {

struct PublishRequest {
  std::filesystem::path wheel;
  std::string project, version;  // for the install line
  std::string sha256;            // hex, of the wheel
  std::filesystem::path out;     // wheels/ and index/simple/ are below
  std::string base_url;          // empty: relative links
  std::int64_t source_date_epoch = 0;
};

// Copies the wheel to out/wheels and adds it to out/index/simple. A published name never changes
// its bytes where others may have seen it; but a second nightly of one day, made from changed
// sources, has the name of the first: then a new index is made beside the old one, without the
// superseded wheel, and the two are exchanged in one step. Returns {"index", "wheel", "install",
// "superseded"}.
Json publish_wheel(const PublishRequest& request);

// The line that installs exactly this version from the index, on this machine or from `base_url`.
std::string install_line(const PublishRequest& request);

}  // namespace felloe
