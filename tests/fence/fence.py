"""Checks the ISA fence on compiled objects (see docs/architecture.md, "ISA fence").

For each treadle_kernels_<isa> object: every symbol it defines lies in treadle::<isa>, it has no
static
initialiser, and it calls nothing outside of its namespace but a few memory functions of libc: no
libm.
Code of wider vectors than the ISA's appears in none, nor in the host code of the CPU backend; the
kernels named below are vectorised at their ISA's full width. The check itself is checked: a build
with
a leaked function must be refused.
"""

import argparse
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

ALLOWED_UNDEFINED = {"memcpy", "memmove", "memset", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}
WIDEST = {"base": "xmm", "avx2": "ymm", "avx512": "zmm"}
WIDTHS = ["xmm", "ymm", "zmm"]
# Loops that must be vectorised, as they appear in demangled names, for float and double alike.
VECTORISED = [
    "map<treadle::{isa}::functor::Tanh, {type}, {type}>",
    "map<treadle::{isa}::functor::Exp, {type}, {type}>",
    "map<treadle::{isa}::functor::Log, {type}, {type}>",
    "map<treadle::{isa}::functor::Sin, {type}, {type}>",
    "map<treadle::{isa}::functor::Erf, {type}, {type}>",
    "map<treadle::{isa}::functor::Relu, {type}, {type}>",
    "map2<treadle::{isa}::functor::Add, {type}, {type}>",
    "map2<treadle::{isa}::functor::Mul, {type}, {type}>",
    "map_grad<treadle::{isa}::functor::Tanh, {type}>",
    "map_grad<treadle::{isa}::functor::GeluErf, {type}>",
]
# Packed arithmetic: mulps, vmulpd, vmulps ...
PACKED = re.compile(r"\bv?(?:mul|add|sub|and|max|cmp\w*)p[sd]\b|\bvpand\b")


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbol_problems(nm: str, obj: str, isa: str) -> list[str]:
    problems = []
    for line in run(nm, "-C", "--format=posix", obj).splitlines():
        match = re.match(r"(.*) ([A-Za-z?]) [0-9a-f]*(?: [0-9a-f]*)?$", line.rstrip() + " ")
        if not match:
            match = re.match(r"(.*) ([A-Za-z?])\s*", line)
        if not match:
            problems.append(f"{obj}: nm line not understood: {line!r}")
            continue
        name, kind = match[1], match[2]
        inside = f"treadle::{isa}::" in name
        if kind == "U":
            if not inside and name not in ALLOWED_UNDEFINED:
                problems.append(f"{obj}: calls {name}, outside of treadle::{isa}")
        # Local read-only data (constants the compiler made) has no name that others could see.
        elif (
            kind in "tTwWvVdDbBrRuiSs"
            and not inside
            and (kind not in "rdb" or not name.startswith((".L", "CSWTCH", "switch.table")))
        ):
            problems.append(f"{obj}: defines {name} ({kind}), outside of treadle::{isa}")
    return problems


def section_problems(objdump: str, obj: str) -> list[str]:
    return [
        f"{obj}: has a static initialiser ({section})"
        for section in (".init_array", ".ctors", ".preinit_array")
        if re.search(rf"\s{re.escape(section)}\b", run(objdump, "-h", obj))
    ]


def functions(objdump: str, obj: str) -> dict[str, list[str]]:
    """Instructions of each function of an object or archive, by demangled name."""
    out: dict[str, list[str]] = {}
    body: list[str] = []
    for line in run(objdump, "-dC", "--no-show-raw-insn", obj).splitlines():
        start = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        if start:
            body = out.setdefault(start[1], [])
        elif line.startswith(" ") and ":\t" in line:
            body.append(line.split(":\t", 1)[1])
    return out


def width_problems(code: dict[str, list[str]], where: str, widest: str) -> list[str]:
    too_wide = [f"%{width}" for width in WIDTHS[WIDTHS.index(widest) + 1 :]]
    return [
        f"{where}: {name} uses {register[1:]} registers: {line}"
        for name, body in code.items()
        for line in body[:]
        for register in too_wide
        if register in line
    ][:20]


def vector_problems(code: dict[str, list[str]], isa: str) -> list[str]:
    problems = []
    for pattern in VECTORISED:
        for kind in ("float", "double"):
            if (isa, kind) == ("base", "double"):
                continue  # two lanes: gcc 12 finds some of these not worth it; zig does them all
            wanted = pattern.format(isa=isa, type=kind)
            bodies = [body for name, body in code.items() if wanted in name]
            if not bodies:
                problems.append(f"{isa}: no function {wanted}")
                continue
            vectors = [line for line in itertools.chain(*bodies) if f"%{WIDEST[isa]}" in line]
            if not any(PACKED.search(line) for line in vectors):
                problems.append(f"{isa}: {wanted} isn't vectorised with {WIDEST[isa]} registers")
    return problems


def check(args: argparse.Namespace, objects: dict[str, list[str]]) -> list[str]:
    problems = []
    for isa, files in objects.items():
        code: dict[str, list[str]] = {}
        for obj in files:
            problems += symbol_problems(args.nm, obj, isa) + section_problems(args.objdump, obj)
            code |= functions(args.objdump, obj)
        if isa in WIDEST:
            problems += width_problems(code, isa, WIDEST[isa]) + vector_problems(code, isa)
    return problems


LEAK = """
#include "engine/backend/cpu/kernels/drive.h"
namespace leaked { template <class T> T twice(T x) { return x + x; } template float twice(float); }
struct Starts { Starts(); int x; };
static int first() { volatile int x = 1; return x; }
int started = first();
extern "C" float sinf(float);
namespace treadle::avx2 { float call(float x) { return sinf(x); } }
"""


def catches_leak(args: argparse.Namespace) -> list[str]:
    """A kernel file that breaks each rule must bring each complaint."""
    with tempfile.TemporaryDirectory() as folder:
        source, obj = pathlib.Path(folder, "leak.cpp"), pathlib.Path(folder, "leak.o")
        source.write_text(LEAK)
        # Compiled with AVX2 and passed off as base: the widths must be noticed too.
        wide = pathlib.Path(folder, "wide.cpp")
        wide.write_text("void add(float* a) { for (int i = 0; i < 4096; ++i) a[i] += 1; }")
        wide_obj = pathlib.Path(folder, "wide.o")
        flags = ["-std=c++20", "-O3", "-fPIC", "-I", args.root]
        run(args.cxx, *flags, "-DTREADLE_ISA=avx2", "-c", str(source), "-o", str(obj))
        avx2 = "-march=x86_64_v3" if args.zig else "-march=x86-64-v3"
        run(args.cxx, *flags, avx2, "-c", str(wide), "-o", str(wide_obj))
        found = symbol_problems(args.nm, str(obj), "avx2")
        found += section_problems(args.objdump, str(obj))
        found += width_problems(functions(args.objdump, str(wide_obj)), "base", "xmm")
    expected = ["leaked::twice", "static initialiser", "calls sinf", "uses ymm registers"]
    return [
        f"the leaked build wasn't caught: nothing about {words!r} in {found}"
        for words in expected
        if not any(words in problem for problem in found)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nm", required=True)
    parser.add_argument("--objdump", required=True)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--library", required=True, help="the archive of the CPU backend")
    parser.add_argument("--zig", action="store_true", help="the compiler spells CPUs as zig does")
    parser.add_argument("--objects", action="append", required=True, help="ISA=FILE,FILE,...")
    args = parser.parse_args()
    objects = {}
    for item in args.objects:
        isa, files = item.split("=", 1)
        objects[isa] = files.split(",")

    problems = check(args, objects)
    if "base" in objects:
        # The archive without the kernels' own namespaces: host code runs on every CPU.
        host = {
            name: body
            for name, body in functions(args.objdump, args.library).items()
            if not re.search(r"treadle::(avx2|avx512)::", name)
        }
        problems += width_problems(host, "host code", "xmm")
        problems += catches_leak(args)
    for problem in problems:
        print(problem)
    print(f"{sum(map(len, objects.values()))} objects, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
