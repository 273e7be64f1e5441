"""The array API standard's linear algebra: treadle.linalg, and the standard's form of two names.

To add a function whose meaning in `treadle.linalg` isn't the standard's: here, with its signature.
"""

from __future__ import annotations

from typing import Any

from .. import _C
from .. import linalg as _linalg
from .._array_api import _accumulator

Tensor = _C.Tensor


def __getattr__(name: str) -> Any:
    value = getattr(_linalg, name)
    if not name.startswith("__"):
        globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*dir(_linalg), *globals()})


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Cross products along axis (negative, of 3 elements) of the tensors broadcast."""
    rank = max(x1.ndim, x2.ndim)
    first, second = (x[(None,) * (rank - x.ndim)] if x.ndim < rank else x for x in (x1, x2))
    return _linalg.cross(first, second, dim=axis)


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sum of each matrix' diagonal; of unsigned integers an uint64."""
    return _linalg.trace(x, offset=offset, dtype=dtype or _accumulator(x.dtype))
