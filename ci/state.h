// What earlier runs achieved. One small JSON record per step, replaced atomically when the step has
// ended well; a step counts as done only if its key still matches and its outputs still have the
// hashes of the record. So a kill at any moment leaves either the old record or the new one, and a
// half-written output never passes for a whole one.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "ci/plan.h"

namespace felloe {

struct StepRecord {
  std::string key;     // step_key() it was made under
  std::string digest;  // of data and outputs: what the keys of later steps depend on
  Json data = Json::object();
  std::map<std::string, std::string> outputs;  // path -> content_digest
  double seconds = 0;
  int attempts = 1;
};

// SHA-256 of a file, or of a folder's sorted names, modes and contents. Throws Error{input} if
// missing.
std::string content_digest(const std::filesystem::path& path);

// The identity of a step's work: its kind and inputs, and the digests of what it depends on. A dep
// that was rebuilt to the same bytes has the same digest, so what follows isn't run again.
std::string step_key(const Step& step, const std::map<std::string, std::string>& dep_digests);

class StateStore {
 public:
  explicit StateStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The record of `id` if it was made under `key` and all its outputs verify. A damaged record
  // counts as none: the step is simply run again.
  std::optional<StepRecord> find(const std::string& id, const std::string& key) const;

  // Hashes the outputs and stores the record. Throws Error{environment} if the disk refuses.
  StepRecord store(const std::string& id, const std::string& key, const StepOutput& output,
                   double seconds, int attempts) const;

 private:
  std::filesystem::path path_of(const std::string& id) const;
  std::filesystem::path folder_;
};

// A step id as a file name: "smoke:cp311" -> "smoke-cp311".
std::string file_name_of(const std::string& id);

}  // namespace felloe
