// python: every CPython (and PyPy, GraalPy) of version 3 that can be found, once each.
#include <algorithm>
#include <set>

#include "matrix/base/text.h"
#include "probe/collect.h"

namespace felloe {
namespace {

// "python", "python3", "python3.14", "python3.14t", "pypy3", "pypy3.10", "graalpy"
bool is_interpreter_name(std::string_view name) {
  if (name == "graalpy" || name == "pypy" || name == "python") return true;
  for (const std::string_view stem : {"python3", "pypy3"}) {
    if (!name.starts_with(stem)) continue;
    name.remove_prefix(stem.size());
    if (name.empty()) return true;
    if (name.front() != '.' || name.size() < 2) return false;
    name.remove_prefix(1);
    if (name.back() == 't') name.remove_suffix(1);
    return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
  }
  return false;
}

struct Places {
  std::vector<std::string> on_path;  // broken interpreters there are worth a word
  std::vector<std::string> others;
};

Places find_places(Source& source) {
  Places out;
  for (const std::string& folder :
       split(source.env("PATH").value_or("/usr/local/bin:/usr/bin:/bin"), ':')) {
    if (folder.starts_with('/')) out.on_path.push_back(folder);
  }
  const auto each = [&](const std::string& parent, const std::string& bin) {
    for (const std::string& name : source.list(parent, "")) {
      out.others.push_back(std::string(parent).append("/").append(name).append(bin));
    }
  };
  out.others = {"/usr/local/bin", "/usr/bin", "/bin"};
  each("/opt", "/bin");
  each("/opt/python", "/bin");  // the manylinux images
  const std::string home = source.env("HOME").value_or("");
  const auto in_home = [&](const std::string& path) { return home + "/" + path; };
  std::vector<std::string> conda = {"/opt/conda", source.env("CONDA_PREFIX").value_or("")};
  if (home.starts_with('/')) {
    each(source.env("PYENV_ROOT").value_or(in_home(".pyenv")) + "/versions", "/bin");
    each(
        source.env("UV_PYTHON_INSTALL_DIR")
            .value_or(source.env("XDG_DATA_HOME").value_or(in_home(".local/share")) + "/uv/python"),
        "/bin");
    for (const char* name : {"miniconda3", "anaconda3", "miniforge3", "mambaforge"}) {
      conda.push_back(in_home(name));
    }
  }
  for (const std::string& prefix : conda) {
    if (!prefix.starts_with('/') || !source.resolve(prefix)) continue;
    out.others.push_back(prefix + "/bin");
    each(prefix + "/envs", "/bin");
  }
  return out;
}

struct Candidate {
  std::string path;  // without links
  std::string name;  // file name it was found by
  bool on_path = false;
  std::string machine;
  int elf_class = 0;
};

class Finder {
 public:
  explicit Finder(Collect& c) : c_(c) {}

  void look_in(const std::string& folder, bool on_path) {
    const auto real_folder = c_.source.resolve(folder);
    if (!real_folder || !folders_.insert(*real_folder).second) return;
    for (const char* stem : {"python", "pypy", "graalpy"}) {
      for (const std::string& name : c_.source.list(folder, stem)) {
        if (is_interpreter_name(name)) consider(folder, name, on_path);
      }
    }
  }

  std::vector<Candidate> candidates;

 private:
  void consider(const std::string& folder, const std::string& name, bool on_path) {
    const std::string path = folder + "/" + name;
    const auto real = c_.source.resolve(path);
    if (!real) {
      if (on_path) c_.degrade("python", path + ": the link leads nowhere");
      return;
    }
    if (!files_.insert(*real).second) return;
    const std::string file = real->substr(real->rfind('/') + 1);
    if (file.starts_with("python2")) return;  // no wheel of today is for it
    const Json digest = c_.source.ask("elf", *real);
    const std::string machine = text_of(digest, "machine");
    if (machine.empty()) {
      // pyenv's and asdf's shims are scripts that start a Python which is found by itself.
      const bool shim = folder.ends_with("/shims");
      if (on_path && !shim) {
        const std::string error = text_of(digest, "error");
        c_.degrade("python", path + ": no interpreter: " +
                                 (error.empty() ? "not a program of a known machine" : error));
      }
      return;
    }
    const int elf_class = machine == "x86_64" || machine == "aarch64" ? 64 : 32;
    candidates.push_back({*real, file, on_path, machine, elf_class});
  }

  Collect& c_;
  std::set<std::string> folders_, files_;
};

// The version that the file name promises, for an interpreter that can't be run.
bool version_from_name(HostPython& python, std::string name) {
  if (!name.starts_with("python3.") || !is_interpreter_name(name)) return false;
  name.erase(0, 6);
  const bool free_threaded = name.ends_with('t');
  if (free_threaded) name.pop_back();
  python.version = name;
  python.free_threaded = free_threaded;
  name.erase(std::remove(name.begin(), name.end(), '.'), name.end());
  python.abi = "cp" + name + (free_threaded ? "t" : "");
  python.implementation = std::string("cpython");
  return true;
}

bool from_answer(HostPython& python, const Json& answer) {
  python.version = text_of(answer, "version");
  if (!is_version(python.version)) return false;
  if (const std::string abi = text_of(answer, "abi"); !abi.empty()) python.abi = abi;
  const std::string implementation = text_of(answer, "implementation");
  if (implementation == "cpython" || implementation == "pypy" || implementation == "graalpy") {
    python.implementation = implementation;
  }
  const auto threads = answer.find("free_threaded");
  if (threads != answer.end() && threads->is_boolean()) {
    python.free_threaded = threads->get<bool>();
  }
  return true;
}

}  // namespace

void collect_python(Collect& c) {
  const Places places = find_places(c.source);
  Finder finder(c);
  for (const std::string& folder : places.on_path) finder.look_in(folder, true);
  for (const std::string& folder : places.others) finder.look_in(folder, false);

  std::vector<std::string> paths;
  for (const Candidate& candidate : finder.candidates) paths.push_back(candidate.path);
  const std::vector<Json> answers = c.source.ask_all("python", paths);
  std::vector<HostPython> pythons;
  for (std::size_t i = 0; i < finder.candidates.size(); ++i) {
    const Candidate& candidate = finder.candidates[i];
    HostPython python;
    python.path = candidate.path;
    python.machine = candidate.machine;
    python.elf_class = candidate.elf_class;
    const std::string error = text_of(answers[i], "error");
    if (from_answer(python, answers[i])) {
      pythons.push_back(std::move(python));
    } else if (error.empty() && version_from_name(python, candidate.name)) {
      c.degrade("python", candidate.path + ": not run; version from its file name");
      pythons.push_back(std::move(python));
    } else {
      c.degrade("python", candidate.path + ": " +
                              (error.empty() ? "not run, and its name has no version" : error));
    }
  }
  // Not in the order of PATH: facts of a machine shouldn't depend on the shell that asks.
  std::sort(pythons.begin(), pythons.end(), [](const HostPython& a, const HostPython& b) {
    const int order = compare_versions(a.version, b.version);
    return order != 0 ? order < 0 : *a.path < *b.path;
  });
  c.facts.python = std::move(pythons);
  c.from("python", "PATH, /usr, /opt, pyenv, uv and conda folders; ELF headers, `python -I -S -c`");
}

}  // namespace felloe
