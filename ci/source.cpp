#include "ci/source.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "ci/state.h"
#include "matrix/base/fs.h"
#include "matrix/base/glob.h"
#include "matrix/base/hash.h"
#include "matrix/base/process.h"
#include "matrix/base/text.h"

namespace felloe {
namespace {

// safe.directory: a clone that belongs to another user (root in a container) is only read here.
ProcessResult git(const Project& project, std::vector<std::string> args) {
  std::vector<std::string> argv{"git", "-c", "safe.directory=*", "-C", project.root.string()};
  argv.insert(argv.end(), args.begin(), args.end());
  ::felloe::Command command;
  command.argv = argv;
  return run_process(command);
}

bool is_output(const fs::path& relative) {
  const std::string first = relative.begin()->string();
  return first.starts_with(".") || first == "build" || first.starts_with("build-") ||
         first == "dist" || first == "__pycache__";
}

std::vector<std::string> walk(const fs::path& root) {
  std::vector<std::string> out;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(root, ec)) {
    const fs::path name = entry.path().filename();
    if (is_output(name)) continue;
    if (entry.is_directory()) {
      for (const std::string& file : list_files(entry.path())) {
        out.push_back((name / file).generic_string());
      }
    } else {
      out.push_back(name.string());
    }
  }
  if (ec) throw Error(ErrorKind::input, root.string(), "cannot read: " + ec.message());
  return out;
}

std::vector<std::string> known_files(const Project& project) {
  const ProcessResult listed =
      git(project, {"ls-files", "-z", "--cached", "--others", "--exclude-standard"});
  if (!listed.ok()) return walk(project.root);
  std::vector<std::string> out = split(listed.out, '\0');
  std::erase_if(out, [&](const std::string& file) {
    std::error_code ec;  // deleted but still in git's list, or a submodule
    return file.empty() || !fs::is_regular_file(project.root / file, ec);
  });
  return out;
}

}  // namespace

std::vector<std::string> source_files(const Project& project) {
  std::vector<std::string> files = known_files(project);
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  const std::vector<std::string>& patterns = project.source.inputs;
  if (patterns.empty()) return files;
  std::vector<bool> used(patterns.size(), false);
  std::erase_if(files, [&](const std::string& file) {
    bool wanted = false;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (glob_match(patterns[i], file)) wanted = used[i] = true;
    }
    return !wanted;
  });
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (!used[i]) {
      throw Error(ErrorKind::usage, "felloe.json#/source/inputs/" + std::to_string(i),
                  "no source file matches: " + patterns[i],
                  "patterns are relative to felloe.json; `**` stands for any number of folders");
    }
  }
  return files;
}

std::string source_digest(const Project& project) {
  Sha256 hash;
  for (const std::string& name : source_files(project)) {
    const fs::path file = project.root / name;
    struct stat info {};
    const bool executable = ::stat(file.c_str(), &info) == 0 && (info.st_mode & S_IXUSR) != 0;
    hash.update(name + (executable ? '\1' : '\0') + content_digest(file));
  }
  return hex(hash.finish());
}

std::int64_t source_date_epoch(const Project& project) {
  const auto number = [](std::string_view text) -> std::optional<std::int64_t> {
    text = trim(text);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size())
      return std::nullopt;
    return value;
  };
  if (const char* text = std::getenv("SOURCE_DATE_EPOCH"); text != nullptr && *text != 0) {
    if (const auto value = number(text)) return *value;
    throw Error(ErrorKind::usage, "SOURCE_DATE_EPOCH", std::string("not a number: ") + text,
                "give seconds since 1970, or unset it");
  }
  const ProcessResult date = git(project, {"log", "-1", "--format=%ct"});
  if (date.ok()) {
    if (const auto value = number(date.out)) return *value;
  }
  return kFixedEpoch;
}

}  // namespace felloe
