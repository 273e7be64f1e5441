"""The Python array API standard (2024.12) to the letter: what x.__array_namespace__() gives.

`treadle` has the standard's names, too, but where PyTorch uses one of them for something else, its
meaning comes first (docs/array-api.md). Libraries that are written for the standard, as SciPy, need
the standard's: here equal() compares elements, sort() and max() give values, std() divides by n.
All other names are those of `treadle`.

To add a function whose meaning in `treadle` isn't the standard's: here, with its signature; those
of linear algebra in linalg.py.
"""

from __future__ import annotations

import builtins
from typing import Any

from .. import _C
from .._array_api import _accumulator, _Axis, _one_at_a_time, _operands, forms

Tensor = _C.Tensor

all = forms.all
any = forms.any
count_nonzero = forms.count_nonzero
max = forms.max
min = forms.min


def __getattr__(name: str) -> Any:
    import importlib

    import treadle

    if name == "linalg":
        return importlib.import_module(__name__ + ".linalg")
    value = getattr(treadle, name)
    if not name.startswith("__"):
        globals()[name] = value
    return value


def __dir__() -> list[str]:
    import treadle

    return sorted({*dir(treadle), *globals()})


# --- elementwise ----------------------------------------------------------------------------------


def atan2(x1: Any, x2: Any, /) -> Tensor:
    """The angle of the point (x2, x1), in [-pi, pi]; one may be a number."""
    return _C.atan2(*_operands(x1, x2))


def conj(x: Tensor, /) -> Tensor:
    """The conjugates, in memory of their own: NumPy's functions take them."""
    return _C.conj(x).resolve_conj()


def copysign(x1: Any, x2: Any, /) -> Tensor:
    """The size of x1 with the sign of x2; one may be a number."""
    return _C.copysign(*_operands(x1, x2))


def equal(x1: Any, x2: Any, /) -> Tensor:
    """Whether the elements are equal; one may be a number."""
    return _C.eq(*_operands(x1, x2))


def floor_divide(x1: Any, x2: Any, /) -> Tensor:
    """floor(x1 / x2), also of infinities, where PyTorch, NumPy and Python give NaN or -1."""
    made = _C.floor_divide(*_operands(x1, x2))
    if not made.dtype.is_floating_point:
        return made
    infinite = _C.isinf(_C.as_tensor(x1)) | _C.isinf(_C.as_tensor(x2))
    return _C.where(infinite, _C.floor(_C.true_divide(*_operands(x1, x2))), made)


def hypot(x1: Any, x2: Any, /) -> Tensor:
    """sqrt(x1^2 + x2^2) without overflow; one may be a number."""
    return _C.hypot(*_operands(x1, x2))


def imag(x: Tensor, /) -> Tensor:
    """The imaginary parts, in memory of their own where x is a conjugate."""
    return _C.imag(x).resolve_neg()


def logaddexp(x1: Any, x2: Any, /) -> Tensor:
    """log(e^x1 + e^x2) without overflow; one may be a number."""
    return _C.logaddexp(*_operands(x1, x2))


def maximum(x1: Any, x2: Any, /) -> Tensor:
    """The larger element of each pair, NaN if one is; one may be a number."""
    return _C.maximum(*_operands(x1, x2))


def minimum(x1: Any, x2: Any, /) -> Tensor:
    """The smaller element of each pair, NaN if one is; one may be a number."""
    return _C.minimum(*_operands(x1, x2))


def nextafter(x1: Any, x2: Any, /) -> Tensor:
    """The float next to x1 in the direction of x2; one may be a number."""
    return _C.nextafter(*_operands(x1, x2))


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1; of complex numbers x / |x|, 0 of 0."""
    return _C.sgn(x)


# --- creation -------------------------------------------------------------------------------------


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """start, start + step, ... up to but not including stop; empty if step leads away from it."""
    return forms.arange(start, stop, step, dtype=dtype, device=device)


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Tensor:
    """treadle.asarray(); arrays with negative strides, which tensors lack, are copied."""
    from .._convert import asarray as shared

    strides = getattr(obj, "strides", None)
    if copy is not False and isinstance(strides, tuple) and builtins.min(strides, default=0) < 0:
        obj = obj.copy()
    return shared(obj, dtype=dtype, device=device, copy=copy)


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """The coordinates of a grid: one tensor for each of the vectors."""
    return list(_C.meshgrid(*arrays, indexing=indexing))


# --- reductions, sorting --------------------------------------------------------------------------


def prod(x: Tensor, /, *, axis: _Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Product over axis (all dimensions unless given); of unsigned integers an uint64."""
    return forms.prod(x, axis=axis, dtype=dtype or _accumulator(x.dtype), keepdims=keepdims)


def sum(x: Tensor, /, *, axis: _Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Sum over axis (all dimensions unless given); of unsigned integers an uint64."""
    dtype = dtype or _accumulator(x.dtype)
    if axis == ():  # PyTorch takes it for all dimensions
        return _one_at_a_time(_C.sum, x.unsqueeze(-1), -1, False, dtype=dtype)
    return _C.sum(x, axis, keepdims, dtype=dtype)


def mean(x: Tensor, /, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """Mean over axis (all dimensions unless given)."""
    return x.clone() if axis == () else _C.mean(x, axis, keepdims)


def var(
    x: Tensor, /, *, axis: _Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """Mean square of the deviations from the mean; the divisor is n - correction."""
    return _spread(_C.var, x, axis, correction, keepdims)


def std(
    x: Tensor, /, *, axis: _Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """Square root of var()."""
    return _spread(_C.std, x, axis, correction, keepdims)


def _spread(function: Any, x: Tensor, axis: _Axis, correction: float, keepdims: bool) -> Tensor:
    if axis == ():
        return function(x.unsqueeze(-1), -1, correction=correction)
    return function(x, axis, correction=correction, keepdim=keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The indices of the elements that aren't zero, a vector for each dimension."""
    if x.ndim == 0:
        raise ValueError("nonzero(): a tensor without dimensions has no indices")
    return tuple(_C.nonzero(x, as_tuple=True))


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along axis; NaNs are the largest."""
    return _C.sort(x, dim=axis, descending=descending, stable=stable).values
