"""rearrange: permuting, splitting and joining dimensions by their names."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from .. import _C
from ._levels import Tensor

# The names of one dimension, joined, perhaps an Ellipsis among them; [] of size 1. An Ellipsis
# that isn't in parentheses is an axis alone, for as many dimensions as have no name.
Axis = Any


class DimensionBindError(Exception):
    """The sizes of a pattern's axes don't follow from the tensor, or don't fit it."""


def rearrange(
    tensor: Tensor | list[Tensor] | tuple[Tensor, ...], pattern: str, **axes_lengths: int
) -> Tensor:
    """The tensor with its dimensions as the right side of a pattern says, in einops' notation.

        rearrange(images, "b h w c -> b c h w")                  permutes
        rearrange(images, "b h w c -> b (h w c)")                joins
        rearrange(images, "b (h two) w c -> b h two w c", two=2) splits

    `...` stands for the dimensions that have no name, `1` or `()` for one of size 1. A list of
    tensors is stacked first, along a dimension that the pattern names first. ValueError for a
    pattern that isn't one or has names on one side only; DimensionBindError for sizes that don't
    follow or don't fit.
    """
    if not isinstance(tensor, Tensor):
        tensor = _C.stack(tensor)
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = map(_parse, sides)
    _check(pattern, left, right, axes_lengths)
    rank = tensor.dim()
    unnamed = 0
    if Ellipsis in left:
        unnamed = rank - len(left) + 1
        if unnamed < 0:
            raise ValueError(
                f"Number of dimensions in pattern ({len(left) - 1}) must be less than or equal to "
                f"the number of dimensions in the tensor ({rank})"
            )
    elif len(left) != rank:
        raise ValueError(
            f"Number of dimensions in pattern ({len(left)}) must be equal to the number of "
            f"dimensions in the tensor ({rank})"
        )

    # The names of all dimensions once the joined ones are split, the unnamed ones as numbers.
    names: list[Any] = []
    sizes: list[int] = []
    at = 0
    for axis in left:
        if axis is Ellipsis:
            names += range(unnamed)
            sizes += tensor.shape[at : at + unnamed]
            at += unnamed
        else:
            names += axis
            sizes += _bound(axis, tensor.shape[at], axes_lengths, at)
            at += 1
    order: list[Any] = []
    shape: list[int] = []
    known = dict(zip(names, sizes))
    for axis in right:
        joined = [Ellipsis] if axis is Ellipsis else axis
        parts = [p for n in joined for p in (range(unnamed) if n is Ellipsis else (n,))]
        order += parts
        if axis is Ellipsis:
            shape += [known[p] for p in parts]
        else:
            shape.append(math.prod(known[p] for p in parts))
    split = tensor.reshape(tuple(sizes))
    return split.permute(tuple(names.index(n) for n in order)).reshape(tuple(shape))


def _parse(side: str) -> list[Axis]:
    if "." in side.replace("...", ""):
        raise ValueError("Expression may contain dots only inside ellipsis (...)")
    if side.count("...") > 1:
        raise ValueError(
            "Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor "
        )
    axes: list[Axis] = []
    group: list[Any] | None = None
    seen: set[str] = set()
    for token in re.findall(r"\.\.\.|[()]|[^\s().]+", side):
        if token == "(":
            if group is not None:
                raise ValueError(
                    "Axis composition is one-level (brackets inside brackets not allowed)"
                )
            group = []
        elif token == ")":
            if group is None:
                raise ValueError("Brackets are not balanced")
            axes.append(group)
            group = None
        else:
            axis = _axis(token, seen)
            if group is None:
                axes.append(axis)
            else:
                group += [Ellipsis] if axis is Ellipsis else axis
    if group is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{side}'")
    return axes


def _axis(token: str, seen: set[str]) -> Axis:
    if token == "...":
        return Ellipsis
    if token.isdecimal():
        if int(token) != 1:
            raise ValueError("rearrange only supports unnamed axes of size 1")
        return []
    if not token.isidentifier():
        raise ValueError(f"Invalid axis identifier: {token}\nnot a valid python identifier")
    if token[0] == "_" or token[-1] == "_":
        raise ValueError(
            f"Invalid axis identifier: {token}\naxis name should should not start or end with "
            "underscore"
        )
    if token in seen:
        raise ValueError(f"Indexing expression contains duplicate dimension '{token}'")
    seen.add(token)
    return [token]


def _check(pattern: str, left: list[Axis], right: list[Axis], lengths: dict[str, int]) -> None:
    def names(axes: list[Axis]) -> set[Any]:
        return {n for axis in axes for n in ([Ellipsis] if axis is Ellipsis else axis)}

    if any(axis is not Ellipsis and Ellipsis in axis for axis in left):
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    if Ellipsis in names(right) - names(left):
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    one_sided = names(left) ^ names(right)
    if one_sided:
        raise ValueError(
            f"Identifiers only on one side of rearrange expression (should be on both): {one_sided}"
        )
    unknown = set(lengths) - names(left)
    if unknown:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")


def _bound(axis: Axis, size: int, lengths: dict[str, int], at: int) -> Sequence[int]:
    """The sizes of the names that make one dimension, of which one may be open."""
    given = [lengths.get(n) for n in axis]
    if given.count(None) > 1:
        missing = " and ".join(f"d{at + i}" for i, g in enumerate(given) if g is None)
        raise DimensionBindError(f"cannot infer the sizes of two dimensions at once {missing}")
    product = math.prod(g for g in given if g is not None)
    if None in given:
        if product < 1 or size % product:
            raise DimensionBindError(
                f"inferred dimension does not evenly fit into larger dimension: {size} vs "
                f"{tuple('?' if g is None else g for g in given)}"
            )
        return [size // product if g is None else g for g in given]
    if product != size:
        raise DimensionBindError(
            f"Dimension sizes to do not match ({size} != {product}) when matching dimension pack "
            f"{tuple(axis)}"
        )
    return [g for g in given if g is not None]
