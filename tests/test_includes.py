"""Rules about the source tree itself: who includes whom, who prints, what must not stand here."""

from __future__ import annotations

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]

# folder -> what its files may include besides themselves and the standard library
# (docs/architecture.md). The first that matches a path is its layer.
LAYERS = {
    "matrix/base": [],
    "matrix": ["matrix/base"],
    "probe/cpu": [],
    "probe": ["matrix", "matrix/base", "probe/cpu"],
    "packaging": ["matrix", "matrix/base"],
    "ci": ["matrix", "matrix/base", "probe", "packaging"],
    "cli": ["matrix", "matrix/base", "probe", "probe/cpu", "packaging", "ci"],
    "engine": ["probe/cpu"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
# Writing to the standard streams; formatting into strings is fine.
PRINTING = re.compile(
    r"\bstd::(?:cout|cerr|clog)\b|\b(?:printf|puts|putchar|fputs|vprintf|perror)\s*\(|\bfmt::print\b"
    r"|\bfprintf\s*\(\s*(?:stdout|stderr)"
)
LEAVING = re.compile(r"(?<![\w.:>])(?:std::)?(?:exit|abort|quick_exit|terminate)\s*\(")


def tracked(*patterns: str) -> list[pathlib.Path]:
    out = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [ROOT / name for name in out.split("\0") if name and (ROOT / name).is_file()]


def layer_of(path: str) -> str | None:
    return next((name for name in LAYERS if path.startswith(name + "/")), None)


def code_of(path: pathlib.Path) -> str:
    """The text without comments and string literals."""
    text = path.read_text(errors="replace")
    token = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
    return re.sub(token, lambda m: '""' if m[0][0] == '"' else " ", text, flags=re.S)


def wrong_include(includer: str, included: str) -> bool:
    layer, other = layer_of(includer), layer_of(included)
    if layer is None or other is None or other == layer:
        return False
    return other not in LAYERS[layer]


def sources() -> list[tuple[str, pathlib.Path]]:
    files = tracked("*.h", "*.cpp", "*.inc")
    found = [(p.relative_to(ROOT).as_posix(), p) for p in files]
    return [(name, path) for name, path in found if layer_of(name)]


def test_the_check_itself_sees_a_wrong_include():
    assert wrong_include("probe/os.cpp", "packaging/elf/elf.h")
    assert wrong_include("packaging/a.cpp", "probe/probe.h")
    assert wrong_include("matrix/base/fs.h", "matrix/facts.h")
    assert wrong_include("matrix/fit.cpp", "ci/plan.h")
    assert wrong_include("engine/core/x.cpp", "matrix/base/error.h")
    assert wrong_include("engine/core/x.cpp", "probe/probe.h")
    assert not wrong_include("engine/core/x.cpp", "probe/cpu/cpu.h")
    assert not wrong_include("cli/main.cpp", "ci/nightly.h")


def test_includes_go_in_one_direction():
    wrong = [
        f"{name} includes {included}"
        for name, path in sources()
        for included in INCLUDE.findall(path.read_text(errors="replace"))
        if wrong_include(name, included)
    ]
    assert not wrong, "\n".join(wrong)


def test_only_cli_prints():
    wrong = [
        f"{name}: {match[0]}"
        for name, path in sources()
        if not name.startswith("cli/") and "/examples/" not in name
        for match in PRINTING.finditer(code_of(path))
    ]
    assert not wrong, "\n".join(wrong)


def test_no_library_ends_the_process():
    wrong = [
        f"{name}: {match[0]}"
        for name, path in sources()
        if not name.startswith("cli/") and "/examples/" not in name
        for match in LEAVING.finditer(code_of(path))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "what, pattern",
    [
        # Each pattern is put together so that this file doesn't match itself.
        ("a path of one machine", r"(?<![\w.])/(?:home|Users|root)/" + r"(?!\.\.\.|user/)[\w.-]+"),
        ("a registry's host", r"(?:files\.pythonhosted|pypi|npmjs|crates)" + r"\.(?:org|io)\b"),
        ("a package mirror's host", r"\bdeb\.debian" + r"\.org\b"),
    ],
)  # fmt: skip
def test_nothing_of_this_machine_or_of_a_registry_stands_here(what, pattern):
    wrong = []
    for path in tracked():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(("tests/hosts/", "tests/fuzz/corpus/")):  # recorded from other machines
            continue
        data = path.read_bytes()
        if b"\0" in data:
            continue
        for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
            if found := re.search(pattern, line):
                wrong.append(f"{name}:{number}: {found[0]}")
    assert not wrong, f"{what}:\n" + "\n".join(wrong)


def test_every_file_of_code_says_what_it_is():
    wrong = [
        name
        for name, path in sources()
        if name.endswith(".h")
        and not path.read_text(errors="replace").lstrip().startswith(("//", "/*"))
    ]
    assert not wrong, "\n".join(wrong)


TOOLKIT = ("matrix/", "probe/", "packaging/", "ci/", "cli/")


def test_no_two_types_share_a_name():
    """Two types of one name in one namespace are one to the linker: it mixes their destructors."""
    seen = {}
    for path in tracked():
        name = path.relative_to(ROOT).as_posix()
        if path.suffix not in (".h", ".cpp") or not name.startswith(TOOLKIT):
            continue
        spaces = []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if opened := re.match(r"(?:inline )?namespace ?([\w:]*) ?\{$", line):
                spaces.append(opened[1] or "(anonymous)")
            elif line.startswith("}  // namespace") and spaces:
                spaces.pop()
            elif found := re.match(r"(?:struct|class) (\w+)(?: final)?(?: : [^;]*)? *\{$", line):
                if "(anonymous)" not in spaces:
                    seen.setdefault("::".join([*spaces, found[1]]), []).append(f"{name}:{number}")
    wrong = [f"{type_}: {', '.join(places)}" for type_, places in seen.items() if len(places) > 1]
    assert not wrong, "\n".join(wrong)
