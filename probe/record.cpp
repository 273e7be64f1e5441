// Recording: the same answers, remembered. What no file says goes to felloe-host/*.json.
#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "probe/source.h"

namespace felloe {

std::optional<std::string> Recorder::file(const std::string& path) {
  std::optional<std::string> data = inner_.file(path);
  if (data) files_[path] = *data;
  return data;
}

std::vector<std::string> Recorder::list(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> names = inner_.list(folder, prefix);
  list_[folder + "/" + prefix + "*"] = names;
  return names;
}

std::optional<std::string> Recorder::resolve(const std::string& path) {
  std::optional<std::string> real = inner_.resolve(path);
  resolve_[path] = real ? Json(*real) : Json();
  return real;
}

std::optional<std::string> Recorder::env(const std::string& name) {
  std::optional<std::string> value = inner_.env(name);
  if (value) env_[name] = *value;
  return value;
}

std::vector<Json> Recorder::ask_all(const std::string& kind, const std::vector<std::string>& keys) {
  std::vector<Json> out = inner_.ask_all(kind, keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].empty()) {
      if (!out[i].is_null()) answers_[kind] = out[i];
    } else {
      answers_[kind][keys[i]] = out[i];
    }
  }
  return out;
}

void Recorder::save(const fs::path& folder) const {
  std::error_code ec;
  if (fs::exists(folder, ec) && !fs::is_empty(folder, ec)) {
    throw Error(ErrorKind::usage, folder.string(), "the folder to record into is not empty",
                "name a new one: a mix of two machines would be no machine");
  }
  make_dirs(folder / kAnswers);
  for (const auto& [path, data] : files_) {
    write_file(folder / fs::path(path).lexically_normal().relative_path(), data);
  }
  for (const auto& [kind, answer] : answers_.items()) {
    write_file(folder / kAnswers / (kind + ".json"), dump_json(answer));
  }
  write_file(folder / kAnswers / "env.json", dump_json(env_));
  write_file(folder / kAnswers / "paths.json",
             dump_json(Json{{"list", list_}, {"resolve", resolve_}}));
}

}  // namespace felloe
