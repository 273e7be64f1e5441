#include "probe/probe.h"

#include <algorithm>

#include "probe/collect.h"

namespace felloe {

std::string text_of(const Json& answer, const char* key) {
  if (!answer.is_object()) return {};
  const auto it = answer.find(key);
  return it != answer.end() && it->is_string() ? it->get<std::string>() : std::string();
}

bool is_version(std::string_view text) {
  return !text.empty() && text.front() != '.' && text.back() != '.' &&
         text.find('.') != std::string_view::npos && text.find("..") == std::string_view::npos &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

HostFacts probe_source(Source& source, const std::string& where) {
  Collect c{source, where};
  collect_machine(c);
  collect_cpu(c);
  collect_os(c);
  collect_libs(c);
  collect_libc(c);
  collect_python(c);
  collect_gpu(c);
  std::sort(c.facts.degraded.begin(), c.facts.degraded.end());
  return std::move(c.facts);
}

HostFacts probe_host(const ProbeOptions& options) {
  const std::unique_ptr<Source> source =
      options.root.empty() ? live_source(options.env) : replay_source(options.root);
  const std::string where = options.root.empty() ? "this machine" : options.root.string();
  if (options.record.empty()) return probe_source(*source, where);
  Recorder recorder(*source);
  HostFacts facts = probe_source(recorder, where);
  recorder.save(options.record);
  return facts;
}

}  // namespace felloe
