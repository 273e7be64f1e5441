"""The install component that wheels are packed from: the package, whole, relocatable, no more."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FELLOE_BUILD_DIR", ROOT / "build" / "dev"))

pytestmark = pytest.mark.skipif(
    not (BUILD / "CMakeCache.txt").exists() or not shutil.which("cmake"),
    reason="needs the build tree and cmake",
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("tree")
    subprocess.run(
        ["cmake", "--install", BUILD, "--component", "wheel", "--prefix", prefix],
        check=True,
        capture_output=True,
    )
    return prefix


def test_contents(tree):
    files = {str(p.relative_to(tree)) for p in tree.rglob("*") if not p.is_dir()}
    assert all(f.startswith("treadle/") for f in files)
    assert {
        "treadle/__init__.py",
        "treadle/_version.py",
        "treadle/_C.pyi",
        "treadle/py.typed",
        "treadle/LICENSE",
        "treadle/THIRD_PARTY_NOTICES.txt",
    } <= files
    source = ROOT / "engine/python/treadle"
    assert {f"treadle/{p.relative_to(source)}" for p in source.rglob("*.py")} <= files
    binaries = sorted(f for f in files if ".so" in f)
    engine = [f for f in binaries if re.fullmatch(r"treadle/libtreadle\.so\.\d+", f)]
    modules = [
        f for f in binaries if re.fullmatch(r"treadle/_C\.(abi3|cpython-3\d+-[\w-]+)\.so", f)
    ]
    assert len(engine) == 1 and modules
    assert set(binaries) - {*engine, *modules} <= {"treadle/.libs/libscipy_openblas.so"}
    assert not [p for p in tree.rglob("*") if p.is_symlink()], "wheels hold no links"


def test_modules_find_the_engine_beside_them(tree):
    for module in tree.glob("treadle/_C.*.so"):
        dynamic = subprocess.run(
            ["readelf", "-d", module], capture_output=True, text=True, check=True
        ).stdout
        assert re.search(r"R(UN)?PATH.*\[\$ORIGIN\]", dynamic)
        assert re.search(r"NEEDED.*\[libtreadle\.so\.\d+\]", dynamic)
        assert str(BUILD) not in dynamic


def test_imports_from_anywhere(tree, tmp_path):
    moved = tmp_path / "site"
    shutil.copytree(tree, moved)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    for script in sorted((ROOT / "engine/smoke").glob("*.py")):
        result = subprocess.run(
            [sys.executable, script],
            env={**environment, "PYTHONPATH": str(moved)},
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        assert "checked" in result.stdout
