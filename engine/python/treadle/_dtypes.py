"""What is known about dtypes: finfo, iinfo, the dtype of a result, conversions that are allowed."""

from __future__ import annotations

from typing import Any

from . import _C
from ._tensor import prefix

Tensor = _C.Tensor

# bits, eps, largest, smallest normal, resolution
_FLOATS: dict[str, tuple[int, float, float, float, float]] = {
    "float16": (16, 2.0**-10, 65504.0, 2.0**-14, 1e-3),
    "bfloat16": (16, 2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 1e-2),
    "float32": (32, 2.0**-23, (2 - 2.0**-23) * 2.0**127, 2.0**-126, 1e-6),
    "float64": (64, 2.0**-52, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022, 1e-15),
}
_PART = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}


def name_of(dtype: _C.dtype) -> str:
    """ "float32" """
    return str(dtype).rpartition(".")[2]


def _dtype_argument(function: str, type: Any) -> _C.dtype:
    if isinstance(type, Tensor):
        return type.dtype
    if not isinstance(type, _C.dtype):
        raise TypeError(
            f"{function}(): argument 'type' (position 1) must be {prefix()}.dtype, not "
            f"{type.__class__.__name__}"
        )
    return type


class finfo:
    """Limits of a floating-point dtype, or of the parts of a complex one.

    type: a dtype (default: the default dtype) or a tensor. TypeError for integers.
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    tiny: float
    resolution: float
    dtype: _C.dtype

    def __init__(self, type: Any = None) -> None:
        dtype = _C.get_default_dtype() if type is None else _dtype_argument("finfo", type)
        name = _PART.get(name_of(dtype), name_of(dtype))
        if name not in _FLOATS:
            raise TypeError(
                f"{prefix()}.finfo() requires a floating point input type. Use "
                f"{prefix()}.iinfo to handle '{prefix()}.finfo'"
            )
        self.dtype = _C._dtype(name)
        self.bits, self.eps, self.max, self.smallest_normal, self.resolution = _FLOATS[name]
        self.min, self.tiny = -self.max, self.smallest_normal

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype is other.dtype

    def __hash__(self) -> int:
        return hash(("finfo", self.dtype))

    def __repr__(self) -> str:
        parts = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        texts = [f"{part}={getattr(self, part):g}" for part in parts]
        return f"finfo({', '.join(texts)}, dtype={name_of(self.dtype)})"


class iinfo:
    """Limits of an integer dtype. type: a dtype or a tensor. TypeError for other kinds."""

    bits: int
    max: int
    min: int
    dtype: _C.dtype

    def __init__(self, type: Any) -> None:
        dtype = _dtype_argument("iinfo", type)
        name = name_of(dtype)
        if dtype.is_floating_point or dtype.is_complex:
            raise TypeError(
                f"{prefix()}.iinfo() requires an integer input type. Use "
                f"{prefix()}.finfo to handle '{prefix()}.iinfo'"
            )
        if name == "bool":
            raise TypeError(f"{prefix()}.bool is not supported by {prefix()}.iinfo")
        self.dtype = dtype
        self.bits = 8 * dtype.itemsize
        self.min = -(2 ** (self.bits - 1)) if dtype.is_signed else 0
        self.max = 2 ** (self.bits - dtype.is_signed) - 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype is other.dtype

    def __hash__(self) -> int:
        return hash(("iinfo", self.dtype))

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={name_of(self.dtype)})"


def _kind(dtype: _C.dtype) -> int:
    """bool, integer, floating, complex in this order."""
    if dtype.is_complex:
        return 3
    if dtype.is_floating_point:
        return 2
    return 1 if dtype is not _C.bool else 0


def _number_dtype(number: Any) -> _C.dtype:
    if isinstance(number, bool):
        return _C.bool
    if isinstance(number, int):
        return _C.int64
    if isinstance(number, float):
        return _C.get_default_dtype()
    if isinstance(number, complex):
        return _C.get_default_dtype().to_complex()
    raise TypeError(
        f"result_type(): expected tensors, dtypes or numbers, not {number.__class__.__name__}"
    )


def _common(dtypes: list[_C.dtype]) -> _C.dtype | None:
    common: _C.dtype | None = None
    for dtype in dtypes:
        common = dtype if common is None else _C.promote_types(common, dtype)
    return common


def _combine(higher: _C.dtype | None, lower: _C.dtype | None) -> _C.dtype | None:
    """The dtype of a group that decides, unless the other one is of a higher kind."""
    if higher is None or lower is None or _kind(higher) >= _kind(lower):
        return lower if higher is None else higher
    if _kind(higher) == 0:
        return lower
    if _kind(higher) == 2:  # with complex numbers
        return higher.to_complex()
    return lower


def can_cast(from_: _C.dtype | Tensor, to: _C.dtype) -> bool:
    """Whether promotion's rules allow a conversion of from_, a dtype or a tensor's, to `to`."""
    return _C._can_cast(from_, to)


def result_type(*arrays_and_dtypes: Any) -> _C.dtype:
    """The dtype of an op on all of these: tensors, dtypes and numbers.

    PyTorch's rule for all: tensors with dimensions decide before 0-d ones, these before numbers,
    unless the later is of a higher kind. A dtype counts like a tensor with dimensions. RuntimeError
    where there is no common dtype.
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type(): expected at least one tensor, dtype or number")
    full: list[_C.dtype] = []
    zero_dim: list[_C.dtype] = []
    numbers: list[_C.dtype] = []
    for item in arrays_and_dtypes:
        if isinstance(item, Tensor):
            (full if item.ndim else zero_dim).append(item.dtype)
        elif isinstance(item, _C.dtype):
            full.append(item)
        else:
            numbers.append(_number_dtype(item))
    result = _combine(_common(full), _combine(_common(zero_dim), _common(numbers)))
    assert result is not None
    return result


_DTYPE_KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float16", "bfloat16", "float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_DTYPE_KINDS["integral"] = _DTYPE_KINDS["signed integer"] + _DTYPE_KINDS["unsigned integer"]
_DTYPE_KINDS["numeric"] = (
    _DTYPE_KINDS["integral"] + _DTYPE_KINDS["real floating"] + _DTYPE_KINDS["complex floating"]
)


def names_of_kind(kind: str) -> tuple[str, ...]:
    """The dtypes of one of the array API standard's kinds. ValueError for another word."""
    if kind not in _DTYPE_KINDS:
        raise ValueError(f"unknown kind '{kind}': expected one of {', '.join(_DTYPE_KINDS)}")
    return _DTYPE_KINDS[kind]


def isdtype(dtype: _C.dtype, kind: Any) -> bool:
    """Whether dtype is of a kind: a dtype, one of the array API standard's words, or a tuple.

    The words: bool, signed integer, unsigned integer, integral, real floating, complex floating,
    numeric. ValueError for another word, TypeError for other types.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        return name_of(dtype) in names_of_kind(kind)
    if isinstance(kind, _C.dtype):
        return dtype is kind
    raise TypeError(f"kind must be a str, a dtype or a tuple of them, not {type(kind).__name__}")


class _Named:
    """A dtype of PyTorch that Treadle has only the name of: no tensor can be made of it."""

    def __init__(self, name: str, itemsize: int, kind: str) -> None:
        self.name, self.itemsize = name, itemsize
        self.is_floating_point = kind == "float"
        self.is_complex = kind == "complex"
        self.is_signed = kind != "unsigned"

    def __repr__(self) -> str:
        return f"{prefix()}.{self.name}"

    def __reduce__(self) -> str:
        return self.name


NAMED = {
    name: _Named(name, itemsize, kind)
    for kind, itemsize, names in (
        ("float", 1, ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
                      "float8_e8m0fnu")),
        ("quantized", 1, ("qint8", "quint8", "quint4x2", "quint2x4")),
        ("quantized", 4, ("qint32",)),
    )
    for name in names
}  # fmt: skip
globals().update(NAMED)


def promote_named(type1: Any, type2: Any) -> Any:
    """promote_types() where one of the dtypes is only a name."""
    for dtype in (type1, type2):
        if not isinstance(dtype, (_C.dtype, _Named)):
            raise TypeError(
                f"promote_types(): arguments must be {prefix()}.dtype, not "
                f"{dtype.__class__.__name__}"
            )
    if type1 is type2:
        return type1
    if "float8" in f"{type1}{type2}":
        raise RuntimeError(
            f"Promotion for Float8 Types is not supported, attempted to promote {type1} and {type2}"
        )
    raise NotImplementedError(f"promotion of {type1} and {type2}: no tensor can be of such a dtype")
