// What a subcommand is. To add one: write cli/cmd_NAME.cpp with one function
// `Subcommand NAME_command()`, and add one line each to cli/commands.h, cli/commands.cpp and
// cli/CMakeLists.txt (all sorted by name). Nothing else knows names; --json, --help's exit codes,
// error output and suggestions come from the framework.
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

// (`Command` is a child process: matrix/base/process.h.)
struct Subcommand {
  std::string name;
  std::string summary;  // one line for `felloe --help`
  // Declares the options on `app` and returns the function that does the work. Option values live
  // in a shared_ptr captured by both, since `setup` returns before the command line is parsed.
  std::function<std::function<Outcome()>(CLI::App& app)> setup;
  // Renders Outcome::body for a person.
  std::function<void(const Json& body, Printer& out)> render;
};

// {"schema": "felloe/<command>/1", "ok": ..., "findings": [...], "data": {...}}: the one envelope.
// probe, inspect and check print their object unwrapped instead (docs/json.md).
Json envelope(const std::string& command, bool ok, const std::vector<Finding>& findings, Json data);

}  // namespace felloe
