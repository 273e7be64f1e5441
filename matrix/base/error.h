// The one exception class of Felloe. Whatever stops a command is an Error; what a command *finds*
// (audit results, verdicts, failed smoke tests) is data and never thrown. cli/ alone maps the kind
// to an exit code, so no other folder knows about exit codes.
#pragma once
#include <stdexcept>
#include <string>
#include <utility>

namespace felloe {

// Who must act: see docs/exit-codes.md. Each kind has one exit code.
enum class ErrorKind {
  usage,        // 2: wrong command line or felloe.json
  input,        // 3: a file can't be read or isn't what it claims to be
  environment,  // 4: this machine lacks a tool, permission, space or network
  child,        // 5: a child process failed
  interrupted,  // ends by the signal that asked to stop (shells: 130, 143)
  internal,     // 70: a bug in felloe
};

const char* error_kind_name(ErrorKind kind);

// `where` says what the message is about: a path, `path!member`, `path@0xOFFSET`, a JSON pointer.
// `hint` is one sentence saying what to do; may be empty.
// Message style: lower case, no final stop, value after a colon.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string where, const std::string& message, std::string hint = {})
      : std::runtime_error(message),
        kind_(kind),
        where_(std::move(where)),
        hint_(std::move(hint)) {}

  ErrorKind kind() const { return kind_; }
  const std::string& where() const { return where_; }
  const std::string& hint() const { return hint_; }
  std::string message() const { return what(); }

 private:
  ErrorKind kind_;
  std::string where_;
  std::string hint_;
};

}  // namespace felloe
