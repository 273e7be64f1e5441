#include "packaging/package.h"

#include <fmt/format.h>

#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/hash.h"
#include "matrix/pep440.h"
#include "packaging/writer/metadata.h"
#include "packaging/writer/tags.h"
#include "packaging/writer/tree.h"
#include "packaging/writer/zip_writer.h"

namespace felloe {
namespace {

Version checked_version(const PackageRequest& request) {
  if (!valid_name(request.name)) {
    throw Error(ErrorKind::usage, "name", fmt::format("not a package name: `{}`", request.name),
                "use letters, digits, '-', '_' and '.', a letter or digit at both ends");
  }
  const auto version = Version::parse(request.version);
  if (!version) {
    throw Error(ErrorKind::usage, "version",
                fmt::format("not a PEP 440 version: `{}`", request.version),
                "write e.g. 1.2.0, 1.2.0rc1 or 1.2.0.dev20261130+cpu");
  }
  return *version;
}

// RECORD is CSV; a name with a comma or quote is quoted (PEP 376).
std::string csv(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string make_record(const ZipWriter& zip, const std::string& record_path) {
  std::string out;
  for (const PackedMember& member : zip.members()) {
    out += fmt::format("{},{},{}\n", csv(member.name), member.sha256_record, member.size);
  }
  return out + csv(record_path) + ",,\n";
}

}  // namespace

PackageResult package_tree(const PackageRequest& request) {
  const Version version = checked_version(request);
  const std::string stem = wheel_name(request.name) + "-" + version.text();
  const InstallTree tree = read_tree(request.tree, stem + ".data");
  const DistInfo info = make_dist_info(request, version);
  const WheelTags tags =
      compute_tags(tree, {request.python_tag, request.abi_tag, request.platform_tag});
  if (tags.platform.find("linux") == std::string::npos) refuse_case_collisions(tree, request.tree);

  // Sorted, and .dist-info at the end, RECORD last: a reader of the end finds all metadata (PEP
  // 427).
  ZipWriter zip(request.source_date_epoch);
  for (const TreeFile& file : tree.files) zip.add_file(file.path, file.file, file.mode);
  const std::string folder = stem + ".dist-info/";
  zip.add_text(folder + "METADATA", info.metadata, 0644);
  zip.add_text(
      folder + "WHEEL",
      make_wheel_file("felloe " FELLOE_VERSION, tags.pure(), tags.triples(), request.build), 0644);
  if (!info.entry_points.empty()) {
    zip.add_text(folder + "entry_points.txt", info.entry_points, 0644);
  }
  for (const LicenseFile& license : info.licenses) {
    zip.add_file(folder + "licenses/" + license.name, license.file, 0644);
  }
  zip.add_text(folder + "RECORD", make_record(zip, folder + "RECORD"), 0644);

  PackageResult result;
  const std::string build = request.build > 0 ? fmt::format("-{}", request.build) : "";
  result.file = stem + build + "-" + tags.text() + ".whl";
  result.build = request.build;
  result.wheel = request.out_dir / result.file;
  make_dirs(request.out_dir);
  remove_stale_temps(request.out_dir);
  zip.write(result.wheel);
  result.tags = tags.triples();
  result.evidence = tags.evidence;
  result.left_out = tree.left_out;
  Sha256 hash;
  read_chunks(result.wheel, [&](std::string_view chunk) {
    hash.update(chunk);
    result.size += chunk.size();
  });
  result.sha256 = hex(hash.finish());
  return result;
}

}  // namespace felloe
