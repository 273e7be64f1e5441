"""The committed stub is what the generator writes, is complete, and serves strict user code."""

import json
import pathlib
import re
import shutil
import subprocess
import sys

import treadle
from treadle import _C

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(treadle.__file__).parent


def test_stub_is_up_to_date():
    result = subprocess.run(
        [sys.executable, str(ROOT / "engine/python/stubgen.py"), str(PACKAGE.parent), "--check"],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr


def test_stub_knows_every_public_name():
    text = (PACKAGE / "_C.pyi").read_text()
    names = set(re.findall(r"^(?:def|class) (\w+)", text, re.M)) | set(
        re.findall(r"^(\w+): ", text, re.M)
    )
    missing = {n for n in dir(_C) if not n.startswith("_")} - names
    assert not missing
    body = text[text.index("class Tensor:") :]
    body = body[: re.search(r"^(?=@overload|def |class (?!Tensor))", body, re.M).start()]
    members = set(re.findall(r"^    def (\w+)", body, re.M)) | set(
        re.findall(r"^    (\w+): ", body, re.M)
    )
    missing = {n for n in dir(_C.Tensor) if not n.startswith("_")} - members
    assert not missing


def test_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()


def test_strict_example(tmp_path):
    shutil.copy(ROOT / "tests/engine/typing_example.py", tmp_path)
    config = tmp_path / "pyrightconfig.json"
    config.write_text(
        json.dumps(
            {
                "include": ["typing_example.py"],  # pyright takes relative paths only
                "extraPaths": [str(PACKAGE.parent)],
                "pythonVersion": "3.10",
            }
        )
    )
    result = subprocess.run(["pyright", "-p", str(config)], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_strict_example_runs():
    sys.path.insert(0, str(ROOT / "tests/engine"))
    import typing_example

    assert typing_example.train(3) > 0
    assert typing_example.shapes(treadle.randn(4, 4))[-1] > 0
