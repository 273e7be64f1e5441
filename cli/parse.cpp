#include "cli/parse.h"

#include <algorithm>

#include "cli/commands.h"
#include "cli/envelope.h"
#include "matrix/base/error.h"
#include "matrix/base/text.h"

namespace felloe {
namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
    for (const std::string& name : option->get_snames()) out.push_back("-" + name);
  }
  return out;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates,
                         const std::string& otherwise) {
  const auto guess = nearest(word, candidates);
  return guess ? "did you mean `" + *guess + "`?" : otherwise;
}

[[noreturn]] void refuse_empty(const std::string& name) {
  throw Error(ErrorKind::usage, "command line", name + " is empty",
              "give it a value, or leave it out; is a shell variable unset?");
}

// For `--option=` CLI11 takes the next word as the value, even another option.
void refuse_empty_assignments(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") return;
    if (word.starts_with("--") && word.find('=') == word.size() - 1) {
      refuse_empty(std::string(word.substr(0, word.size() - 1)));
    }
  }
}

// An empty value is a shell variable that isn't set: it would mean the working folder for a path,
// and silently the default elsewhere.
void refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty()) refuse_empty(option->get_name());
    }
  }
}

}  // namespace

CommandLine::CommandLine()
    : app_("Builds, checks, tests and publishes platform wheels of CMake projects", "felloe") {
  // At most one: else CLI11 takes a file called like a command for that command.
  app_.require_subcommand(0, 1);
  app_.set_version_flag("--version", std::string(FELLOE_VERSION));
  app_.footer(kExitCodeHelp);
  for (const Subcommand& command : commands()) {
    CLI::App* sub = app_.add_subcommand(command.name, command.summary);
    works_.push_back(command.setup(*sub));
    sub->add_flag("--json", json_, "print one JSON object (docs/json.md) instead of text");
    sub->footer(kExitCodeHelp);
    apps_.push_back(sub);
  }
}

bool CommandLine::parse(int argc, const char* const* argv, std::string& text) {
  // The flag may stand behind a word that stops the parser.
  const auto wants_json = [&] {
    return std::any_of(argv + 1, argv + argc,
                       [](const char* arg) { return std::string_view(arg) == "--json"; });
  };
  try {
    refuse_empty_assignments(argc, argv);
    app_.parse(argc, argv);
  } catch (const CLI::CallForVersion& version) {
    text = "felloe " + std::string(version.what()) + "\n";
    return false;
  } catch (const CLI::Success&) {  // --help
    text = app_.help();
    return false;
  } catch (const CLI::ParseError& error) {
    json_ = wants_json();
    explain(error);
  } catch (const Error&) {  // before CLI11 saw the command's name
    json_ = wants_json();
    for (const Subcommand& command : commands()) {
      if (command.name == std::string_view(argv[1])) name_ = command.name;
    }
    throw;
  }
  for (std::size_t i = 0; i < apps_.size(); ++i) {
    if (!apps_[i]->parsed()) continue;
    name_ = commands()[i].name;
    refuse_empty_values(*apps_[i]);
    command_ = &commands()[i];
    name_ = command_->name;
    run_ = works_[i];
    return true;
  }
  throw Error(ErrorKind::usage, "command line", "no command given", "see `felloe --help`");
}

void CommandLine::explain(const CLI::ParseError& error) {
  const CLI::App* app = &app_;
  for (const CLI::App* sub : apps_) {
    if (sub->parsed()) {
      app = sub;
      name_ = sub->get_name();
    }
  }
  const std::string help =
      app == &app_ ? "see `felloe --help`" : "see `felloe " + name_ + " --help`";
  for (const std::string& word : app->remaining()) {
    if (word.starts_with("-") && word != "-") {
      const std::string option = word.substr(0, word.find('='));
      std::vector<std::string> known = option_names(*app);
      throw Error(ErrorKind::usage, "command line", "unknown option: `" + option + "`",
                  did_you_mean(option, known, help));
    }
    if (app == &app_) {
      std::vector<std::string> known;
      for (const Subcommand& command : commands()) known.push_back(command.name);
      throw Error(ErrorKind::usage, "command line", "unknown command: `" + word + "`",
                  did_you_mean(word, known, help));
    }
    throw Error(ErrorKind::usage, "command line", "unexpected argument: `" + word + "`", help);
  }
  throw Error(ErrorKind::usage, "command line", error.what(), help);
}

}  // namespace felloe
