// From argv to the chosen subcommand: CLI11 plus suggestions for misspelt words.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"

namespace felloe {

class CommandLine {
 public:
  CommandLine();

  // Parses. Returns false when it answered by itself (--help, --version: `text` is to be printed).
  // Throws Error{usage} with the nearest valid word.
  bool parse(int argc, const char* const* argv, std::string& text);

  // What parse found; valid also after it threw, as far as it got.
  bool json() const { return json_; }
  const std::string& name() const { return name_; }  // "felloe" while no command is known
  Outcome run() const { return run_(); }
  const Subcommand& command() const { return *command_; }

 private:
  [[noreturn]] void explain(const CLI::ParseError& error);

  CLI::App app_;
  std::vector<CLI::App*> apps_;                  // as commands()
  std::vector<std::function<Outcome()>> works_;  // as commands()
  bool json_ = false;
  std::string name_ = "felloe";
  const Subcommand* command_ = nullptr;
  std::function<Outcome()> run_;
};

}  // namespace felloe
