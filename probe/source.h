// The one seam between the probe and the machine. Everything that the probe learns comes through a
// Source: a live machine, a recorded one, or a decorator that records what passes. So a recorded
// machine gives the same HostFacts, byte for byte, and every odd machine is a test folder.
//
// Files are read as files. What no file says is a question with a JSON answer:
//   machine          {kernel, release, machine, page_size, elf_machine, elf_class}: uname, auxv,
//   own ELF cpu              CPUID and XCR0, or HWCAP, MIDR and the SVE length (probe/processor.h)
//   libc             {gnu_get_libc_version}: what the running process is linked to; {} if not glibc
//   musl/PATH        {banner}: what the musl loader at PATH prints
//   elf/PATH         digest of an ELF file (probe/elf.h), {error} if it is none
//   python/PATH      {implementation, version, abi, free_threaded} or {error}
//   nvml, libcuda, libcuda_devices   what the driver libraries answer (probe/cuda_query.h)
// To add a question: a line here, a case in live.cpp. Recording and replay carry it without change.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "matrix/base/json.h"

namespace felloe {

class Source {
 public:
  virtual ~Source() = default;

  // Content of a file of at most 8 MiB, or nothing if it is missing, unreadable or larger.
  virtual std::optional<std::string> file(const std::string& path) = 0;

  // Sorted names in `folder` that start with `prefix`; empty if there is no such folder.
  virtual std::vector<std::string> list(const std::string& folder, const std::string& prefix) = 0;

  // `path` without symbolic links, or nothing if it leads nowhere.
  virtual std::optional<std::string> resolve(const std::string& path) = 0;

  virtual std::optional<std::string> env(const std::string& name) = 0;

  // Answers to `kind/KEY` for every key, in order; a null where there is no answer. One call,
  // because a live machine runs Pythons side by side.
  virtual std::vector<Json> ask_all(const std::string& kind,
                                    const std::vector<std::string>& keys) = 0;

  Json ask(const std::string& kind, const std::string& key = {}) {
    return ask_all(kind, {key}).front();
  }
};

using Environment = std::map<std::string, std::string>;

// This machine. `env` replaces the process's environment.
std::unique_ptr<Source> live_source(const std::optional<Environment>& env = {});

// A recorded machine, or any tree that looks like one's root (a mounted image): then what no file
// says is unknown. Reads nothing outside of `root` and runs nothing. Throws Error{input} if it is
// no folder.
std::unique_ptr<Source> replay_source(const std::filesystem::path& root);

// Passes everything on to `inner` and remembers it; save() writes the folder that replay_source
// takes.
class Recorder : public Source {
 public:
  explicit Recorder(Source& inner) : inner_(inner) {}
  std::optional<std::string> file(const std::string& path) override;
  std::vector<std::string> list(const std::string& folder, const std::string& prefix) override;
  std::optional<std::string> resolve(const std::string& path) override;
  std::optional<std::string> env(const std::string& name) override;
  std::vector<Json> ask_all(const std::string& kind, const std::vector<std::string>& keys) override;

  // Throws Error{environment} if it can't be written, Error{usage} if `folder` holds anything
  // already.
  void save(const std::filesystem::path& folder) const;

 private:
  Source& inner_;
  std::map<std::string, std::string> files_;
  Json answers_ = Json::object();  // kind -> answer, or kind -> {key: answer}
  Json env_ = Json::object(), list_ = Json::object(), resolve_ = Json::object();
};

// Where a recording keeps what isn't a file; beside the tree of files it was read from.
inline constexpr const char* kAnswers = "felloe-host";

}  // namespace felloe
