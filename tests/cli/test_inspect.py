"""`felloe inspect`: facts of good wheels, and a clear refusal of bad ones (exit code 3)."""

from __future__ import annotations

import struct
import zipfile

import pytest
from wheel_files import EXTENSION, make_elf, make_wheel


def refused(felloe, path) -> dict:
    return felloe("inspect", path, "--json", code=3).error()


def test_facts_of_an_extension(felloe, schema, tmp_path):
    elf = make_elf(
        needed=("libc.so.6", "libstdc++.so.6", "libnowhere.so.3", "libcuda.so.1"),
        versions=(("libc.so.6", "GLIBC_2.14"), ("libstdc++.so.6", "GLIBCXX_3.4.19")),
    )
    facts = felloe("inspect", make_wheel(tmp_path, {EXTENSION: elf}), "--json").json()
    schema("wheel", facts)
    assert facts["schema"] == "felloe/wheel/1"
    assert (facts["name"], facts["version"]) == ("demo", "1.0")
    assert facts["tags"] == ["cp312-cp312-manylinux_2_17_x86_64"]
    assert facts["libc_floor"]["name"] == "glibc"
    assert facts["libc_floor"]["version"] == "2.14"
    assert facts["libc_floor"]["where"]["module"] == EXTENSION
    assert [(f["lib"], f["family"], f["version"]) for f in facts["lib_floors"]] == [
        ("libstdc++.so.6", "GLIBCXX", "3.4.19")
    ]
    assert facts["unresolved"] == [{"soname": "libnowhere.so.3", "where": EXTENSION}]
    (module,) = facts["modules"]
    assert module["kind"] == "extension"
    assert module["machine"] == "x86_64"
    assert module["p_align"] == 0x10000
    assert module["exec_stack"] is False
    assert module["python_abi"] == {
        "imports_cpython": True,
        "suffix": "cpython-312-x86_64-linux-gnu",
    }
    assert "cuda" not in facts  # it uses the driver: device code isn't read, so this is unknown


def test_facts_of_a_pure_wheel(felloe, schema, tmp_path):
    facts = felloe("inspect", make_wheel(tmp_path, tag="py3-none-any"), "--json").json()
    schema("wheel", facts)
    assert facts["modules"] == []
    assert facts["libc_floor"] is None
    assert facts["cuda"] is None
    assert facts["requires_python"] is None


def test_a_declared_dependency_provides_its_libraries(felloe, tmp_path):
    from wheel_files import METADATA

    elf = make_elf(needed=("libc10.so", "libcublas.so.12", "libnvidia-ml.so.1"))
    metadata = (
        METADATA + "Requires-Dist: torch>=2\nRequires-Dist: nvidia-cublas-cu12; extra == 'x'\n"
    )
    wheel = make_wheel(tmp_path, {EXTENSION: elf}, metadata=metadata)
    facts = felloe("inspect", wheel, "--json").json()
    assert [u["soname"] for u in facts["unresolved"]] == ["libcublas.so.12"]


def test_text_comes_from_the_same_facts(felloe, tmp_path):
    out = felloe("inspect", make_wheel(tmp_path, {EXTENSION: make_elf()})).out
    assert "glibc 2.17" in out
    assert EXTENSION in out


def test_not_a_zip(felloe, tmp_path):
    path = tmp_path / "demo-1.0-py3-none-any.whl"
    path.write_text("<html>404 Not Found</html>" * 10)
    error = refused(felloe, path)
    assert error["kind"] == "input"
    assert error["message"] == "not a zip file: no end-of-central-directory record"
    assert path.name in error["where"]
    assert "complete download" in error["hint"]


def test_missing_file(felloe, tmp_path):
    assert "No such file" in refused(felloe, tmp_path / "a-1-py3-none-any.whl")["message"]


def test_truncated_zip(felloe, tmp_path):
    path = make_wheel(tmp_path)
    path.write_bytes(path.read_bytes()[:-30])
    assert (
        refused(felloe, path)["message"] == "the zip file is truncated: its end record is missing"
    )


def declare_size(path, member: str, size: int) -> None:
    """Rewrites the declared size of a member in both headers."""
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as z:
        info = z.getinfo(member)
    struct.pack_into("<I", data, info.header_offset + 22, size)
    central = data.index(b"PK\x01\x02")
    while data[central + 46 : central + 46 + len(member)] != member.encode():
        central = data.index(b"PK\x01\x02", central + 1)
    struct.pack_into("<I", data, central + 24, size)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (1000, "inflates to more than the 1000 bytes it declares"),
        (1_000_100, "inflates to 1000000 bytes, declares 1000100"),
        (
            4_000_000_000,
            "impossible size: declares 4000000000 bytes, "
            + "but 984 deflated bytes can't hold more than 1015488",
        ),
    ],
)
def test_zip_bomb(felloe, tmp_path, size, message):
    path = make_wheel(tmp_path, {"demo/zeros": bytes(1_000_000)})
    with zipfile.ZipFile(path) as z:
        packed = z.getinfo("demo/zeros").compress_size
    declare_size(path, "demo/zeros", size)
    message = message.replace("984", str(packed)).replace("1015488", str(packed * 1032))
    error = refused(felloe, path)
    assert error["message"] == message
    assert error["where"].endswith("!demo/zeros")


@pytest.mark.parametrize("name", ["../evil.py", "/etc/cron.d/evil", "demo/../../evil"])
def test_path_traversal(felloe, tmp_path, name):
    path = make_wheel(tmp_path, {name: b"x"})
    error = refused(felloe, path)
    assert error["message"].startswith("unsafe name: ")
    assert error["where"].endswith("!" + name)


def test_duplicate_members(felloe, tmp_path):
    path = make_wheel(tmp_path)
    with zipfile.ZipFile(path, "a") as z, pytest.warns(UserWarning):
        z.writestr("demo/__init__.py", b"answer = 43\n")
    assert refused(felloe, path)["message"] == "duplicate member: the name occurs more than once"


def test_missing_metadata(felloe, tmp_path):
    error = refused(felloe, make_wheel(tmp_path, metadata=None))
    assert error["message"] == "METADATA is missing"
    assert error["where"].endswith("demo-1.0.dist-info/METADATA")


def test_truncated_elf(felloe, tmp_path):
    error = refused(felloe, make_wheel(tmp_path, {EXTENSION: make_elf()[:300]}))
    assert EXTENSION in error["where"]
    assert "PT_LOAD segment 0 spans file bytes" in error["message"]


def test_elf_offsets_past_the_end(felloe, tmp_path):
    elf = bytearray(make_elf())
    struct.pack_into("<Q", elf, 32, 1 << 40)  # e_phoff
    error = refused(felloe, make_wheel(tmp_path, {EXTENSION: bytes(elf)}))
    assert error["where"].endswith(EXTENSION + "@0x10000000000")
    assert "3 program headers at 0x10000000000 reach past the end of the file" in error["message"]


def test_bad_file_name(felloe, tmp_path):
    path = make_wheel(tmp_path).rename(tmp_path / "demo.whl")
    assert "1 parts between dashes" in refused(felloe, path)["message"]


def test_the_same_facts_twice(felloe, tmp_path):
    path = make_wheel(tmp_path, {EXTENSION: make_elf()})
    first = felloe("inspect", path, "--json").out
    assert felloe("inspect", path, "--json").out == first
    assert str(tmp_path) not in first
