"""Storages: the memory that tensors lie in, as objects.

A storage here is a view of the bytes, or of the elements, of one piece of memory; the tensors over
it keep it alive, and it keeps them a place to lie in.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from . import _C
from ._dtypes import name_of
from ._tensor import prefix

Tensor = _C.Tensor

__all__ = ["TypedStorage", "UntypedStorage"]


class _Storage:
    """What both kinds have. `_flat`: the elements, as a 1-d tensor over the whole memory."""

    _flat: Tensor

    @property
    def device(self) -> _C.device:
        return self._flat.device

    @property
    def is_cuda(self) -> bool:
        return False

    @property
    def _cdata(self) -> int:
        return _C._storage_id(self._flat)

    def data_ptr(self) -> int:
        """Address of the first byte."""
        return self._flat.data_ptr()

    def size(self) -> int:
        """Number of elements; of an untyped storage, of bytes."""
        return self._flat.numel()

    def nbytes(self) -> int:
        """Number of bytes."""
        return self._flat.numel() * self._flat.element_size()

    def element_size(self) -> int:
        """Bytes of one element."""
        return self._flat.element_size()

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self._flat.tolist()

    def fill_(self, value: Any) -> Any:
        """Sets all elements."""
        self._flat.fill_(value)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> Any:
        """Takes over the elements of another storage of this size."""
        self._flat.copy_(source._flat)
        return self

    def clone(self) -> Any:
        """A storage in memory of its own with the same elements."""
        return self._over(self._flat.clone())

    @classmethod
    def _over(cls, flat: Tensor) -> Any:
        made = cls.__new__(cls)
        made._flat = flat
        return made

    def __len__(self) -> int:
        return self._flat.numel()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._flat.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._over(self._flat[index])
        return self._flat[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._flat[index] = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Storage) and self._cdata == other._cdata

    def __hash__(self) -> int:
        return hash(self._cdata)


class UntypedStorage(_Storage):
    """The bytes of a piece of memory. size: how many new ones, all 0."""

    def __init__(self, size: Any = 0, *, device: Any = None) -> None:
        if isinstance(size, int):
            self._flat = _C.zeros(size, dtype=_C.uint8, device=device)
        else:
            self._flat = _C.tensor(list(size), dtype=_C.uint8, device=device)

    @property
    def filename(self) -> str | None:
        """The file that the memory is shared with (from_file), or None."""
        file = sys.modules.get(f"{__package__}._file")
        return file.name_of(self.data_ptr()) if file is not None else None

    @staticmethod
    def from_file(filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first bytes of a file; writes go to it if it is shared (see treadle.from_file)."""
        from ._file import from_file

        return untyped_of(from_file(filename, shared, nbytes, dtype=_C.uint8))

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def __repr__(self) -> str:
        numbers = "\n ".join(str(value) for value in self)
        kind = f"{prefix()}.storage.UntypedStorage(device={self.device})"
        return f" {numbers}\n[{kind} of size {len(self)}]"


class TypedStorage(_Storage):
    """The elements of a piece of memory, of one dtype."""

    def __init__(self, *args: Any, dtype: Any = None, device: Any = None) -> None:
        dtype = dtype or _C.get_default_dtype()
        if len(args) == 1 and hasattr(args[0], "__index__"):
            self._flat = _C.zeros(args[0].__index__(), dtype=dtype, device=device)
        elif not args:
            self._flat = _C.zeros(0, dtype=dtype, device=device)
        else:
            self._flat = _C.tensor(list(args[0]), dtype=dtype, device=device)

    @property
    def dtype(self) -> _C.dtype:
        return self._flat.dtype

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage._over(_C._storage_bytes(self._flat))

    def __repr__(self) -> str:
        numbers = "\n ".join(str(value) for value in self)
        return (
            f" {numbers}\n[{prefix()}.storage.TypedStorage(dtype={prefix()}.{name_of(self.dtype)}, "
            f"device={self.device}) of size {len(self)}]"
        )


def untyped_of(tensor: Tensor) -> UntypedStorage:
    """The memory a tensor lies in, as bytes."""
    return UntypedStorage._over(_C._storage_bytes(tensor))


def typed_of(tensor: Tensor) -> TypedStorage:
    """The memory a tensor lies in, as elements of its dtype."""
    count = _C._storage_bytes(tensor).numel() // tensor.element_size()
    return TypedStorage._over(_C._over_storage(tensor, tensor.dtype, 0, (count,), None))


def over(storage: Any, dtype: _C.dtype, offset: int, size: Any, stride: Any) -> Tensor:
    """A tensor over a storage. RuntimeError where it would reach beyond its end."""
    if size is None:
        count = storage.nbytes() // _C.empty(0, dtype=dtype).element_size()
        size = (count - offset,)
    return _C._over_storage(storage._flat, dtype, offset, tuple(size), stride)
