// The thread's context; constant-initialised, so that reading it needs no guard.
#include "engine/core/context.h"

#include "engine/core/export.h"

namespace treadle {
namespace {
TREADLE_FAST_TLS constinit thread_local Context current;
}

Context& context() { return current; }

}  // namespace treadle
