"""`felloe index` against a real nginx, pip and uv, and what --verify finds."""

import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

import pytest
from conftest import ROOT
from wheels import EPOCH, Nginx, make_wheel, run, tool

JSON_TYPE = "application/vnd.pypi.simple.v1+json"


def publish(felloe, out, *wheels, **options):
    return felloe("index", *wheels, "--out", out, "--epoch", EPOCH, "--json", **options)


def findings(felloe, out, code=0):
    return felloe("index", "--verify", out, "--json", code=code).json()["findings"]


def codes(felloe, out, code=0):
    return sorted({f["code"] for f in findings(felloe, out, code)})


def snapshot(folder: pathlib.Path) -> dict:
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


@pytest.fixture(scope="module")
def wheels(felloe, tmp_path_factory):
    """Three releases of one project, with a dependency whose metadata decides."""
    folder = tmp_path_factory.mktemp("wheels")
    made = [
        make_wheel(felloe, folder, "Demo.Pkg", version)
        for version in ("1.0", "1.1+cpu", "2.0.dev20261130+cpu")
    ]
    made.append(make_wheel(felloe, folder, "leaf", "0.5"))
    return made


@pytest.fixture
def out(felloe, wheels, tmp_path):
    publish(felloe, tmp_path / "index", *wheels)
    return tmp_path / "index"


@pytest.fixture(scope="module")
def server(felloe, wheels, tmp_path_factory):
    work = tmp_path_factory.mktemp("nginx")
    publish(felloe, work / "index", *wheels)
    nginx = Nginx(work / "index", work / "server", ROOT / "docs/index.md")
    yield nginx
    nginx.stop()


def get(url, accept):
    request = urllib.request.Request(url, headers={"Accept": accept})
    with urllib.request.urlopen(request) as answer:
        return answer.headers["Content-Type"], answer.read()


def test_nginx_serves_json_to_those_who_ask(server):
    for path in ("", "demo-pkg/"):
        kind, body = get(server.url + path, f"{JSON_TYPE}, text/html; q=0.1")
        assert kind.startswith(JSON_TYPE)
        assert json.loads(body)["meta"]["api-version"] == "1.1"
        kind, body = get(server.url + path, "text/html")
        assert kind.startswith("text/html")
        assert body.startswith(b"<!DOCTYPE html>")
    kind, _ = get(server.url + "demo-pkg/demo_pkg-1.0-py3-none-any.whl.metadata", "*/*")
    assert kind == "application/octet-stream"


@pytest.mark.parametrize(
    ("wanted", "version"),
    [
        (["demo-pkg"], "1.1+cpu"),
        (["Demo_Pkg==1.0"], "1.0"),
        (["demo.pkg==1.1+cpu"], "1.1+cpu"),
        (["demo-pkg==1.1"], "1.1+cpu"),
        (["--pre", "demo-pkg"], "2.0.dev20261130+cpu"),
    ],
)
def test_pip_and_uv_install(server, pip_python, tmp_path, wanted, version):
    show = (pip_python, "-c", "import demo_pkg; print(demo_pkg.version)")
    pip = (pip_python, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "--isolated")
    run(*pip, "install", "--force-reinstall", "--index-url", server.url, *wanted)
    assert run(*show).stdout.strip() == version
    run(*pip, "uninstall", "-y", "demo-pkg")
    uv_wanted = ["--prerelease=allow" if w == "--pre" else w for w in wanted]
    environment = {**os.environ, "UV_CACHE_DIR": str(tmp_path / "cache"), "UV_NO_CONFIG": "1"}
    run(
        *(
            tool("uv"),
            "pip",
            "install",
            "--python",
            pip_python,
            "--index-url",
            server.url,
            *uv_wanted,
        ),
        env=environment,
    )
    assert run(*show).stdout.strip() == version
    run(*pip, "uninstall", "-y", "demo-pkg")


def test_metadata_is_fetched_instead_of_wheels(server, pip_python, tmp_path):
    before = len(server.requests())
    environment = {**os.environ, "UV_CACHE_DIR": str(tmp_path / "cache"), "UV_NO_CONFIG": "1"}
    requirements = tmp_path / "in.txt"
    requirements.write_text("demo-pkg\n")
    run(
        *(tool("uv"), "pip", "compile", requirements, "--python", pip_python),
        *("--index-url", server.url, "--generate-hashes"),
        env=environment,
    )
    log = server.requests()[before:]
    assert '.whl.metadata HTTP/1.1" 200' in log
    assert ".whl HTTP" not in log


def test_pip_uses_the_metadata_file(server, pip_python):
    # The pinned pip of ours, on pip_python: the one that comes with it may be older than 23.2,
    # which was the first to read core-metadata from JSON pages.
    before = len(server.requests())
    run(
        *(sys.executable, "-m", "pip", "--python", pip_python, "--no-cache-dir", "--isolated"),
        *("install", "--dry-run"),
        *("--ignore-installed", "--index-url", server.url, "leaf"),
    )
    log = server.requests()[before:]
    assert "leaf-0.5-py3-none-any.whl.metadata" in log


def test_pip_download_with_hash(server, pip_python, wheels, tmp_path):
    digest = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
    pip = (pip_python, "-m", "pip", "--no-cache-dir", "--isolated", "download", "--no-deps")
    for name, value, code in (("good", digest, 0), ("bad", "0" * 64, 1)):
        requirements = tmp_path / f"{name}.txt"
        requirements.write_text(f"demo-pkg==1.0 --hash=sha256:{value}\n")
        done = run(
            *(*pip, "--require-hashes", "-r", requirements, "-d", tmp_path / name),
            *("--index-url", server.url),
            check=False,
        )
        assert done.returncode == code, done.stderr
    assert (tmp_path / "good" / wheels[0].name).read_bytes() == wheels[0].read_bytes()


def test_index_works_from_a_file_url_in_another_place(felloe, out, pip_python, tmp_path):
    shutil.move(out / "simple", tmp_path / "moved")
    target = tmp_path / "target"
    run(
        *(pip_python, "-m", "pip", "--no-cache-dir", "--isolated", "install", "--target", target),
        # pip 23.2 compares METADATA's name with the requirement's as written, not normalised
        *("--index-url", (tmp_path / "moved").as_uri(), "Demo.Pkg==1.1+cpu"),
    )
    assert (target / "demo_pkg/__init__.py").exists()


def test_pages_say_what_the_wheels_are(out, wheels):
    page = json.loads((out / "simple/demo-pkg/index.json").read_text())
    assert page["versions"] == ["1.0", "1.1+cpu", "2.0.dev20261130+cpu"]
    for file, wheel in zip(page["files"], wheels, strict=False):
        assert file["filename"] == wheel.name
        assert file["hashes"]["sha256"] == hashlib.sha256(wheel.read_bytes()).hexdigest()
        assert file["size"] == wheel.stat().st_size
        assert file["upload-time"] == "2023-11-14T22:13:20.000000Z"
        metadata = (out / "simple/demo-pkg" / f"{wheel.name}.metadata").read_bytes()
        assert file["core-metadata"]["sha256"] == hashlib.sha256(metadata).hexdigest()
        # pip 23.0.1 dies of this key when it holds an object (PEP 714)
        assert "dist-info-metadata" not in file
    html = (out / "simple/demo-pkg/index.html").read_text()
    assert 'href="demo_pkg-1.1%2Bcpu-py3-none-any.whl#sha256=' in html
    assert html.count("data-core-metadata=") == html.count("data-dist-info-metadata=") == 3
    root = json.loads((out / "simple/index.json").read_text())
    assert [p["name"] for p in root["projects"]] == ["demo-pkg", "leaf"]


def test_publishing_again_changes_nothing(felloe, out, wheels):
    before = snapshot(out)
    times = {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.is_file()}
    body = publish(felloe, out, *wheels).json()
    assert not any(f["added"] for f in body["data"]["files"])
    assert snapshot(out) == before
    assert {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.is_file()} == times


def test_order_of_publishing_does_not_matter(felloe, out, wheels, tmp_path):
    for wheel in reversed(wheels):
        publish(felloe, tmp_path / "other", wheel)
    assert snapshot(tmp_path / "other") == snapshot(out)


def test_old_wheels_stay(felloe, out, tmp_path):
    publish(felloe, out, make_wheel(felloe, tmp_path, "demo-pkg", "3.0"))
    page = json.loads((out / "simple/demo-pkg/index.json").read_text())
    assert page["versions"] == ["1.0", "1.1+cpu", "2.0.dev20261130+cpu", "3.0"]


def test_a_published_name_never_gets_other_bytes(felloe, out, wheels, tmp_path):
    before = snapshot(out)
    other = make_wheel(felloe, tmp_path, "Demo.Pkg", "1.0", text="other")
    error = publish(felloe, out, other, code=3).error()
    for wheel in (wheels[0], other):
        assert hashlib.sha256(wheel.read_bytes()).hexdigest() in error["message"]
    assert "raise the version" in error["hint"]
    assert snapshot(out) == before


def test_nothing_is_published_if_one_wheel_is_bad(felloe, out, tmp_path):
    before = snapshot(out)
    good = make_wheel(felloe, tmp_path, "demo-pkg", "4.0")
    bad = tmp_path / "demo_pkg-5.0-py3-none-any.whl"
    bad.write_bytes(good.read_bytes()[:-40])
    assert str(bad.name) in publish(felloe, out, good, bad, code=3).error()["where"]
    renamed = tmp_path / "demo_pkg-6.0-py3-none-any.whl"
    shutil.copy(good, renamed)
    publish(felloe, out, good, renamed, code=3)
    assert snapshot(out) == before


def test_yank_and_unyank(felloe, out):
    page = out / "simple/demo-pkg/index.html"
    file = "demo_pkg-1.1+cpu-py3-none-any.whl"
    felloe("index", "--out", out, "--yank", f'{file}=broken <on> "old" CPUs')
    assert 'data-yanked="broken &lt;on&gt; &quot;old&quot; CPUs"' in page.read_text()
    assert codes(felloe, out) == []
    listed = json.loads((out / "simple/demo-pkg/index.json").read_text())["files"]
    assert [f["yanked"] for f in listed] == [False, 'broken <on> "old" CPUs', False]
    felloe("index", "--out", out, "--unyank", file)
    assert "data-yanked" not in page.read_text()
    error = felloe(
        "index", "--out", out, "--yank", "demo_pkg-9-py3-none-any.whl", "--json", code=2
    ).error()
    assert error["message"] == "the index has no such file"


def test_base_url_makes_absolute_links(felloe, out, wheels):
    publish(felloe, out, wheels[3], "--base-url", "https://example.org/simple")
    html = (out / "simple/leaf/index.html").read_text()
    assert 'href="https://example.org/simple/leaf/leaf-0.5-py3-none-any.whl#sha256=' in html
    assert codes(felloe, out) == []


def test_nothing_to_do_is_a_usage_error(felloe, tmp_path):
    assert (
        "nothing to do" in felloe("index", "--out", tmp_path, "--json", code=2).error()["message"]
    )
    empty = tmp_path / "empty"
    empty.mkdir()
    error = felloe("index", empty, "--out", tmp_path / "o", "--json", code=3).error()
    assert error["message"] == "the folder holds no wheels"


def damage_cases():
    folder = "simple/demo-pkg"
    wheel = f"{folder}/demo_pkg-1.0-py3-none-any.whl"

    def append(path):
        return lambda out: (out / path).open("ab").write(b"x")

    def edit(path, old, new):
        def change(out):
            text = (out / path).read_text()
            assert old in text
            (out / path).write_text(text.replace(old, new))

        return change

    return {
        "IDX001 page missing": (lambda out: (out / folder / "index.json").unlink(), "IDX001", 1),
        "IDX001 page damaged": (
            lambda out: (out / folder / "index.json").write_text('{"name": 1}'),
            "IDX001",
            1,
        ),
        "IDX001 html missing": (lambda out: (out / folder / "index.html").unlink(), "IDX001", 0),
        "IDX002 wheel missing": (lambda out: (out / wheel).unlink(), "IDX002", 1),
        "IDX002 link leads out": (
            edit(f"{folder}/index.json", '"url": "demo_pkg-1.0', '"url": "../leaf/demo_pkg-1.0'),
            "IDX002",
            1,
        ),
        "IDX003 wheel changed": (append(wheel), "IDX003", 1),
        "IDX004 metadata changed": (append(f"{wheel}.metadata"), "IDX004", 1),
        "IDX004 metadata missing": (lambda out: (out / f"{wheel}.metadata").unlink(), "IDX004", 1),
        "IDX005 stray file": (
            lambda out: (out / folder / ".x.whl.12.0.tmp").write_text("half"),
            "IDX005",
            0,
        ),
        "IDX006 html says else": (edit(f"{folder}/index.html", "</h1>", "!</h1>"), "IDX006", 0),
        "IDX007 root page": (edit("simple/index.html", "leaf", "loaf"), "IDX007", 1),
        "IDX008 folder name": (
            lambda out: (out / "simple/leaf").rename(out / "simple/Leaf"),
            "IDX008",
            1,
        ),
    }


@pytest.mark.parametrize("name", damage_cases())
def test_verify_finds_damage(felloe, out, name):
    damage, code, exit_code = damage_cases()[name]
    assert codes(felloe, out) == []
    damage(out)
    assert code in codes(felloe, out, exit_code)


def test_publishing_again_repairs(felloe, out, wheels):
    before = snapshot(out)
    folder = out / "simple/demo-pkg"
    (folder / wheels[0].name).write_bytes(b"rotten")
    (folder / f"{wheels[1].name}.metadata").unlink()
    (folder / "index.html").unlink()
    (folder / ".demo.whl.999999999.0.tmp").write_text("half")
    (out / "simple/index.json").write_text("{")
    publish(felloe, out, *wheels)
    assert snapshot(out) == before


def test_kill_at_any_moment_leaves_a_sound_index(felloe, wheels, tmp_path):
    out = tmp_path / "index"
    publish(felloe, tmp_path / "whole", *wheels)
    killed = 0
    for step in range(30):
        process = subprocess.Popen(
            [felloe.path, "index", *wheels, "--out", out, "--epoch", EPOCH],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(step * 0.001)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        if (out / "simple").exists():
            bad = [f for f in findings(felloe, out) if f["severity"] == "error"]
            assert bad == []
        if step % 3 == 0:
            shutil.rmtree(out, ignore_errors=True)
    assert killed > 0
    publish(felloe, out, *wheels)
    assert codes(felloe, out) == []
    assert snapshot(out) == snapshot(tmp_path / "whole")


def test_writers_wait_for_each_other(felloe, tmp_path):
    made = [make_wheel(felloe, tmp_path, "many", f"1.{i}") for i in range(6)]
    argv = [felloe.path, "index", "--out", tmp_path / "index", "--epoch", EPOCH]
    running = [subprocess.Popen([*argv, wheel], stdout=subprocess.DEVNULL) for wheel in made]
    assert [process.wait() for process in running] == [0] * 6
    page = json.loads((tmp_path / "index/simple/many/index.json").read_text())
    assert page["versions"] == [f"1.{i}" for i in range(6)]
