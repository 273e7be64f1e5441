"""Pickles and deep copies of tensors. Tensors over one memory stay so, and keep their strides."""

from __future__ import annotations

import pickle
import weakref
from typing import Any

from . import _C

Tensor = _C.Tensor


class Shared:
    """The memory of tensors that are pickled together: one object, which pickle saves once."""

    def __init__(self, flat: Tensor) -> None:
        self.flat = flat  # all bytes

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not self.flat.numel():
            return _load, (b"",)
        if protocol >= 5:  # may go beside the pickle, without a copy
            return _load, (pickle.PickleBuffer(self.flat),)
        return _load, (bytes(memoryview(self.flat)),)


_known: weakref.WeakValueDictionary[int, Shared] = weakref.WeakValueDictionary()


def shared(tensor: Tensor) -> Shared:
    """The object for a tensor's memory; the same one as long as somebody (a pickler) has it."""
    key = _C._storage_id(tensor)
    found = _known.get(key)
    if found is None:
        found = _known[key] = Shared(_C._storage_bytes(tensor))
    return found


def _load(data: Any) -> Shared:
    view = memoryview(data)
    flat = _C.empty(view.nbytes, dtype=_C.uint8)
    if view.nbytes:
        memoryview(flat)[:] = view.cast("B")
    return Shared(flat)


def _numbers(tensor: Tensor) -> Tensor:
    """The tensor with its numbers in memory: no lazy conjugate or negative."""
    return tensor.detach().resolve_conj().resolve_neg()


def reduce(tensor: Tensor) -> Any:
    """What Tensor.__reduce_ex__ gives."""
    if not tensor.is_leaf and tensor.requires_grad:
        raise RuntimeError(
            "only leaf tensors can be pickled: detach() the tensor first, its history isn't saved"
        )
    state = tensor.__dict__ or None
    plain = _numbers(tensor)
    place = (plain.storage_offset(), tuple(plain.shape), plain.stride())
    return rebuild, (
        type(tensor), shared(plain), plain.dtype, *place, tensor.requires_grad, state,
    )  # fmt: skip


def rebuild(
    cls: Any,
    memory: Shared,
    dtype: _C.dtype,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool,
    attributes: Any,
) -> Any:
    """A tensor of a pickle. RuntimeError if it says to reach beyond its memory."""
    made = _C._over_storage(memory.flat, dtype, offset, size, stride)
    if cls is not Tensor or requires_grad:
        made = _C._make_subclass(cls, made, requires_grad)
    if attributes:
        made.__dict__.update(attributes)
    return made


def deepcopy(tensor: Tensor, memo: dict[int, Any]) -> Any:
    """What Tensor.__deepcopy__ gives."""
    import copy

    if id(tensor) in memo:
        return memo[id(tensor)]
    # The memory by its object, which the memo keeps alive: its id means nothing else meanwhile.
    plain = _numbers(tensor)
    memory = shared(plain)
    if id(memory) not in memo:
        memo[id(memory)] = Shared(memory.flat.clone())
        memo.setdefault(id(memo), []).append(memory)
    place = (plain.storage_offset(), tuple(plain.shape), plain.stride())
    flat = memo[id(memory)].flat
    made = _C._over_storage(flat, plain.dtype, *place)
    made = _C._make_subclass(type(tensor), made, tensor.requires_grad)
    memo[id(tensor)] = made
    if tensor.grad is not None:
        made.grad = copy.deepcopy(tensor.grad, memo)
    made.__dict__.update(copy.deepcopy(tensor.__dict__, memo))
    return made


def reduce_generator(generator: Any) -> Any:
    """What Generator.__reduce__ gives: its state makes an equal one."""
    return rebuild_generator, (generator.device, generator.get_state())


def rebuild_generator(device: Any, state: Tensor) -> Any:
    """A generator of a pickle."""
    made = _C.Generator(device)
    made.set_state(state)
    return made
