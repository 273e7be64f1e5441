#include "matrix/fit.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "matrix/base/text.h"
#include "matrix/fit_judge.h"
#include "matrix/pep440.h"

namespace felloe {

const char* weight_name(Weight weight) {
  switch (weight) {
    case Weight::error:
      return "error";
    case Weight::unknown:
      return "unknown";
    case Weight::warning:
      return "warning";
    case Weight::info:
      return "info";
  }
  return "error";
}

const char* fit_result_name(FitResult result) {
  switch (result) {
    case FitResult::fits:
      return "fits";
    case FitResult::fits_without_gpu:
      return "fits_without_gpu";
    case FitResult::does_not_fit:
      return "does_not_fit";
    case FitResult::undecided:
      return "undecided";
  }
  return "undecided";
}

std::string Judge::source(const std::string& fact) const {
  // "libc.version" may be recorded as such or as a whole ("libc").
  for (std::string key = fact;;) {
    const auto it = host.sources.find(key);
    if (it != host.sources.end()) return it->second;
    const std::size_t dot = key.rfind('.');
    if (dot == std::string::npos) return {};
    key.resize(dot);
  }
}

bool Judge::no_native_code() const {
  if (wheel.modules.known()) return wheel.modules->empty();
  if (wheel.modules.is_none()) return true;
  return !wheel.isa.known() && !wheel.cuda.known() &&
         std::all_of(wheel.tags.begin(), wheel.tags.end(),
                     [](const std::string& tag) { return tag.ends_with("-any"); });
}

bool Judge::glibc_at_least(const char* version) const {
  return host.libc.known() && host.libc->name == "glibc" && host.libc->version.known() &&
         compare_versions(*host.libc->version, version) >= 0;
}

bool has_device_code(const WheelFacts& wheel) {
  if (!wheel.cuda.known()) return false;
  const WheelCuda& cuda = *wheel.cuda;
  return !cuda.sass.empty() || !cuda.ptx.empty() ||
         std::any_of(cuda.per_library.begin(), cuda.per_library.end(), [](const auto& library) {
           return !library.second.sass.empty() || !library.second.ptx.empty();
         });
}

namespace {

// GPU_NONE always, GPU_UNUSED only as a warning: there the wheel or its label is about GPUs.
bool leaves_gpu_unused(const Reason& reason) {
  return reason.code == "GPU_NONE" ||
         (reason.code == "GPU_UNUSED" && reason.weight == Weight::warning);
}

FitResult result_of(const std::vector<Reason>& reasons) {
  const auto any = [&](auto&& test) { return std::any_of(reasons.begin(), reasons.end(), test); };
  if (any([](const Reason& r) { return r.weight == Weight::error; })) {
    return FitResult::does_not_fit;
  }
  if (any([](const Reason& r) { return r.weight == Weight::unknown; })) {
    return FitResult::undecided;
  }
  return any(leaves_gpu_unused) ? FitResult::fits_without_gpu : FitResult::fits;
}

Json text_or_null(const std::optional<std::string>& text) {
  return text ? Json(*text) : Json(nullptr);
}

}  // namespace

Verdict fit(const HostFacts& host, const WheelFacts& wheel, const FitOptions& options) {
  Verdict verdict;
  verdict.wheel = wheel.file;
  Judge judge{host, wheel, options, verdict, host.cpu.machine, {}};
  judge_python(judge);
  judge_platform(judge);
  judge_elf(judge);
  judge_cpu(judge);
  judge_gpu(judge);
  std::stable_sort(verdict.reasons.begin(), verdict.reasons.end(),
                   [](const Reason& a, const Reason& b) { return a.weight < b.weight; });
  verdict.result = result_of(verdict.reasons);
  return verdict;
}

Json to_json(const Where& where) {
  Json out = Json::object();
  if (where.module.known()) out["module"] = *where.module;
  if (where.symbol.known()) out["symbol"] = *where.symbol;
  if (where.mnemonic.known()) out["mnemonic"] = *where.mnemonic;
  if (where.offset.known()) out["offset"] = *where.offset;
  return out;
}

Json to_json(const Verdict& verdict) {
  Json reasons = Json::array();
  for (const Reason& r : verdict.reasons) {
    Json out{{"code", r.code}, {"severity", weight_name(r.weight)}, {"message", r.message}};
    if (!r.need.is_null()) out["need"] = r.need;
    if (!r.have.is_null()) out["have"] = r.have;
    if (!r.where.is_null()) out["where"] = r.where;
    if (!r.source.empty()) out["source"] = r.source;
    if (!r.hint.empty()) out["hint"] = r.hint;
    reasons.push_back(std::move(out));
  }
  Json devices = Json::array();
  for (const DeviceVerdict& d : verdict.devices) {
    devices.push_back(Json{{"index", d.index},
                           {"name", text_or_null(d.name)},
                           {"cc", text_or_null(d.cc)},
                           {"verdict", d.verdict},
                           {"via", text_or_null(d.via)},
                           {"image", text_or_null(d.image)},
                           {"reasons", d.reasons}});
  }
  return Json{{"schema", "felloe/verdict/1"},
              {"wheel", verdict.wheel},
              {"verdict", fit_result_name(verdict.result)},
              {"python", text_or_null(verdict.python)},
              {"devices", std::move(devices)},
              {"reasons", std::move(reasons)}};
}

std::optional<std::size_t> best_wheel(const std::vector<WheelFacts>& wheels,
                                      const std::vector<Verdict>& verdicts) {
  const auto covered = [&](std::size_t i) {
    return std::count_if(verdicts[i].devices.begin(), verdicts[i].devices.end(),
                         [](const DeviceVerdict& d) { return d.verdict == "fits"; });
  };
  const auto by_image = [&](std::size_t i) {
    return std::count_if(verdicts[i].devices.begin(), verdicts[i].devices.end(),
                         [](const DeviceVerdict& d) { return d.via == "sass"; });
  };
  // Without the local part: "+cpu" and "+cu126" never rank (PEP 440 would compare them as text).
  const auto compare_public = [&](std::size_t a, std::size_t b) {
    const auto left = Version::parse(split(wheels[a].version, '+').front());
    const auto right = Version::parse(split(wheels[b].version, '+').front());
    if (left && right) return left->compare(*right);
    return int(left.has_value()) - int(right.has_value());
  };
  const auto runtime = [&](std::size_t i) {
    return wheels[i].cuda.known() ? wheels[i].cuda->runtime.value_or("") : std::string();
  };
  const auto better = [&](std::size_t a, std::size_t b) {
    if (verdicts[a].result != verdicts[b].result) {
      return verdicts[a].result == FitResult::fits;
    }
    if (covered(a) != covered(b)) return covered(a) > covered(b);
    if (const int order = compare_public(a, b); order != 0) return order > 0;
    if (by_image(a) != by_image(b)) return by_image(a) > by_image(b);
    if (const int order = compare_versions(runtime(a), runtime(b)); order != 0) return order > 0;
    return wheels[a].file < wheels[b].file;
  };
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const FitResult result = verdicts[i].result;
    if (result != FitResult::fits && result != FitResult::fits_without_gpu) continue;
    if (!best || better(i, *best)) best = i;
  }
  return best;
}

}  // namespace felloe
