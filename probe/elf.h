// The little that the probe asks of an ELF file: for which machine it is, which loader it names,
// and which symbol versions a library offers. Read by program headers; input is untrusted (Bytes).
#pragma once
#include <string>

#include "matrix/base/bytes.h"
#include "matrix/base/json.h"

namespace felloe {

// "x86_64", "aarch64", "armv7l", "i686", or "" for any other e_machine and class.
std::string elf_machine_name(unsigned e_machine, int elf_class);

// {"machine", "elf_class", "interp"?, "soname"?, "versions"?: {family: highest}}. Throws
// Error{input} if `file` is no ELF file or is damaged.
Json elf_digest(const Bytes& file);

}  // namespace felloe
