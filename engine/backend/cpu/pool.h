// The engine's own threads. They start at the first parallel work and survive a fork (the child
// starts its own). The number: TREADLE_NUM_THREADS, else the CPUs this process may run on, at most
// the cgroup's CPU quota rounded up.
#pragma once
#include <cstdint>
#include <type_traits>

#include "engine/core/export.h"

namespace treadle {

// Threads that take part in parallel work, the caller included. Throws Error{value} if
// TREADLE_NUM_THREADS isn't a whole number from 1 to 1024.
TREADLE_API int get_num_threads();

// From the next parallel work on. Throws Error{value} unless 1 <= threads <= 1024.
TREADLE_API void set_num_threads(int threads);

// Elements below which splitting costs more than it gains, for cheap elementwise work.
inline constexpr std::int64_t kGrain = 32768;

using RangeFn = void (*)(const void* context, std::int64_t begin, std::int64_t end);
void parallel_range(std::int64_t begin, std::int64_t end, std::int64_t grain, RangeFn fn,
                    const void* context);

// Calls fn(b, e) for pieces that cover [begin, end) once each, on several threads if there is more
// than one piece. The pieces depend on the range and the grain alone, never on the number of
// threads. Inside a piece, nested calls run on that thread. If pieces throw, the exception of the
// first of them by position that was seen is thrown here after all have ended; pieces not yet
// started are skipped. Concurrent calls from several threads are fine: one uses the pool, the
// others run alone.
template <class Fn>
void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain, const Fn& fn) {
  parallel_range(
      begin, end, grain,
      [](const void* context, std::int64_t b, std::int64_t e) {
        (*static_cast<const Fn*>(context))(b, e);
      },
      &fn);
}

}  // namespace treadle
