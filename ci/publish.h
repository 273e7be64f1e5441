// The last gate: wheels reach the index only if nothing found an error in them; and what their
// names are, given that a published name never changes its bytes.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "matrix/base/json.h"
#include "packaging/package.h"

namespace felloe {

// Packs a wheel that is to be published in the index of out/index. Where that has another wheel of
// this version and these tags (a second nightly of one day, from changed sources), the wheel gets
// the next build number (PEP 427: NAME-VERSION-1-TAGS.whl), by which pip and uv prefer it. The same
// bytes as the newest one's get its number, so nothing is published twice.
PackageResult package_for_index(PackageRequest request, const std::filesystem::path& out);

struct PublishRequest {
  std::filesystem::path wheel;
  std::string project, version;  // for the install line
  std::string sha256;            // hex, of the wheel
  std::filesystem::path out;     // wheels/ and index/simple/ are below
  std::string base_url;          // empty: relative links
  std::int64_t source_date_epoch = 0;
};

// Copies the wheel to out/wheels and adds it to out/index/simple. Returns {"index", "wheel",
// "install"}. Throws Error{input} if the index has got other bytes under this name since the wheel
// was packed.
Json publish_wheel(const PublishRequest& request);

// The line that installs exactly this version from the index, on this machine or from `base_url`.
std::string install_line(const PublishRequest& request);

}  // namespace felloe
