"""Our platform tag against `auditwheel show`, on real wheels from the package index.

They are kept in FELLOE_WHEEL_CACHE, else in build/wheel-cache, so that a second run needs no
network. A wheel that can't be had because the index can't be reached is skipped, with pip's words.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("FELLOE_WHEEL_CACHE") or ROOT / "build/wheel-cache")
# What pip says when the index can't be reached, as opposed to: it answers and lacks the wheel.
UNREACHABLE = re.compile(r"after connection broken by|Max retries exceeded|connection error")

# Small wheels that are different on purpose: C, Cython, Rust; glibc and musl; old and new policies;
# stable ABI; bundled libraries.
WHEELS = [
    ("markupsafe==3.0.2", "cp312", "manylinux2014_x86_64"),
    ("markupsafe==3.0.2", "cp312", "manylinux2014_aarch64"),
    ("markupsafe==3.0.2", "cp312", "musllinux_1_2_x86_64"),
    ("cffi==1.17.1", "cp312", "manylinux2014_x86_64"),
    ("cryptography==44.0.0", "abi3", "manylinux_2_28_x86_64"),
    ("orjson==3.10.12", "cp312", "manylinux2014_x86_64"),
    ("pyyaml==6.0.2", "cp312", "manylinux2014_x86_64"),
    ("lz4==4.3.3", "cp312", "manylinux2014_x86_64"),
    ("pillow==11.0.0", "cp312", "manylinux_2_28_x86_64"),
    ("numpy==2.2.0", "cp312", "manylinux2014_x86_64"),
]


unreachable: list[str] = []  # once pip has found no index, the other wheels needn't wait for it


def find_wheel(spec: str, abi: str, platform: str) -> pathlib.Path:
    folder = CACHE / f"{spec}-{abi}-{platform}"
    if not list(folder.glob("*.whl")):
        if unreachable:
            pytest.skip(unreachable[0])
        download(folder, spec, abi, platform)
    (wheel,) = folder.glob("*.whl")
    return wheel


def download(folder: pathlib.Path, spec: str, abi: str, platform: str) -> None:
    """Fetches a wheel into `folder`, which appears when it is complete."""
    unfinished = folder.with_name(f"{folder.name}.{os.getpid()}.tmp")
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--retries", "1"]
    command += ["--only-binary=:all:", "--python-version", "312", "--implementation", "cp"]
    command += ["--abi", abi, "--platform", platform, "-d", str(unfinished), spec]
    run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    if run.returncode != 0 and UNREACHABLE.search(run.stderr):
        unreachable.append(f"pip can't reach the package index: {run.stderr.splitlines()[0]}")
        pytest.skip(unreachable[0])
    assert run.returncode == 0, run.stderr
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished.rename(folder)


@pytest.mark.parametrize(("spec", "abi", "platform"), WHEELS)
def test_same_tag(felloe, spec, abi, platform):
    wheel = find_wheel(spec, abi, platform)
    (data,) = felloe("audit", wheel, "--fail-on=error", "--json").json()["data"]["wheels"]
    command = [sys.executable, "-m", "auditwheel", "show", str(wheel)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    theirs = re.search(
        r'consistent with\s+the following platform tag:\s+"([^"]+)"', " ".join(shown.split())
    )
    assert theirs, shown
    assert data["platform"]["tag"] == theirs.group(1), shown


def test_only_an_unreachable_index_is_skipped(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "unreachable", [])
    wheel = ("markupsafe==3.0.2", "cp312", "manylinux2014_x86_64")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")  # discard: nothing listens
    with pytest.raises(pytest.skip.Exception, match="can't reach the package index"):
        download(tmp_path / "one", *wheel)
    (tmp_path / "simple/markupsafe").mkdir(parents=True)
    (tmp_path / "simple/markupsafe/index.html").write_text("<!doctype html><html></html>")
    monkeypatch.setenv("PIP_INDEX_URL", f"file://{tmp_path}/simple/")  # answers, has no such wheel
    with pytest.raises(AssertionError, match="No matching distribution found"):
        download(tmp_path / "two", *wheel)
    assert not (tmp_path / "one").exists() and not (tmp_path / "two").exists()
