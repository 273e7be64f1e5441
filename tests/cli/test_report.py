"""The nightly's page in a real browser: headless Chromium, light and dark, no request leaves it."""

from __future__ import annotations

import pathlib
import shutil
import struct
import subprocess
import zlib

import pytest
from test_nightly import DATE, copy_tiny

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def chromium(tmp: pathlib.Path, *options) -> subprocess.CompletedProcess:
    assert CHROMIUM, "chromium is not installed; ci/setup test installs it"
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    command += ["--disable-background-networking", f"--user-data-dir={tmp}/profile"]
    command += map(str, options)
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def page(felloe, tmp_path_factory) -> pathlib.Path:
    project = copy_tiny(tmp_path_factory.mktemp("report") / "tiny")
    felloe("nightly", "--project", project, "--nightly-date", DATE, timeout=300)
    return project / "dist/report/index.html"


def corner(png: pathlib.Path) -> tuple[int, int, int]:
    """The colour of the top left pixel. A filter leaves the first one as it is."""
    data = png.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    position, pixels = 8, b""
    while position < len(data):
        (size,) = struct.unpack(">I", data[position : position + 4])
        kind = data[position + 4 : position + 8]
        if kind == b"IDAT":
            pixels += data[position + 8 : position + 8 + size]
        position += 12 + size
    raw = zlib.decompressobj().decompress(pixels, 4)
    return raw[1], raw[2], raw[3]


def test_it_opens_and_shows_the_wheel(page, tmp_path):
    run = chromium(tmp_path, "--dump-dom", page.as_uri())
    assert run.returncode == 0, run.stderr
    dom = run.stdout
    for words in (
        "tiny-felloe",
        "pip install",
        "passes, executed",
        "passes, emulated",
        "Findings (0)",
    ):
        assert words in dom
    assert dom.count("<table") == 2 and dom.count("<caption") == 2 and 'scope="col"' in dom
    assert "<h1>" in dom and "<main>" in dom


@pytest.mark.parametrize("dark", [False, True])
def test_it_follows_the_readers_light_or_dark_setting(page, tmp_path, dark):
    shot = tmp_path / "page.png"
    options = [f"--screenshot={shot}", "--window-size=900,1400", "--hide-scrollbars"]
    options += ["--blink-settings=preferredColorScheme=0"] if dark else []
    run = chromium(tmp_path, *options, page.as_uri())
    assert shot.exists(), run.stderr
    brightness = sum(corner(shot)) / 3
    assert brightness < 60 if dark else brightness > 200


def test_no_request_leaves_the_page(page, tmp_path):
    log = tmp_path / "net.json"
    chromium(tmp_path, f"--log-net-log={log}", "--dump-dom", page.as_uri())
    text = page.read_text()
    assert (
        "http" not in text.replace("http-equiv", "")
        and "src=" not in text
        and "<script" not in text
    )
