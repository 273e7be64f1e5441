"""assert_close: comparing tensors in tests, with tolerances that fit the dtype."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _C

__all__ = ["assert_close", "make_tensor"]

# (rtol, atol) by dtype; integers and bool have to be equal.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Tensors, numbers, arrays, or sequences and mappings of them. rtol and atol: both or neither; the
    default depends on the dtype. check_dtype and check_stride compare these too.
    """
    if (rtol is None) != (atol is None):
        missing = "atol" if atol is None else "rtol"
        raise ValueError(
            f"rtol and atol must both be specified or both be unspecified, no {missing}"
        )
    _compare(actual, expected, "", rtol, atol, equal_nan, check_dtype, check_stride, msg)


def _fail(text: str, where: str, msg: Any) -> None:
    text += f"\n\nThe failure occurred for item {where}" if where else ""
    if msg is not None:
        text = msg(text) if callable(msg) else msg
    raise AssertionError(text)


def _compare(
    actual: Any,
    expected: Any,
    where: str,
    rtol: float | None,
    atol: float | None,
    equal_nan: bool,
    check_dtype: bool,
    check_stride: bool,
    msg: Any,
) -> None:
    rest = (rtol, atol, equal_nan, check_dtype, check_stride, msg)
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            _fail(f"The keys do not match: {list(actual)} != {list(expected)}", where, msg)
        for key in actual:
            _compare(actual[key], expected[key], f"{where}[{key!r}]", *rest)
        return
    if isinstance(actual, Sequence) and isinstance(expected, Sequence):
        if len(actual) != len(expected):
            _fail(
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}",
                where,
                msg,
            )
        for i, (a, e) in enumerate(zip(actual, expected)):
            _compare(a, e, f"{where}[{i}]", *rest)
        return
    if actual is None or expected is None:
        if actual is not expected:
            _fail(f"None mismatch: {actual!r} is not {expected!r}", where, msg)
        return
    numbers = isinstance(actual, (int, float)) and isinstance(expected, (int, float))
    a, e = _C.as_tensor(actual).detach(), _C.as_tensor(expected).detach()
    if a.shape != e.shape:
        _fail(f"The values for attribute 'shape' do not match: {a.shape} != {e.shape}.", where, msg)
    if check_dtype and not numbers and a.dtype != e.dtype:
        _fail(f"The values for attribute 'dtype' do not match: {a.dtype} != {e.dtype}.", where, msg)
    if check_stride and a.stride() != e.stride():
        _fail(
            f"The values for attribute 'stride()' do not match: {a.stride()} != {e.stride()}.",
            where,
            msg,
        )
    if rtol is None or atol is None:
        pairs = [_TOLERANCES.get(str(t.dtype).split(".")[-1], (0.0, 0.0)) for t in (a, e)]
        rtol, atol = max(p[0] for p in pairs), max(p[1] for p in pairs)
        if numbers and isinstance(actual, float):
            rtol, atol = _TOLERANCES["float64"]
    _values(a, e, where, rtol, atol, equal_nan, msg)


def _values(
    a: _C.Tensor, e: _C.Tensor, where: str, rtol: float, atol: float, equal_nan: bool, msg: Any
) -> None:
    if a.numel() == 0:
        return
    common = _C.promote_types(a.dtype, e.dtype)
    a, e = a.to(common), e.to(common)
    # Numbers one by one: this is for tests, and a list is exact for every dtype.
    worst_abs = worst_rel = 0.0
    wrong = 0
    first: int | None = None
    flat_a, flat_e = a.reshape(-1).tolist(), e.reshape(-1).tolist()
    for i, (x, y) in enumerate(zip(flat_a, flat_e)):
        if x == y or (equal_nan and x != x and y != y):
            continue
        difference = abs(x - y)
        if math.isfinite(difference) and difference <= atol + rtol * abs(y):
            continue
        wrong += 1
        first = i if first is None else first
        worst_abs = max(worst_abs, difference) if difference == difference else math.nan
        worst_rel = max(worst_rel, difference / abs(y) if y else math.inf)
    if not wrong:
        return
    kind = "Tensor-likes" if a.dim() else "Scalars"
    exact = rtol == 0 and atol == 0
    place: list[int] = []
    rest = first or 0
    for n in reversed(a.shape):
        place.insert(0, rest % n)
        rest //= n
    _fail(
        f"{kind} are not {'equal' if exact else 'close'}!\n\n"
        f"Mismatched elements: {wrong} / {a.numel()} ({100 * wrong / a.numel():.1f}%)\n"
        f"Greatest absolute difference: {worst_abs} (up to {atol} allowed)\n"
        f"Greatest relative difference: {worst_rel} (up to {rtol} allowed)\n"
        f"First mismatch at index {tuple(place)}: {flat_a[first or 0]} and {flat_e[first or 0]}",
        where,
        msg,
    )


def make_tensor(
    *shape: Any,
    dtype: _C.dtype,
    device: Any = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
) -> _C.Tensor:
    """A random tensor in [low, high): default -9..9 for numbers, 0..9 for uint8, 0..1 for bool."""
    size = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    name = str(dtype).split(".")[-1]
    if low is None:
        low = 0 if name in ("bool", "uint8") else -9
    if high is None:
        high = 2 if name == "bool" else 10 if name in ("uint8",) else 9
    if dtype.is_floating_point:
        made = _C.empty(size, dtype=dtype).uniform_(low, high)
    else:
        made = _C.randint(int(low), int(high), size).to(dtype)
    if noncontiguous and made.numel() > 1:
        made = _C.stack([made, made], -1).select(-1, 0)
    return made.requires_grad_() if requires_grad else made
