"""clang-tidy over the files of a build, remembering which were clean.

A file is checked again when it, a header it includes, the checks or the compiler's command changed.
With --seconds the run ends when they are over and says how many files are left for the next run or
for `ci/test --full`, which has no limit. Exit code 1 if a checked file has findings.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
TOOLKIT = ("matrix", "probe", "packaging", "ci", "cli")
ENGINE = ("engine", "probe/cpu")


def key_of(entry: dict) -> str:
    """SHA-256 of the command, the checks, and the file with all our headers (one hash for all)."""
    digest = hashlib.sha256(entry["command"].encode())
    digest.update((ROOT / ".clang-tidy").read_bytes())
    digest.update(pathlib.Path(entry["file"]).read_bytes())
    folder = pathlib.Path(entry["file"]).relative_to(ROOT).parts[0]
    # Which headers a file reads is the compiler's to say; all that the direction of includes lets
    # it read is a safe superset (tests/test_includes.py).
    for name in ENGINE if folder == "engine" else TOOLKIT:
        for header in sorted((ROOT / name).rglob("*.h")):
            digest.update(header.read_bytes())
    return digest.hexdigest()


def check(entry: dict, build: pathlib.Path) -> tuple[int, str]:
    run = subprocess.run(
        ["clang-tidy", "--quiet", "-p", str(build), entry["file"]],
        capture_output=True,
        text=True,
    )
    return run.returncode, run.stdout + (run.stderr if run.returncode else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--build", type=pathlib.Path, required=True, help="has compile_commands.json"
    )
    parser.add_argument("--seconds", type=float, help="stop starting files after this time")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("folders", nargs="*", default=[*TOOLKIT, "engine"], help="default: all")
    args = parser.parse_args()

    stamps = ROOT / "build/tidy"
    stamps.mkdir(parents=True, exist_ok=True)
    entries = {}
    for entry in json.loads((args.build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"]).resolve()
        if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in args.folders:
            entries.setdefault(path, entry)  # a file compiled per ISA is checked once
    keys = {path: key_of(entry) for path, entry in entries.items()}
    todo = [path for path in sorted(entries) if not (stamps / keys[path]).exists()]
    print(
        f"{len(entries)} files, {len(entries) - len(todo)} known to be clean",
        flush=True,
    )

    end = time.monotonic() + args.seconds if args.seconds else float("inf")
    bad, left = 0, 0

    def one(path: pathlib.Path) -> tuple[pathlib.Path, int | None, str]:
        if time.monotonic() > end:
            return path, None, ""
        return path, *check(entries[path], args.build)

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for path, code, text in pool.map(one, todo):
            if code is None:
                left += 1
            elif code == 0:
                (stamps / keys[path]).touch()
            else:
                bad += 1
                print(f"--- {path.relative_to(ROOT)}\n{text}", flush=True)
    print(f"{bad} files with findings, {left} left for the next run or `ci/test --full`")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
