"""What every subcommand shares: help, exit codes, suggestions, the failure envelope, output."""

import os
import pty
import re
import subprocess

import pytest


@pytest.fixture(scope="session")
def names(felloe):
    """The subcommands, read from --help."""
    text = felloe("--help").out
    found = re.findall(r"^  ([a-z]+) {2,}\S", text.split("Subcommands:")[1], re.MULTILINE)
    assert "matrix" in found
    return found


def test_version(felloe):
    assert re.fullmatch(r"felloe \d+\.\d+\.\d+\n", felloe("--version").out)


def test_subcommands_are_sorted_and_summed_up(names):
    assert names == sorted(names)


def test_every_help_names_options_and_exit_codes(felloe, names):
    for name in names:
        text = felloe(name, "--help").out
        assert f"felloe {name}" in text
        assert "--json" in text
        for code in ("0", "1", "2", "3", "4", "5", "70"):
            assert re.search(rf"^  {code} +\w", text, re.MULTILINE), f"{name}: exit code {code}"


def test_no_command_is_a_usage_error(felloe):
    result = felloe(code=2)
    assert result.out == ""
    assert result.err.splitlines() == [
        "error: command line: no command given",
        "hint: see `felloe --help`",
    ]


def test_misspelt_command_is_suggested(felloe):
    result = felloe("matrx", code=2)
    assert "unknown command: `matrx`" in result.err
    assert "did you mean `matrix`?" in result.err


def test_misspelt_option_is_suggested(felloe, names):
    assert "did you mean `--version`?" in felloe("--versoin", code=2).err
    for name in names:
        result = felloe(name, "--jsn", code=2)
        assert "unknown option: `--jsn`" in result.err
        assert "did you mean `--json`?" in result.err


def test_an_option_without_its_value(felloe):
    assert felloe("matrix", "--project", code=2).err.startswith("error: command line: --project")


def test_too_many_arguments(felloe):
    assert "unexpected argument: `more`" in felloe("matrix", "more", code=2).err


def test_failures_are_json_with_json(felloe):
    result = felloe("matrix", "--project", "/nonexistent", "--json", code=2)
    assert result.err == ""
    assert result.json()["schema"] == "felloe/matrix/1"
    assert result.json()["data"] == {}
    error = result.error()
    assert error["kind"] == "usage"
    assert error["where"] == "/nonexistent"
    assert error["message"] == "no such file"
    assert error["hint"]


def test_usage_errors_are_json_wherever_the_flag_stands(felloe):
    for args in (["--json", "matrx"], ["matrx", "--json"], ["matrix", "--jsn", "--json"]):
        error = felloe(*args, code=2).error()
        assert error["kind"] == "usage"


def test_help_of_a_command_goes_before_its_work(felloe):
    assert "Usage: felloe matrix" in felloe("matrix", "--project", "/none", "--help").out


def test_full_standard_output_is_no_success(felloe):
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [felloe.path, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert run.returncode == 4
    assert "standard output: cannot write: No space left on device" in run.stderr


def on_terminal(felloe, env, *args):
    """Standard output of a run whose standard streams are a terminal."""
    master, slave = pty.openpty()
    environ = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"} | env
    subprocess.run([felloe.path, *args], stdout=slave, stderr=slave, env=environ, check=False)
    os.close(slave)
    text = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # Linux's end of file on a terminal
            break
        if not part:
            break
        text += part
    os.close(master)
    return text.decode()


def test_colour_only_on_a_terminal_and_not_with_no_color(felloe):
    assert "\x1b[" in on_terminal(felloe, {}, "matrx")
    assert "\x1b[" not in on_terminal(felloe, {"NO_COLOR": "1"}, "matrx")
    assert "\x1b[" not in on_terminal(felloe, {"TERM": "dumb"}, "matrx")
    assert "\x1b[" not in felloe("matrx", code=2).err
