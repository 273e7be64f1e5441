#include "ci/plan.h"

#include "matrix/base/error.h"

namespace felloe {

const Json& StepContext::result(const std::string& id) const {
  const auto found = results.find(id);
  if (found == results.end()) {
    throw Error(ErrorKind::internal, id, "a step reads the result of a step it doesn't depend on");
  }
  return found->second;
}

void Plan::add(Step step) {
  if (index_.contains(step.id)) {
    throw Error(ErrorKind::internal, step.id, "two steps have the same id");
  }
  for (const std::string& dep : step.deps) {
    if (!index_.contains(dep)) {
      throw Error(ErrorKind::internal, step.id,
                  "depends on a step that was not added before: " + dep);
    }
  }
  index_.emplace(step.id, steps_.size());
  steps_.push_back(std::move(step));
}

const Step* Plan::find(const std::string& id) const {
  const auto found = index_.find(id);
  return found == index_.end() ? nullptr : &steps_[found->second];
}

Json Plan::to_json() const {
  Json out = Json::array();
  for (const Step& step : steps_) {
    out.push_back(
        {{"id", step.id}, {"kind", step.kind}, {"title", step.title}, {"deps", step.deps}});
  }
  return out;
}

}  // namespace felloe
