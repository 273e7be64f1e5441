// Reading felloe.json. The key table is the `fields` functions: one line per key, visited once to
// learn the valid names and once to read. What the values must satisfy together is in `check_*`.
#include "matrix/project.h"

#include <sys/utsname.h>

#include <algorithm>
#include <concepts>
#include <type_traits>

#include "matrix/base/fs.h"
#include "matrix/base/json_reader.h"
#include "matrix/base/text.h"
#include "matrix/pep440.h"

namespace felloe {
namespace {

template <class V, class T>
concept Is = std::same_as<std::remove_const_t<V>, T>;

// io.required(key, member) must be there, io(key, member) keeps the member's default.

void fields(auto& io, Is<Toolchain> auto& v) {
  io.required("kind", v.kind);
  io("zig_target", v.zig_target);
  io("cc", v.cc);
  io("cxx", v.cxx);
  io("c_flags", v.c_flags);
  io("cxx_flags", v.cxx_flags);
  io("link_flags", v.link_flags);
}

void fields(auto& io, Is<Target> auto& v) {
  io.required("arch", v.arch);
  io.required("accelerator", v.accelerator);
  io("sm", v.sm);
  io.required("python_abis", v.python_abis);
  io("optional_abis", v.optional_abis);
  io.required("toolchain", v.toolchain);
  io("define", v.define);
}

void fields(auto& io, Is<PackageInfo> auto& v) {
  io("summary", v.summary);
  io("description_file", v.description_file);
  io("license_expression", v.license_expression);
  io("license_files", v.license_files);
  io("requires_python", v.requires_python);
  io("requires_dist", v.requires_dist);
  io("extras", v.extras);
  io("author", v.author);
  io("author_email", v.author_email);
  io("keywords", v.keywords);
  io("classifiers", v.classifiers);
  io("urls", v.urls);
  io("entry_points", v.entry_points);
}

void fields(auto& io, Is<SourceRules> auto& v) {
  io("cmake", v.cmake);
  io("component", v.component);
  io("define", v.define);
  io("build_requires", v.build_requires);
  io("inputs", v.inputs);
}

void fields(auto& io, Is<SmokeRules> auto& v) {
  io("scripts", v.scripts);
  io("pythons", v.pythons);
  io("requires_dist", v.requires_dist);
  io("emulate", v.emulate);
  io("unset_env", v.unset_env);
  io("timeout_s", v.timeout_s);
}

void fields(auto& io, Is<PublishRules> auto& v) {
  io("base_url", v.base_url);
  io("local_version", v.local_version);
}

// `version` is a text or {"file": PATH}; kept apart until it is resolved.
struct VersionRule {
  std::string text, file;
};

struct Document {
  std::string schema;  // "$schema", for editors
  VersionRule version;
  Project project;
};

void fields(auto& io, Is<Document> auto& v) {
  io("$schema", v.schema);
  io.required("name", v.project.name);
  io.required("version", v.version);
  io("package", v.project.package);
  io("source", v.project.source);
  io.required("targets", v.project.targets);
  io.required("toolchains", v.project.toolchains);
  io("smoke", v.project.smoke);
  io("publish", v.project.publish);
}

// ---- Reading ------------------------------------------------------------------------------------

struct KeyNames {
  std::vector<std::string> names;
  template <class T>
  void operator()(const char* key, const T&) {
    names.emplace_back(key);
  }
  template <class T>
  void required(const char* key, const T&) {
    names.emplace_back(key);
  }
};

class Reader {
 public:
  explicit Reader(JsonNode node) : node_(std::move(node)) {}

  template <class T>
  void operator()(const char* key, T& out) {
    if (node_.has(key)) value(node_.at(key), out);
  }
  template <class T>
  void required(const char* key, T& out) {
    value(node_.at(key), out);
  }

  template <class T>
  requires std::is_class_v<T>
  static void value(const JsonNode& node, T& out) {
    KeyNames known;
    fields(known, out);
    node.check_object();
    for (const auto& [key, ignored] : node.json().items()) {
      if (std::find(known.names.begin(), known.names.end(), key) != known.names.end()) continue;
      const auto guess = nearest(key, known.names);
      node.fail("unknown key `" + key + "`",
                (guess ? "did you mean `" + *guess + "`? " : std::string()) +
                    "valid keys here: " + join(known.names, ", "));
    }
    Reader reader(node);
    fields(reader, out);
  }

 private:
  static void value(const JsonNode& node, std::string& out) { node.read(out); }
  static void value(const JsonNode& node, bool& out) { node.read(out); }
  static void value(const JsonNode& node, int& out) { node.read(out); }
  static void value(const JsonNode& node, std::vector<std::string>& out) { node.read(out); }
  template <class T>
  static void value(const JsonNode& node, std::map<std::string, T>& out) {
    node.check_object();
    for (const auto& [key, ignored] : node.json().items()) value(node.at(key), out[key]);
  }
  static void value(const JsonNode& node, std::map<std::string, std::vector<std::string>>& out) {
    node.check_object();
    for (const auto& [key, ignored] : node.json().items()) value(node.at(key), out[key]);
  }
  static void value(const JsonNode& node, VersionRule& out) {
    if (node.json().is_object() && node.json().size() == 1 && node.has("file")) {
      node.at("file").read(out.file);
    } else if (node.json().is_string()) {
      node.read(out.text);
    } else {
      node.fail_type("a version such as \"1.2.0\" or {\"file\": \"VERSION\"}");
    }
  }

  JsonNode node_;
};

// ---- What the values must satisfy ---------------------------------------------------------------

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "none", "cp311", "cp312-abi3".
bool is_python_abi(std::string_view abi) {
  if (abi == "none") return true;
  if (abi.ends_with("-abi3")) abi.remove_suffix(5);
  if (abi.size() < 4 || abi.size() > 6 || !abi.starts_with("cp3")) return false;
  const std::string_view minor = abi.substr(3);
  // One digit is 3.2, which had the first stable ABI, to 3.9; "cp31" is a cp310 cut short.
  return all_digits(minor) && minor.front() != '0' && minor != "1";
}

void check_abis(const JsonNode& node, const std::vector<std::string>& abis) {
  for (std::size_t i = 0; i < abis.size(); ++i) {
    if (is_python_abi(abis[i])) continue;
    node.item(i).fail("not a Python ABI: \"" + abis[i] + "\"",
                      "write cp311 for CPython 3.11 alone, cp312-abi3 for the stable ABI from 3.12 "
                      "on, or none for a wheel without extension modules");
  }
}

bool is_release(const std::string& version) {
  const std::vector<std::string> parts = split(version, '.');
  return parts.size() >= 2 && std::all_of(parts.begin(), parts.end(), all_digits);
}

void resolve_version(const JsonNode& node, const VersionRule& rule, Project& project) {
  project.version = rule.text;
  if (!rule.file.empty()) {
    try {
      project.version = trim(read_file(project.root / rule.file, 4096));
    } catch (const Error& error) {
      node.at("file").fail(error.where() + ": " + error.message(),
                           "name a file, relative to felloe.json, that holds the version alone");
    }
  }
  if (!is_release(project.version)) {
    node.fail("not a release version: \"" + project.version + "\"",
              "use numbers and dots such as 1.2.0; nightly and local parts are added by felloe");
  }
}

void check_specifier(const JsonNode& root, const char* section, const char* key,
                     const std::string& text) {
  if (Specifiers::parse(text)) return;
  root.at(section).at(key).fail("not a version specifier: \"" + text + "\"",
                                "write it as in PEP 440, such as \">=3.10,<4\"");
}

void check_target(const JsonNode& node, const Project& project, const Target& target) {
  if (target.arch != "x86_64" && target.arch != "aarch64") {
    node.at("arch").fail("unknown arch: \"" + target.arch + "\"", "use x86_64 or aarch64");
  }
  const bool cuda =
      target.accelerator.starts_with("cu") && all_digits(target.accelerator.substr(2));
  if (target.accelerator != "cpu" && !cuda) {
    node.at("accelerator")
        .fail("unknown accelerator: \"" + target.accelerator + "\"",
              "use cpu, or a CUDA version such as cu126 or cu130");
  }
  if (cuda && target.sm.empty()) {
    node.fail("a CUDA target needs GPU architectures", "add \"sm\": [\"80\", \"90\", ...]");
  }
  if (!cuda && !target.sm.empty()) {
    node.at("sm").fail("a cpu target has no GPU architectures", "remove `sm`");
  }
  const std::string expected = target.arch + "-" + target.accelerator;
  if (target.name != expected) {
    node.fail("target is called \"" + target.name + "\", but its arch and accelerator say \"" +
                  expected + "\"",
              "rename the target to " + expected);
  }
  if (target.python_abis.empty()) {
    node.at("python_abis")
        .fail("is empty", "list at least one, such as \"cp312-abi3\" or \"none\"");
  }
  check_abis(node.at("python_abis"), target.python_abis);
  if (!target.optional_abis.empty()) check_abis(node.at("optional_abis"), target.optional_abis);
  if (!project.toolchains.contains(target.toolchain)) {
    std::vector<std::string> names;
    for (const auto& [name, toolchain] : project.toolchains) names.push_back(name);
    const auto guess = nearest(target.toolchain, names);
    node.at("toolchain")
        .fail("unknown toolchain: \"" + target.toolchain + "\"",
              (guess ? "did you mean `" + *guess + "`? " : std::string()) +
                  "toolchains: " + join(names, ", "));
  }
}

void check_toolchain(const JsonNode& node, const Toolchain& toolchain) {
  if (toolchain.kind == "zig") {
    if (toolchain.zig_target.empty()) {
      node.fail("a zig toolchain needs `zig_target`",
                "for example \"zig_target\": \"x86_64-linux-gnu.2.17\"");
    }
  } else if (toolchain.kind == "system") {
    if (toolchain.cc.empty() || toolchain.cxx.empty()) {
      node.fail("a system toolchain needs `cc` and `cxx`",
                "for example \"cc\": \"gcc\", \"cxx\": \"g++\"");
    }
  } else {
    node.at("kind").fail("unknown kind of toolchain: \"" + toolchain.kind + "\"",
                         "use zig or system");
  }
}

}  // namespace

Project load_project(const std::filesystem::path& path) {
  std::error_code ec;
  const std::filesystem::path file =
      std::filesystem::is_directory(path, ec) ? path / "felloe.json" : path;
  // Where it can't be told (a folder without permission), reading says why.
  if (!std::filesystem::exists(file, ec) && !ec) {
    throw Error(ErrorKind::usage, file.string(), "no such file",
                "run `felloe init` to write one, or name its folder with --project");
  }
  Document document;
  document.project.root = std::filesystem::absolute(file).parent_path().lexically_normal();
  document.project.file = file.filename().string();
  const std::string name = file.string();
  try {
    document.project.raw = read_json(file);
  } catch (const Error& error) {  // a configuration file is the user's to mend, not an input
    throw Error(ErrorKind::usage, error.where(), error.message(), error.hint());
  }
  const Json raw = document.project.raw;
  const JsonNode root(raw, name, ErrorKind::usage);
  Reader::value(root, document);
  Project& project = document.project;
  if (!valid_name(project.name)) {
    root.at("name").fail("not a name for a Python package: \"" + project.name + "\"",
                         "use letters, digits, and . _ - between them");
  }
  check_specifier(root, "package", "requires_python", project.package.requires_python);
  check_specifier(root, "smoke", "pythons", project.smoke.pythons);
  resolve_version(root.at("version"), document.version, project);
  for (auto& [key, toolchain] : project.toolchains) {
    toolchain.name = key;
    check_toolchain(root.at("toolchains").at(key), toolchain);
  }
  for (auto& [key, target] : project.targets) {
    target.name = key;
    check_target(root.at("targets").at(key), project, target);
  }
  if (project.targets.empty()) {
    root.at("targets").fail("is empty", "add one, such as \"x86_64-cpu\"");
  }
  if (project.smoke.timeout_s <= 0) {
    root.at("smoke").at("timeout_s").fail("must be above 0 seconds");
  }
  return std::move(project);
}

const Target& find_target(const Project& project, const std::string& name) {
  const auto it = project.targets.find(name);
  if (it != project.targets.end()) return it->second;
  std::vector<std::string> names;
  for (const auto& [key, target] : project.targets) names.push_back(key);
  const auto guess = nearest(name, names);
  throw Error(ErrorKind::usage, (project.root / project.file).string(),
              "unknown target: `" + name + "`",
              (guess ? "did you mean `" + *guess + "`? " : std::string()) +
                  "targets: " + join(names, ", "));
}

const Target& host_target(const Project& project) {
  utsname info{};
  ::uname(&info);
  return find_target(project, std::string(info.machine) + "-cpu");
}

std::string wheel_version(const Project& project, const Target& target,
                          const std::optional<std::string>& nightly_date) {
  std::string out = project.version;
  if (nightly_date) out += ".dev" + *nightly_date;
  if (project.publish.local_version) out += "+" + target.accelerator;
  return out;
}

}  // namespace felloe
