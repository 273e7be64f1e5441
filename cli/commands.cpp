#include "cli/commands.h"

namespace felloe {

const std::vector<Subcommand>& commands() {
  // One line per subcommand, sorted by name.
  static const std::vector<Subcommand> table = {
      audit_command(),   build_command(),   check_command(),  index_command(),
      init_command(),    inspect_command(), matrix_command(), nightly_command(),
      package_command(), probe_command(),   smoke_command(),
  };
  return table;
}

}  // namespace felloe
