"""What old code calls: FloatTensor and its kin, set_default_tensor_type, typename.

FloatTensor(2, 3) is Tensor(2, 3) of its dtype, whatever the default is, and isinstance() asks for
that dtype.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from . import _C
from ._dtypes import name_of
from ._tensor import _TYPE_NAMES, prefix
from .storage import TypedStorage

Tensor = _C.Tensor


class tensortype(type):
    """The class of FloatTensor and its kin."""

    dtype: _C.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        return _C._legacy_typed(cls.dtype, *args, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class '{prefix()}.{cls.__name__}'>"


def _make(dtype_name: str, word: str) -> tensortype:
    members = {
        "dtype": _C._dtype(dtype_name),
        "is_cuda": False,
        "__module__": "treadle",
        "__doc__": f"Tensor(...) of dtype {dtype_name}: from sizes, or from a sequence of numbers.",
    }
    return tensortype(word + "Tensor", (), members)


NAMES = ("Half", "BFloat16", "Float", "Double", "Byte", "Char", "Short", "Int", "Long", "Bool")
globals().update(
    {word + "Tensor": _make(name, word) for name, word in _TYPE_NAMES.items() if word in NAMES}
)


def _storage(dtype_name: str, word: str) -> type:
    def __init__(self: TypedStorage, *args: Any) -> None:
        TypedStorage.__init__(self, *args, dtype=_C._dtype(dtype_name))

    members = {
        "__init__": __init__,
        "__module__": "treadle",
        "__doc__": f"A storage of {dtype_name} elements.",
    }
    return type(word + "Storage", (TypedStorage,), members)


globals().update(
    {word + "Storage": _storage(name, word) for name, word in _TYPE_NAMES.items()
     if word in (*NAMES, "ComplexFloat", "ComplexDouble")}
)  # fmt: skip


def storage_of_default() -> type:
    """Storage: that of the default dtype."""
    return globals()[_TYPE_NAMES[name_of(_C.get_default_dtype())] + "Storage"]


def set_default_tensor_type(t: Any) -> None:
    """Sets the default dtype to that of a floating-point tensor type, or of its name."""
    if isinstance(t, str):
        name = t.rpartition(".")[2].removesuffix("Tensor")
        names = [n for n, word in _TYPE_NAMES.items() if word == name]
        t = _C._dtype(names[0]) if names and t.endswith("Tensor") else None
    else:
        t = getattr(t, "dtype", None)
    if not isinstance(t, _C.dtype):
        raise TypeError(
            "invalid type object: only floating-point types are supported as the default type"
        )
    _C.set_default_dtype(t)


def range(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """start, start + step, ... up to `end`, which belongs to it. Deprecated: use arange()."""
    warnings.warn(
        f"{prefix()}.range is deprecated and will be removed in a future release because its "
        f"behavior is inconsistent with Python's range builtin. Instead, use {prefix()}.arange, "
        "which produces values in [start, end).",
        UserWarning,
        stacklevel=2,
    )
    if end is None:
        start, end = 0, start
    if dtype is None:
        dtype = _C.get_default_dtype() if out is None else out.dtype
    # arange() ends before its end: half a step after the last element.
    if step != 0 and (end - start) / step >= 0:
        end = start + step * (math.floor((end - start) / step) + 0.5)
    made = _C.arange(
        start, end, step, out=out, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory
    )
    return made.requires_grad_() if requires_grad else made


def set_default_device(device: Any) -> None:
    """Sets where new tensors are made; None: on the cpu, the only device of this build."""
    if device is not None and _C.device(device).type != "cpu":
        raise NotImplementedError(
            f"set_default_device({device!r}): this build has only the cpu device"
        )


def get_default_device() -> _C.device:
    """Where new tensors are made."""
    return _C.device("cpu")


def typename(obj: Any, /) -> str:
    """ "treadle.FloatTensor" of a tensor, of other objects the full name of their type."""
    if isinstance(obj, Tensor):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", "") or ""
    name = getattr(named, "__qualname__", "")
    return name if module in ("", "builtins", "__builtin__") else f"{module}.{name}"
