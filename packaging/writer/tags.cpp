#include "packaging/writer/tags.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/text.h"
#include "packaging/elf/elf.h"
#include "packaging/policy/platform.h"
#include "packaging/wheel/python_tags.h"

namespace felloe {
namespace {

// The ELF files of the tree, mapped and read; the deques keep addresses while they grow.
struct Code {
  std::deque<MappedFile> maps;
  std::deque<ElfFile> elves;
  std::vector<PlatformModule> platform;
  std::vector<PythonModule> python;
};

Code read_code(const InstallTree& tree) {
  Code code;
  for (const TreeFile& file : tree.files) {
    if (file.kind != TreeFile::Kind::elf) continue;
    code.elves.push_back(read_elf(code.maps.emplace_back(file.file).bytes()));
    code.platform.push_back({file.path, &code.elves.back()});
    code.python.push_back({file.path, &code.elves.back()});
  }
  return code;
}

Json python_evidence(const PythonSupport& support) {
  Json modules = Json::array();
  for (const ModuleGroup& group : support.groups) {
    modules.push_back({{"module", group.name},
                       {"pythons", to_text(group.gil)},
                       {"free_threaded", to_text(group.free_threaded)},
                       {"members", group.members}});
  }
  Json floors = Json::object();
  for (const auto& [path, use] : support.abi3) {
    Json& floor = floors[path] = {{"floor", fmt::format("3.{}", use.floor)}};
    if (!use.symbol.empty()) floor["symbol"] = use.symbol;
    if (use.offset) floor["offset"] = *use.offset;
    if (!use.outside.empty()) floor["outside"] = use.outside;
  }
  return {{"modules", modules}, {"abi3", floors}};
}

Json platform_evidence(const PlatformTag& tag) {
  Json rows = Json::array();
  for (const PlatformEvidence& e : tag.evidence) {
    Json& row = rows.emplace_back(Json{{"kind", platform_evidence_name(e.kind)},
                                       {"module", e.module},
                                       {"lib", e.lib},
                                       {"subject", e.subject}});
    if (e.offset) row["offset"] = *e.offset;
  }
  return {{"tag", tag.tag}, {"libc", tag.libc}, {"evidence", rows}};
}

// A compressed set in normal form: words of [a-z0-9_], sorted, without duplicates.
std::string checked(const std::string& written, const char* option) {
  std::vector<std::string> parts = split(written, '.');
  for (const std::string& part : parts) {
    const bool good = !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (!good) {
      throw Error(ErrorKind::usage, option, fmt::format("not a tag: `{}`", written),
                  "a tag is made of a-z, 0-9 and '_'; several are joined by '.'");
    }
  }
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  return join(parts, ".");
}

void refuse_foreign_code(const InstallTree& tree, const WantedTags& wanted) {
  if (wanted.python && wanted.abi && wanted.platform) return;
  for (const TreeFile& file : tree.files) {
    if (file.kind != TreeFile::Kind::foreign_code) continue;
    throw Error(ErrorKind::input, file.file.string(),
                "native code that is no ELF file: its tags cannot be computed",
                "give --python-tag, --abi-tag and --platform-tag, or take the file out");
  }
}

}  // namespace

std::vector<std::string> WheelTags::triples() const {
  std::vector<std::string> out;
  for (const std::string& p : split(python, '.')) {
    for (const std::string& a : split(abi, '.')) {
      for (const std::string& t : split(platform, '.'))
        out.push_back(fmt::format("{}-{}-{}", p, a, t));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

WheelTags compute_tags(const InstallTree& tree, const WantedTags& wanted) {
  refuse_foreign_code(tree, wanted);
  const Code code = read_code(tree);
  WheelTags out;

  const PythonSupport support = python_support(code.python);
  if (wanted.python && wanted.abi) {
    out.python = checked(*wanted.python, "--python-tag");
    out.abi = checked(*wanted.abi, "--abi-tag");
  } else {
    const PythonTags tags = python_tags(support);
    out.python = wanted.python ? checked(*wanted.python, "--python-tag") : tags.python;
    out.abi = wanted.abi ? checked(*wanted.abi, "--abi-tag") : tags.abi;
  }
  out.evidence["python"] = python_evidence(support);

  if (wanted.platform) {
    out.platform = checked(*wanted.platform, "--platform-tag");
    out.evidence["platform"] = {{"tag", out.platform}, {"given", true}};
    return out;
  }
  // lowest_platform refuses a file that is for another machine than the first one.
  const std::string arch = code.platform.empty() ? "" : code.platform.front().elf->machine;
  const PlatformTag tag = lowest_platform(arch, code.platform);
  out.platform = tag.compressed();
  out.evidence["platform"] = platform_evidence(tag);
  return out;
}

}  // namespace felloe
