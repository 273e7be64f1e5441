// The engine's one exception class. `kind` becomes the Python exception type PyTorch raises in the
// same place. Messages say what was given and what was expected.
#pragma once
#include <exception>
#include <string>
#include <utility>

#pragma GCC visibility push(default)
namespace treadle {

// linalg: a matrix that has no inverse, no Cholesky factor, ...; Python's linalg.LinAlgError.
enum class ErrorKind { runtime, value, type, index, not_implemented, memory, linalg };

// Not derived from std::runtime_error: the public C++ ABI carries no std types across libraries
// that may have been built with another standard library (see docs/architecture.md, "toolchains").
class __attribute__((visibility("default"))) Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  ErrorKind kind() const noexcept { return kind_; }
  // Not inline: so the vtable and typeinfo are in one library only, and what the library throws is
  // caught by type elsewhere although its own references are bound inside (-Bsymbolic).
  const char* what() const noexcept override;

 private:
  ErrorKind kind_;
  std::string message_;
};

[[noreturn]] void fail(ErrorKind kind, std::string message);  // one throw site keeps callers small

}  // namespace treadle
#pragma GCC visibility pop
