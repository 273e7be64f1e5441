"""The Python array API standard (2024.12) with `treadle` as its namespace.

Functions that PyTorch lacks are defined here and appear in the package under their names.
Where PyTorch has a function of the same name, that one answers; a call that it refuses, because the
standard spells it otherwise (max(x, keepdims=True), full(3, 1.0), flip(x)), comes to the function
of that name in `forms`. So no call that PyTorch takes changes its meaning. What that leaves
different from the standard is listed in docs/array-api.md.

To add a function: here, and its name in _LAZY of __init__.py. To add the standard's form of one of
PyTorch's functions: a method of `forms` with the standard's signature.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _C
from ._dtypes import name_of, names_of_kind, result_type

Tensor = _C.Tensor
_Axis = int | tuple[int, ...] | None


# --- inspection -----------------------------------------------------------------------------------


class Info:
    """What the namespace offers (inspection API of the standard)."""

    def capabilities(self) -> dict[str, Any]:
        """boolean indexing, data-dependent shapes, max dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> _C.device:
        """Where new tensors are made."""
        return _C.device("cpu")

    def devices(self) -> list[_C.device]:
        """All devices of this process."""
        return [_C.device("cpu")]

    def default_dtypes(self, *, device: Any = None) -> dict[str, _C.dtype]:
        """The dtypes that functions choose when they aren't told."""
        _check_device(device)
        real = _C.get_default_dtype()
        return {
            "real floating": real,
            "complex floating": _C.complex128 if real is _C.float64 else _C.complex64,
            "integral": _C.int64,
            "indexing": _C.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, _C.dtype]:
        """The standard's dtypes by name; kind: a word of isdtype, or a tuple of them."""
        _check_device(device)
        kinds = (
            ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        )
        names = [name for word in kinds for name in names_of_kind(word)]
        return {name: _C._dtype(name) for name in names if name not in ("float16", "bfloat16")}


def _check_device(device: Any) -> None:
    if device is not None and _C.device(device).type != "cpu":
        raise ValueError(f"no device {device!r}: this build of treadle has only the cpu device")


def __array_namespace_info__() -> Info:
    """An object with capabilities(), default_device(), default_dtypes(), dtypes(), devices()."""
    return Info()


# --- dtypes and shapes ----------------------------------------------------------------------------


def astype(x: Tensor, dtype: _C.dtype, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """x as dtype, in new memory; copy=False: x itself if it is of this dtype already."""
    _check_device(device)
    return x.to(dtype, copy=copy)


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """The tensors expanded to one shape (views)."""
    return list(_C.broadcast_tensors(*arrays)) if arrays else []


def expand_dims(x: Tensor, /, axis: int | tuple[int, ...] = 0) -> Tensor:
    """x with dimensions of size 1 put in at axis: a view. IndexError outside [-n - 1, n]."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    rank = x.ndim + len(axes)
    for a in axes:
        if not -rank <= a < rank:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], "
                f"but got {a})"
            )
    for a in sorted(a % rank for a in axes):
        x = x.unsqueeze(a)
    return x


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """x with its dimensions in the order of axes: a view."""
    return x.permute(axes)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """x with its last two dimensions swapped: a view."""
    if x.ndim < 2:
        raise RuntimeError(f"matrix_transpose(): expected 2 or more dimensions, not {x.ndim}")
    return x.mT


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices of x along axis: views."""
    return x.unbind(axis)


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Each element (slice along axis) as often as repeats says; axis=None: of x flattened."""
    if isinstance(repeats, Tensor):
        repeats = repeats.to(_C.int64)
    return _C.repeat_interleave(x, repeats, dim=axis)


def bitwise_invert(x: Tensor, /) -> Tensor:
    """All bits the other way round; of a bool tensor logical not."""
    return _C.bitwise_not(x)


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """x[..., indices[..., i, ...], ...]: the elements at indices along axis, shapes broadcast
    against each other but for it; a negative index counts from the end. IndexError outside.
    """
    if x.ndim != indices.ndim or not -x.ndim <= axis < x.ndim:
        raise IndexError(
            f"take_along_axis(): expected as many dimensions in both and axis {axis} among them, "
            f"got shapes {tuple(x.shape)} and {tuple(indices.shape)}"
        )
    axis %= x.ndim
    return _C.take_along_dim(x, _C.where(indices < 0, indices + x.shape[axis], indices), axis)


# --- sums and products ----------------------------------------------------------------------------


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Sum of conj(x1) * x2 along axis, of the broadcast tensors."""
    dtype = result_type(x1, x2)
    x1, x2 = x1.to(dtype), x2.to(dtype)
    n1, n2 = (x.shape[axis] if -x.ndim <= axis < 0 else -1 for x in (x1, x2))
    if n1 != n2 or n1 < 0:
        raise ValueError(
            "vecdot(): axis must be negative and of one size in both, got "
            f"{tuple(x1.shape)}, {tuple(x2.shape)} and axis {axis}"
        )
    x1, x2 = x1.movedim(axis, -1), x2.movedim(axis, -1)
    x1 = x1.conj() if dtype.is_complex else x1
    if not (dtype.is_floating_point or dtype.is_complex):
        return (x1 * x2).sum(-1, dtype=dtype)
    return (x1.unsqueeze(-2) @ x2.unsqueeze(-1)).squeeze(-1).squeeze(-1)


def _cumulative(
    function: Any, first: int, x: Tensor, axis: int | None, dtype: Any, include_initial: bool
) -> Tensor:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"axis must be given: the tensor has {x.ndim} dimensions, not 1")
        axis = 0
    made = function(x, axis, dtype=dtype or _accumulator(x.dtype))
    if not include_initial:
        return made
    shape = list(made.shape)
    shape[axis] = 1
    return _C.cat([_C.full(shape, first, dtype=made.dtype), made], axis)


def _accumulator(dtype: _C.dtype) -> _C.dtype | None:
    """The standard sums unsigned integers in unsigned ones."""
    return _C.uint64 if name_of(dtype).startswith("uint") else None


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """Running sums along axis (may be left out in one dimension), with a 0 first if asked for."""
    return _cumulative(_C.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """Running products along axis (may be left out in one dimension), with a 1 first if wanted."""
    return _cumulative(_C.cumprod, 1, x, axis, dtype, include_initial)


# --- sets -----------------------------------------------------------------------------------------


class UniqueAll(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    values: Tensor
    inverse_indices: Tensor


def _stable_order(flat: Tensor) -> Tensor:
    if not flat.dtype.is_complex:
        return _C.sort(flat, stable=True).indices
    by_imag = _C.sort(flat.imag, stable=True).indices
    return by_imag[_C.sort(flat.real[by_imag], stable=True).indices]


def _runs(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """x sorted, the order that sorts it, and where a new value starts. NaNs all differ."""
    flat = x.detach().reshape(-1)
    order = _stable_order(flat)
    values = flat[order]
    starts = _C.ones(values.shape, dtype=_C.bool)
    if values.numel() > 1:
        starts[1:] = values[1:] != values[:-1]
    return values, order, starts


def unique_all(x: Tensor, /) -> UniqueAll:
    """The values without duplicates, sorted: values, indices of their first occurrence, for each
    element of x the position of its value, and counts. Each NaN is a value of its own.
    """
    values, order, starts = _runs(x)
    inverse = _C.empty(order.shape, dtype=_C.int64)
    inverse[order] = _C.cumsum(starts.to(_C.int64), 0) - 1
    first = starts.nonzero().reshape(-1)
    ends = _C.cat([first[1:], _C.tensor([order.numel()])]) if first.numel() else first
    return UniqueAll(values[first], order[first], inverse.reshape(x.shape), ends - first)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The values without duplicates, sorted, and how often each occurs."""
    all_of_it = unique_all(x)
    return UniqueCounts(all_of_it.values, all_of_it.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The values without duplicates, sorted, and for each element of x its value's position."""
    all_of_it = unique_all(x)
    return UniqueInverse(all_of_it.values, all_of_it.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """The values without duplicates, sorted."""
    values, _, starts = _runs(x)
    return values[starts]


# --- the standard's forms of PyTorch's functions --------------------------------------------------


def _axes(x: Tensor, axis: _Axis) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    return (axis,) if isinstance(axis, int) else tuple(axis)


def _truth(x: Any) -> Tensor:
    """A bool as a tensor; of other numbers the standard knows no truth value."""
    if not isinstance(x, (Tensor, bool)):
        raise TypeError(f"expected a Tensor or a bool, not {type(x).__name__}")
    return _C.as_tensor(x)


def _one_at_a_time(function: Any, x: Tensor, axis: _Axis, keepdims: bool, **more: Any) -> Tensor:
    """A reduction over several dimensions by one that takes a single one."""
    axes = sorted((a % max(x.ndim, 1) for a in _axes(x, axis)), reverse=True)
    if len(set(axes)) != len(axes):
        raise RuntimeError(f"an axis appears twice in {axis}")
    for a in axes:
        x = function(x, a, keepdim=True, **more)
    return x if keepdims else x.squeeze(tuple(axes))


def _operands(x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    """Two operands of which one may be a number: as a 0-d tensor of the common dtype."""
    dtype = result_type(x1, x2)
    first, second = (x if isinstance(x, Tensor) else _C.tensor(x, dtype=dtype) for x in (x1, x2))
    return first, second


class forms:
    """Tried when PyTorch's function of the name refuses the call with a TypeError."""

    @staticmethod
    def max(x: Tensor, /, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
        return _C.amax(x, _axes(x, axis), keepdims) if x.ndim else x.clone()

    @staticmethod
    def min(x: Tensor, /, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
        return _C.amin(x, _axes(x, axis), keepdims) if x.ndim else x.clone()

    @staticmethod
    def prod(
        x: Tensor, /, *, axis: _Axis = None, dtype: Any = None, keepdims: bool = False
    ) -> Tensor:
        x = x.to(dtype) if dtype is not None else x
        if not x.ndim or axis == ():
            return _C.prod(x.reshape((*x.shape, 1)), -1, dtype=dtype)
        return _one_at_a_time(_C.prod, x, axis, keepdims, dtype=dtype)

    @staticmethod
    def all(x: Tensor, /, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
        x = _C.as_tensor(x)  # a bool: what PyTorch's equal() gives
        return _one_at_a_time(_C.all, x.to(_C.bool), axis, keepdims)

    @staticmethod
    def any(x: Tensor, /, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
        x = _C.as_tensor(x)
        return _one_at_a_time(_C.any, x.to(_C.bool), axis, keepdims)

    @staticmethod
    def equal(x1: Any, x2: Any, /) -> Tensor:
        """Of a tensor and a number, or of truth values, which is what PyTorch's equal() gives."""
        return _C.eq(*_operands(x1, x2))

    @staticmethod
    def logaddexp(x1: Any, x2: Any, /) -> Tensor:
        return _C.logaddexp(*_operands(x1, x2))

    @staticmethod
    def logical_not(x: Any, /) -> Tensor:
        return _C.logical_not(_truth(x))

    @staticmethod
    def logical_and(x1: Any, x2: Any, /) -> Tensor:
        return _C.logical_and(_truth(x1), _truth(x2))

    @staticmethod
    def logical_or(x1: Any, x2: Any, /) -> Tensor:
        return _C.logical_or(_truth(x1), _truth(x2))

    @staticmethod
    def logical_xor(x1: Any, x2: Any, /) -> Tensor:
        return _C.logical_xor(_truth(x1), _truth(x2))

    @staticmethod
    def count_nonzero(x: Tensor, /, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
        if axis is None and not keepdims:
            return _C.count_nonzero(x)
        return _C.sum((x != 0).to(_C.int64), _axes(x, axis), keepdims)

    @staticmethod
    def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
        return forms.clamp(x, min, max)

    @staticmethod
    def clamp(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
        """A tensor for one bound and a number for the other."""
        for bound, choose in ((min, _C.maximum), (max, _C.minimum)):
            if bound is not None:
                if not isinstance(bound, Tensor):
                    bound = _C.tensor(bound, dtype=x.dtype)
                x = choose(x, bound.to(x.dtype))
        return x

    @staticmethod
    def concat(arrays: Any, /, *, axis: int | None = 0) -> Tensor:
        if axis is None:
            arrays, axis = [a.reshape(-1) for a in arrays], 0
        return _C.cat(arrays, axis)

    @staticmethod
    def flip(x: Tensor, /, *, axis: _Axis = None) -> Tensor:
        return _C.flip(x, _axes(x, axis))

    @staticmethod
    def roll(x: Tensor, /, shift: Any, *, axis: _Axis = None) -> Tensor:
        return _C.roll(x, shift) if axis is None else _C.roll(x, shift, _axes(x, axis))

    @staticmethod
    def reshape(x: Tensor, /, shape: Any, *, copy: bool | None = None) -> Tensor:
        if copy is False:
            return x.view(shape)
        made = _C.reshape(x, shape)
        return made.clone() if copy and made.data_ptr() == x.data_ptr() else made

    @staticmethod
    def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
        if axis is None:
            if x.ndim != 1:
                raise ValueError(f"axis must be given: the tensor has {x.ndim} dimensions, not 1")
            axis = 0
        return _C.index_select(x, axis, indices)

    @staticmethod
    def searchsorted(
        x1: Tensor, x2: Tensor, /, *, side: str = "left", sorter: Any = None
    ) -> Tensor:
        return _C.searchsorted(x1, x2, side=side, sorter=sorter)

    @staticmethod
    def diff(
        x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None
    ) -> Tensor:
        return _C.diff(x, n, axis, prepend, append)

    @staticmethod
    def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
        return _C.tril(x, k)

    @staticmethod
    def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
        return _C.triu(x, k)

    @staticmethod
    def eye(
        n_rows: int,
        n_cols: int | None = None,
        /,
        *,
        k: int = 0,
        dtype: Any = None,
        device: Any = None,
    ) -> Tensor:
        _check_device(device)
        made = _C.zeros(n_rows, n_rows if n_cols is None else n_cols, dtype=dtype)
        if -made.shape[0] < k < made.shape[1]:
            made.diagonal(k).fill_(1)
        return made

    @staticmethod
    def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
        size = (shape,) if isinstance(shape, int) else tuple(shape)
        return _C.full(size, fill_value, dtype=dtype, device=device)

    @staticmethod
    def arange(
        start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
    ) -> Tensor:
        if stop is None:
            start, stop = 0, start
        if (stop - start) * step < 0:  # the standard: empty; PyTorch: an error
            return _C.empty(0, dtype=dtype or _C.arange(0, start + step, 1).dtype, device=device)
        return _C.arange(start, stop, step, dtype=dtype, device=device)

    @staticmethod
    def linspace(
        start: Any,
        stop: Any,
        /,
        num: int,
        *,
        dtype: Any = None,
        device: Any = None,
        endpoint: bool = True,
    ) -> Tensor:
        if endpoint:
            return _C.linspace(start, stop, num, dtype=dtype, device=device)
        return _C.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]

    @staticmethod
    def squeeze(x: Tensor, /, axis: Any) -> Tensor:
        return _C.squeeze(x, _axes(x, axis))


# Their first argument is no tensor, or needn't be.
_MAKE = ("arange", "concat", "eye", "full", "linspace")
_WITH_NUMBER = ("equal", "logaddexp")


def call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The standard's form of function `name`; NotImplemented if it has none of its own."""
    form = forms.__dict__.get(name)
    tested = args if name in _WITH_NUMBER else args[:1]
    if form is None or not (name in _MAKE or any(isinstance(x, (Tensor, bool)) for x in tested)):
        return NotImplemented
    return form.__func__(*args, **kwargs)
