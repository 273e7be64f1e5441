// The one throw site of the engine.
#include "engine/core/error.h"

namespace treadle {

const char* Error::what() const noexcept { return message_.c_str(); }

void fail(ErrorKind kind, std::string message) { throw Error(kind, std::move(message)); }

}  // namespace treadle
