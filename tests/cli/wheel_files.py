"""Wheels and ELF files for tests, built by hand so that any part of them can be wrong."""

from __future__ import annotations

import base64
import hashlib
import pathlib
import struct
import zipfile

TAG = "cp312-cp312-manylinux_2_17_x86_64"
METADATA = "Metadata-Version: 2.4\nName: demo\nVersion: 1.0\nLicense-Expression: MIT\n"


def record_row(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def make_wheel(
    folder: pathlib.Path,
    files: dict[str, bytes] | None = None,
    *,
    tag: str = TAG,
    name: str = "demo",
    version: str = "1.0",
    metadata: str | None = METADATA,
    record: str | None = "right",
    compression: int = zipfile.ZIP_DEFLATED,
) -> pathlib.Path:
    """A wheel that is right in every way but what the arguments change.

    `metadata=None` and `record=None` leave the file out; any other `record` is written as it is.
    """
    path = folder / f"{name}-{version}-{tag}.whl"
    info = f"{name}-{version}.dist-info"
    contents = dict(files or {"demo/__init__.py": b"answer = 42\n"})
    pure = "false" if any(d.startswith(b"\x7fELF") for d in contents.values()) else "true"
    python, abi, platform = tag.split("-")
    tags = "".join(
        f"Tag: {p}-{a}-{f}\n"
        for p in python.split(".")
        for a in abi.split(".")
        for f in platform.split(".")
    )
    if metadata is not None:
        contents[f"{info}/METADATA"] = metadata.encode()
    contents[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nRoot-Is-Purelib: {pure}\n{tags}".encode()
    if record is not None:
        rows = "".join(record_row(n, d) for n, d in contents.items()) + f"{info}/RECORD,,\n"
        contents[f"{info}/RECORD"] = (rows if record == "right" else record).encode()
    with zipfile.ZipFile(path, "w", compression) as z:
        for member, data in contents.items():
            z.writestr(member, data)
    return path


def make_elf(
    *,
    machine: int = 62,
    needed: tuple[str, ...] = ("libc.so.6",),
    versions: tuple[tuple[str, str], ...] = (("libc.so.6", "GLIBC_2.17"),),
    undefined: tuple[str, ...] = ("PyList_New",),
    defined: tuple[str, ...] = ("PyInit__C",),
    soname: str = "",
    runpath: str = "",
    align: int = 0x10000,
    stack_flags: int | None = 6,
    textrel: bool = False,
) -> bytes:
    """A 64-bit little-endian shared object with the tables that Felloe reads, and no code."""
    strings = bytearray(b"\0")

    def intern(text: str) -> int:
        at = len(strings)
        strings.extend(text.encode() + b"\0")
        return at

    dynamic = [(1, intern(n)) for n in needed]
    if soname:
        dynamic.append((14, intern(soname)))
    if runpath:
        dynamic.append((29, intern(runpath)))
    if textrel:
        dynamic.append((22, 0))
    symbols = bytes(24)
    for section, names in ((0, undefined), (1, defined)):
        for n in names:
            symbols += struct.pack("<IBBHQQ", intern(n), 0x12, 0, section, 0x40 * section, 0)
    verneed = b""
    for i, (lib, version) in enumerate(versions):
        step = 0 if i + 1 == len(versions) else 32
        verneed += struct.pack("<HHIII", 1, 1, intern(lib), 16, step)
        verneed += struct.pack("<IHHII", 0, 0, 2 + i, intern(version), 0)
    headers = 2 if stack_flags is None else 3
    symbols_at = 64 + 56 * headers
    hash_at = symbols_at + len(symbols)
    verneed_at = hash_at + 16
    strings_at = verneed_at + len(verneed)
    dynamic_at = (strings_at + len(strings) + 7) // 8 * 8
    dynamic += [(4, hash_at), (5, strings_at), (6, symbols_at), (10, len(strings))]
    if versions:
        dynamic += [(0x6FFFFFFE, verneed_at), (0x6FFFFFFF, len(versions))]
    dynamic.append((0, 0))
    table = b"".join(struct.pack("<QQ", t, v) for t, v in dynamic)
    total = dynamic_at + len(table)
    out = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    out += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, headers, 64, 0, 0)
    out += struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, total, total, align)
    out += struct.pack(
        "<IIQQQQQQ", 2, 6, dynamic_at, dynamic_at, dynamic_at, len(table), len(table), 8
    )
    if stack_flags is not None:
        out += struct.pack("<IIQQQQQQ", 0x6474E551, stack_flags, 0, 0, 0, 0, 0, 16)
    count = 1 + len(undefined) + len(defined)
    out += symbols + struct.pack("<IIII", 1, count, 0, 0) + verneed + bytes(strings)
    return out.ljust(dynamic_at, b"\0") + table


EXTENSION = "demo/_C.cpython-312-x86_64-linux-gnu.so"
