# What every script in ci/ shares: where things are, how they speak, how they fail. Sourced, not run.
# shellcheck shell=bash
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
exec </dev/null # nothing here asks; a tool that tries must fail, not wait

say() { printf '%s\n' "ci: $*"; }

# fail CODE MESSAGE HINT: the exit codes of felloe (docs/exit-codes.md); 4 is "this machine lacks something".
fail() {
  printf 'ci: error: %s\n' "$2" >&2
  [ -z "${3:-}" ] || printf 'ci: hint: %s\n' "$3" >&2
  exit "$1"
}

# Objects are cached under build/, so that a clean clone has a cold cache and says so honestly. Paths are
# made relative, so a second clone beside this one could share it through CCACHE_DIR.
if command -v ccache >/dev/null 2>&1; then
  export FELLOE_CCACHE=ccache CCACHE_DIR="${CCACHE_DIR:-$root/build/ccache}" CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros # as its manual asks for with precompiled headers
fi
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PYTHONDONTWRITEBYTECODE=1
# Interpreters which Debian doesn't ship are found here by felloe (X.Y/Python.h).
export FELLOE_PYTHON_HEADERS="${FELLOE_PYTHON_HEADERS:-$root/build/python-headers}"
# shellcheck disable=SC2034 # used by the scripts that source this
jobs=$(nproc)
