"""kill -9 at random moments of `felloe nightly`, then again: it must complete, with a sound index.

For each kill a felloe process is started on a copy of tests/projects/tiny and killed after a random
part of the time that a whole run takes. After each kill whatever stands in the index must be whole:
each link's file is there with the hash of the link, and no page is cut short. At the end a last run
must succeed, and the wheel must equal that of an undisturbed run.

    python tests/kill_nightly.py --felloe build/felloe [--kills 10] [--seed N]

Prints the seed; docs/logs/kill_nightly.log is the log of one run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
TINY = ROOT / "tests/projects/tiny"
DATE = "20260102"


def command(felloe: pathlib.Path, project: pathlib.Path, *more: str) -> list[str]:
    return [
        str(felloe),
        "nightly",
        "--project",
        str(project),
        "--nightly-date",
        DATE,
        *more,
    ]


def check_index(project: pathlib.Path) -> str:
    """What stands in the index; raises AssertionError if any of it is half-written."""
    simple = project / "dist/index/simple"
    if not simple.exists():
        return "no index yet"
    links = 0
    for page in simple.rglob("index.html"):
        text = page.read_text()
        assert text.rstrip().endswith("</html>"), f"{page} is cut short"
        for href, digest in re.findall(r'href="([^"#]+)#sha256=([0-9a-f]{64})"', text):
            file = page.parent / href
            assert file.exists(), f"{page} links to {href}, which is missing"
            assert hashlib.sha256(file.read_bytes()).hexdigest() == digest, (
                f"{file} has other bytes"
            )
            links += 1
    for page in simple.rglob("*.json"):
        json.loads(page.read_text())
    return f"{links} links, all whole"


def leftovers(project: pathlib.Path) -> list[str]:
    """Processes that still have the work folder's lock open."""
    lock = (project / "build/work/lock").resolve()
    found = []
    for fd in pathlib.Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(fd) == str(lock):
                found.append(fd.parts[2])
        except OSError:
            continue
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--felloe", type=pathlib.Path, default=ROOT / "build/felloe")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    args = parser.parse_args()
    felloe = args.felloe.resolve()
    random.seed(args.seed)
    print(f"seed {args.seed}")

    with tempfile.TemporaryDirectory() as folder:
        calm, project = pathlib.Path(folder, "calm"), pathlib.Path(folder, "killed")
        shutil.copytree(TINY, calm)
        shutil.copytree(TINY, project)
        start = time.monotonic()
        subprocess.run(command(felloe, calm), check=True, capture_output=True)
        whole = time.monotonic() - start
        print(f"an undisturbed run takes {whole:.1f} s")

        for number in range(1, args.kills + 1):
            if number == args.kills // 2:  # finished steps must not make the later kills trivial
                source = project / "src/native.c"
                source.write_text(source.read_text() + f"\n/* {number} */\n")
            delay = random.uniform(0.02, 1) * whole * random.choice((0.1, 0.5, 1.0))
            run = subprocess.Popen(
                command(felloe, project),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            time.sleep(delay)
            ended = run.poll() is not None
            run.send_signal(signal.SIGKILL)
            said = (run.stderr.read() if ended else "").splitlines() if run.stderr else []
            run.wait()
            left = len(leftovers(project))
            where = "had already ended" if ended else f"killed, {left} processes left behind"
            print(
                f"kill {number:2}: after {delay:5.2f} s: {where}; index: {check_index(project)}",
                flush=True,
            )
            if ended and run.returncode not in (0, -signal.SIGKILL):
                print("\n".join(said[-5:]))
                return 1

        last = subprocess.run(command(felloe, project, "--json"), capture_output=True, text=True)
        if last.returncode != 0:
            print(last.stdout, last.stderr)
            return 1
        states = [s["state"] for s in json.loads(last.stdout)["data"]["steps"]]
        print(f"last run: {states.count('cached')} steps cached, {states.count('done')} done")
        print(f"index: {check_index(project)}")
        names = [sorted(p.name for p in (x / "dist/wheels").iterdir()) for x in (calm, project)]
        assert names[0] == names[1], names
        same = [(x / "dist/wheels" / names[0][0]).read_bytes() for x in (calm, project)]
        assert same[0] == same[1], "the wheel differs from that of an undisturbed run"
        odd = [p for p in (project / "dist").rglob(".*") if p.name != ".htaccess"]
        assert not odd, f"left in the output: {odd}"
        assert not leftovers(project)
        print("the wheel equals that of an undisturbed run; nothing is left over")
    return 0


if __name__ == "__main__":
    sys.exit(main())
