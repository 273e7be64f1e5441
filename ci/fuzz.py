"""Runs every fuzz target for some seconds on its kept corpus, new inputs in a scratch folder.

Targets are the programs fuzz_NAME of a build; their seeds stand in tests/fuzz/corpus/NAME. A crash
leaves its input in build/fuzz/NAME and fails the run: keep that input as a seed once it is mended.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def run(target: pathlib.Path, seconds: int) -> tuple[str, int, str]:
    name = target.name.removeprefix("fuzz_")
    scratch = ROOT / "build/fuzz" / name
    (scratch / "new").mkdir(parents=True, exist_ok=True)
    corpus = ROOT / "tests/fuzz/corpus" / name
    command = [
        target,
        f"-max_total_time={seconds}",
        "-timeout=10",
        "-rss_limit_mb=2048",
    ]
    command += [f"-artifact_prefix={scratch}/", "-print_final_stats=1", scratch / "new"]
    command += [corpus] if corpus.is_dir() else []
    # A size that no machine has is a null, as without ASan; so is one that only takes time.
    options = "allocator_may_return_null=1:max_allocation_size_mb=64"
    environment = os.environ | {"ASAN_OPTIONS": options}
    result = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, errors="replace", env=environment
    )
    return name, result.returncode, result.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=int, default=3, help="for each target")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    targets = sorted(
        p
        for p in args.build.rglob("fuzz_*")
        if p.is_file() and os.access(p, os.X_OK) and not p.suffix
    )
    if not targets:
        print(f"no fuzz target in {args.build}: was it configured with FELLOE_FUZZ=ON?")
        return 1
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, code, text in pool.map(lambda t: run(t, args.seconds), targets):
            runs = [x.split()[-1] for x in text.splitlines() if "number_of_executed_units" in x]
            print(f"{name}: {'ok' if code == 0 else 'CRASH'}, {runs[0] if runs else '?'} inputs")
            if code:
                bad += 1
                print(text[-4000:])
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
