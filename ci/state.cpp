#include "ci/state.h"

#include <sys/stat.h>

#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/hash.h"

namespace felloe {
namespace {

constexpr int kFormat = 1;  // raise it when the meaning of a record changes: all steps run again

std::string file_digest(const fs::path& path) {
  const MappedFile file(path);
  Sha256 hash;
  hash.update(file.bytes().span());
  return hex(hash.finish());
}

std::string record_digest(const StepRecord& record) {
  return sha256_hex(dump_json_compact({{"data", record.data}, {"outputs", record.outputs}}));
}

}  // namespace

std::string content_digest(const fs::path& path) {
  std::error_code ec;
  if (!fs::is_directory(path, ec)) return file_digest(path);
  Sha256 hash;
  for (const std::string& name : list_files(path)) {
    const fs::path file = path / name;
    struct stat info {};
    const bool executable = ::stat(file.c_str(), &info) == 0 && (info.st_mode & S_IXUSR) != 0;
    hash.update(name);
    hash.update(std::string_view(executable ? "\0x\0" : "\0-\0", 3));
    hash.update(file_digest(file));
  }
  return hex(hash.finish());
}

std::string step_key(const Step& step, const std::map<std::string, std::string>& dep_digests) {
  return sha256_hex(dump_json_compact({{"format", kFormat},
                                       {"id", step.id},
                                       {"kind", step.kind},
                                       {"inputs", step.inputs},
                                       {"deps", dep_digests}}));
}

std::string file_name_of(const std::string& id) {
  std::string out = id;
  for (char& c : out) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    if (!plain) c = '-';
  }
  return out;
}

fs::path StateStore::path_of(const std::string& id) const {
  return folder_ / (file_name_of(id) + ".json");
}

std::optional<StepRecord> StateStore::find(const std::string& id, const std::string& key) const {
  const fs::path path = path_of(id);
  std::error_code ec;
  if (!fs::exists(path, ec)) return std::nullopt;
  try {
    const Json json = read_json(path);
    if (json.at("key") != key) return std::nullopt;
    StepRecord record;
    record.key = key;
    record.data = json.at("data");
    record.outputs = json.at("outputs").get<std::map<std::string, std::string>>();
    record.seconds = json.at("seconds").get<double>();
    record.attempts = json.at("attempts").get<int>();
    record.digest = record_digest(record);
    if (json.at("digest") != record.digest) return std::nullopt;
    for (const auto& [file, digest] : record.outputs) {
      if (!fs::exists(file, ec) || content_digest(file) != digest) return std::nullopt;
    }
    return record;
  } catch (const std::exception&) {
    return std::nullopt;  // unreadable or not what we write
  }
}

StepRecord StateStore::store(const std::string& id, const std::string& key,
                             const StepOutput& output, double seconds, int attempts) const {
  StepRecord record;
  record.key = key;
  record.data = output.data;
  record.seconds = seconds;
  record.attempts = attempts;
  for (const fs::path& file : output.files) record.outputs[file.string()] = content_digest(file);
  record.digest = record_digest(record);
  write_file(path_of(id), dump_json({{"key", record.key},
                                     {"digest", record.digest},
                                     {"data", record.data},
                                     {"outputs", record.outputs},
                                     {"seconds", record.seconds},
                                     {"attempts", record.attempts}}));
  return record;
}

}  // namespace felloe
