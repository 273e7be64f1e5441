"""What code takes from torch._utils."""

from __future__ import annotations

from . import _C


def _element_size(dtype: _C.dtype) -> int:
    """Bytes of one element."""
    return dtype.itemsize
