"""Functions of the package whose arguments no schema can say: einsum's lists, tensordot's dims.

Loaded when one of them is first used (see `_LAZY` in __init__.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _C

Tensor = _C.Tensor

__all__ = ["chain_matmul", "einsum", "lu", "tensordot"]


def einsum(*args: Any) -> Tensor:
    """Sum of products over labelled dimensions: einsum("ij,jk->ik", a, b).

    Each operand has a letter per dimension, and "..." for those that broadcast; a letter that the
    output lacks is summed. Without "->" the output has the letters that occur once, in
    alphabetical order, after "...". Also einsum(a, [0, 1], b, [1, 2], [0, 2]) with numbers from 0
    to 51 and Ellipsis. RuntimeError for an equation that doesn't fit the operands.
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, "
            "or at least one operand and its subscripts list"
        )
    if isinstance(args[0], Tensor):
        equation, operands = _equation_of(args)
    else:
        equation, operands = args[0], args[1:]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    return _C._einsum(equation, operands)


def _equation_of(args: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """The string for einsum(operand, labels, operand, labels, ..., [output])."""

    def text(labels: Sequence[Any]) -> str:
        return "".join("..." if label is Ellipsis else letter(label) for label in labels)

    def letter(label: int) -> str:
        if 0 <= label < 26:
            return chr(ord("A") + label)
        if 26 <= label < 52:
            return chr(ord("a") + label - 26)
        raise ValueError(
            "einsum(): subscript in subscript list is not within the valid range [0, 52)"
        )

    equation = ",".join(text(labels) for labels in args[1::2])
    if len(args) % 2:
        equation += "->" + text(args[-1])
        return equation, args[:-1:2]
    return equation, args[::2]


def tensordot(
    a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None, *, axes: Any = None
) -> Tensor:
    """Sum of products over the last `dims` dimensions of a and the first of b.

    dims may also be two lists: the dimensions of a, and those of b that they are paired with, or
    a tensor of shape (2, n) of them; axes is another name for it. RuntimeError where their sizes
    differ (1 broadcasts). Different dtypes are promoted, unless there is out, where they are an
    error.
    """
    dims = dims if axes is None else axes
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else int(dims.item())
    if isinstance(dims, (tuple, list)):
        of_a, of_b = ([d] if isinstance(d, int) else list(d) for d in dims)
    elif isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        of_a, of_b = list(range(-dims, 0)), list(range(dims))
    else:
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] "
            f"or list[list[int]] containing two lists, but got dims={dims}"
        )
    if out is None:
        if a.dtype != b.dtype:
            common = _C.promote_types(a.dtype, b.dtype)
            a, b = a.to(common), b.to(common)
        return _C._tensordot(a, b, of_a, of_b)
    return _C._tensordot(a, b, of_a, of_b, out=out)


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """Product of 2-d tensors in the order that takes the fewest multiplications."""
    if out is None:
        return _C._chain_matmul(matrices)
    return _C._chain_matmul(matrices, out=out)


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """LU (..., m, n) and pivots of A, and with get_infos LAPACK's numbers: linalg.lu_factor_ex().

    RuntimeError if a pivot is 0, unless get_infos.
    """
    found = _C._lu_with_info(A, pivot=pivot, check_errors=not get_infos)
    result = (found.LU, found.pivots, found.info) if get_infos else (found.LU, found.pivots)
    if out is None:
        return result
    if len(out) != len(result):
        raise TypeError(f"expected tuple of {len(result)} elements but got {len(out)}")
    for given, made in zip(out, result):
        given.resize_(made.shape).copy_(made)
    return out
