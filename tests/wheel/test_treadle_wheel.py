"""The wheel and the index that a nightly left in dist/ (run `ci/nightly` first, as --full does).

Others are asked: auditwheel and abi3audit about the tags, pip and uv about the index.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIST = pathlib.Path(os.environ.get("FELLOE_DIST", ROOT / "dist"))
TRAIN = """
import treadle
x = treadle.ones(3, requires_grad=True)
(x * x).sum().backward()
print(x.grad)
"""


def run(*argv, **options) -> str:
    done = subprocess.run(list(map(str, argv)), capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{argv}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def report() -> dict:
    path = DIST / "report/report.json"
    assert path.exists(), f"{path}: no such file; run ci/nightly first"
    value = json.loads(path.read_text())
    assert value["ok"], value["findings"]
    return value


@pytest.fixture(scope="module")
def wheel(report) -> pathlib.Path:
    return DIST / "wheels" / report["wheel"]["file"]


def test_it_is_small_enough(wheel):
    assert wheel.stat().st_size < 15_000_000


def test_auditwheel_agrees_with_the_platform_tag(wheel):
    said = run(sys.executable, "-m", "auditwheel", "show", wheel)
    tag = re.search(r'platform tag:\s+"?(manylinux_2_\d+_x86_64)', said.replace("\n", " "))
    assert tag, said
    assert tag[1] in wheel.name


def test_abi3audit_finds_nothing_outside_the_stable_abi(wheel, tmp_path):
    """Asked about the module for 3.12 and later. Of a whole wheel abi3audit expects every module to
    keep to the ABI of its tag, also those that only one CPython ever loads, by their suffix.
    """
    with zipfile.ZipFile(wheel) as archive:
        module = archive.extract("treadle/_C.abi3.so", tmp_path)
    run(
        *(sys.executable, "-m", "abi3audit", "--strict"),
        *("--assume-minimum-abi3", "3.12", module),
    )


def test_every_cell_was_executed_and_the_old_cpu_emulated(report):
    cells = report["coverage"]
    assert {c["cpu"] for c in cells} >= {"", "qemu64"}
    assert all(c["ok"] for c in cells if c["coverage"] != "not run")


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_it_installs_from_the_index(report, tmp_path, tool, local):
    index = (DIST / "index/simple").resolve().as_uri() + "/"
    version = report["version"] if local else report["version"].split("+")[0]
    run(sys.executable, "-m", "venv", tmp_path / "env")
    python = tmp_path / "env/bin/python"
    if tool == "pip":
        command = [python, "-m", "pip", "install", "--index-url", index, f"treadle=={version}"]
    else:
        command = ["uv", "pip", "install", "--python", python, "--no-cache"]
        # uv reads an index over HTTP only; tests/cli has it behind a real nginx.
        command += ["--find-links", DIST / "wheels", "--no-index", f"treadle=={version}"]
    run(*command)
    assert "[2., 2., 2.]" in run(python, "-I", "-c", TRAIN)
