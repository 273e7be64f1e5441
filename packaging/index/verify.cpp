// Whether an index holds what its pages say. Errors are links that can't be trusted; warnings are
// what a killed writer may leave and the next run of `felloe index` completes or replaces.
#include <fmt/format.h>

#include <algorithm>

#include "matrix/base/error.h"
#include "matrix/base/fs.h"
#include "matrix/base/hash.h"
#include "matrix/pep440.h"
#include "packaging/index.h"
#include "packaging/index/pages.h"
#include "packaging/wheel/archive.h"

namespace felloe {
namespace {

const char* const kPublishAgain = "run `felloe index` again with this index's wheels";
const char* const kRestore = "restore the file from a copy; its name can't be used for other bytes";

class Verifier {
 public:
  explicit Verifier(fs::path simple) : simple_(std::move(simple)) {}

  std::vector<Finding> run() {
    std::vector<std::string> projects;
    for (const fs::directory_entry& entry : fs::directory_iterator(simple_)) {
      const std::string name = entry.path().filename().string();
      std::error_code ec;  // a link in a circle is no folder, and doesn't belong here
      if (entry.is_directory(ec)) {
        project(name);
        if (fs::exists(entry.path() / "index.json", ec)) projects.push_back(name);
      } else if (name != "index.html" && name != "index.json") {
        stray(name);
      }
    }
    std::sort(projects.begin(), projects.end());
    root(projects);
    sort_findings(findings_);
    return std::move(findings_);
  }

 private:
  void add(const char* code, Severity severity, const std::string& file, const std::string& message,
           const std::string& hint, const std::string& wheel = {}) {
    Finding finding;
    finding.code = code;
    finding.severity = severity;
    finding.file = file;
    finding.wheel = wheel;
    finding.message = message;
    finding.hint = hint;
    findings_.push_back(std::move(finding));
  }

  void stray(const std::string& file) {
    add("IDX005", Severity::warning, file, "no page links to this file",
        std::string(kPublishAgain) + ", or remove the file");
  }

  // sha256 of a file of the index; empty if it can't be read. Each file is read once.
  const std::string& hash(const fs::path& path) {
    const auto [it, fresh] = hashes_.try_emplace(path.string());
    if (!fresh) return it->second;
    try {
      Sha256 hash;
      read_chunks(path, [&](std::string_view chunk) { hash.update(chunk); });
      it->second = hex(hash.finish());
    } catch (const Error&) {  // stays empty: reported by whoever needs the file
      it->second.clear();
    }
    return it->second;
  }

  // One link of one page. `page` and the file are relative to simple/.
  void link(const std::string& page, const std::string& project, const std::string& href,
            const std::string& sha256) {
    const auto file = linked_file(href, project);
    if (!file || !fs::is_regular_file(simple_ / project / *file)) {
      add("IDX002", Severity::error, page, fmt::format("links to a missing file: {}", href),
          kRestore, file.value_or(""));
      return;
    }
    const std::string& real = hash(simple_ / project / *file);
    if (real != sha256) {
      add("IDX003", Severity::error, page,
          fmt::format("{} has sha256 {}, the page says {}", *file,
                      real.empty() ? "(unreadable)" : real, sha256.empty() ? "nothing" : sha256),
          kRestore, *file);
    }
  }

  void project(const std::string& name) {
    const fs::path folder = simple_ / name;
    const std::string json_page = name + "/index.json", html_page = name + "/index.html";
    ProjectPage page;
    if (fs::exists(folder / "index.json")) {
      try {
        page = parse_project(read_json(folder / "index.json"), json_page);
      } catch (const Error& error) {
        add("IDX001", Severity::error, json_page, error.message(), error.hint());
        return;
      }
    } else {
      // A kill before the first publish was through: nothing is linked yet.
      add("IDX001", fs::exists(folder / "index.html") ? Severity::error : Severity::warning,
          json_page, "the page is missing", kPublishAgain);
    }
    if (name != normalize_name(name) || (!page.name.empty() && page.name != name)) {
      add("IDX008", Severity::error, json_page,
          fmt::format("the folder `{}` holds the page of `{}`", name, page.name),
          "the folder's name must be the project's normal form (PEP 503)");
    }
    std::set<std::string> known = {"index.json", "index.html"};
    for (const IndexEntry& entry : page.entries) {
      known.insert({entry.file, entry.file + ".metadata"});
      link(json_page, name, entry.url, entry.sha256);
      wheel(name, json_page, entry);
    }
    html(name, html_page, page);
    for (const std::string& file : list_files(folder)) {
      if (!known.contains(file)) stray(fmt::format("{}/{}", name, file));
    }
  }

  // What the page and FILE.metadata say about a wheel must be what stands in it.
  void wheel(const std::string& project, const std::string& page, const IndexEntry& entry) {
    const fs::path path = simple_ / project / entry.file;
    const fs::path metadata = path.string() + ".metadata";
    if (hash(metadata) != entry.metadata_sha256) {
      add("IDX004", Severity::error, project + "/" + entry.file + ".metadata",
          hash(metadata).empty() ? "the metadata file is missing"
                                 : "the metadata file has another hash than the page says",
          kPublishAgain, entry.file);
    }
    if (hash(path) != entry.sha256) return;  // IDX002 or IDX003 said it
    try {
      const WheelArchive archive = open_wheel(path);
      archive.require_sound();
      const ZipEntry* inner = archive.zip.find(archive.dist_info_file("METADATA"));
      if (inner == nullptr ||
          sha256_hex(archive.zip.read(*inner).text()) != entry.metadata_sha256) {
        add("IDX004", Severity::error, project + "/" + entry.file + ".metadata",
            "differs from the METADATA in the wheel", kPublishAgain, entry.file);
      }
      if (archive.metadata->get("Requires-Python") != entry.requires_python ||
          archive.zip.file_size() != entry.size) {
        add("IDX006", Severity::error, page,
            fmt::format("requires-python or size of {} isn't the wheel's", entry.file),
            kPublishAgain, entry.file);
      }
      if (normalize_name(archive.name->name) != project) {
        add("IDX008", Severity::error, page,
            fmt::format("{} belongs to `{}`", entry.file, normalize_name(archive.name->name)),
            "remove it from this project's page", entry.file);
      }
    } catch (const Error& error) {
      add("IDX009", Severity::error, project + "/" + entry.file,
          fmt::format("not a sound wheel: {}", error.message()),
          "yank it and publish a new version", entry.file);
    }
  }

  void html(const std::string& project, const std::string& name, const ProjectPage& page) {
    const fs::path path = simple_ / name;
    if (!fs::exists(path)) {
      add("IDX001", Severity::warning, name, "the page is missing", kPublishAgain);
      return;
    }
    const std::string text = read_file(path, kMaxJsonBytes);
    if (text == render_html(page)) return;
    // Another one: an older state is sound as long as its own links are.
    const std::size_t before = findings_.size();
    for (const HtmlLink& l : parse_links(text)) link(name, project, l.href, l.sha256);
    add("IDX006", findings_.size() == before ? Severity::warning : Severity::error, name,
        "isn't the page that index.json stands for", kPublishAgain);
  }

  void root(const std::vector<std::string>& projects) {
    const auto check = [&](const char* name, const std::string& expected,
                           const std::vector<std::string>& listed) {
      if (fs::exists(simple_ / name) && read_file(simple_ / name, kMaxJsonBytes) == expected)
        return;
      const bool dead = std::any_of(listed.begin(), listed.end(), [&](const std::string& project) {
        return std::find(projects.begin(), projects.end(), project) == projects.end();
      });
      add("IDX007", dead ? Severity::error : Severity::warning, name,
          dead ? "lists a project that the index doesn't have"
               : "doesn't list the projects that the index has",
          kPublishAgain);
    };
    std::vector<std::string> in_html, in_json;
    for (const HtmlLink& l :
         parse_links(read_file_or_empty(simple_ / "index.html", kMaxJsonBytes))) {
      in_html.push_back(url_unquote(std::string_view(l.href).substr(0, l.href.find('/'))));
    }
    try {
      const Json json = read_json(simple_ / "index.json");
      for (const Json& project : json.at("projects")) in_json.push_back(project.at("name"));
    } catch (
        const std::exception&) {  // missing or damaged: reported below, as it isn't as expected
      in_json.clear();
    }
    check("index.html", render_root_html(projects), in_html);
    check("index.json", render_root_json(projects), in_json);
  }

  fs::path simple_;
  std::vector<Finding> findings_;
  std::map<std::string, std::string> hashes_;
};

}  // namespace

std::vector<Finding> verify_index(const fs::path& out) {
  if (!fs::is_directory(out / "simple")) {
    throw Error(ErrorKind::input, out.string(), "not an index: the folder `simple` is missing",
                "give the folder that `felloe index --out` wrote");
  }
  return Verifier(out / "simple").run();
}

}  // namespace felloe
