// Where functions start, what their pointers hold, where loading begins. Internal to packaging/isa.
#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "packaging/elf/elf.h"

namespace felloe::isa_detail {

struct CodeRange {
  std::uint64_t vaddr = 0, offset = 0, size = 0;
};

struct FunctionStart {
  std::uint64_t vaddr = 0;
  std::string name;  // empty when stripped
};

// Executable bytes: executable sections where there are section headers, else executable segments.
// Sorted by address; they don't overlap.
std::vector<CodeRange> code_ranges(const ElfFile& elf);

// From .eh_frame_hdr's table and the symbols, sorted by address, inside `ranges`.
std::vector<FunctionStart> function_starts(const ElfFile& elf,
                                           const std::vector<CodeRange>& ranges);

// What the loader writes into pointers: slot address -> address in this module.
std::unordered_map<std::uint64_t, std::uint64_t> pointer_slots(const ElfFile& elf);

// Addresses that loading or importing runs: initialisers, ifunc resolvers, PyInit_*.
std::vector<std::uint64_t> load_roots(
    const ElfFile& elf, const std::unordered_map<std::uint64_t, std::uint64_t>& slots);

}  // namespace felloe::isa_detail
