// parse -> run -> print -> exit code. The only place that catches: libraries throw felloe::Error
// and know nothing of exit codes or output.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "cli/envelope.h"
#include "cli/parse.h"
#include "cli/printer.h"
#include "cli/stop.h"
#include "matrix/base/stop.h"

namespace felloe {
namespace {

// Output that didn't arrive (full disk, closed pipe) must not look like success.
void flush_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw Error(ErrorKind::environment, "standard output",
              std::string("cannot write: ") + std::strerror(errno),
              "free some space, or write the output somewhere else");
}

int report(const CommandLine& line, const Error& error) {
  Printer err(stderr);
  if (line.json()) {
    std::fputs(dump_json(failure(line.name(), error)).c_str(), stdout);
    std::fflush(stdout);
  } else {
    const std::string where = error.where().empty() ? "" : error.where() + ": ";
    err.line(err.paint(Style::bad, "error:") + " " + where + error.message());
    if (!error.hint().empty()) err.line(err.paint(Style::bold, "hint:") + " " + error.hint());
  }
  if (error.kind() == ErrorKind::interrupted) end_by(stop_requested());
  return exit_code(error.kind());
}

int run(int argc, char** argv) {
  CommandLine line;
  try {
    std::string text;
    if (!line.parse(argc, argv, text)) {
      std::fputs(text.c_str(), stdout);
      flush_output();
      return 0;
    }
    const Outcome outcome = line.run();
    if (line.json()) {
      std::fputs(dump_json(outcome.body).c_str(), stdout);
    } else {
      Printer out(stdout);
      line.command().render(outcome.body, out);
    }
    flush_output();
    return outcome.exit_code;
  } catch (const Error& error) {
    return report(line, error);
  } catch (const std::bad_alloc&) {
    return report(line, Error(ErrorKind::environment, "", "out of memory"));
  } catch (const std::exception& error) {
    return report(line, Error(ErrorKind::internal, "", error.what(),
                              "this is a bug in felloe: please report it with the command line"));
  }
}

}  // namespace
}  // namespace felloe

int main(int argc, char** argv) { return felloe::run(argc, argv); }
