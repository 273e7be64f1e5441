"""`felloe build` and `felloe nightly` on a project that isn't Treadle, and what stops them."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import time
import zipfile

import pytest
from lock_holders import holders
from wheels import tool

ROOT = pathlib.Path(__file__).resolve().parents[2]
TINY = ROOT / "tests/projects/tiny"
DATE = "20260102"


def copy_tiny(folder: pathlib.Path) -> pathlib.Path:
    shutil.copytree(TINY, folder)
    return folder


@pytest.fixture(scope="module")
def nightly(felloe, tmp_path_factory):
    """One nightly of the tiny project: (project folder, its --json)."""
    project = copy_tiny(tmp_path_factory.mktemp("nightly") / "tiny")
    run = felloe("nightly", "--project", project, "--nightly-date", DATE, "--json", timeout=300)
    return project, run


def wheel_of(project: pathlib.Path) -> pathlib.Path:
    (wheel,) = (project / "dist/wheels").glob("*.whl")
    return wheel


def edit(path: pathlib.Path, change) -> None:
    value = json.loads(
        "\n".join(x for x in path.read_text().splitlines() if x.lstrip()[:2] != "//")
    )
    change(value)
    path.write_text(json.dumps(value))


def states(body: dict) -> dict[str, str]:
    return {step["id"]: step["state"] for step in body["data"]["steps"]}


def test_it_builds_tests_and_publishes(nightly):
    project, run = nightly
    body = run.json()
    data = body["data"]
    assert body["ok"] and body["schema"] == "felloe/nightly/1"
    assert data["version"] == f"1.2.0.dev{DATE}"
    assert set(states(body).values()) == {"done"}
    natives = [c for c in data["coverage"] if c["cpu"] == ""]
    emulated = [c for c in data["coverage"] if c["cpu"] == "qemu64"]
    assert natives and emulated
    assert {(c["coverage"], c["ok"]) for c in natives} == {("executed", True)}
    assert {(c["coverage"], c["ok"]) for c in emulated} == {("emulated", True)}
    wheel = wheel_of(project)
    assert hashlib.sha256(wheel.read_bytes()).hexdigest() == data["wheel"]["sha256"]
    assert (
        project / "dist/index/simple/tiny-felloe" / wheel.name
    ).read_bytes() == wheel.read_bytes()
    report = json.loads((project / "dist/report/report.json").read_text())
    assert report["schema"] == "felloe/report/1" and report["ok"]
    with zipfile.ZipFile(wheel) as archive:
        assert not [n for n in archive.namelist() if n.startswith("share/")]


def test_progress_is_on_standard_error_and_the_result_is_said(nightly, felloe):
    project, run = nightly
    assert "Build for x86_64-cpu" in run.err and "[" in run.err
    again = felloe("nightly", "--project", project, "--nightly-date", DATE)
    for words in (
        "pip install",
        "dist/index/simple",
        "dist/report/index.html",
        wheel_of(project).name,
    ):
        assert words in again.out


def test_a_second_run_does_nothing(nightly, felloe):
    project, _ = nightly
    before = {p: p.stat().st_mtime_ns for p in (project / "dist/index").rglob("*")}
    body = felloe("nightly", "--project", project, "--nightly-date", DATE, "--json").json()
    assert set(states(body).values()) == {"cached"}
    assert before == {p: p.stat().st_mtime_ns for p in (project / "dist/index").rglob("*")}


def test_the_install_line_works(nightly, tmp_path):
    project, run = nightly
    line = run.json()["data"]["published"]["install"]
    assert line.startswith("pip install ")
    python = shutil.which("python3.11") or "/usr/bin/python3"
    subprocess.run([python, "-m", "venv", tmp_path / "env"], check=True)
    # No other index: what is asked for must come from ours.
    line = line.replace("--extra-index-url", "--index-url")
    env = {**os.environ, "PATH": f"{tmp_path}/env/bin:{os.environ['PATH']}"}
    subprocess.run(line, shell=True, check=True, env=env, capture_output=True)
    code = "import tiny_felloe; print(tiny_felloe.twice(4))"
    out = subprocess.run([tmp_path / "env/bin/python", "-c", code], capture_output=True, text=True)
    assert out.stdout == "8\n"


def test_two_builds_in_two_places_give_the_same_bytes(nightly, felloe, tmp_path):
    project, _ = nightly
    other = copy_tiny(tmp_path / "a folder of another name")
    felloe("build", "--project", other, "--nightly-date", DATE, timeout=300)
    assert wheel_of(other).name == wheel_of(project).name
    assert wheel_of(other).read_bytes() == wheel_of(project).read_bytes()


def test_only_what_changed_runs_again(felloe, tmp_path):
    project = copy_tiny(tmp_path / "tiny")
    run = ("nightly", "--project", project, "--nightly-date", DATE, "--json")
    felloe(*run, timeout=300)
    (project / "notes.txt").write_text("no input of anything\n")
    (project / "smoke/check.py").write_text("import tiny_felloe\n")
    got = states(felloe(*run, timeout=300).json())
    assert got["build:x86_64-cpu"] == got["package:x86_64-cpu"] == "cached"
    assert all(s == "done" for i, s in got.items() if i.startswith("smoke:"))
    (project / "README.md").write_text("# other words\n")
    got = states(felloe(*run, timeout=300).json())
    assert (got["build:x86_64-cpu"], got["package:x86_64-cpu"]) == ("cached", "done")


def published(project: pathlib.Path) -> dict[str, str]:
    """What the project's page lists: file name -> sha256, each checked against the file."""
    folder = project / "dist/index/simple/tiny-felloe"
    files = {
        f["filename"]: f["hashes"]["sha256"]
        for f in json.loads((folder / "index.json").read_text())["files"]
    }
    for name, digest in files.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    return files


def installed_number(project: pathlib.Path, python: pathlib.Path, *installer) -> str:
    index = (project / "dist/index/simple").as_uri()
    version = f"tiny-felloe==1.2.0.dev{DATE}"
    subprocess.run([*installer, "--index-url", index, version], check=True, capture_output=True)
    code = "import tiny_felloe; print(tiny_felloe.number)"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout


def test_another_wheel_of_one_day_gets_a_build_number(felloe, tmp_path):
    project = copy_tiny(tmp_path / "tiny")
    edit(project / "felloe.json", lambda j: j["smoke"].update(emulate=[]))
    run = ("nightly", "--project", project, "--nightly-date", DATE, "--json")
    init = project / "tiny_felloe/__init__.py"
    original = init.read_text()

    def nightly_of(number: int) -> tuple[str, dict]:
        init.write_text(f"{original}\nnumber = {number}\n")
        body = felloe(*run, timeout=300).json()
        return body["data"]["wheel"]["file"], body

    first, body = nightly_of(1)
    assert first.startswith(f"tiny_felloe-1.2.0.dev{DATE}-cp") and not body["findings"]
    before = published(project)
    # Other sources: another name, and what was published keeps its bytes.
    second, body = nightly_of(2)
    assert second == first.replace(DATE, f"{DATE}-1")
    (finding,) = body["findings"]
    assert (finding["code"], finding["severity"]) == ("PUBLISH001", "info")
    assert finding["message"].startswith("build 1 of this version")
    assert published(project).items() > before.items()
    assert not felloe("audit", project / "dist/wheels" / second, "--json").json()["findings"]
    # Nothing changed: nothing runs.
    assert set(states(nightly_of(2)[1]).values()) == {"cached"}
    assert sorted(published(project)) == sorted([first, second])
    # Installers take the newest.
    python = tmp_path / "env/bin/python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    pip = (python, "-m", "pip", "install", "--force-reinstall", "--no-cache-dir")
    assert installed_number(project, python, *pip) == "2\n"
    uv = (tool("uv"), "pip", "install", "--reinstall", "--no-cache", "--python", python)
    assert installed_number(project, python, *uv) == "2\n"


def start(felloe, *args) -> subprocess.Popen:
    def not_ignored():  # as it may be where the tests themselves run in the background
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, signal.SIG_DFL)

    return subprocess.Popen(
        [felloe.path, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=not_ignored,
    )


def wait_until(condition, seconds: float = 60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.02)


@pytest.mark.parametrize(("command", "how"), [("nightly", "SIGINT"), ("build", "SIGTERM")])
def test_stopping_ends_the_compilers(felloe, tmp_path, command, how):
    project = copy_tiny(tmp_path / "tiny")
    lists = project / "CMakeLists.txt"
    text = lists.read_text()
    # As a compiler: Ninja runs it in a process group of its own. It ignores a polite request.
    slow = tmp_path / "slow.sh"
    slow.write_text(f"trap '' TERM INT\necho > '{tmp_path}/begun'\nsleep 300\n")
    lists.write_text(f'{text}\nadd_custom_target(slow ALL COMMAND sh "{slow}" VERBATIM)\n')
    log = project / "build/work/logs/build-x86_64-cpu.log"
    run = start(felloe, command, "--project", project, "--nightly-date", DATE, "--json")
    wait_until(lambda: (tmp_path / "begun").exists())
    lock = (project / "build/work/lock").resolve()
    assert len(holders(lock)) > 2
    asked = time.monotonic()
    run.send_signal(getattr(signal, how))
    out, err = run.communicate(timeout=60)
    assert run.returncode == -getattr(signal, how)
    assert time.monotonic() - asked < 15
    assert not holders(lock)
    error = json.loads(out)["error"]
    assert error["kind"] == "interrupted" and error["message"] == f"stopped by {how}"
    assert "run it again" in error["hint"]
    assert "stopping what was started" in err and "stopped  Build for x86_64-cpu" in err
    assert log.read_text() and not (project / "dist").exists()
    # It goes on where it was.
    lists.write_text(text)
    rest = felloe("build", "--project", project, "--nightly-date", DATE, timeout=300)
    assert "cached   Make the build's Python environment" in rest.err


def test_stopping_a_smoke_test_leaves_the_last_report(nightly, felloe, tmp_path):
    project = tmp_path / "tiny"
    shutil.copytree(nightly[0], project, symlinks=True)
    report = project / "dist/report/report.json"
    before = {p: p.read_bytes() for p in (project / "dist").rglob("*") if p.is_file()}
    (project / "smoke/check.py").write_text(
        f"open({str(tmp_path / 'begun')!r}, 'w').close()\nimport time\ntime.sleep(300)\n"
    )
    run = start(felloe, "nightly", "--project", project, "--nightly-date", DATE, "--jobs", "2")
    wait_until(lambda: (tmp_path / "begun").exists(), 120)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == -signal.SIGINT and "error: stopped by SIGINT" in err
    assert report.exists()
    assert before == {p: p.read_bytes() for p in (project / "dist").rglob("*") if p.is_file()}
    assert not holders((project / "build/work/lock").resolve())


def test_a_log_can_be_followed(nightly, felloe, tmp_path):
    project = copy_tiny(tmp_path / "tiny")
    (project / "smoke/check.py").write_text(
        "print('first line')\nimport os, time\n"
        f"while not os.path.exists({str(tmp_path / 'go')!r}):\n    time.sleep(0.02)\n"
        "print('last line')\n"
    )
    log = tmp_path / "log"
    options = ("--project", project, "--native", "--log", log, "--json")
    run = start(felloe, "smoke", wheel_of(nightly[0]), *options)
    wait_until(lambda: log.exists() and "first line" in log.read_text(), 120)
    assert "last line" not in log.read_text()
    (tmp_path / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, out + err
    assert "last line" in log.read_text()


def test_a_failing_smoke_test_keeps_the_wheel_out_of_the_index(felloe, tmp_path):
    project = copy_tiny(tmp_path / "tiny")
    (project / "smoke/check.py").write_text("import sys\nsys.exit('<b>the wheel is bad</b>')\n")
    run = felloe("nightly", "--project", project, "--json", code=1, timeout=300)
    body = run.json()
    assert not body["ok"] and not body["data"]["published"]["ok"]
    assert "smoke tests fail in" in body["data"]["published"]["reason"]
    assert {f["code"] for f in body["findings"] if f["severity"] == "error"} == {"SMOKE001"}
    assert not (project / "dist/index").exists()
    page = (project / "dist/report/index.html").read_text()
    assert "&lt;b&gt;the wheel is bad&lt;/b&gt;" in page and "<b>" not in page


def test_out_moves_the_output(nightly, felloe, tmp_path):
    project, _ = nightly
    out = tmp_path / "elsewhere"
    run = (
        "nightly",
        "--project",
        project,
        "--nightly-date",
        DATE,
        "--out",
        out,
        "--json",
    )
    got = states(felloe(*run, timeout=300).json())
    assert got["build:x86_64-cpu"] == "cached"
    assert list((out / "wheels").glob("*.whl")) and (out / "index/simple/index.html").exists()
    assert (out / "report/index.html").exists()


def test_dry_run_shows_the_steps_and_runs_none(felloe, tmp_path):
    project = copy_tiny(tmp_path / "tiny")
    body = felloe("nightly", "--project", project, "--dry-run", "--json").json()
    ids = [step["id"] for step in body["data"]["steps"]]
    assert ids[:2] == ["probe", "environment:x86_64-cpu"] and ids[-1] == "publish:x86_64-cpu"
    assert not (project / "dist").exists() and not (project / "build").exists()


def test_smoke_of_one_wheel(nightly, felloe):
    project, _ = nightly
    body = felloe("smoke", wheel_of(project), "--project", project, "--json", timeout=300).json()
    assert body["ok"] and {c["coverage"] for c in body["data"]["cells"]} == {
        "executed",
        "emulated",
    }


def test_missing_compiler(felloe, tmp_path):
    project = copy_tiny(tmp_path / "tiny")
    edit(project / "felloe.json", lambda j: j["toolchains"]["gcc"].update(cc="gcc-99"))
    error = felloe("build", "--project", project, "--json", code=4).error()
    assert error["kind"] == "environment" and error["where"] == "gcc-99"
    assert "needed by toolchain gcc of felloe.json" in error["message"]
    assert error["hint"] == "install it: apt-get install gcc-99"


def test_missing_headers(felloe, tmp_path):
    project = copy_tiny(tmp_path / "tiny")
    edit(
        project / "felloe.json",
        lambda j: j["targets"]["x86_64-cpu"].update(python_abis=["cp399"]),
    )
    error = felloe("build", "--project", project, "--json", code=4).error()
    assert "no headers of CPython 3.99" in error["message"]
    assert error["hint"] == "set FELLOE_PYTHON_HEADERS=DIR, where DIR/3.99/Python.h is"
    # Where ci/setup puts them, nothing needs to be set.
    headers = project / "build/python-headers/3.99"
    headers.mkdir(parents=True)
    (headers / "Python.h").touch()
    felloe("build", "--project", project, "--dry-run")


def test_a_compile_error_names_the_log_and_shows_the_compilers_words(felloe, tmp_path):
    project = copy_tiny(tmp_path / "tiny")
    (project / "src/native.c").write_text("int broken(void) { return nothing_here; }\n")
    error = felloe("build", "--project", project, "--json", code=5, timeout=300).error()
    assert error["kind"] == "child" and "nothing_here" in error["message"]
    assert "log" in error["hint"]


@pytest.mark.parametrize("date", ["20261345", "20260229", "20260100", "2026-1-1", "202611"])
def test_a_date_must_be_one(felloe, date):
    run = ("nightly", "--project", TINY, "--nightly-date", date, "--dry-run", "--json")
    error = felloe(*run, code=2).error()
    assert error["message"] == f"not a date: {date}" and "YYYYMMDD" in error["hint"]


@pytest.mark.parametrize("jobs", ["0", "-1", "x", "99999999999"])
def test_jobs_are_a_number_from_1(felloe, jobs):
    run = ("nightly", "--project", TINY, f"--jobs={jobs}", "--dry-run", "--json")
    error = felloe(*run, code=2).error()
    assert error["message"].endswith(f"expected a number from 1, got `{jobs}`")


def test_unknown_target(felloe, tmp_path):
    project = copy_tiny(tmp_path / "tiny")
    run = ("build", "--project", project, "--target", "x86_64-cpi", "--json")
    error = felloe(*run, code=2).error()
    assert "x86_64-cpu" in error["hint"] + error["message"]
    assert error["where"] == str(project / "felloe.json")
    other = (project / "felloe.json").rename(project / "other.json")
    error = felloe("build", "--project", other, "--target", "zzz", "--json", code=2).error()
    assert error["where"] == str(other)


def test_no_network(felloe, tmp_path):
    project = copy_tiny(tmp_path / "tiny")
    edit(
        project / "felloe.json",
        lambda j: j["source"].update(build_requires=["nanobind==3.1.0"]),
    )
    refused = "http://127.0.0.1:9"  # discard: nothing listens
    env = {k: refused for k in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}
    env |= {"PIP_RETRIES": "1", "PIP_NO_CACHE_DIR": "1", "PIP_FIND_LINKS": ""}
    run = ("build", "--project", project, "--json")
    error = felloe(*run, code=4, env=env, timeout=120).error()
    assert error["message"].startswith("no network: pip can't reach the package index")
    assert "PIP_INDEX_URL" in error["hint"]


def test_a_broken_python_on_path_is_passed_over(nightly, felloe, tmp_path):
    project, _ = nightly
    broken = tmp_path / "bin/python3.11"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'Segmentation fault' >&2\nexit 139\n")
    broken.chmod(0o755)
    env = {"PATH": f"{broken.parent}:{os.environ['PATH']}"}
    run = ("build", "--project", project, "--nightly-date", DATE, "--json")
    assert felloe(*run, env=env, timeout=300).json()["ok"]


@pytest.mark.skipif(not shutil.which("unshare"), reason="needs unshare(1) of util-linux")
@pytest.mark.parametrize("options", ["ro", "size=200k"])
def test_read_only_output_and_full_disk(nightly, felloe, tmp_path, options):
    project, _ = nightly
    out = tmp_path / "out"
    out.mkdir()
    command = f'mount -t tmpfs -o {options} none "{out}" && exec "{felloe.path}" nightly --json '
    command += f'--project "{project}" --nightly-date {DATE} --out "{out}"'
    if options != "ro":
        command = command.replace("&& exec", f'&& head -c 190k /dev/zero > "{out}/filler" && exec')
    run = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", command],
        capture_output=True,
        text=True,
        timeout=300,
    )
    if "unshare" in run.stderr or "mount:" in run.stderr:
        pytest.skip(f"no user namespaces here: {run.stderr.strip()}")
    assert run.returncode == 4, run.stdout + run.stderr
    error = json.loads(run.stdout)["error"]
    assert error["kind"] == "environment" and str(out) in error["where"]
    words = "read-only" if options == "ro" else "full"
    assert words in (error["hint"] + error["message"]).lower()


def test_two_runs_at_once_are_refused(felloe, tmp_path):
    project = copy_tiny(tmp_path / "tiny")
    (project / "smoke/check.py").write_text("import time\ntime.sleep(3)\n")
    first = subprocess.Popen(
        [felloe.path, "nightly", "--project", project],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert first.stderr is not None
    first.stderr.readline()  # it has the lock when it says its first word
    error = felloe("nightly", "--project", project, "--json", code=4).error()
    assert error["message"] == f"another run is using this folder: process {first.pid}"
    first.communicate(timeout=300)
    assert first.returncode == 0
    mode = (project / "build/work/lock").stat().st_mode
    assert stat.S_ISREG(mode)
