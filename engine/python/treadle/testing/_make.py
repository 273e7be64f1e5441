"""make_tensor: random tensors of any dtype and layout."""

from __future__ import annotations

import math
from typing import Any

from .. import _C
from .._dtypes import finfo, iinfo, name_of

Tensor = _C.Tensor


def make_tensor(
    *shape: Any,
    dtype: _C.dtype,
    device: Any = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A random tensor, evenly from [low, high).

    The default is -9 to 9 for floats (also for the parts of complex numbers), -9 to 10 for signed
    and 0 to 10 for unsigned integers, both values of bool. noncontiguous: every other element of
    memory; exclude_zero: 0 becomes the smallest positive number; memory_format: of the result.
    ValueError if low is NaN, greater than high, or outside of the dtype.
    """
    size = tuple(shape[0]) if len(shape) == 1 and not hasattr(shape[0], "__index__") else shape
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous!r} and memory_format={memory_format!r}"
        )
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"dtype={dtype!r}"
        )
    if _C.device(device).type != "cpu":
        raise NotImplementedError("make_tensor(): this build has only the cpu device")
    drawn = (*size[:-1], 2 * size[-1]) if noncontiguous and size else size
    made = _draw(drawn, dtype, *_bounds(dtype, low, high))
    if noncontiguous and size:
        made = made[..., ::2]
    if exclude_zero:
        smallest = finfo(dtype).smallest_normal if _is_inexact(dtype) else 1
        made[made == 0] = smallest
    if memory_format is not None:
        made = made.clone(memory_format=memory_format)
    return made.requires_grad_() if requires_grad else made


def _is_inexact(dtype: _C.dtype) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def _bounds(dtype: _C.dtype, low: float | None, high: float | None) -> tuple[float, float]:
    name = name_of(dtype)
    least: float
    most: float
    if name == "bool":
        default, least, most = (0, 2), 0, 2
    elif _is_inexact(dtype):
        default, least, most = (-9, 9), finfo(dtype).min, finfo(dtype).max
    else:
        default, least, most = (0 if name[0] == "u" else -9, 10), iinfo(dtype).min, iinfo(dtype).max
    low = default[0] if low is None else low
    high = default[1] if high is None else high
    for value in (low, high):
        if math.isnan(value):
            raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low >= high and not (low == high and _is_inexact(dtype)):
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if high < least or low > most:
        raise ValueError(
            "The value interval specified by `low` and `high` is outside of the values of "
            f"{dtype!r}: got {low} and {high}"
        )
    return max(low, least), min(high, most)


def _draw(size: Any, dtype: _C.dtype, low: float, high: float) -> Tensor:
    if dtype.is_complex:
        pair = _draw((*size, 2), dtype.to_real(), low, high)
        return _C.view_as_complex(pair).clone()  # no view: tests ask whose views are what
    if dtype.is_floating_point:
        wide = _C.float64 if dtype is _C.float64 else _C.float32
        unit = _C.rand(size, dtype=wide)
        return (low + (high - low) * unit).clamp(low, high).to(dtype)
    drawn = _C.randint(math.floor(low), math.ceil(high), size)
    return drawn.to(dtype)
