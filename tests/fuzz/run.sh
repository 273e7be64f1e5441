#!/bin/sh
# Runs every fuzz target on its kept corpus and then for SECONDS each (default 5; 0: the corpus alone).
#   cmake --preset fuzz && cmake --build build/fuzz && tests/fuzz/run.sh 60
# Inputs that crash a target are left in build/fuzz/found/; a fix comes with the input in corpus/.
set -eu
seconds=${1:-5}
here=$(cd "$(dirname "$0")" && pwd)
build=${FUZZ_BUILD:-$here/../../build/fuzz}
found=$build/found
mkdir -p "$found"
ran=0
for target in "$build"/fuzz/fuzz_*; do
  [ -x "$target" ] || continue
  name=${target##*/fuzz_}
  work=$found/work-$name
  mkdir -p "$work"
  echo "fuzz_$name: the kept corpus"
  "$target" -runs=0 -rss_limit_mb=2048 -timeout=10 "$here/corpus/$name"
  if [ "$seconds" -gt 0 ]; then
    echo "fuzz_$name: $seconds s"
    "$target" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -max_len=65536 \
      -artifact_prefix="$found/$name-" "$work" "$here/corpus/$name"
  fi
  ran=$((ran + 1))
done
if [ "$ran" -eq 0 ]; then
  echo "no fuzz targets in $build: cmake --preset fuzz && cmake --build build/fuzz" >&2
  exit 1
fi
echo "$ran fuzz targets: no crash"
