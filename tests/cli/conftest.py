"""Tests that drive the built `felloe` command.

Run: FELLOE=build/dev/felloe python -m pytest tests/cli

To add tests of a subcommand: tests/cli/test_NAME.py using the fixture `felloe`; its result has
`code`, `out`, `err`, and `json()`. Inputs are built by the tests themselves.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import venv
from dataclasses import dataclass

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclass
class Result:
    """What one run of the command gave."""

    code: int
    out: str
    err: str

    def json(self) -> dict:
        """The one JSON object on standard output."""
        return json.loads(self.out)

    def error(self) -> dict:
        """The `error` of a failure envelope."""
        body = self.json()
        assert body["ok"] is False
        assert body["findings"] == []
        assert body["schema"].startswith("felloe/")
        return body["error"]


class Felloe:
    """The command. `felloe("check", path, code=1)` runs it and checks the exit code."""

    def __init__(self, path: pathlib.Path):
        self.path = path

    def __call__(self, *args, code: int | None = 0, cwd=None, env=None, timeout=60) -> Result:
        run = subprocess.run(
            [self.path, *map(str, args)],
            capture_output=True,
            check=False,
            text=True,
            cwd=cwd,
            env=None if env is None else {**os.environ, **env},
            timeout=timeout,
        )
        if code is not None:
            assert run.returncode == code, (
                f"exit code {run.returncode}, expected {code}\n{run.stdout}\n{run.stderr}"
            )
        return Result(run.returncode, run.stdout, run.stderr)


@pytest.fixture(scope="session")
def felloe() -> Felloe:
    path = pathlib.Path(os.environ.get("FELLOE", ROOT / "build/dev/felloe")).resolve()
    if not path.exists():
        pytest.fail(f"{path}: no such file; build felloe, or name it with FELLOE=PATH")
    return Felloe(path)


@pytest.fixture(scope="session")
def pip_python(tmp_path_factory) -> pathlib.Path:
    """The Python of one fresh environment with pip; tests uninstall what they install."""
    folder = tmp_path_factory.mktemp("pip") / "env"
    venv.EnvBuilder(with_pip=True).create(folder)
    return folder / "bin" / "python"


@pytest.fixture(scope="session")
def schema():
    """`schema("host", obj)` checks obj against docs/schema/host.schema.json."""

    def check(name: str, value: dict) -> None:
        text = (ROOT / f"docs/schema/{name}.schema.json").read_text()
        jsonschema.Draft202012Validator(json.loads(text)).validate(value)

    return check


def write_json(path: pathlib.Path, value) -> pathlib.Path:
    path.write_text(json.dumps(value))
    return path
