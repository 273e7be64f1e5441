// A recorded machine out of anybody's hands: the first byte says which file or answer is hostile,
// the rest is its content. The other answers are those of an ordinary machine, so that the probe
// goes on.
#include <algorithm>

#include "probe/probe.h"
#include "tests/fuzz/expect.h"

namespace {

using felloe::Json;

class Hostile : public felloe::Source {
 public:
  Hostile(std::string name, std::string_view content) : name_(std::move(name)), content_(content) {}

  std::optional<std::string> file(const std::string& path) override {
    if (path == name_) return std::string(content_);
    return std::nullopt;
  }
  std::vector<std::string> list(const std::string& folder, const std::string& prefix) override {
    if (folder == "/usr/bin" && prefix == "python") return {"python3", "python3.12"};
    if (folder == "/sys/bus/pci/devices") return {"0000:00:01.0"};
    return {};
  }
  std::optional<std::string> resolve(const std::string& path) override { return path; }
  std::optional<std::string> env(const std::string& variable) override {
    return name_ == "$" + variable ? std::optional(std::string(content_)) : std::nullopt;
  }
  std::vector<Json> ask_all(const std::string& kind,
                            const std::vector<std::string>& keys) override {
    Json answer;
    if (kind == name_) {
      answer = felloe::parse_json(content_, kind);
    } else if (kind == "machine") {
      answer = {{"kernel", "Linux"}, {"machine", "x86_64"}, {"elf_machine", "x86_64"}};
    } else if (kind == "elf") {
      answer = {{"machine", "x86_64"}, {"elf_class", 64}};
    }
    return std::vector<Json>(keys.size(), answer);
  }

 private:
  std::string name_;
  std::string_view content_;
};

constexpr const char* kHostile[] = {"cpu",
                                    "libc",
                                    "musl",
                                    "elf",
                                    "python",
                                    "nvml",
                                    "libcuda",
                                    "libcuda_devices",
                                    "machine",
                                    "/proc/cpuinfo",
                                    "/etc/ld.so.cache",
                                    "/proc/driver/nvidia/version",
                                    "/etc/nv_tegra_release",
                                    "/sys/devices/system/cpu/online",
                                    "/etc/ld-musl-x86_64.path",
                                    "/sys/module/nvidia/version",
                                    "$CUDA_VISIBLE_DEVICES",
                                    "$PATH"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace felloe;
  if (size == 0) return 0;
  const std::string_view content(reinterpret_cast<const char*>(data) + 1, size - 1);
  Json printed;
  test::expect_result_or_input_error([&] {
    Hostile source(kHostile[data[0] % std::size(kHostile)], content);
    printed = to_json(probe_source(source, "fuzzed host"));
  });
  // What the probe prints, `felloe check --host` must be able to read: outside of the net above.
  if (!printed.is_null() && to_json(host_from_json(printed, "fuzzed host")) != printed)
    std::abort();
  return 0;
}
