// The data behind platform.h, turned round for looking up: the first policy that allows something.
// tables.cpp is written by make_tables.py, which says how to bring it up to date.
#pragma once
#include <vector>

namespace felloe::policy_detail {

struct PolicyRow {
  int minor;           // manylinux_2_<minor>, musllinux_1_<minor>
  const char* alias;   // "manylinux2014" or empty
  const char* arches;  // separated by blanks
};

// "VERSION:MINOR ..." per architecture and symbol family; MINOR is the first policy that allows it.
struct SymbolVersionRow {
  const char* arch;
  const char* family;
  const char* versions;
};

// "SYMBOL:MINOR ...": symbols of an allowed library that policies below MINOR forbid.
struct PrivateSymbolRow {
  const char* lib;
  const char* symbols;
};

extern const std::vector<PolicyRow> kManylinux;  // lowest first
extern const std::vector<PolicyRow> kMusllinux;
extern const std::vector<SymbolVersionRow> kSymbolVersions;  // manylinux; musl has no versions
extern const char* const kManylinuxLibraries;                // "LIB:MINOR ..."
extern const char* const kMusllinuxLibraries;
extern const std::vector<PrivateSymbolRow> kManylinuxPrivateSymbols;
extern const std::vector<PrivateSymbolRow> kMusllinuxPrivateSymbols;

}  // namespace felloe::policy_detail
