// What the shared library exports. Public headers put `#pragma GCC visibility push(default)` before
// their namespace and `pop` after it; TREADLE_API is for a single declaration. Everything else is
// built with hidden visibility. (Not an attribute of the namespace: clang doesn't pass that on to
// definitions in a plain `namespace treadle`, so a library built by zig exported no function.)
#pragma once

#define TREADLE_API [[gnu::visibility("default")]]

// For small thread-local variables on hot paths: their address is a constant away from the thread
// pointer, where the default for shared libraries is a function call. Such variables come out of a
// reserve that all libraries loaded later share (1664 bytes in glibc), so keep them to a few words.
#define TREADLE_FAST_TLS [[gnu::tls_model("initial-exec")]]

// 1 in a build with AddressSanitizer, which must see every block by itself.
#if defined(__SANITIZE_ADDRESS__)
#define TREADLE_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TREADLE_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef TREADLE_ADDRESS_SANITIZER
#define TREADLE_ADDRESS_SANITIZER 0
#endif
