"""asarray: a tensor from anything, over the same memory where that is possible.

tensor(), as_tensor(), from_numpy(), frombuffer() and from_dlpack() are in the extension module.
"""

from __future__ import annotations

import sys
from typing import Any

from . import _C
from ._tensor import type_word

Tensor = _C.Tensor


def _is_numpy(obj: Any, name: str) -> bool:
    """Without importing NumPy: whoever made obj has."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(obj, getattr(numpy, name))


def _has_buffer(obj: Any) -> bool:
    try:
        memoryview(obj).release()
    except TypeError:
        return False
    return True


def _over_bytes(obj: Any, dtype: Any) -> Tensor:
    dtype = dtype or _C._dtype_of_buffer(obj)
    if dtype is None:
        raise TypeError("asarray(): the buffer's elements have no equal dtype: give dtype=")
    with memoryview(obj) as view:
        if view.nbytes == 0:
            return _C.empty(0, dtype=dtype)
    return _C.frombuffer(obj, dtype=dtype)


def _shared(obj: Any, dtype: Any, copy: bool | None) -> Tensor | None:
    """A tensor over obj's memory; None for what has none."""
    if isinstance(obj, Tensor):
        return obj
    if _is_numpy(obj, "ndarray"):
        return _C.as_tensor(obj) if copy is not False else _C.from_numpy(obj)
    if _is_numpy(obj, "generic"):
        if copy is False:
            raise RuntimeError(
                "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. "
            )
        return _C.tensor(obj)
    if obj.__class__.__name__ == "PyCapsule" or hasattr(obj, "__dlpack__"):
        return _C.from_dlpack(obj)
    if isinstance(obj, (bytes, bytearray, memoryview)) or _has_buffer(obj):
        return _over_bytes(obj, dtype)
    return None


def asarray(
    obj: Any,
    /,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """obj as a tensor, over the same memory where that is possible.

    obj: a tensor, an array, a DLPack capsule or producer, a buffer, a number or nested sequences of
    numbers. copy: True: always new memory; False: never (ValueError where the memory can't be
    shared); None: only where it must be. requires_grad: None: as obj. A buffer that has no dtype of
    its own is read as `dtype`.
    """
    if device is not None and _C.device(device).type != "cpu":
        raise NotImplementedError("asarray(): this build has only the cpu device")
    made = _shared(obj, dtype, copy)
    if made is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        made = _C.tensor(obj, dtype=dtype)
    elif dtype is not None and made.dtype != _C.empty(0, dtype=dtype).dtype:
        if copy is False:
            raise ValueError(
                f"can't alias tensor with dtype '{type_word(made.dtype)}' into dtype "
                f"'{type_word(dtype)}'."
            )
        made = made.to(dtype)
    elif copy:
        made = made.clone()
    wanted = made.requires_grad if requires_grad is None else requires_grad
    if not made.is_leaf and not wanted:
        return made.detach()
    return made if made.requires_grad == wanted else made.requires_grad_(wanted)
