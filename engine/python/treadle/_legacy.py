"""What old code calls: FloatTensor and its kin, set_default_tensor_type, typename.

FloatTensor(2, 3) is Tensor(2, 3) of its dtype, whatever the default is, and isinstance() asks for
that dtype.
"""

from __future__ import annotations

from typing import Any

from . import _C
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


class FloatStorage(TypedStorage):
    """A storage of float32 elements."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args, dtype=_C.float32)


Storage = FloatStorage


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
