"""from_file: tensors over the bytes of a file."""

from __future__ import annotations

import mmap
import os
import weakref
from typing import Any

from . import _C


class _Mapping(mmap.mmap):
    """The memory of a mapped file, alive as long as a storage is over it."""

    filename: str


# From the address of the memory; for UntypedStorage.filename.
_shared: weakref.WeakValueDictionary[int, _Mapping] = weakref.WeakValueDictionary()


def from_file(
    filename: str,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
) -> _C.Tensor:
    """A 1-d tensor of `size` elements over the bytes of a file.

    shared: whether writes to the tensor go to the file, which is made or made larger where it has
    too few bytes; otherwise the file stays as it is, and RuntimeError says where it is too small.
    """
    model = _C.empty(0, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    if size < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {size}: [{size}]")
    wanted = size * model.element_size()
    if wanted == 0:
        return model
    flags = os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY
    try:
        file = os.open(filename, flags, 0o600)
    except OSError as error:
        raise RuntimeError(f"unable to open file <{filename}>: {error}") from None
    try:
        held = os.fstat(file).st_size
        if held < wanted:
            if not shared:
                raise RuntimeError(
                    f"file <{filename}> has {held} bytes, fewer than the {wanted} that a tensor of "
                    f"{size} elements needs"
                )
            os.ftruncate(file, wanted)
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        memory = _Mapping(file, wanted, access=access)
    finally:
        os.close(file)
    made = _C.frombuffer(memory, dtype=model.dtype)
    if shared:
        memory.filename = os.fspath(filename)
        _shared[made.data_ptr()] = memory
    return made


def name_of(address: int) -> str | None:
    """The file that the memory at an address is shared with; None if there is none."""
    mapping = _shared.get(address)
    return mapping.filename if mapping is not None else None
