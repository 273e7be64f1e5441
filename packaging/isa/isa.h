// Which CPU features a module's code uses, and when. Coarse by design, in one direction: "required"
// is said only where it is sure, "dispatched" (used if present) where the module's own shape says
// so, and the rest carries guard "unknown".
//  - load, guard none: on the path that every load takes: from .init_array, DT_INIT, ifunc
//  resolvers or
//    PyInit_*, straight on through jumps and direct calls up to the first conditional branch.
//  - load, guard unknown: in a function that direct calls reach from there, after some branch.
//  - call: the share of functions that use an extension says that the whole module was compiled for
//    it (few functions left with baseline vector code). A dispatched library looks different.
//  - dispatched: everything else, in particular kernels that only tables of pointers reach.
// Sources: Zydis' ISA sets (x86), Arm ARM DDI 0487 C4 (AArch64); the psABIs for PLT and
// relocations.
#pragma once
#include "matrix/facts.h"
#include "packaging/elf/elf.h"

namespace felloe {

// `path` is what evidence names. Needs elf.bytes. Nothing (unknown) for machines without a decoder.
Fact<ModuleIsa> scan_isa(const ElfFile& elf, const std::string& path);

}  // namespace felloe
