// What the shared library exports. Public headers put `#pragma GCC visibility push(default)` before
// their namespace and `pop` after it; TREADLE_API is for a single declaration. Everything else is
// built with hidden visibility. (Not an attribute of the namespace: clang doesn't pass that on to
// definitions in a plain `namespace treadle`, so a library built by zig exported no function.)
#pragma once

#define TREADLE_API [[gnu::visibility("default")]]
