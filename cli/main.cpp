// parse -> run -> print -> exit code. The only place that catches: libraries throw felloe::Error
// and know nothing of exit codes or output.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>

#include "cli/envelope.h"
#include "cli/parse.h"
#include "cli/printer.h"
#include "cli/stop.h"
#include "matrix/base/fs.h"
#include "matrix/base/stop.h"
#include "matrix/base/visible.h"

namespace felloe {
namespace {

// The names in a wheel are anybody's: nothing of them may steer the terminal, not even through
// JSON.
void print_json(const Json& body) { std::fputs(visible(dump_json(body)).c_str(), stdout); }

// `body` for the eyes: every text in it made visible.
Json visible_texts(const Json& body) {
  Json out = body;
  if (body.is_string()) {
    out = visible(body.get_ref<const std::string&>());
  } else if (body.is_array()) {
    for (Json& item : out) item = visible_texts(item);
  } else if (body.is_object()) {
    out = Json::object();
    for (const auto& [key, value] : body.items()) out[visible(key)] = visible_texts(value);
  }
  return out;
}

// A standard stream that was closed would become the first file that is opened, and messages would
// be written into it. So each gets a descriptor on which its reads or writes fail as on a closed
// one.
void keep_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    static_cast<void>(::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

// Output that didn't arrive (full disk, closed pipe) must not look like success.
void flush_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  const int error = errno;
  throw Error(ErrorKind::environment, "standard output",
              std::string("cannot write: ") + std::strerror(error),
              error == EBADF ? "it is closed: send it somewhere, to /dev/null for none"
                             : "free some space, or write the output somewhere else");
}

int report(const CommandLine& line, const Error& error) {
  Printer err(stderr);
  if (line.json()) {
    print_json(failure(line.name(), error));
  }
  // JSON that nobody gets must not make the error silent.
  if (!line.json() || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    const std::string where =
        error.where().empty() ? "" : visible(error.where(), Lines::escape) + ": ";
    err.line(err.paint(Style::bad, "error:") + " " + where + visible(error.message()));
    if (!error.hint().empty()) {
      err.line(err.paint(Style::bold, "hint:") + " " + visible(error.hint()));
    }
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
      print_json(outcome.body);
    } else {
      Printer out(stdout);
      line.command().render(visible_texts(outcome.body), out);
    }
    flush_output();
    return outcome.exit_code;
  } catch (const Error& error) {
    return report(line, error);
  } catch (const std::filesystem::filesystem_error& error) {
    return report(line, file_error(error));
  } catch (const std::bad_alloc&) {
    return report(line, Error(ErrorKind::environment, "", "out of memory",
                              "free some, or raise the limit (`ulimit -v`)"));
  } catch (const std::exception& error) {
    return report(line, Error(ErrorKind::internal, "", error.what(),
                              "this is a bug in felloe: please report it with the command line"));
  }
}

}  // namespace
}  // namespace felloe

int main(int argc, char** argv) {
  felloe::keep_standard_streams();
  return felloe::run(argc, argv);
}
