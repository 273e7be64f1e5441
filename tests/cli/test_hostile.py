"""Inputs made to do harm: names that steer the terminal, pipes that never end, names of 64 kB.

To add one: build it with `wheel_files`, run the command with a `timeout`, and check the exit code
and that the message says what to do.
"""

import json
import os
import subprocess

import pytest
from wheel_files import EXTENSION, METADATA, make_elf, make_wheel

NASTY = "a\x1b[31mb\x07\x7f\x9b2J\u202e"  # C0, DEL, C1 and a bidirectional control


def steering(text: str) -> list[str]:
    """The characters in `text` that a terminal acts upon."""
    return [c for c in text if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or c == "\u202e"]


@pytest.fixture(params=["member", "needed", "metadata", "file"])
def nasty_wheel(request, tmp_path):
    if request.param == "member":
        return make_wheel(tmp_path, {f"demo/{NASTY}.py": b""})
    if request.param == "needed":
        elf = make_elf(
            needed=(NASTY + ".so",), versions=((NASTY + ".so", NASTY + "_1"),), runpath=NASTY
        )
        return make_wheel(tmp_path, {EXTENSION: elf})
    if request.param == "metadata":
        return make_wheel(
            tmp_path, metadata=METADATA.replace("demo", NASTY) + f"Requires-Python: {NASTY}\n"
        )
    path = tmp_path / f"{NASTY}.whl"
    path.write_bytes(b"no zip")
    return path


@pytest.mark.parametrize("command", ["inspect", "audit", "check"])
@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_names_do_not_steer_the_terminal(felloe, nasty_wheel, command, flags):
    result = felloe(command, nasty_wheel, *flags, code=None)
    assert result.code in (0, 1, 3)
    assert steering(result.out + result.err) == []


def test_json_still_holds_the_true_name(felloe, tmp_path):
    metadata = METADATA + "Requires-Python: >=3\x7f\x9b\u202e\n"
    facts = felloe("inspect", make_wheel(tmp_path, metadata=metadata), "--json").json()
    assert facts["requires_python"] == ">=3\x7f\x9b\u202e"


def test_arguments_do_not_steer_the_terminal(felloe):
    for args in ((NASTY,), ("inspect", f"--{NASTY}"), ("inspect", f"/{NASTY}\nforged: line")):
        result = felloe(*args, code=None)
        assert result.code in (2, 3)
        assert steering(result.err) == []
        assert "\nforged" not in result.err


def test_names_that_are_not_utf8_are_printed_as_such(felloe, tmp_path):
    path = make_wheel(tmp_path, {"demo/XX.py": b""})
    path.write_bytes(path.read_bytes().replace(b"demo/XX.py", b"demo/\xff\xfe.py"))
    assert r"demo/\xff\xfe.py" in felloe("inspect", path, code=3).err


@pytest.mark.parametrize(
    "args",
    [
        ("inspect", "FIFO.whl"),
        ("audit", "FIFO.whl"),
        ("check", "FIFO.whl"),
        ("check", "FIFO.json"),
        ("index", "--out", "index", "FIFO.whl"),
        ("matrix", "--project", "FIFO"),
        ("check", "--host", "FIFO", "x.whl"),
    ],
    ids=" ".join,
)
def test_a_pipe_without_a_writer_does_not_hang(felloe, tmp_path, args):
    name = next(a for a in args if a.startswith("FIFO"))
    os.mkfifo(tmp_path / name)
    result = felloe(*args, code=None, cwd=tmp_path, timeout=20)
    assert result.code in (2, 3)
    assert name in result.err
    assert "\nhint: " in result.err


def test_facts_can_come_through_a_pipe(felloe, tmp_path):
    """What `felloe check --host <(felloe probe --json)` of a shell does."""
    host = felloe("probe", "--json").out
    wheel = make_wheel(tmp_path, tag="py3-none-any")
    read, write = os.pipe()
    with subprocess.Popen(
        [felloe.path, "check", "--json", "--host", f"/dev/fd/{read}", wheel],
        pass_fds=[read],
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        os.close(read)
        with os.fdopen(write, "w") as pipe:
            pipe.write(host)
        body = json.loads(run.communicate(timeout=60)[0])
    assert body["verdicts"][0]["wheel"] == wheel.name


def test_deep_names_take_no_memory(felloe, tmp_path):
    """32000 folders in a name of 64 kB: kept one by one, they would take a gigabyte."""
    deep = "demo/" + "a/" * 30000
    path = make_wheel(tmp_path, {f"{deep}{i}.py": b"" for i in range(20)})
    # Not by a limit on address space, of which AddressSanitizer takes terabytes.
    run = subprocess.Popen([felloe.path, "audit", path], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    assert run.returncode in (0, 1)
    assert usage.ru_maxrss < 600 << 10  # kB


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 1}', "[" * 1000, '{"a": "\xff"}'])
def test_bad_facts_say_what_to_do(felloe, tmp_path, text):
    path = tmp_path / "host.json"
    path.write_bytes(text.encode("latin1"))
    wheel = make_wheel(tmp_path)
    error = felloe("check", "--json", "--host", path, wheel, code=3).error()
    assert error["where"].startswith(str(path))
    assert error["hint"]


def test_devices_and_long_names_say_what_to_do(felloe):
    for path in ("/dev/zero", "/dev/null", "A" * 5000 + ".whl"):
        error = felloe("inspect", "--json", path, code=3).error()
        assert error["where"] == path
        assert error["hint"]


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_an_error_is_told_although_standard_output_is_full(felloe, flags):
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [felloe.path, "inspect", "/nowhere.whl", *flags],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            text=True,
        )
    assert run.returncode == 3
    assert run.stderr.startswith("error: /nowhere.whl: ")


def test_closed_streams_do_not_become_files(felloe, tmp_path):
    """Else the first file opened gets number 1 or 2, and the messages."""
    wheel = make_wheel(tmp_path, tag="py3-none-any")
    run = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"]
        + [felloe.path, "index", "--out", tmp_path / "index", wheel],
        check=False,
    )
    assert run.returncode == 4
    felloe("index", "--verify", tmp_path / "index")
    assert (tmp_path / "index" / ".index.lock").read_bytes() == b""


@pytest.mark.parametrize(
    "args",
    [
        ("index", "--out", "", "x.whl"),
        ("inspect", ""),
        ("build", "--target", ""),
        ("matrix", "--project="),
    ],
)
def test_empty_values_are_refused(felloe, tmp_path, args):
    result = felloe(*args, "--json", code=2, cwd=tmp_path)
    assert result.json()["schema"] == f"felloe/{args[0]}/1"
    assert "is empty" in result.error()["message"]
    assert list(tmp_path.iterdir()) == []


def test_links_in_a_circle_are_an_input_error(felloe, tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "loop").symlink_to("loop")
    error = felloe(
        *("package", tree, "--name", "a", "--version", "1", "--out", tmp_path, "--json"), code=3
    ).error()
    assert error["where"] == str(tree / "loop")


def test_links_in_a_circle_do_not_stop_an_index(felloe, tmp_path):
    index = tmp_path / "index"
    wheel = make_wheel(tmp_path, tag="py3-none-any")
    felloe("index", "--out", index, wheel)
    (index / "simple" / "loop").symlink_to("loop")
    felloe("index", "--out", index, wheel)
    findings = felloe("index", "--verify", index, "--json").json()["findings"]
    assert [(f["code"], f["file"]) for f in findings] == [("IDX005", "loop")]


@pytest.mark.parametrize("command", ["matrix", "init"])
def test_a_circle_is_not_called_a_missing_file(felloe, tmp_path, command):
    (tmp_path / "felloe.json").symlink_to("felloe.json")
    (tmp_path / "CMakeLists.txt").symlink_to("CMakeLists.txt")
    error = felloe(command, "--project", tmp_path, "--json", code=None).error()
    assert "Too many levels of symbolic links" in error["message"]


def test_names_that_reorder_text_are_not_packed(felloe, tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a\u202ey\x9b.py").write_text("")
    felloe("package", tree, "--name", "a", "--version", "1", "--out", tmp_path, code=3)


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "a\x1b", ""])
def test_license_names_stay_in_their_folder(felloe, tmp_path, name):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.py").write_text("")
    text = tmp_path / "text"
    text.write_text("free\n")
    felloe(
        *("package", tree, "--name", "a", "--version", "1", "--out", tmp_path / "out"),
        *("--license", f"{name}={text}"),
        code=2,
    )
    assert not (tmp_path / "out").exists() or list((tmp_path / "out").iterdir()) == []
