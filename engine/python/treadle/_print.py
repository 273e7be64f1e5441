"""Tensors as text, as PyTorch prints them: one width for all numbers, scientific notation when the
range needs it, and only the edges of large tensors.
"""

from __future__ import annotations

import math
from typing import Any

from . import _C

Tensor = _C.Tensor


class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


options = _Options()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors print.

    precision: digits after the point (4); threshold: number of elements from which only the edges
    are shown (1000); edgeitems: how many at each edge (3); linewidth: characters a line (80);
    sci_mode: force scientific notation on or off; profile: "default", "short" or "full" first.
    """
    if profile is not None:
        profiles: dict[str, tuple[int, float, int, int]] = {
            "default": (4, 1000, 3, 80),
            "short": (2, 1000, 2, 80),
            "full": (4, math.inf, 3, 80),
        }
        if profile not in profiles:
            raise ValueError(f"unknown profile '{profile}': expected default, short or full")
        values = profiles[profile]
        options.precision, options.threshold, options.edgeitems, options.linewidth = values
    if precision is not None:
        options.precision = precision
    if threshold is not None:
        options.threshold = threshold
    if edgeitems is not None:
        options.edgeitems = edgeitems
    if linewidth is not None:
        options.linewidth = linewidth
    options.sci_mode = sci_mode


class _Formatter:
    """Chooses one format for all numbers shown, and pads them to one width."""

    def __init__(self, values: list[Any], floating: bool) -> None:
        self.floating = floating
        self.integral = True
        self.scientific = False
        self.width = 1
        if not floating:
            self.width = max([1, *(len(f"{v}") for v in values)])
            return
        nonzero = [abs(v) for v in values if math.isfinite(v) and v != 0]
        if not nonzero:
            return
        largest, smallest = max(nonzero), min(nonzero)
        self.integral = all(v == math.ceil(v) for v in nonzero)
        ratio = largest / smallest
        if self.integral:
            self.scientific = ratio > 1000.0 or largest > 1.0e8
        else:
            self.scientific = ratio > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4
        if options.sci_mode is not None:
            self.scientific = options.sci_mode
        # Zeros, infinities and nan don't count, as in PyTorch: they may stick out.
        counted = (v for v in values if math.isfinite(v) and v != 0)
        self.width = max(len(self._bare(v)) for v in counted)

    def _bare(self, value: Any) -> str:
        if not self.floating:
            return f"{value}"
        if not math.isfinite(value):
            return format(value, "f")
        if self.scientific:
            return format(value, f".{options.precision}e")
        if self.integral:
            return format(value, ".0f") + "."
        return format(value, f".{options.precision}f")

    def __call__(self, value: Any) -> str:
        return self._bare(value).rjust(self.width)


class _ComplexFormatter:
    """A format for the real parts and one for the imaginary ones."""

    def __init__(self, values: list[Any]) -> None:
        self.real = _Formatter([v.real for v in values], True)
        self.imag = _Formatter([v.imag for v in values], True)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: Any) -> str:
        imag = (self.imag(value.imag) + "j").lstrip()
        sign = "" if imag[0] in "+-" else "+"
        return self.real(value.real) + sign + imag


def _shown(t: Tensor, summarize: bool) -> list[Any]:
    """The numbers that will be printed, flat."""
    if not summarize or t.numel() == 0:
        return t.reshape(-1).tolist()
    return _edges(t).reshape(-1).tolist()


def _edges(t: Tensor) -> Tensor:
    edge = options.edgeitems
    for dim in range(t.dim()):
        size = t.size(dim)
        if size > 2 * edge:
            parts = (t.narrow(dim, 0, edge), t.narrow(dim, size - edge, edge))
            t = _C.cat(parts, dim)
    return t


def _rows(t: Tensor, indent: int, summarize: bool, number: _Formatter | _ComplexFormatter) -> str:
    if t.dim() == 0:
        return number(t.item())
    edge = options.edgeitems
    size = t.size(0)
    cut = summarize and size > 2 * edge
    if t.dim() == 1:
        per_line = max(1, math.floor((options.linewidth - indent) / (number.width + 2)))
        if cut:
            texts = [number(v) for v in t.narrow(0, 0, edge).tolist()]
            texts.append(" ...")
            texts += [number(v) for v in t.narrow(0, size - edge, edge).tolist()]
        else:
            texts = [number(v) for v in t.tolist()]
        lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    if cut:
        chosen = [*range(edge), *range(size - edge, size)]
        slices = [_rows(t[i], indent + 1, summarize, number) for i in chosen]
        slices.insert(edge, "...")
    else:
        slices = [_rows(t[i], indent + 1, summarize, number) for i in range(size)]
    between = "," + "\n" * (t.dim() - 1) + " " * (indent + 1)
    return "[" + between.join(slices) + "]"


def tensor_text(t: Tensor, contents: str | None = None) -> str:
    """repr() of a tensor, with its dtype where that isn't the usual one, and its grad_fn."""
    plain = type(t) in (Tensor,) or type(t).__name__ == "Parameter"
    prefix = "tensor(" if plain else f"{type(t).__name__}("
    suffixes: list[str] = []
    dtype = t.dtype
    default = _C.get_default_dtype()
    default_complex = default.to_complex()
    usual = dtype in (default, default_complex, _C.int64, _C.bool)
    with_tape = t
    t = t.detach()
    if contents is not None:
        text = contents
    elif t.numel() == 0:
        text = "[]"
        if t.dim() != 1:
            suffixes.append(f"size={tuple(t.shape)}")
        if dtype == _C.int64 or (dtype != _C.get_default_dtype()):
            suffixes.append(f"dtype={dtype}")
        usual = True
    else:
        summarize = t.numel() > options.threshold
        values = _shown(t, summarize)
        number = (
            _ComplexFormatter(values)
            if dtype.is_complex
            else _Formatter(values, dtype.is_floating_point)
        )
        text = _rows(t, len(prefix), summarize, number)
    if not usual:
        suffixes.append(f"dtype={dtype}")
    try:
        node = with_tape.grad_fn
        invalid = False
    except RuntimeError:  # a view without history whose base has changed
        node, invalid = None, True
    if invalid:
        suffixes.append("grad_fn=<Invalid>")
    elif node is not None:
        suffixes.append(f"grad_fn=<{node.name()}>")
    elif with_tape.requires_grad:
        suffixes.append("requires_grad=True")
    return _join(prefix + text, suffixes, len(prefix))


def _join(text: str, suffixes: list[str], indent: int) -> str:
    parts = [text]
    last = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if last + len(suffix) + 2 > options.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            last = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            last += len(suffix) + 2
    return "".join(parts) + ")"
