// The text files of .dist-info: METADATA (core metadata 2.4, PEP 639 licenses), WHEEL (PEP 427) and
// entry_points.txt. To add a field: a line in make_metadata(), a key in PackageInfo.
#pragma once
#include <string>
#include <vector>

#include "matrix/pep440.h"
#include "packaging/package.h"

namespace felloe {

struct DistInfo {
  std::string metadata;               // METADATA
  std::string entry_points;           // entry_points.txt, empty: no such file
  std::vector<LicenseFile> licenses;  // sorted by name; name is the path under licenses/
};

// Throws Error{usage} naming the key of felloe.json for what PyPI would refuse, Error{input} if a
// description or license file is missing or not UTF-8.
DistInfo make_dist_info(const PackageRequest& request, const Version& version);

std::string make_wheel_file(const std::string& generator, bool purelib,
                            const std::vector<std::string>& tags, int build);

// Whether this is a well-formed SPDX license expression (operators in capitals, parentheses
// balanced). The identifiers themselves aren't looked up.
bool valid_license_expression(const std::string& text);

}  // namespace felloe
