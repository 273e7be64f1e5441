#include "packaging/wheel/archive.h"

#include <fmt/format.h>

#include <set>

#include "matrix/base/text.h"
#include "matrix/pep440.h"

namespace felloe {
namespace {

using Kind = WheelTrouble::Kind;
constexpr std::uint64_t kMaxTextBytes = 64u << 20;  // RECORD of the largest wheels is a few MB

void find_dist_info(WheelArchive& a) {
  std::set<std::string> folders;
  for (const ZipEntry& e : a.zip.entries()) {
    const auto slash = e.name.find('/');
    if (slash == std::string::npos) continue;
    const std::string top = e.name.substr(0, slash);
    if (top.ends_with(".dist-info")) folders.insert(top);
  }
  if (folders.empty()) {
    a.troubles.push_back(
        {Kind::no_dist_info, "", "no .dist-info folder, so nothing says what this is"});
    return;
  }
  a.dist_info = *folders.begin();
  if (folders.size() == 1) return;
  // The folder that belongs to the file name wins, if one does.
  for (const std::string& f : folders) {
    const std::string stem = f.substr(0, f.size() - std::string_view(".dist-info").size());
    const auto dash = stem.find('-');
    if (a.name && normalize_name(stem.substr(0, dash)) == normalize_name(a.name->name))
      a.dist_info = f;
  }
  a.troubles.push_back(
      {Kind::many_dist_info, "",
       fmt::format("{} .dist-info folders, expected one: {}", folders.size(),
                   join(std::vector<std::string>(folders.begin(), folders.end()), ", "))});
}

// Reads one .dist-info file and hands its text to `parse`; trouble is written down.
template <class Parse>
auto read_part(WheelArchive& a, const char* file, Parse parse)
    -> std::optional<decltype(parse(std::string_view(), std::string()))> {
  const std::string member = a.dist_info_file(file);
  const ZipEntry* entry = a.zip.find(member);
  if (entry == nullptr) {
    a.troubles.push_back({Kind::missing, member, fmt::format("{} is missing", file)});
    return std::nullopt;
  }
  try {
    const ZipMember data = a.zip.read(*entry, kMaxTextBytes);
    return parse(data.text(), a.zip.name() + "!" + member);
  } catch (const Error& e) {
    a.troubles.push_back({Kind::malformed, member, e.message()});
    return std::nullopt;
  }
}

}  // namespace

void WheelArchive::require_sound() const {
  zip.require_sound();
  if (troubles.empty()) return;
  const WheelTrouble& t = troubles.front();
  throw Error(ErrorKind::input, t.file.empty() ? zip.name() : zip.name() + "!" + t.file, t.message,
              "`felloe audit` lists all that is wrong with this wheel");
}

WheelArchive open_wheel(const fs::path& path, const ZipLimits& limits) {
  WheelArchive a(ZipReader(path, limits));
  try {
    a.name = parse_wheel_filename(path.filename().string());
  } catch (const Error& e) {
    a.troubles.push_back({Kind::file_name, "", e.message()});
  }
  find_dist_info(a);
  if (a.dist_info.empty()) return a;
  a.metadata = read_part(a, "METADATA", parse_headers);
  a.wheel = read_part(a, "WHEEL", parse_headers);
  a.record = read_part(a, "RECORD", parse_record);
  return a;
}

}  // namespace felloe
