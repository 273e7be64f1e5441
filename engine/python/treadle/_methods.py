"""Methods of tensors that are made of others: hashes, and where and how a tensor lies in memory."""

from __future__ import annotations

import math

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Tensor = _C.Tensor


def get_device(self: Tensor) -> int:
    """The number of the device: -1 for the CPU."""
    return -1


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is page-locked: never, there is no other device to copy to."""
    return False


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """RuntimeError: page-locked memory is of use to other devices only, which this build lacks."""
    raise RuntimeError("Need to provide pin_memory allocator to use pin memory.")


def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions from the slowest in memory to the fastest.

    ambiguity_check: True: RuntimeError where several orders fit; a list of memory formats: where
    more than one of these does.
    """
    strides = self.stride()
    order = sorted(range(len(strides)), key=lambda d: -strides[d])
    if ambiguity_check is True:
        kept = [strides[d] for d in order if self.shape[d] != 1]
        if self.numel() == 0 or len(kept) < len(order) or len(set(kept)) < len(kept):
            raise RuntimeError("The tensor does not have unique dim order")
    elif ambiguity_check is not False:
        if not all(isinstance(f, _C.memory_format) for f in ambiguity_check):
            raise TypeError(
                "The ambiguity_check argument must be a bool or a list of memory formats."
            )
        if sum(self.is_contiguous(memory_format=f) for f in ambiguity_check) > 1:
            raise RuntimeError("The tensor does not have unique dim order")
    return tuple(order)


def _words(t: Tensor) -> Tensor:
    """The numbers as int64: of integers the value, of others the bits of their float64."""
    if t.is_complex():
        raise NotImplementedError('"hash_tensor" not implemented for complex dtypes')
    if t.dtype.is_floating_point:
        return t.detach().to(_C.float64).view(_C.int64)
    return t.view(_C.int64) if t.dtype is _C.uint64 else t.to(_C.int64)


def hash_tensor(
    input: Tensor, dim: Any = (), *, keepdim: bool = False, mode: int = 0, out: Any = None
) -> Tensor:
    """A uint64 for each group of elements along `dim` (default: all): the xor of their bits.

    input: any real dtype; floats count by the bits of their float64, integers by their value. mode:
    0, the only one.
    """
    if mode != 0:
        raise RuntimeError("Unknown hash_tensor mode, expected 0")
    dims = [dim] if isinstance(dim, int) else list(dim)
    n = input.dim()
    for d in dims:
        if not -max(n, 1) <= d < max(n, 1):
            low, high = -max(n, 1), max(n, 1) - 1
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{low}, {high}], but got {d})"
            )
    if not dims and input.numel() == 0:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify "
            "the reduction dim with the 'dim' argument."
        )
    gone = {d % max(n, 1) for d in dims} if dims else set(range(n))
    kept = [d for d in range(n) if d not in gone]
    shape = [input.shape[d] for d in kept]
    words = (
        _words(input).permute(*kept, *(d for d in range(n) if d in gone)) if n else _words(input)
    )
    words = words.reshape(*shape, words.numel() // max(math.prod(shape), 1) if words.numel() else 0)
    if words.shape[-1] == 0:
        words = _C.zeros(*shape, 1, dtype=_C.int64)
    while words.shape[-1] > 1:
        half = words.shape[-1] // 2
        rest = words[..., 2 * half :]
        words = words[..., :half] ^ words[..., half : 2 * half]
        if rest.shape[-1]:
            words = _C.cat([words, rest], -1)
    if keepdim:
        shape = [1 if d in gone else input.shape[d] for d in range(n)]
    made = words.view(_C.uint64).reshape(shape)
    if out is None:
        return made
    if out.dtype is not _C.uint64:
        raise RuntimeError("Expected out tensor to have dtype uint64")
    return out.resize_(made.shape).copy_(made)


METHODS = (get_device, is_pinned, pin_memory, dim_order, hash_tensor)
