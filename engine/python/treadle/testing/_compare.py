"""assert_close. Containers are taken apart first; then a pair of None, of bools, of numbers or of
tensors is compared by the function for it. To add a kind of pair: a function here and a row in
`_compare`.
"""

from __future__ import annotations

import cmath
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from .. import _C
from .._dtypes import name_of

Tensor = _C.Tensor

# (rtol, atol) by dtype; integers and bool have to be equal.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


class _Options(NamedTuple):
    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool


class _Difference(Exception):
    """What is different, without where."""


class _Incomparable(Exception):
    """No kind of pair."""


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

    actual, expected: tensors, arrays or numbers, or sequences and mappings of them; both of related
    types (allow_subclasses=False: of the same). rtol and atol: both or neither; the default depends
    on the dtype. The check_ arguments compare these attributes too. msg: in place of the message,
    or a function of it. TypeError for what can't be compared, ValueError for one tolerance alone.
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'atol' if atol is None else 'rtol'}."
        )
    options = _Options(
        allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout,
        check_stride,
    )  # fmt: skip
    where: list[Any] = []
    try:
        _compare(actual, expected, options, where)
    except _Difference as difference:
        text = str(difference)
        if where:
            place = "".join(f"[{part!r}]" for part in where)
            text += f"\n\nThe failure occurred for item {place}"
        if msg is not None:
            text = msg(text) if callable(msg) else msg
        raise AssertionError(text) from None
    except _Incomparable as pair:
        text = f"No comparison pair was able to handle inputs of type {pair}."
        if where:
            text += f"\n\nThe failure occurred for item {''.join(f'[{p!r}]' for p in where)}"
        raise TypeError(text) from None


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes))


def _compare(actual: Any, expected: Any, options: _Options, where: list[Any]) -> None:
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        _same_keys(actual.keys(), expected.keys())
        keys: list[Any] = list(actual)
        try:
            keys = sorted(keys)
        except TypeError:
            pass  # in their own order
        for key in keys:
            where.append(key)
            _compare(actual[key], expected[key], options, where)
            where.pop()
        return
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise _Difference(
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            )
        for i in range(len(actual)):
            where.append(i)
            _compare(actual[i], expected[i], options, where)
            where.pop()
        return
    if actual is None or expected is None:
        if actual is not expected:
            raise _Difference(f"None mismatch: {actual} is not {expected}")
    elif _is_bool(actual) and _is_bool(expected):
        if bool(actual) is not bool(expected):
            raise _Difference(f"Booleans mismatch: {bool(actual)} is not {bool(expected)}")
    elif _is_number(actual) and _is_number(expected):
        _compare_numbers(actual, expected, options)
    else:
        _compare_tensors(actual, expected, options)


def _same_keys(actual: Collection[Any], expected: Collection[Any]) -> None:
    missing = [key for key in expected if key not in actual]
    additional = [key for key in actual if key not in expected]
    if missing or additional:
        raise _Difference(
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {missing}\n"
            f"Additional keys in the actual mapping: {additional}"
        )


def _numpy(name: str) -> tuple[Any, ...]:
    """A type of NumPy, if somebody has imported it."""
    numpy = sys.modules.get("numpy")
    return () if numpy is None else (getattr(numpy, name),)


def _is_bool(x: Any) -> bool:
    return isinstance(x, (bool, *_numpy("bool_")))


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, complex, *_numpy("number"))) and not _is_bool(x)


# --- numbers --------------------------------------------------------------------------------------


def _tolerances(options: _Options, *names: str) -> tuple[float, float]:
    if options.rtol is not None and options.atol is not None:
        return options.rtol, options.atol
    pairs = [_TOLERANCES.get(name, (0.0, 0.0)) for name in names]
    return max(p[0] for p in pairs), max(p[1] for p in pairs)


def _number(x: Any) -> Any:
    return x.item() if isinstance(x, _numpy("number")) else x


def _compare_numbers(actual: Any, expected: Any, options: _Options) -> None:
    a, e = _number(actual), _number(expected)
    if options.check_dtype and type(a) is not type(e):
        raise _Difference(f"The (d)types do not match: {type(a)} != {type(e)}.")
    names = {int: "int64", float: "float64", complex: "complex128"}
    rtol, atol = _tolerances(options, names.get(type(a), ""), names.get(type(e), ""))
    if a == e or (options.equal_nan and cmath.isnan(a) and cmath.isnan(e)):
        return
    difference = abs(a - e)
    if cmath.isfinite(difference) and difference <= atol + rtol * abs(e):
        return
    exact = rtol == atol == 0
    relative = difference / abs(e) if e else cmath.inf
    raise _Difference(
        f"Scalars are not {'equal' if exact else 'close'}!\n\n"
        f"Expected {e} but got {a}.\n"
        f"Absolute difference: {difference}{_allowed(atol, exact)}\n"
        f"Relative difference: {relative}{_allowed(rtol, exact)}"
    )


def _allowed(tolerance: float, exact: bool) -> str:
    return "" if exact else f" (up to {tolerance} allowed)"


# --- tensors --------------------------------------------------------------------------------------


def _related(actual: Any, expected: Any, options: _Options) -> bool:
    if type(actual) is type(expected):
        return True
    either = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    return either and options.allow_subclasses


def _as_tensor(x: Any) -> Tensor | None:
    if isinstance(x, Tensor):
        return x
    if not hasattr(x, "__array_interface__") and not hasattr(x, "__dlpack__"):
        return None
    try:
        return _C.as_tensor(x)
    except (TypeError, ValueError, RuntimeError):
        return None


def _compare_tensors(actual: Any, expected: Any, options: _Options) -> None:
    a, e = _as_tensor(actual), _as_tensor(expected)
    if a is None or e is None or not _related(actual, expected, options):
        raise _Incomparable(f"{type(actual)} and {type(expected)}")
    with _C.DisableTorchFunctionSubclass():  # type: ignore[attr-defined]
        a, e = a.detach(), e.detach()
        _compare_attributes(a, e, options)
        rtol, atol = _tolerances(options, name_of(a.dtype), name_of(e.dtype))
        if a.dtype != e.dtype:
            common = _C.promote_types(a.dtype, e.dtype)
            a, e = a.to(common), e.to(common)
        _compare_values(a, e, rtol, atol, options.equal_nan)


def _compare_attributes(a: Tensor, e: Tensor, options: _Options) -> None:
    def same(name: str, x: Any, y: Any) -> None:
        if x != y:
            raise _Difference(f"The values for attribute '{name}' do not match: {x} != {y}.")

    same("shape", a.shape, e.shape)
    if options.check_layout and hasattr(a, "layout"):
        same("layout", a.layout, e.layout)
    if options.check_stride:
        same("stride()", a.stride(), e.stride())
    if options.check_device:
        same("device", a.device, e.device)
    if options.check_dtype:
        same("dtype", a.dtype, e.dtype)


def _compare_values(a: Tensor, e: Tensor, rtol: float, atol: float, equal_nan: bool) -> None:
    if a.numel() == 0:
        return
    if not (a.dtype.is_floating_point or a.dtype.is_complex):
        a, e = a.to(_C.int64), e.to(_C.int64)
    difference = (a - e).abs()
    close = a == e
    if rtol or atol:
        near = difference.to(_C.float64) <= atol + rtol * e.abs().to(_C.float64)
        close = close | (near & _C.isfinite(difference))
    if equal_nan:
        close = close | (_C.isnan(a) & _C.isnan(e))
    wrong = int((~close).sum().item())
    if not wrong:
        return
    exact = rtol == atol == 0
    if a.ndim == 0:
        _compare_wrong_numbers(a.item(), e.item(), rtol, atol, exact)
    difference = _C.where(close, _C.zeros_like(difference), difference)
    relative = difference / e.abs()
    relative = _C.where(close, _C.zeros_like(relative), relative)
    raise _Difference(
        f"Tensor-likes are not {'equal' if exact else 'close'}!\n\n"
        f"Mismatched elements: {wrong} / {a.numel()} ({wrong / a.numel():.1%})\n"
        f"Greatest absolute difference: {_greatest(difference)}{_allowed(atol, exact)}\n"
        f"Greatest relative difference: {_greatest(relative)}{_allowed(rtol, exact)}"
    )


def _compare_wrong_numbers(a: Any, e: Any, rtol: float, atol: float, exact: bool) -> None:
    difference = abs(a - e)
    relative = difference / abs(e) if e else cmath.inf
    raise _Difference(
        f"Scalars are not {'equal' if exact else 'close'}!\n\n"
        f"Expected {e} but got {a}.\n"
        f"Absolute difference: {difference}{_allowed(atol, exact)}\n"
        f"Relative difference: {relative}{_allowed(rtol, exact)}"
    )


def _greatest(x: Tensor) -> str:
    flat = x.reshape(-1)
    at = int(flat.argmax().item())
    value = flat[at].item()
    place: list[int] = []
    for size in reversed(x.shape):
        place.insert(0, at % size)
        at //= size
    return f"{value} at index {tuple(place)}"
