"""Functions of shapes and positions that need no tensor, or Python's view of the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _C

Tensor = _C.Tensor


def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The coordinates of positions in a tensor of this shape, one tensor for each dimension.

    indices: integers. TypeError for other dtypes or shapes, ValueError for negative sizes.
    """
    if isinstance(shape, Tensor) or not isinstance(shape, (int, Sequence)):
        raise TypeError(
            f"expected 'shape' to be int or sequence of ints, but got {shape.__class__}"
        )
    if not isinstance(shape, int):
        for size in shape:
            if not isinstance(size, int):
                raise TypeError(
                    "expected 'shape' sequence to only contain ints, but got "
                    f"{size.__class__.__name__}"
                )
        shape = tuple(shape)
    return _C._unravel_index(indices, shape)


def broadcast_shapes(*shapes: int | Sequence[int]) -> _C.Size:
    """The shape that tensors of these shapes broadcast to. RuntimeError if there is none."""
    for s in shapes:
        sequence = isinstance(s, (tuple, list))
        if not all(isinstance(size, int) for size in (s if sequence else (s,))):
            raise RuntimeError(
                f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {s}"
            )
    sizes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    rank = max((len(s) for s in sizes), default=0)
    result = [1] * rank
    for shape in sizes:
        for i in range(-1, -len(shape) - 1, -1):
            size = shape[i]
            if size < 0:
                raise RuntimeError(
                    f"Trying to create tensor with negative dimension ({size}): ({size})"
                )
            if size in (1, result[i]):
                continue
            if result[i] != 1:
                raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape")
            result[i] = size
    return _C.Size(result)


# Every algorithm here is deterministic, so that these only remember what was asked for.
_deterministic = {"on": False, "warn": False}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Has no effect but on the functions that ask for it: all algorithms are deterministic."""
    _deterministic["on"], _deterministic["warn"] = bool(mode), bool(mode and warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What use_deterministic_algorithms() was last given."""
    return _deterministic["on"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What use_deterministic_algorithms() was last given as warn_only."""
    return _deterministic["warn"]


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """use_deterministic_algorithms() by number or name: 0 "default", 1 "warn", 2 "error"."""
    names: dict[Any, int] = {"default": 0, "warn": 1, "error": 2}
    level = names.get(debug_mode, debug_mode)
    if level not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value for debug_mode, expected 0, 1, 2 or their names, got {debug_mode}"
        )
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, see set_deterministic_debug_mode()."""
    return 0 if not _deterministic["on"] else 1 if _deterministic["warn"] else 2
