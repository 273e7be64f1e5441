"""kill -9 at random moments of `felloe nightly`, then again: it must complete, with a sound index.

For each kill a felloe process is started on a copy of tests/projects/tiny and killed after a random
part of the time that a whole run takes; whenever a run completes first, the sources are changed.
After each kill whatever stands in the index must be whole: each link's file is there with the hash
of the link, no page is cut short, and what was once published keeps its bytes. At the end a last
run must succeed, and its wheel must equal that of an undisturbed run but for the build number.

    python tests/kill_nightly.py --felloe build/felloe [--kills 10] [--seed N]

Prints the seed; docs/logs/kill_nightly.log is the log of one run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

from lock_holders import holders

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


published: dict[str, str] = {}  # file name -> sha256, of all that was ever linked


def check_index(project: pathlib.Path) -> str:
    """What stands in the index; raises AssertionError if any of it is half-written or changed."""
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
            assert published.setdefault(href, digest) == digest, f"{href} was published before"
            links += 1
    for page in simple.rglob("*.json"):
        json.loads(page.read_text())
    return f"{links} links, all whole"


def members(wheel: pathlib.Path) -> dict[str, bytes]:
    """What a wheel holds, but for the files that its build number stands in."""
    with zipfile.ZipFile(wheel) as archive:
        return {
            name: archive.read(name)
            for name in archive.namelist()
            if not name.endswith((".dist-info/WHEEL", ".dist-info/RECORD"))
        }


def leftovers(project: pathlib.Path) -> list[str]:
    """Processes that still have the work folder's lock open."""
    return holders((project / "build/work/lock").resolve())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--felloe", type=pathlib.Path, default=ROOT / "build/felloe")
    parser.add_argument("--project", type=pathlib.Path, default=TINY, help="copied, then built")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    args = parser.parse_args()
    felloe = args.felloe.resolve()
    random.seed(args.seed)
    print(f"seed {args.seed}")

    with tempfile.TemporaryDirectory() as folder:
        calm, project = pathlib.Path(folder, "calm"), pathlib.Path(folder, "killed")
        shutil.copytree(args.project, calm)
        shutil.copytree(args.project, project)
        start = time.monotonic()
        subprocess.run(command(felloe, calm), check=True, capture_output=True)
        whole = time.monotonic() - start
        print(f"an undisturbed run takes {whole:.1f} s")

        kills = tries = 0
        init = project / "tiny_felloe/__init__.py"
        original = init.read_text()
        while kills < args.kills:
            tries += 1
            if tries > 10 * args.kills:
                print("runs end before they can be killed")
                return 1
            run = subprocess.Popen(
                command(felloe, project), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            delay = random.uniform(0.02, 0.9) * whole
            try:
                code = run.wait(timeout=delay)
            except subprocess.TimeoutExpired:
                run.send_signal(signal.SIGKILL)
                run.wait()
                kills += 1
                left = len(leftovers(project))
                print(
                    f"kill {kills:2}: after {delay:5.2f} s, {left} processes left behind; "
                    f"index: {check_index(project)}",
                    flush=True,
                )
                continue
            if code != 0:
                print(f"a run after {kills} kills fails with exit code {code}")
                return 1
            # It went to its end. Other sources, so that there is something to kill again; the
            # version stays, so that the next wheel gets a build number.
            init.write_text(f"{original}\nnumber = {tries}\n")
            print(f"         a run completed; index: {check_index(project)}", flush=True)
        init.write_text(original)

        last = subprocess.run(command(felloe, project, "--json"), capture_output=True, text=True)
        if last.returncode != 0:
            print(last.stdout, last.stderr)
            return 1
        data = json.loads(last.stdout)["data"]
        states = [s["state"] for s in data["steps"]]
        print(f"last run: {states.count('cached')} steps cached, {states.count('done')} done")
        print(f"index: {check_index(project)}")
        (undisturbed,) = (calm / "dist/wheels").iterdir()
        wheel = project / "dist/wheels" / data["wheel"]["file"]
        assert members(undisturbed) == members(wheel), "differs from an undisturbed run's"
        odd = [p for p in (project / "dist").rglob(".*") if p.name != ".index.lock"]
        assert not odd, f"left in the output: {odd}"
        assert not leftovers(project)
        print(f"{wheel.name} equals the undisturbed run's; nothing is left over")
    return 0


if __name__ == "__main__":
    sys.exit(main())
