// What the shared library exports: namespaces of public headers open as `namespace TREADLE_API
// treadle`. Everything else is built with hidden visibility.
#pragma once

#define TREADLE_API [[gnu::visibility("default")]]
