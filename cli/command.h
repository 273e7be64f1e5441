// What a subcommand is. To add one: write cli/cmd_NAME.cpp with one function `Command NAME_command()`,
// declare it in cli/commands.h and add it to the table in cli/commands.cpp. Nothing else knows names.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "matrix/base/json.h"
#include "matrix/finding.h"

namespace felloe {

class Printer;

// What a run of a command produced. `body` is exactly what --json prints; text is rendered from it.
struct Outcome {
  Json body;
  int exit_code = 0;  // 0 or 1; everything else is an Error
};

struct Command {
  std::string name;
  std::string summary;  // one line for `felloe --help`
  // Declares the options on `app` and returns the function that does the work.
  std::function<std::function<Outcome()>(CLI::App& app)> setup;
  // Renders Outcome::body for a person.
  std::function<void(const Json& body, Printer& out)> render;
};

// {"schema": "felloe/<command>/1", "ok": ..., "findings": [...], "data": {...}}: the one envelope.
// probe, inspect and check print their object unwrapped instead (docs/json.md).
Json envelope(const std::string& command, bool ok, const std::vector<Finding>& findings, Json data);

}  // namespace felloe
