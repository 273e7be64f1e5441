// The JSON that a failing command prints, and the exit code of each kind of failure.
#pragma once
#include <string>

#include "matrix/base/error.h"
#include "matrix/base/json.h"

namespace felloe {

// The one place where an error kind becomes an exit code (docs/exit-codes.md).
int exit_code(ErrorKind kind);

// The envelope of `command` with ok = false and "error": {kind, where, message, hint}.
Json failure(const std::string& command, const Error& error);

// What every --help ends with.
extern const char* const kExitCodeHelp;

}  // namespace felloe
