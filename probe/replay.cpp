// A recorded machine (docs/probe.md has the layout). Answers come from felloe-host/*.json; what
// isn't recorded is looked up in the tree, so a hand-made host or a mounted image works as well.
#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "probe/elf.h"
#include "probe/source.h"
#include "probe/tree.h"

namespace felloe {
namespace {

class Replay : public Source {
 public:
  explicit Replay(const fs::path& root) : root_(root), tree_(root) {
    std::error_code ec;
    if (!fs::is_directory(root, ec)) {
      throw Error(ErrorKind::input, root.string(), "not a folder",
                  "give a folder that `felloe probe --record` wrote, or the root of a system");
    }
    paths_ = load("paths");
    env_ = load("env");
  }

  std::optional<std::string> file(const std::string& path) override { return tree_.file(path); }

  std::vector<std::string> list(const std::string& folder, const std::string& prefix) override {
    if (const Json* known = find(paths_, "list", folder + "/" + prefix + "*")) {
      return strings(*known, "paths");
    }
    return tree_.list(folder, prefix);
  }

  std::optional<std::string> resolve(const std::string& path) override {
    if (const Json* known = find(paths_, "resolve", path)) {
      if (known->is_null()) return std::nullopt;
      return string(*known, "paths");
    }
    return tree_.resolve(path);
  }

  std::optional<std::string> env(const std::string& name) override {
    const auto it = env_.find(name);
    if (it == env_.end() || it->is_null()) return std::nullopt;
    return string(*it, "env");
  }

  std::vector<Json> ask_all(const std::string& kind,
                            const std::vector<std::string>& keys) override {
    if (!answers_.contains(kind)) answers_[kind] = load(kind);
    const Json& recorded = answers_[kind];
    std::vector<Json> out;
    for (const std::string& key : keys) {
      if (key.empty()) {
        out.push_back(recorded.empty() ? Json() : recorded);
      } else if (recorded.contains(key)) {
        out.push_back(recorded.at(key));
      } else {
        out.push_back(kind == "elf" ? digest(key) : Json());
      }
    }
    return out;
  }

 private:
  fs::path answer_file(const std::string& kind) const {
    return root_ / kAnswers / (kind + ".json");
  }

  // The recorded object, or an empty one.
  Json load(const std::string& kind) const {
    std::error_code ec;
    const fs::path path = answer_file(kind);
    if (!fs::exists(path, ec)) return Json::object();
    Json json = read_json(path);
    if (!json.is_object()) {
      throw Error(ErrorKind::input, path.string(), "must be a JSON object", "see docs/probe.md");
    }
    return json;
  }

  static const Json* find(const Json& json, const char* group, const std::string& key) {
    const auto it = json.find(group);
    if (it == json.end() || !it->is_object()) return nullptr;
    const auto entry = it->find(key);
    return entry == it->end() ? nullptr : &*entry;
  }

  std::string string(const Json& json, const std::string& kind) const {
    if (json.is_string()) return json.get<std::string>();
    throw Error(ErrorKind::input, answer_file(kind).string(),
                "must be a string, not " + dump_json_compact(json), "see docs/probe.md");
  }

  std::vector<std::string> strings(const Json& json, const std::string& kind) const {
    std::vector<std::string> out;
    for (const Json& item : json) out.push_back(string(item, kind));
    return out;
  }

  Json digest(const std::string& path) const {
    const std::optional<std::string> real = tree_.resolve(path);
    std::error_code ec;
    if (!real || !fs::is_regular_file(tree_.host(*real), ec)) return Json();
    try {
      const MappedFile file(tree_.host(*real));
      return elf_digest(file.bytes());
    } catch (const Error& error) {
      return Json{{"error", error.message()}};
    }
  }

  fs::path root_;
  Tree tree_;
  Json paths_, env_;
  std::map<std::string, Json> answers_;
};

}  // namespace

std::unique_ptr<Source> replay_source(const fs::path& root) {
  return std::make_unique<Replay>(root);
}

}  // namespace felloe
