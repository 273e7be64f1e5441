"""sym_int and its kin: operations on sizes that PyTorch's compiler also traces. Sizes are numbers
here, so these are Python's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


def sym_int(a: Any) -> int:
    """a, rounded towards 0."""
    return math.trunc(a)


def sym_float(a: Any) -> float:
    """a as a float."""
    return float(a)


def sym_not(a: Any) -> bool:
    """The opposite of a."""
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two; a float if one of them is."""
    largest = max(a, b)
    return float(largest) if isinstance(a, float) or isinstance(b, float) else largest


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two; a float if one of them is."""
    smallest = min(a, b)
    return float(smallest) if isinstance(a, float) or isinstance(b, float) else smallest


def sym_sum(args: Iterable[Any]) -> Any:
    """The sum of them."""
    return sum(args)


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """t where b, else f, of one type."""
    if not isinstance(b, bool) or type(t) is not type(f):
        raise AssertionError("sym_ite(): expected a bool and two values of one type")
    return t if b else f


def sym_sqrt(a: Any) -> float:
    """The square root of a number."""
    return math.sqrt(a)
