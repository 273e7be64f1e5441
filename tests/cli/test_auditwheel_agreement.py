"""Our platform tag against `auditwheel show`, on real wheels from the package index.

Needs the network: run with FELLOE_NETWORK_TESTS=1. Wheels are kept in FELLOE_WHEEL_CACHE if it is
set.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

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


@pytest.fixture(scope="session")
def wheel_cache(tmp_path_factory) -> pathlib.Path:
    if not os.environ.get("FELLOE_NETWORK_TESTS"):
        pytest.skip("downloads real wheels: set FELLOE_NETWORK_TESTS=1 to run it")
    folder = os.environ.get("FELLOE_WHEEL_CACHE")
    return pathlib.Path(folder) if folder else tmp_path_factory.mktemp("wheels")


def download(folder: pathlib.Path, spec: str, abi: str, platform: str) -> pathlib.Path:
    into = folder / f"{spec}-{abi}-{platform}"
    if not list(into.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
        command += ["--only-binary=:all:", "--python-version", "312", "--implementation", "cp"]
        command += ["--abi", abi, "--platform", platform, "-d", str(into), spec]
        subprocess.run(command, check=True, timeout=300)
    (wheel,) = into.glob("*.whl")
    return wheel


@pytest.mark.parametrize(("spec", "abi", "platform"), WHEELS)
def test_same_tag(felloe, wheel_cache, spec, abi, platform):
    pytest.importorskip("auditwheel")
    wheel = download(wheel_cache, spec, abi, platform)
    (data,) = felloe("audit", wheel, "--fail-on=error", "--json").json()["data"]["wheels"]
    command = [sys.executable, "-m", "auditwheel", "show", str(wheel)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    theirs = re.search(
        r'consistent with\s+the following platform tag:\s+"([^"]+)"', " ".join(shown.split())
    )
    assert theirs, shown
    assert data["platform"]["tag"] == theirs.group(1), shown
