"""DLPack as functions, for code that doesn't use the __dlpack__ protocol."""

from __future__ import annotations

from .. import _C
from .._C import from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: _C.Tensor) -> object:
    """A capsule over the tensor's memory; it can be consumed once."""
    return tensor.__dlpack__()
