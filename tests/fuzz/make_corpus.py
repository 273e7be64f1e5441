#!/usr/bin/env python3
"""Writes the kept corpus: small inputs that reach deep into each parser, good and bad.

tests/fuzz/make_corpus.py        (deterministic; the result is committed)
"""

import pathlib
import struct
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))

from wheel_files import EXTENSION, METADATA, make_elf, make_wheel


def write(target: str, name: str, data: bytes) -> None:
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def main() -> None:
    elf = make_elf(soname="x.so", runpath="$ORIGIN")
    write("elf", "good", elf)
    write("elf", "aarch64", make_elf(machine=183))
    write("elf", "truncated", elf[:300])
    for name, at, form, value in (
        ("phoff", 32, "<Q", 1 << 40),
        ("phnum", 56, "<H", 0xFFFF),
        ("load", 64 + 32, "<Q", 1 << 62),
    ):
        data = bytearray(elf)
        struct.pack_into(form, data, at, value)
        write("elf", name, bytes(data))
    write("isa", "elf", elf)
    # cpuid; ret; vaddps zmm; call; jmp [rip]; and: ldadd, sdot, b, ret
    write("isa", "x86", bytes.fromhex("0fa2c362f17c4858c0e8f6ffffffff2500000000c3"))
    write("isa", "aarch64", bytes.fromhex("000020b80094824e00000014c0035fd6"))
    write("json", "object", b'{"schema": "felloe/host/1", "os": {"kernel": "Linux"}} // x\n')
    write("json", "deep", b"[" * 70)
    write("metadata", "metadata", METADATA.encode() + b"License: a\n  b\n\nbody\n")
    write("metadata", "record", b'a.py,sha256=abc,12\n"b,""c""",,\n')
    write("metadata", "empty", b"")  # an error must still say where
    write("metadata", "name", b"a_b-1.0+cpu-2x-cp310.cp311-abi3-manylinux_2_17_x86_64.any.whl")
    with tempfile.TemporaryDirectory() as folder:
        wheel = make_wheel(pathlib.Path(folder), {EXTENSION: elf, "zeros": bytes(4096)})
        data = bytearray(wheel.read_bytes())
        # zipfile writes the time of day: blank it, so that the corpus doesn't change.
        with zipfile.ZipFile(wheel) as z:
            for info in z.infolist():
                struct.pack_into("<I", data, info.header_offset + 10, 0)
        at = data.find(b"PK\x01\x02")
        while at >= 0:
            struct.pack_into("<I", data, at + 12, 0)
            at = data.find(b"PK\x01\x02", at + 1)
        write("zip", "wheel", bytes(data))
        write("zip", "truncated", bytes(data[:-30]))
        write("zip", "trailing", bytes(data) + b"tail")
        write("zip", "empty", b"PK\x05\x06" + bytes(18))


if __name__ == "__main__":
    main()
