"""`felloe audit`: each rule finds what it is for, and a right wheel has no findings."""

from __future__ import annotations

import pathlib
import struct
import zipfile

import pytest
from wheel_files import EXTENSION, METADATA, make_elf, make_wheel, record_row

ROOT = pathlib.Path(__file__).resolve().parents[2]


def findings(felloe, path, *options, code=1) -> dict[str, dict]:
    """The first finding of each code."""
    body = felloe("audit", path, "--json", *options, code=code).json()
    assert body["schema"] == "felloe/audit/1"
    assert body["ok"] is (code == 0)
    out: dict[str, dict] = {}
    for f in body["findings"]:
        assert f["wheel"] == pathlib.Path(path).name
        assert f["message"] and f["hint"]
        out.setdefault(f["code"], f)
    return out


def test_right_wheels_have_no_findings(felloe, tmp_path):
    assert findings(felloe, make_wheel(tmp_path, tag="py3-none-any"), code=0) == {}
    assert findings(felloe, make_wheel(tmp_path, {EXTENSION: make_elf()}), code=0) == {}


def test_data_says_what_the_code_fits(felloe, tmp_path):
    wheel = make_wheel(tmp_path, {EXTENSION: make_elf()})
    (data,) = felloe("audit", wheel, "--json").json()["data"]["wheels"]
    assert data["platform"]["compressed"] == "manylinux2014_x86_64.manylinux_2_17_x86_64"
    assert data["platform"]["evidence"][0]["subject"] == "GLIBC_2.17"
    assert data["python"] == {"python": "cp312", "abi": "cp312"}


def test_wrong_record_hash(felloe, tmp_path):
    record = record_row("demo/__init__.py", b"answer = 43\n")
    f = findings(felloe, make_wheel(tmp_path, tag="py3-none-any", record=record))
    assert f["REC005"]["file"] == "demo/__init__.py"
    assert f["REC005"]["message"].startswith("sha256 is ")
    assert "REC003" in f  # METADATA and WHEEL aren't listed


def test_record_rules(felloe, tmp_path):
    rows = (
        "demo/__init__.py,md5=abc,99\ndemo/gone.py,sha256=abc,1\ndemo/__init__.py,sha512=abc,12\n"
    )
    f = findings(felloe, make_wheel(tmp_path, tag="py3-none-any", record=rows), "--fail-on=info")
    assert "md5" in f["REC007"]["message"]
    assert f["REC006"]["message"] == "is 12 bytes, RECORD says 99"
    assert f["REC004"]["file"] == "demo/gone.py"
    assert {"REC003", "REC008", "REC009"} <= set(f)
    f = findings(felloe, make_wheel(tmp_path, tag="py3-none-any", record=None))
    assert f["REC001"]["message"] == "RECORD is missing"
    f = findings(felloe, make_wheel(tmp_path, tag="py3-none-any", record="a,b\n"))
    assert f["REC002"]["message"] == "line 1: 2 fields, expected 3"


def test_missing_metadata(felloe, tmp_path):
    f = findings(felloe, make_wheel(tmp_path, tag="py3-none-any", metadata=None))
    assert f["MET003"]["message"] == "METADATA is missing"


def test_metadata_rules(felloe, tmp_path):
    metadata = "Metadata-Version: 9.9\nName: other\nVersion: 2.0\nRequires-Python: three\n"
    f = findings(felloe, make_wheel(tmp_path, tag="py3-none-any", metadata=metadata))
    assert f["MET005"]["message"] == "METADATA is of other, the file name of demo"
    assert f["MET010"]["message"] == "Metadata-Version 9.9 is unknown"
    assert f["MET011"]["message"] == '"three" is no set of version specifiers'
    assert "LIC001" in f
    renamed = make_wheel(tmp_path, tag="py3-none-any").rename(
        tmp_path / "demo-1.1-1-py3-none-any.whl"
    )
    f = findings(felloe, renamed)
    assert {"MET005", "MET006", "MET012"} <= set(f)
    other = make_wheel(tmp_path, tag="py3-none-any").rename(tmp_path / "demo-1.0-py2-none-any.whl")
    assert "py2-none-any is in the file name" in findings(felloe, other)["MET007"]["message"]


def test_license_rules(felloe, tmp_path):
    metadata = METADATA + "License: MIT\nLicense-File: LICENSE\n"
    f = findings(felloe, make_wheel(tmp_path, tag="py3-none-any", metadata=metadata))
    assert f["LIC002"]["message"] == "LICENSE is not in the wheel"
    assert "LIC003" in f


def test_zip_rules(felloe, tmp_path):
    f = findings(felloe, make_wheel(tmp_path, {"../evil": b"x"}, tag="py3-none-any"))
    assert f["ZIP001"]["file"] == "../evil"
    path = make_wheel(tmp_path, {"a": b"x", "A": b"y"}, tag="py3-none-any")
    with zipfile.ZipFile(path, "a") as z:
        with pytest.warns(UserWarning):
            z.writestr("a", b"z")
        link = zipfile.ZipInfo("link")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        z.writestr(link, "a")
        z.writestr("b", b"bz" * 100, zipfile.ZIP_BZIP2)
    path.write_bytes(path.read_bytes() + b"tail")
    f = findings(felloe, path)
    assert {"ZIP002", "ZIP003", "ZIP006", "ZIP008", "ZIP010", "ZIP011"} <= set(f)


def test_zip_bomb(felloe, tmp_path):
    from test_inspect import declare_size

    path = make_wheel(tmp_path, {"demo/zeros": bytes(1_000_000)}, tag="py3-none-any")
    declare_size(path, "demo/zeros", 1000)
    f = findings(felloe, path)
    assert f["ZIP006"]["message"] == "inflates to more than the 1000 bytes it declares"
    declare_size(path, "demo/zeros", 4_000_000_000)
    assert "can't hold more than" in findings(felloe, path)["ZIP005"]["message"]


def test_header_mismatch(felloe, tmp_path):
    path = make_wheel(tmp_path, tag="py3-none-any")
    data = bytearray(path.read_bytes())
    at = data.index(b"demo/__init__.py")
    data[at] = ord("D")
    path.write_bytes(data)
    f = findings(felloe, path)
    assert "the local header is named Demo/__init__.py" in f["ZIP004"]["message"]


def test_unreadable_is_exit_code_3(felloe, tmp_path):
    path = tmp_path / "demo-1.0-py3-none-any.whl"
    path.write_bytes(b"no zip at all")
    error = felloe("audit", path, "--json", code=3).error()
    assert error["message"].startswith("not a zip file")


@pytest.mark.parametrize(
    ("elf", "code", "text"),
    [
        ({"versions": (("libc.so.6", "GLIBC_2.28"),)}, "TAG001", "needs GLIBC_2.28 of libc.so.6"),
        ({"needed": ("libnowhere.so.1",)}, "TAG002", "needs libnowhere.so.1"),
        ({"needed": ("libz.so.1",), "undefined": ("_tr_align",)}, "TAG003", "uses _tr_align"),
        ({"machine": 183}, "TAG005", "is code for aarch64, the platform tag promises x86_64"),
        ({"needed": ("libc.musl-x86_64.so.1",), "versions": ()}, "TAG010", "is linked to musl"),
        ({"stack_flags": 7}, "ELF002", "asks for an executable stack"),
        ({"stack_flags": None}, "ELF002", "has no PT_GNU_STACK header"),
        ({"textrel": True}, "ELF004", "has text relocations"),
        ({"needed": ("/opt/lib/libx.so",)}, "ELF007", "needs a path"),
        ({"needed": ("libpython3.12.so.1.0",)}, "ELF009", "is linked to libpython3.12.so.1.0"),
    ],
)
def test_one_wrong_module(felloe, tmp_path, elf, code, text):
    f = findings(felloe, make_wheel(tmp_path, {EXTENSION: make_elf(**elf)}))
    assert text in f[code]["message"]
    assert f[code]["file"] == EXTENSION


def test_warnings_and_infos(felloe, tmp_path):
    for path in ("/build/lib", "$ORIGIN/../../.."):
        wheel = make_wheel(tmp_path, {EXTENSION: make_elf(runpath=f"$ORIGIN:{path}")})
        f = findings(felloe, wheel, code=0)
        assert f["ELF005"]["message"] == f'search path "{path}" leads out of the wheel'
    tag = "cp312-cp312-manylinux_2_17_aarch64"
    name = "demo/_C.cpython-312-aarch64-linux-gnu.so"
    wheel = make_wheel(tmp_path, {name: make_elf(machine=183, align=4096)}, tag=tag)
    assert findings(felloe, wheel, code=0)["ELF003"]["severity"] == "warning"
    assert "ELF003" in findings(felloe, wheel, "--fail-on", "warning", code=1)
    wheel = make_wheel(tmp_path, {EXTENSION: make_elf()}, tag="cp312-cp312-manylinux_2_28_x86_64")
    f = findings(felloe, wheel, code=0)
    assert f["TAG007"]["data"] == {"tag": "manylinux_2_17_x86_64"}
    wheel = make_wheel(tmp_path, {EXTENSION: make_elf()}, tag="cp312-cp312-linux_x86_64")
    assert "TAG006" in findings(felloe, wheel, code=0)


def test_bundled_library(felloe, tmp_path):
    user = make_elf(needed=("libfoo-12.so", "libc.so.6"))
    foo = make_elf(soname="libfoo-12.so", defined=("foo",), undefined=())
    files = {EXTENSION: user, "demo.libs/libfoo-12.so": foo}
    f = findings(felloe, make_wheel(tmp_path, files), code=0)
    assert f["ELF006"]["symbol"] == "libfoo-12.so"
    files[EXTENSION] = make_elf(
        needed=("libfoo-12.so", "libc.so.6"), runpath="$ORIGIN/../demo.libs"
    )
    assert findings(felloe, make_wheel(tmp_path, files), code=0) == {}


def test_native_code_in_a_pure_wheel(felloe, tmp_path):
    f = findings(felloe, make_wheel(tmp_path, {EXTENSION: make_elf()}, tag="py3-none-any"))
    assert "TAG004" in f


def test_abi3(felloe, tmp_path):
    tag = "cp310-abi3-manylinux_2_17_x86_64"
    abi3 = make_elf(undefined=("PyType_FromMetaclass",))  # stable since 3.12
    f = findings(felloe, make_wheel(tmp_path, {"demo/_C.abi3.so": abi3}, tag=tag))
    assert f["TAG008"]["message"] == (
        "cp310-abi3 promises Python 3.10, 3.11, for which there is no demo/_C; "
        "PyType_FromMetaclass appeared in the stable ABI of 3.12"
    )
    # Builds of their own for 3.10 and 3.11 make the tag true.
    files = {
        "demo/_C.abi3.so": abi3,
        "demo/_C.cpython-310-x86_64-linux-gnu.so": make_elf(),
        "demo/_C.cpython-311-x86_64-linux-gnu.so": make_elf(),
    }
    assert findings(felloe, make_wheel(tmp_path, files, tag=tag), code=0) == {}
    private = make_elf(undefined=("_PyLong_AsByteArray",))
    f = findings(felloe, make_wheel(tmp_path, {"demo/_C.abi3.so": private}, tag=tag))
    assert "_PyLong_AsByteArray" in f["TAG009"]["message"]


def test_suffix_of_another_machine(felloe, tmp_path):
    name = "demo/_C.cpython-312-aarch64-linux-gnu.so"
    assert "TAG011" in findings(felloe, make_wheel(tmp_path, {name: make_elf()}))


def test_broken_elf(felloe, tmp_path):
    f = findings(felloe, make_wheel(tmp_path, {EXTENSION: make_elf()[:300]}))
    assert f["ELF001"]["file"] == EXTENSION
    elf = bytearray(make_elf())
    struct.pack_into("<Q", elf, 32, 1 << 40)
    f = findings(felloe, make_wheel(tmp_path, {EXTENSION: bytes(elf)}))
    assert "reach past the end of the file" in f["ELF001"]["message"]


def test_select_and_ignore(felloe, tmp_path):
    wheel = make_wheel(tmp_path, tag="py3-none-any", metadata=None, record=None)
    assert set(findings(felloe, wheel, "--select", "REC")) == {"REC001"}
    assert set(findings(felloe, wheel, "--select", "REC,MET003")) == {"REC001", "MET003"}
    assert findings(felloe, wheel, "--ignore", "REC,MET,LIC", code=0) == {}
    error = felloe("audit", wheel, "--select", "RCE001", "--json", code=2).error()
    assert error["message"] == "unknown rule code"
    assert "REC001" in error["hint"]


def test_usage(felloe):
    assert felloe("audit", "--json", code=2).error()["message"] == "no wheel given"
    felloe("audit", "--markdown", "--json", code=2)


def test_text(felloe, tmp_path):
    out = felloe("audit", make_wheel(tmp_path, {EXTENSION: make_elf(textrel=True)}), code=1).out
    assert "ELF004" in out
    assert "manylinux_2_17_x86_64" in out
    assert "GLIBC_2.17 of libc.so.6" in out


def test_rules_page_is_generated(felloe):
    page = (ROOT / "docs/rules.md").read_text()
    assert page == felloe("audit", "--list", "--markdown").out, (
        "write it again: felloe audit --list --markdown > docs/rules.md"
    )
    codes = [r["code"] for r in felloe("audit", "--list", "--json").json()["data"]["rules"]]
    assert codes == sorted(set(codes))
    assert all(f"### {c} " in page for c in codes)
