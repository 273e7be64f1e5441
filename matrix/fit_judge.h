// What the rule files of fit() share: the facts, what earlier rules found out, and where reasons
// go. Internal to matrix/fit*.cpp.
#pragma once
#include <string>
#include <vector>

#include "matrix/fit.h"

namespace felloe {

struct Judge {
  const HostFacts& host;
  const WheelFacts& wheel;
  const FitOptions& options;
  Verdict& verdict;

  // Set by judge_python: the machine that code must be for, and the platform parts of the tags that
  // the chosen interpreter accepts (all of this OS if none is accepted).
  std::string machine;
  std::vector<std::string> platforms;

  // The reason just added, to be given need, have, where, source, hint.
  Reason& add(const char* code, Weight weight, std::string message) {
    verdict.reasons.push_back({code, weight, std::move(message), {}, {}, {}, {}, {}});
    return verdict.reasons.back();
  }

  // Where `fact` ("libc.version") was read, or empty.
  std::string source(const std::string& fact) const;

  // No machine code for sure: opened and none found, or never opened but every tag says `any`.
  bool no_native_code() const;

  bool glibc_at_least(const char* version) const;
};

void judge_python(Judge& judge);
void judge_platform(Judge& judge);  // platform tags, libc, libraries
void judge_elf(Judge& judge);
void judge_cpu(Judge& judge);
void judge_gpu(Judge& judge);

Json to_json(const Where& where);

}  // namespace felloe
