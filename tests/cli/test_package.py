"""`felloe package`: same tree, same bytes; valid by others' readers; true tags; clear refusals."""

import email.parser
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import packaging.metadata
import packaging.utils
import pytest
from wheels import EPOCH, make_tree, run, tool

PROJECT = {
    "name": "Demo.Pkg",
    "version": "1.2.0",
    "package": {
        "summary": "A demonstration",
        "description_file": "README.md",
        "license_expression": "Apache-2.0 AND (MIT OR BSD-3-Clause)",
        "license_files": ["LICENSE", "licenses/**"],
        "requires_python": ">=3.10",
        "requires_dist": ["leaf>=0.5"],
        "extras": {"Fast_Math": ["numpy>=1; python_version < '4'", "leaf"]},
        "author": "A. Author",
        "author_email": "a@example.org",
        "keywords": ["one", "two"],
        "classifiers": ["Programming Language :: Python :: 3"],
        "urls": {"Homepage": "https://example.org/demo"},
        "entry_points": {"demo": "demo_pkg:main"},
    },
    "targets": {
        "x86_64-cpu": {
            "arch": "x86_64",
            "accelerator": "cpu",
            "toolchain": "gcc",
            "python_abis": ["cp311"],
        }
    },
    "toolchains": {"gcc": {"kind": "system", "cc": "gcc", "cxx": "g++"}},
}

TREE = {
    "demo_pkg/__init__.py": "def main():\n    print('hello')\n",
    "demo_pkg/data/with, comma.txt": "x",
    "demo_pkg/tool.sh": "#!/bin/sh\necho hi\n",
    "demo_pkg/empty.py": "",
    "demo_pkg/\u00e4.txt": "umlaut",
}


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    make_tree(
        folder,
        {
            "felloe.json": json.dumps(PROJECT),
            "README.md": "# Demo\r\n\nText with \u00e4.\n",
            "LICENSE": "Apache\n",
            "licenses/part/NOTICE": "MIT\n",
        },
    )
    return folder


@pytest.fixture
def tree(tmp_path):
    return make_tree(tmp_path / "tree", TREE)


def pack(felloe, tree, *options, out=None, code=0, **more):
    out = out or tree.parent / "out"
    return felloe("package", tree, "--out", out, "--json", *options, code=code, **more)


def wheel_of(result) -> pathlib.Path:
    return pathlib.Path(result.json()["data"]["wheel"])


def simple(felloe, tree, *options, code=0, **more):
    named = ("--name", "demo", "--version", "1", "--epoch", EPOCH)
    return pack(felloe, tree, *named, *options, code=code, **more)


def from_project(felloe, tree, project, *options, **more):
    named = ("--project", project, "--target", "x86_64-cpu", "--epoch", EPOCH)
    return pack(felloe, tree, *named, *options, **more)


def test_the_same_tree_gives_the_same_bytes(felloe, tree, project, tmp_path):
    first = wheel_of(from_project(felloe, tree, project)).read_bytes()
    other = tmp_path / "elsewhere/copy"
    shutil.copytree(tree, other, copy_function=shutil.copyfile)
    for i, path in enumerate(sorted(other.rglob("*"), reverse=True)):
        if path.is_file():
            path.chmod((0o600, 0o755, 0o440, 0o664)[i % 4])
        os.utime(path, (i * 100000, i * 100000))
    make_tree(other, {"demo_pkg/__pycache__/x.cpython-311.pyc": b"bytecode"})
    (tmp_path / "temp").mkdir()
    environment = {"TZ": "Asia/Kolkata", "LC_ALL": "C.UTF-8", "TMPDIR": str(tmp_path / "temp")}
    old = os.umask(0o077)
    try:
        again = from_project(felloe, other, project, out=tmp_path / "out2", env=environment)
    finally:
        os.umask(old)
    assert wheel_of(again).read_bytes() == first
    assert again.json()["data"]["left_out"] == ["demo_pkg/__pycache__/x.cpython-311.pyc"]
    assert wheel_of(again).stat().st_mode & 0o777 == 0o644
    assert again.json()["data"]["sha256"] == hashlib.sha256(first).hexdigest()


def test_members_are_sorted_with_fixed_modes_and_times(felloe, tree, project):
    with zipfile.ZipFile(wheel_of(from_project(felloe, tree, project))) as wheel:
        assert wheel.testzip() is None
        names = wheel.namelist()
        info = "demo_pkg-1.2.0+cpu.dist-info"
        code = [n for n in names if not n.startswith(info)]
        assert names[: len(code)] == sorted(code, key=str.encode)
        assert sorted(code) == sorted(TREE)
        assert names[-1] == f"{info}/RECORD"
        assert f"{info}/licenses/licenses/part/NOTICE" in names
        for member in wheel.infolist():
            assert member.date_time == (2023, 11, 14, 22, 13, 20)
            assert member.external_attr >> 16 == (
                0o100755 if member.filename.endswith(".sh") else 0o100644
            )
            assert member.create_system == 3
            assert member.extra == b""
        record = wheel.read(f"{info}/RECORD").decode().splitlines()
        assert len(record) == len(names)
        assert record[-1] == f"{info}/RECORD,,"
        assert any(line.startswith('"demo_pkg/data/with, comma.txt",sha256=') for line in record)


@pytest.mark.parametrize(
    ("epoch", "stamp"),
    [("0", (1980, 1, 1, 0, 0, 0)), ("9999999999", (2107, 12, 31, 23, 59, 58))],
)
def test_the_time_stamp_is_clamped_to_what_zip_can_hold(felloe, tree, epoch, stamp):
    result = pack(felloe, tree, "--name", "demo", "--version", "1", "--epoch", epoch)
    with zipfile.ZipFile(wheel_of(result)) as wheel:
        assert {m.date_time for m in wheel.infolist()} == {stamp}


def test_source_date_epoch_comes_from_the_environment(felloe, tree, tmp_path):
    named = ("--name", "demo", "--version", "1")
    one = wheel_of(pack(felloe, tree, *named, "--epoch", EPOCH)).read_bytes()
    two = pack(felloe, tree, *named, out=tmp_path / "o2", env={"SOURCE_DATE_EPOCH": EPOCH})
    assert wheel_of(two).read_bytes() == one
    error = pack(felloe, tree, *named, env={"SOURCE_DATE_EPOCH": "today"}, code=2).error()
    assert error["where"] == "SOURCE_DATE_EPOCH"


def test_metadata_is_what_packaging_accepts(felloe, tree, project):
    with zipfile.ZipFile(wheel_of(from_project(felloe, tree, project))) as wheel:
        text = wheel.read("demo_pkg-1.2.0+cpu.dist-info/METADATA")
        entry_points = wheel.read("demo_pkg-1.2.0+cpu.dist-info/entry_points.txt").decode()
        tags = email.parser.BytesParser().parsebytes(
            wheel.read("demo_pkg-1.2.0+cpu.dist-info/WHEEL")
        )
    metadata = packaging.metadata.Metadata.from_email(text, validate=True)
    assert metadata.metadata_version == "2.4"
    assert metadata.name == "Demo.Pkg"
    assert str(metadata.version) == "1.2.0+cpu"
    assert metadata.license_expression == "Apache-2.0 AND (MIT OR BSD-3-Clause)"
    assert metadata.license_files == ["LICENSE", "licenses/part/NOTICE"]
    assert str(metadata.requires_python) == ">=3.10"
    assert metadata.author_email == "A. Author <a@example.org>"
    assert metadata.keywords == ["one", "two"]
    assert metadata.project_urls == {"Homepage": "https://example.org/demo"}
    assert metadata.provides_extra == ["fast-math"]
    assert [str(r) for r in metadata.requires_dist] == [
        "leaf>=0.5",
        'numpy>=1; python_version < "4" and extra == "fast-math"',
        'leaf; extra == "fast-math"',
    ]
    assert metadata.description == "# Demo\n\nText with \u00e4.\n"
    assert metadata.description_content_type.startswith("text/markdown")
    assert entry_points == "[console_scripts]\ndemo = demo_pkg:main\n"
    assert tags["Root-Is-Purelib"] == "true"
    assert tags.get_all("Tag") == ["py3-none-any"]
    assert tags["Wheel-Version"] == "1.0"


def test_a_build_number_is_in_the_name_and_in_wheel(felloe, tree, project):
    plain = wheel_of(from_project(felloe, tree, project))
    made = from_project(felloe, tree, project, "--build-number", "12")
    assert made.json()["data"]["build"] == 12
    wheel = wheel_of(made)
    assert wheel.name == "demo_pkg-1.2.0+cpu-12-py3-none-any.whl"
    assert packaging.utils.parse_wheel_filename(wheel.name)[2] == (12, "")
    with zipfile.ZipFile(plain) as one, zipfile.ZipFile(wheel) as other:
        assert one.namelist() == other.namelist()
        differ = [n.split("/")[1] for n in one.namelist() if one.read(n) != other.read(n)]
        text = other.read("demo_pkg-1.2.0+cpu.dist-info/WHEEL").decode()
    assert differ == ["WHEEL", "RECORD"] and text.endswith("Tag: py3-none-any\nBuild: 12\n")
    assert not felloe("audit", wheel, "--json").json()["findings"]
    assert felloe("inspect", wheel, "--json").json()["build"] == "12"
    from_project(felloe, tree, project, "--build-number", "0", code=2)


def test_others_can_read_it(felloe, tree, project, tmp_path):
    wheel = wheel_of(from_project(felloe, tree, project))
    run(sys.executable, "-m", "zipfile", "-t", wheel)
    run(sys.executable, "-m", "wheel", "unpack", wheel, "--dest", tmp_path / "unpacked")
    assert (tmp_path / "unpacked/demo_pkg-1.2.0+cpu/demo_pkg/empty.py").read_bytes() == b""
    body = felloe("inspect", wheel, "--json").json()
    assert body["name"] == "Demo.Pkg"
    assert body["tags"] == ["py3-none-any"]


def test_pip_and_uv_install_it(felloe, tree, pip_python):
    wheel = wheel_of(simple(felloe, tree))
    script = (pip_python, "-c", "import demo_pkg; demo_pkg.main()")
    run(pip_python, "-m", "pip", "--isolated", "install", "--no-deps", "--no-index", wheel)
    assert run(*script).stdout == "hello\n"
    run(pip_python, "-m", "pip", "--isolated", "check")
    run(pip_python, "-m", "pip", "--isolated", "uninstall", "-y", "demo")
    uv = (tool("uv"), "pip")
    offline = ("--python", pip_python, "--offline", "--no-cache")
    run(*uv, "install", *offline, "--no-deps", wheel)
    assert run(*script).stdout == "hello\n"
    run(*uv, "uninstall", *offline[:2], "demo")


@pytest.mark.parametrize(
    ("name", "version", "file"),
    [
        ("Foo.Bar--baz", "1.0-RC1", "foo_bar_baz-1.0rc1-py3-none-any.whl"),
        ("a", "v2.0.0+CU126", "a-2.0.0+cu126-py3-none-any.whl"),
        ("a", "1!1.0.post2.dev3", "a-1!1.0.post2.dev3-py3-none-any.whl"),
    ],
)
def test_file_names_are_normalised(felloe, tree, name, version, file):
    result = pack(felloe, tree, "--name", name, "--version", version)
    assert result.json()["data"]["file"] == file


def compile_so(path: pathlib.Path, source: str, *flags: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    compiler = shutil.which("gcc") or shutil.which("cc")
    assert compiler
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", path, *flags],
        input=source.encode(),
        check=True,
    )


# What tells a module from a library is PyInit_*; no Python headers are needed to make one.
MODULE = "extern void *PyModule_Create2(void *, int); void *PyInit__c(void) { return %s; }"


def test_code_decides_the_platform_tag(felloe, tree):
    compile_so(tree / "demo_pkg/libplain.so", "int f(void) { return 1; }", "-nostdlib")
    data = simple(felloe, tree).json()["data"]
    assert data["tags"][0].startswith("py3-none-manylinux")
    assert "cp3" not in data["file"]
    with zipfile.ZipFile(data["wheel"]) as wheel:
        assert b"Root-Is-Purelib: false" in wheel.read("demo-1.dist-info/WHEEL")
        assert wheel.getinfo("demo_pkg/libplain.so").external_attr >> 16 == 0o100755
    unknown = "extern int nowhere(void); int f(void) { return nowhere(); }"
    compile_so(tree / "demo_pkg/liblocal.so.9", unknown, "-nostdlib")
    (tree / "demo_pkg/liblocal.so.9").rename(tree.parent / "libelsewhere.so")
    compile_so(
        tree / "demo_pkg/libuser.so",
        "extern int f(void); int g(void) { return f(); }",
        *("-nostdlib", f"-L{tree.parent}", "-lelsewhere"),
    )
    data = simple(felloe, tree).json()["data"]
    assert data["tags"] == [f"py3-none-linux_{os.uname().machine}"]
    evidence = data["evidence"]["platform"]["evidence"]
    assert [e["kind"] for e in evidence] == ["library"]
    assert evidence[0]["module"] == "demo_pkg/libuser.so"


def suffix(abi: str) -> str:
    return ".abi3.so" if abi == "abi3" else f".cpython-{abi}-{os.uname().machine}-linux-gnu.so"


@pytest.mark.parametrize(
    ("abis", "python", "abi"),
    [
        (["311"], "cp311", "cp311"),
        (["310", "311"], "cp310.cp311", "cp310.cp311"),
        (["313t"], "cp313", "cp313t"),
        (["313", "313t"], "cp313", "cp313.cp313t"),
        (["abi3"], "cp32", "abi3"),
    ],
)
def test_modules_decide_the_python_tag(felloe, tree, abis, python, abi):
    for name in abis:
        compile_so(
            tree / f"demo_pkg/_c{suffix(name)}", MODULE % "PyModule_Create2(0, 3)", "-nostdlib"
        )
    file = simple(felloe, tree).json()["data"]["file"]
    assert file.startswith(f"demo-1-{python}-{abi}-manylinux")


def test_builds_up_to_an_abi3_floor_are_one_range(felloe, tree):
    newer = (
        "extern void *PyType_GetName(void *); extern void *PyType_GetModuleByDef(void *, void *);"
        "extern void *PyType_GetDict(void *); extern void *PyObject_Vectorcall(void *);"
    ) + MODULE % "PyObject_Vectorcall(0)"
    compile_so(tree / f"demo_pkg/_c{suffix('abi3')}", newer, "-nostdlib")
    data = simple(felloe, tree).json()["data"]
    assert data["file"].startswith("demo-1-cp312-abi3-")  # PyObject_Vectorcall: stable since 3.12
    assert data["evidence"]["python"]["abi3"]["demo_pkg/_c.abi3.so"]["symbol"] == (
        "PyObject_Vectorcall"
    )
    compile_so(tree / f"demo_pkg/_c{suffix('310')}", MODULE % 0, "-nostdlib")
    error = simple(felloe, tree, code=3).error()
    assert "3.10, 3.12 and later" in error["message"]
    compile_so(tree / f"demo_pkg/_c{suffix('311')}", MODULE % 0, "-nostdlib")
    assert simple(felloe, tree).json()["data"]["file"].startswith("demo-1-cp310-abi3-")


def test_given_tags_win(felloe, tree):
    options = ("--python-tag", "py3", "--abi-tag", "none", "--platform-tag", "win_amd64")
    assert simple(felloe, tree, *options).json()["data"]["file"] == "demo-1-py3-none-win_amd64.whl"
    error = simple(felloe, tree, "--platform-tag", "a-b", code=2).error()
    assert error["message"] == "not a tag: `a-b`"


def test_data_folders_pass_and_scripts_are_executable(felloe, tree):
    make_tree(tree, {"demo-1.data/scripts/run-demo": "print(1)\n"})
    with zipfile.ZipFile(wheel_of(simple(felloe, tree))) as wheel:
        assert wheel.getinfo("demo-1.data/scripts/run-demo").external_attr >> 16 == 0o100755
    make_tree(tree, {"other-2.data/scripts/x": "1"})
    assert "expected the data folder" in simple(felloe, tree, code=3).error()["message"]


def refusals():
    def link(target):
        return lambda tree: (tree / "demo_pkg/link").symlink_to(target)

    def write(name, content=b"x"):
        return lambda tree: make_tree(tree, {name: content})

    def empty(tree):
        shutil.rmtree(tree)
        tree.mkdir()

    def only_bytecode(tree):
        empty(tree)
        make_tree(tree, {"a/__pycache__/b.pyc": b""})

    return {
        "missing": (shutil.rmtree, "not a folder"),
        "empty": (empty, "the tree holds no files"),
        "bytecode": (only_bytecode, "no files but bytecode"),
        "link out": (link("/etc/passwd"), "leads out of the tree"),
        "link to folder": (link("data"), "a symbolic link to a folder"),
        "dead link": (link("nothing"), "leads nowhere"),
        "fifo": (lambda tree: os.mkfifo(tree / "demo_pkg/pipe"), "neither a file nor a folder"),
        "case": (write("demo_pkg/EMPTY.py"), "one file on macOS and Windows"),
        "backslash": (write("demo_pkg/a\\b"), "0x5c"),
        "newline": (write("demo_pkg/a\nb"), "0x0a"),
        "dist-info": (write("demo-1.dist-info/METADATA"), "which felloe writes itself"),
        "data scheme": (write("demo-1.data/bin/x"), "none of the folders that installers know"),
        "truncated elf": (write("demo_pkg/a.so", b"\x7fELF\x02\x01\x01"), ""),
        "static library": (write("demo_pkg/a.a", b"!<arch>\n"), "no ELF file"),
    }


@pytest.mark.parametrize("name", refusals())
def test_bad_trees_are_refused(felloe, tree, name):
    spoil, message = refusals()[name]
    spoil(tree)
    error = simple(felloe, tree, code=3).error()
    assert message in error["message"]
    assert str(tree) in error["where"]
    assert not list((tree.parent / "out").glob("*"))


def test_a_name_that_is_not_utf8_is_refused(felloe, tree):
    (pathlib.Path(os.fsdecode(os.fsencode(tree) + b"/demo_pkg/\xff"))).write_text("x")
    assert "not UTF-8" in simple(felloe, tree, code=3).error()["message"]


def test_case_collisions_are_fine_where_only_linux_goes(felloe, tree):
    make_tree(tree, {"demo_pkg/EMPTY.py": ""})
    compile_so(tree / "demo_pkg/libplain.so", "int f(void) { return 1; }", "-nostdlib")
    simple(felloe, tree)


def test_links_inside_the_tree_become_files(felloe, tree):
    (tree / "demo_pkg/alias.py").symlink_to("__init__.py")
    with zipfile.ZipFile(wheel_of(simple(felloe, tree))) as wheel:
        assert wheel.read("demo_pkg/alias.py") == wheel.read("demo_pkg/__init__.py")
        assert wheel.getinfo("demo_pkg/alias.py").external_attr >> 16 == 0o100644


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("license_expression", "Apache-2.0 OR", "not an SPDX expression"),
        ("license_files", ["COPYING*"], "no file matches `COPYING*`"),
        ("license_files", ["../LICENSE"], "may not leave the project"),
        ("requires_python", "3.10", "not a version specifier"),
        ("requires_dist", ["a b c"], "not a set of versions"),
        ("requires_dist", ["!"], "not a requirement"),
        ("summary", "two\nLicense: lines", "expected one line"),
        ("entry_points", {"demo": "no-colon"}, "not a console script"),
        ("classifiers", ["License :: OSI Approved"], "beside a license expression"),
        ("urls", {"x" * 33: "https://example.org"}, "not a label"),
    ],
)
def test_metadata_that_an_index_would_refuse(felloe, tree, project, key, value, message):
    changed = {**PROJECT, "package": {**PROJECT["package"], key: value}}
    (project / "felloe.json").write_text(json.dumps(changed))
    error = from_project(felloe, tree, project, code=2).error()
    assert message in error["message"]
    assert key in error["where"]


@pytest.mark.parametrize(
    ("name", "version"), [("-x", "1"), ("x", "one"), ("x y", "1"), ("x", "1+")]
)
def test_bad_names_and_versions(felloe, tree, name, version):
    options = (f"--name={name}", f"--version={version}")
    assert "not a" in pack(felloe, tree, *options, code=2).error()["message"]


def mount(kind: str, folder: pathlib.Path, *options: str):
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", kind, *options, "tmpfs", folder], capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs here: {done.stderr.decode().strip()}")


def unmount(folder: pathlib.Path):
    subprocess.run(["umount", folder], check=True)


def test_read_only_output(felloe, tree, tmp_path):
    out = tmp_path / "readonly"
    mount("tmpfs", out, "-o", "ro")
    try:
        error = simple(felloe, tree, out=out, code=4).error()
        assert "Read-only file system" in error["message"]
        assert error["hint"] == "the file system is read-only: choose another place"
    finally:
        unmount(out)


def test_output_folder_without_permission(felloe, tree, tmp_path):
    out = tmp_path / "locked"
    out.mkdir(mode=0o500)
    if os.geteuid() == 0:  # root may write everywhere, unless it gives that up
        bare = tmp_path / "felloe-as-a-user"
        drop = "setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-all"
        bare.write_text(f'#!/bin/sh\nexec {drop} "{felloe.path}" "$@"\n')
        bare.chmod(0o755)
        felloe = type(felloe)(bare)
    error = simple(felloe, tree, out=out, code=4).error()
    assert "Permission denied" in error["message"]


def test_full_disk_leaves_nothing(felloe, tree, tmp_path):
    make_tree(tree, {"demo_pkg/noise.bin": os.urandom(1 << 20)})
    out = tmp_path / "small"
    mount("tmpfs", out, "-o", "size=256k")
    try:
        error = simple(felloe, tree, out=out, code=4).error()
        assert "No space left on device" in error["message"]
        assert "the disk is full" in error["hint"]
        assert list(out.iterdir()) == []
        made = wheel_of(simple(felloe, tree))
        index = felloe("index", made, "--out", out, "--json", code=4).error()
        assert "No space left on device" in index["message"]
        assert not [p for p in out.rglob("*") if p.suffix in (".whl", ".tmp", ".html")]
    finally:
        unmount(out)


def test_a_killed_run_leaves_no_wheel_and_its_temporary_file_goes(felloe, tree, tmp_path):
    make_tree(tree, {"demo_pkg/noise.bin": os.urandom(24 << 20)})
    out = tmp_path / "out"
    argv = ["package", tree, "--name", "demo", "--version", "1", "--epoch", EPOCH, "--out", out]
    for delay in (0.15, 0.3, 0.6):
        process = subprocess.Popen([felloe.path, *argv], stdout=subprocess.DEVNULL)
        try:
            process.wait(timeout=delay)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            assert process.returncode == -9
        for wheel in out.glob("*.whl"):  # whole, if it is there at all
            assert zipfile.ZipFile(wheel).testzip() is None
    felloe(*argv)
    assert [p.name for p in out.iterdir()] == ["demo-1-py3-none-any.whl"]
