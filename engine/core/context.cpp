// The thread's context; constant-initialised, so that reading it needs no guard.
#include "engine/core/context.h"

namespace treadle {
namespace {
constinit thread_local Context current;
}

Context& context() { return current; }

}  // namespace treadle
