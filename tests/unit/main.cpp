// Catch2's main, compiled once for every unit program.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
