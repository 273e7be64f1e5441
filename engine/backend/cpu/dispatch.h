// Which ISA's kernels run: the best one compiled in whose required features the host has, chosen
// once at the first use. TREADLE_FORCE_ISA=<name> picks one by name; a name that isn't compiled in
// or that the host can't run is an error, never a fallback. To add an ISA: its row in dispatch.cpp
// and its flags in engine/CMakeLists.txt.
#pragma once
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backend/kernel.h"
#include "engine/core/export.h"

namespace treadle {

// The kernels of the chosen ISA. Throws Error{value} if TREADLE_FORCE_ISA can't be obeyed. Read on
// every op: one acquire load.
extern std::atomic<const kernel::Table*> chosen_table;  // null before the first use
const kernel::Table& choose_table();
inline const kernel::Table& table() {
  const kernel::Table* now = chosen_table.load(std::memory_order_acquire);
  return now ? *now : choose_table();
}

// "base", "avx2", "avx512", "neon" or "sve": whose kernels table() is. Throws as table() does.
TREADLE_API std::string_view current_isa();

struct IsaInfo {
  std::string_view name;
  bool usable;          // on this host
  std::string missing;  // features that the host lacks, space separated
};
// All compiled in, best first.
std::vector<IsaInfo> compiled_isas();

// The kernels of one ISA by name, for tests. Throws Error{value} if it isn't compiled in or usable.
const kernel::Table& table_of(std::string_view isa);

// One line for bug reports: ISA, threads and the library behind matrix products.
TREADLE_API std::string config_string();

}  // namespace treadle
