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

from wheel_files import EXTENSION, METADATA, make_elf, make_wheel  # noqa: E402


def write(target: str, name: str, data: bytes) -> None:
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


# Recorded machines: the first byte chooses what is hostile, in the order of kHostile in
# fuzz_host.cpp.
HOST_SEEDS = (
    ("cpu", 0, "vm-avx512-masked/felloe-host/cpu.json"),
    ("cpu-arm", 0, "graviton3/felloe-host/cpu.json"),
    ("python", 4, None),
    ("nvml", 5, "h100-mig/felloe-host/nvml.json"),
    ("libcuda", 6, "wsl2/felloe-host/libcuda.json"),
    ("libcuda_devices", 7, "jetson-orin/felloe-host/libcuda_devices.json"),
    ("machine", 8, "rpi4/felloe-host/machine.json"),
    ("cpuinfo", 9, "big-little/proc/cpuinfo"),
    ("cache", 10, "debian12-epyc-vm/etc/ld.so.cache"),
    ("driver", 11, "docker-no-gpu/proc/driver/nvidia/version"),
    ("tegra", 12, "jetson-orin/etc/nv_tegra_release"),
)
PYTHON_ANSWER = (
    b'{"implementation":"cpython","version":"3.12.1","abi":"cp312","free_threaded":false}'
)


def write_host_seeds() -> None:
    for name, choice, path in HOST_SEEDS:
        data = (HERE.parent / "hosts" / path).read_bytes() if path else PYTHON_ANSWER
        write("host", name, bytes([choice]) + data)
    write("host", "visible", bytes([16]) + b"1,GPU-0,7")


def main() -> None:
    write_host_seeds()
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
