"""Questions about a tensor as functions: is_signed(x) and the like."""

from __future__ import annotations

from typing import Any

from . import _C


def _ask(name: str, input: Any) -> Any:
    if not isinstance(input, _C.Tensor):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    return getattr(input, name)()


def is_floating_point(input: _C.Tensor) -> bool:
    """Whether the tensor's dtype is a floating-point one."""
    return _ask("is_floating_point", input)


def is_complex(input: _C.Tensor) -> bool:
    """Whether the tensor's dtype is complex."""
    return _ask("is_complex", input)


def is_signed(input: _C.Tensor) -> bool:
    """Whether the tensor's dtype has negative numbers."""
    return _ask("is_signed", input)


def is_inference(input: _C.Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return _ask("is_inference", input)


def is_nonzero(input: _C.Tensor) -> bool:
    """Whether the number in a tensor of one element isn't 0. RuntimeError for any other."""
    return _ask("is_nonzero", input)


def is_same_size(input: _C.Tensor, other: _C.Tensor) -> bool:
    """Whether the shapes are equal."""
    return input.shape == other.shape


def is_storage(obj: object) -> bool:
    """Whether obj is a storage."""
    from .storage import _Storage

    return isinstance(obj, _Storage)


def numel(input: _C.Tensor) -> int:
    """Number of elements."""
    return _ask("numel", input)
