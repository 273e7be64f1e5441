#include "cli/envelope.h"

#include "cli/command.h"

namespace felloe {

const char* const kExitCodeHelp =
    "Exit codes:\n"
    "  0   done, nothing wrong found\n"
    "  1   ran to the end and found something (an audit error, no wheel that fits, ...)\n"
    "  2   wrong command line or felloe.json\n"
    "  3   an input can't be read or isn't what it claims to be\n"
    "  4   this machine lacks something (a tool, space, permission, network)\n"
    "  5   a child process failed (compiler, pip, ...)\n"
    "  70  a bug in felloe\n"
    "  130 stopped by Ctrl-C (143: by SIGTERM)";

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return 2;
    case ErrorKind::input:
      return 3;
    case ErrorKind::environment:
      return 4;
    case ErrorKind::child:
      return 5;
    case ErrorKind::interrupted:
      return 130;
    case ErrorKind::internal:
      return 70;
  }
  return 70;
}

Json envelope(const std::string& command, bool ok, const std::vector<Finding>& findings,
              Json data) {
  Json list = Json::array();
  for (const Finding& finding : findings) list.push_back(to_json(finding));
  return Json{{"schema", "felloe/" + command + "/1"},
              {"ok", ok},
              {"findings", std::move(list)},
              {"data", std::move(data)}};
}

Json failure(const std::string& command, const Error& error) {
  Json body = envelope(command, false, {}, Json::object());
  body["error"] = Json{{"kind", error_kind_name(error.kind())},
                       {"where", error.where()},
                       {"message", error.message()},
                       {"hint", error.hint()}};
  return body;
}

}  // namespace felloe
