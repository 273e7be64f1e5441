// The loader's cache file, parsed.
#pragma once
#include <string>
#include <vector>

#include "matrix/base/bytes.h"

namespace felloe {

struct CachedLib {
  std::string soname, path;
  std::uint32_t flags = 0;  // FLAG_ELF_LIBC6 and the ABI, as in glibc's sysdeps/*/ldconfig.h
};

// Entries of /etc/ld.so.cache (glibc format 1.1, alone or after the old format), in file order.
// Throws Error{input} if it is damaged.
std::vector<CachedLib> parse_loader_cache(const Bytes& file);

}  // namespace felloe
