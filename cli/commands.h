// The subcommands, one line each, sorted by name (see cli/command.h for how to add one).
#pragma once
#include <vector>

#include "cli/command.h"

namespace felloe {

Subcommand audit_command();
Subcommand build_command();
Subcommand check_command();
Subcommand index_command();
Subcommand init_command();
Subcommand inspect_command();
Subcommand matrix_command();
Subcommand nightly_command();
Subcommand package_command();
Subcommand probe_command();
Subcommand smoke_command();

// All of them, in the order of `felloe --help`.
const std::vector<Subcommand>& commands();

}  // namespace felloe
