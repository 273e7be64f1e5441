"""`felloe smoke` where a project has no smoke scripts, and CPUs that nobody knows."""

from __future__ import annotations

import json
import pathlib
import shutil
import sys

import pytest
from wheels import EPOCH, make_tree, make_wheel

needs_qemu = pytest.mark.skipif(not shutil.which("qemu-x86_64"), reason="needs qemu-user")


@pytest.fixture
def project(tmp_path) -> pathlib.Path:
    """A project without smoke scripts."""
    target = {"arch": "x86_64", "accelerator": "cpu", "python_abis": ["none"], "toolchain": "gcc"}
    value = {
        "name": "demo",
        "version": "1.2.0",
        "toolchains": {"gcc": {"kind": "system", "cc": "gcc", "cxx": "g++"}},
        "targets": {"x86_64-cpu": target},
        "smoke": {"scripts": [], "pythons": ">=3.10", "emulate": []},
    }
    (tmp_path / "felloe.json").write_text(json.dumps(value))
    return tmp_path


def smoke(felloe, project, wheel, *more, code=0):
    run = ("smoke", wheel, "--project", project, "--python", sys.executable, "--json", *more)
    return felloe(*run, code=code, timeout=300)


def cells(felloe, project, wheel, *more, code=0):
    return smoke(felloe, project, wheel, *more, code=code).json()["data"]["cells"]


def test_without_scripts_the_wheel_is_imported(felloe, project):
    wheel = make_wheel(felloe, project, "demo", "1.2.0")
    (cell,) = cells(felloe, project, wheel)
    assert (cell["coverage"], cell["ok"]) == ("executed", True)
    assert [s["script"] for s in cell["scripts"]] == ["import demo"]


@needs_qemu
def test_the_import_runs_on_the_emulated_cpu(felloe, project):
    wheel = make_wheel(felloe, project, "demo", "1.2.0")
    cell = cells(felloe, project, wheel, "--cpu", "oldest")[-1]
    assert (cell["cpu"], cell["coverage"], cell["ok"]) == ("qemu64", "emulated", True)
    assert [s["script"] for s in cell["scripts"]] == ["import demo"]


def test_an_import_that_fails_fails_the_cell(felloe, project):
    tree = make_tree(project / "bad", {"bad.py": "raise RuntimeError('no luck')\n"})
    run = ("package", tree, "--name", "bad", "--version", "1", "--epoch", EPOCH)
    run += ("--out", project / "wheels", "--json")
    wheel = felloe(*run).json()["data"]["wheel"]
    body = smoke(felloe, project, wheel, code=1).json()
    (finding,) = body["findings"]
    assert finding["code"] == "SMOKE001" and "no luck" in finding["message"]
    assert body["data"]["cells"][0]["ok"] is False


def test_nothing_to_import_is_not_run(felloe, project):
    tree = make_tree(project / "data", {"only_data/table.txt": "1 2 3\n"})
    run = ("package", tree, "--name", "only-data", "--version", "1", "--epoch", EPOCH)
    run += ("--out", project / "wheels", "--json")
    wheel = felloe(*run).json()["data"]["wheel"]
    (cell,) = cells(felloe, project, wheel, code=1)
    assert (cell["coverage"], cell["ok"]) == ("not run", None)
    assert cell["reason"] == "no smoke scripts, and nothing in the wheel to import"


@needs_qemu
def test_an_unknown_cpu_is_refused(felloe, project):
    wheel = make_wheel(felloe, project, "demo", "1.2.0")
    error = smoke(felloe, project, wheel, "--cpu", "nosuch", code=2).error()
    assert error["kind"] == "usage" and error["where"] == "nosuch"
    assert error["message"].endswith("unable to find CPU model 'nosuch'")
    assert "-cpu help" in error["hint"]
