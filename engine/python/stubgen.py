"""Writes treadle/_C.pyi from the op table of a built module.

    python engine/python/stubgen.py build/dev/python            rewrites the committed stub
    python engine/python/stubgen.py build/dev/python --check    exit 1 and a diff if it is stale

What isn't an op is in stub_head.pyi: put hand-written functions and attributes there. A test
compares both with what the module has.
"""

import argparse
import difflib
import keyword
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
TARGET = HERE / "treadle" / "_C.pyi"
FUNCTION, METHOD, INPLACE, OUT, FUNCTIONAL, SUBMODULE = 1, 2, 4, 8, 16, 32
SUBMODULES = ("linalg", "fft", "special")  # their ops are named linalg_inv, ...

TYPES = {
    "Tensor": "Tensor",
    "Scalar": "Scalar",
    "int": "_int",
    "float": "_float",
    "bool": "_bool",
    "str": "_str",
    "ScalarType": "_DType",
    "Device": "DeviceLike",
    "Generator": "Generator",
    "SymInt": "_int",
    "Layout": "layout",
    "MemoryFormat": "memory_format",
}
# As in bind/parse.cpp: operands of these names broadcast, and may be numbers.
OPERANDS = {"self", "other", "exponent", "value", "input", "x", "n"}
FUNCTIONS = ("function", "inplace_function")  # forms whose first argument is called `input`
NOT_BROADCAST = {
    "matmul", "expand_as", "view_as", "reshape_as", "type_as", "equal", "isclose", "dot", "inner",
    "outer", "kron", "cross", "linear", "allclose", "sum_to_size", "max", "min", "vdot",
    "tensordot",
}  # fmt: skip


class Arg:
    def __init__(self, text, keyword_only):
        self.keyword_only = keyword_only
        text, _, default = text.partition("=")
        self.default = default.strip() or None
        kind, self.name = text.strip().rsplit(" ", 1)
        kind = re.sub(r"\(.*?\)", "", kind)
        self.optional = kind.endswith("?")
        kind = kind.rstrip("?")
        match = re.fullmatch(r"(\w+)(\?)?(?:\[(\d*)\])?", kind)
        if not match:
            raise ValueError(f"can't read the type of {text!r}")
        self.base, self.element_optional, self.size = (
            match.group(1),
            bool(match.group(2)),
            match.group(3),
        )

    @property
    def is_list(self):
        return self.size is not None

    def type(self, number):
        base = TYPES[self.base]
        if self.is_list:
            item = base + (" | None" if self.element_optional else "")
            base = f"Sequence[{item}]" + (f" | {base}" if self.size else "")
        elif self.base == "Tensor" and number:
            base = "Tensor | Scalar"
        elif self.base == "ScalarType":
            base = "_DType | _type[_float] | _type[_int] | _type[_bool]"
        return base + (" | None" if self.optional else "")

    def stub(self, function, number):
        name = "input" if self.name == "self" and function else self.name
        if keyword.iskeyword(name):
            name += "_"
        return f"{name}: {self.type(number)}" + (" = ..." if self.default else "")


def split_arguments(text):
    """At commas outside of brackets and quotes."""
    parts, depth, quoted, part = [], 0, False, ""
    for c in text:
        quoted ^= c == "'"
        depth += not quoted and ((c in "([") - (c in ")]"))
        if c == "," and depth == 0 and not quoted:
            parts.append(part)
            part = ""
        else:
            part += c
    return [p.strip() for p in [*parts, part] if p.strip()]


class Op:
    def __init__(self, row):
        self.variants, self.doc = row["variants"], row["doc"]
        self.writes_as_function = row["writes_as_function"]
        head, _, rest = row["schema"].partition("(")
        self.name = head.split(".")[0]
        close = rest.rindex(") -> ")
        self.returns = rest[close + 5 :].strip()
        self.args, keyword_only = [], False
        for text in split_arguments(rest[:close]):
            if text == "*":
                keyword_only = True
            else:
                self.args.append(Arg(text, keyword_only))
        operands = [
            a for a in self.args if a.base == "Tensor" and not a.is_list and a.name in OPERANDS
        ]
        broadcasts = self.name not in NOT_BROADCAST and not self.name.startswith("linalg_")
        by_rule = broadcasts and len(operands) >= 2
        bits = row["numbers"]  # which arguments may be numbers; -1: by the rule
        for i, a in enumerate(self.args):
            a.number = (by_rule and a.name in OPERANDS) if bits < 0 else bool(bits >> i & 1)
        tensors = [i for i, a in enumerate(self.args) if a.base == "Tensor" and not a.is_list]
        named = [i for i in tensors if self.args[i].name == "self"]
        self.self_index = (named or tensors or [None])[0]

    def result(self):
        text = re.sub(r"\(a.*?\)", "", self.returns)
        if text == "()":
            return "None"
        parts = split_arguments(text[1:-1]) if text.startswith("(") else [text]
        kinds = []
        for part in parts:
            kind = part.split(" ")[0]
            base = TYPES[kind.rstrip("[]")]
            kinds.append(f"tuple[{base}, ...]" if kind.endswith("[]") else base)
        if len(kinds) == 1:
            return kinds[0]
        return (
            "_ValuesIndices"
            if re.search(r"values.*indices", text)
            else f"tuple[{', '.join(kinds)}]"
        )

    def definitions(self, form):
        """One or more `def` lines: varargs (of ints, mostly) are a form of their own."""
        args = [a for i, a in enumerate(self.args) if form in FUNCTIONS or i != self.self_index]
        name = self.name + ("_" if "inplace" in form else "")
        result = "Self" if form == "inplace" else self.result()
        out = form == "function" and self.variants & OUT
        creates = any(a.name == "requires_grad" for a in args) and form == "function"
        lines = []
        for varargs in (False, True):
            positional = [a for a in args if not a.keyword_only]
            if varargs and not (
                len(positional) == 1
                and (positional[0].base == "int" or self.name == "broadcast_tensors")
                and positional[0].size == ""
            ):
                continue
            parts, star = [] if form in FUNCTIONS else ["self"], False
            for a in args:
                if varargs and a is positional[0]:
                    parts.append(f"*{a.name}: {'_int' if a.base == 'int' else a.base}")
                    star = True
                    continue
                if a.keyword_only and not star:
                    parts.append("*")
                    star = True
                parts.append(a.stub(form in FUNCTIONS, a.number))
            extra = []
            if out:
                extra.append("out: Tensor | Sequence[Tensor] | None = ...")
            if creates:
                extra.append("pin_memory: _bool | None = ...")
            if extra and not star:
                parts.append("*")
            lines.append(f"def {name}({', '.join(parts + extra)}) -> {result}: ...")
        return lines


def block(ops, variant, form, indent):
    lines = []

    def has(op):
        return op.variants & variant == variant

    for name in sorted({op.name for op in ops if has(op)}):
        definitions = []
        for op in ops:
            if op.name == name and has(op):
                definitions += op.definitions(form)
        definitions = list(dict.fromkeys(definitions))
        for d in definitions:
            if len(definitions) > 1:
                lines.append(indent + "@overload")
            lines.append(indent + d)
    return lines


def namespace(name, lines, prefix):
    """A submodule of _C, as a class of static methods without the prefix of their names."""
    made = [f"class _{name}:"]
    for line in lines:
        if line.startswith("    def"):
            made.append("    @staticmethod")
        made.append(line.replace("    def " + prefix, "    def ", 1))
    return made


def generate(table):
    ops = [Op(row) for row in table]
    head = (HERE / "stub_head.pyi").read_text()
    own = set(re.findall(r"^    def (\w+)\(", head.partition("class Tensor")[2], re.M))
    writing = [op for op in ops if not op.variants & FUNCTIONAL]
    methods = [
        *block(ops, METHOD, "method", "    "),
        *block(writing, INPLACE, "inplace", "    "),
    ]
    kept, pending = [], []
    for line in methods:  # a hand-written method hides the op, with its @overload
        pending.append(line)
        name = re.match(r"    def (\w+)\(", line)
        if name:
            if name.group(1) not in own:
                kept += pending
            pending = []
    functions = [
        *block(ops, FUNCTION, "function", ""),
        *block(
            [op for op in ops if op.writes_as_function],
            FUNCTION | INPLACE,
            "inplace_function",
            "",
        ),
    ]
    layers = [
        *block(ops, FUNCTIONAL, "function", "    "),
        *block(ops, FUNCTIONAL | INPLACE, "inplace_function", "    "),
    ]
    parts = [namespace("nn", layers, "")]
    for name in SUBMODULES:
        own_ops = [op for op in ops if op.name.startswith(name + "_")]
        lines = block(own_ops, SUBMODULE, "function", "    ")
        if lines:
            parts.append(namespace(name, lines, name + "_"))
    return (
        head.replace("    # <methods>\n", "\n".join(kept) + "\n")
        + "\n".join([*functions, *[line for part in parts for line in ["", *part]]])
        + "\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("package_parent", help="folder that has treadle/ with a built _C")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    args = parser.parse_args()
    sys.path.insert(0, args.package_parent)
    from treadle import _C

    text = generate(_C._op_table())
    if not args.check:
        TARGET.write_text(text)
        return 0
    old = TARGET.read_text() if TARGET.exists() else ""
    diff = list(
        difflib.unified_diff(
            old.splitlines(), text.splitlines(), "committed", "generated", lineterm=""
        )
    )
    print("\n".join(diff))
    return 1 if diff else 0


if __name__ == "__main__":
    sys.exit(main())
