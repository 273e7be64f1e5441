// `felloe probe`: what this machine, or a recorded one, offers to a wheel.
#pragma once
#include <filesystem>
#include <optional>

#include "matrix/facts.h"
#include "probe/source.h"

namespace felloe {

struct ProbeOptions {
  std::filesystem::path root{};      // not empty: replay this recorded machine or system tree
  std::filesystem::path record{};    // not empty: also write everything that was read there
  std::optional<Environment> env{};  // instead of the process's own environment; live machines only
};

// A fact that can't be read never fails the probe: it is left unknown and `degraded` says why.
// Throws Error{input} if `root` is no machine at all or its recording is damaged.
HostFacts probe_host(const ProbeOptions& options);

// The same from any source; `where` is what errors call it.
HostFacts probe_source(Source& source, const std::string& where);

}  // namespace felloe
