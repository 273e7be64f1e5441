// Does this wheel run on this machine? fit() is pure: facts in, verdict out, no clock, file or
// environment. Each rule gives reasons; unknown facts that matter give `undecided`, never a fit.
//
// The rules live by subject in fit_python.cpp (interpreter and tags), fit_elf.cpp (libc, libraries,
// ELF), fit_cpu.cpp, fit_gpu.cpp. To add a rule: a function of the subject's file, called from its
// judge_* function; a new reason code is a line in docs/schema/check.schema.json.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "matrix/base/json.h"
#include "matrix/facts.h"

namespace felloe {

// error: does not fit. unknown: undecided. warning, info: worth knowing.
enum class Weight { error, unknown, warning, info };
const char* weight_name(Weight weight);

struct Reason {
  std::string code;  // "CPU_FEATURE_MISSING"; the codes are those of check.schema.json
  Weight weight = Weight::error;
  std::string message;  // one sentence with need and have
  Json need, have;      // null: nothing to say
  Json where;           // module, symbol, offset, or device; null
  std::string source;   // where the host fact was read, if known
  std::string hint;
};

struct DeviceVerdict {
  std::int64_t index = 0;
  std::optional<std::string> name, cc;
  std::string verdict;               // "fits", "does_not_fit", "undecided"
  std::optional<std::string> via;    // "sass" or "ptx"
  std::optional<std::string> image;  // "sm_86", "compute_90"
  std::vector<std::string> reasons;  // codes
};

enum class FitResult { fits, fits_without_gpu, does_not_fit, undecided };
const char* fit_result_name(FitResult result);

struct Verdict {
  std::string wheel;  // file name
  FitResult result = FitResult::undecided;
  std::optional<std::string> python;  // the interpreter that accepts the wheel
  std::vector<DeviceVerdict> devices;
  std::vector<Reason> reasons;
};

struct FitOptions {
  bool all_devices = false;              // every visible GPU must be served, not just one
  bool sibling_has_device_code = false;  // another build of the same project uses the GPU
};

Verdict fit(const HostFacts& host, const WheelFacts& wheel, const FitOptions& options = {});

Json to_json(const Verdict& verdict);

// The wheel to install: the index of the best one that fits, or nothing. `wheels` and `verdicts`
// correspond.
std::optional<std::size_t> best_wheel(const std::vector<WheelFacts>& wheels,
                                      const std::vector<Verdict>& verdicts);

// Whether the wheel holds code for a GPU.
bool has_device_code(const WheelFacts& wheel);

}  // namespace felloe
