#!/bin/sh
# Builds the fuzz targets (preset `fuzz`, clang) and runs each on its kept corpus and then for SECONDS
# (default 5): tests/fuzz/run.sh 60. ci/test does the same in its asan build.
set -eu
cd "$(dirname "$0")/../.."
cmake --preset fuzz >/dev/null
cmake --build build/fuzz --target fuzz_targets
exec python3 ci/fuzz.py --build build/fuzz --seconds "${1:-5}"
