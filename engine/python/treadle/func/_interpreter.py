"""What operators of one's own use to take part in the transforms, under PyTorch's names
(`torch._C._functorch` there): the running transforms, and the tensors that they follow.

Level numbers count the running transforms from 1, the outermost.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager

from .. import _C
from .._modes import forward
from ._batch import Batched, random_factory
from ._dual import Dual
from ._levels import Level, Tensor, Wrapped, detached, stack
from ._show import grad_levels


class TransformType(enum.Enum):
    Functionalize = "functionalize"
    Vmap = "vmap"
    Grad = "grad"
    Jvp = "jvp"


class Interpreter:
    """One running transform, as the kernels of operators see it."""

    def __init__(self, level: Level, number: int) -> None:
        self._level = level
        self._number = number

    def key(self) -> TransformType:
        return TransformType(self._level.kind)

    def level(self) -> int:
        return self._number

    def batch_size(self) -> int:
        """Of a vmap."""
        return self._level.size

    def randomness(self) -> str:
        """Of a vmap."""
        return self._level.randomness

    @contextmanager
    def lower(self) -> Iterator[None]:
        """A block outside this transform: what it runs comes to the next one."""
        level = self._level
        at = stack.levels.index(level)
        stack.levels.remove(level)
        enabled = forward.enabled
        batches = [v for v in stack.levels if v.kind == "vmap"]
        drawing = _C._set_random_override(random_factory(batches[-1]) if batches else None)
        if level.kind == "jvp":
            forward.enabled = level.forward_outside
        try:
            yield
        finally:
            forward.enabled = enabled
            _C._set_random_override(drawing)
            stack.levels.insert(at, level)


def _running() -> list[Level]:
    return [v for v in stack.levels if not v.manual]


def peek_interpreter_stack() -> Interpreter | None:
    """The innermost running transform."""
    levels = _running()
    return Interpreter(levels[-1], len(levels)) if levels else None


def maybe_current_level() -> int | None:
    return len(_running()) or None


def _numbered(level: int) -> Level:
    levels = _running()
    if not 1 <= level <= len(levels):
        raise RuntimeError(f"there is no running transform of level {level}")
    return levels[level - 1]


def is_batchedtensor(tensor: Tensor) -> bool:
    return isinstance(tensor, Batched)


def maybe_get_bdim(tensor: Tensor) -> int:
    """Where the hidden batch dimension is; -1 without one."""
    return tensor._bdim if isinstance(tensor, Batched) else -1


def maybe_get_level(tensor: Tensor) -> int:
    """The number of the transform that follows the tensor; -1 if none does, or it has ended."""
    levels = _running()
    following = grad_levels(tensor)
    while isinstance(tensor, Wrapped):
        following.append(tensor._level)
        tensor = tensor._inner
    return max((levels.index(v) + 1 for v in following if v in levels), default=-1)


def get_unwrapped(tensor: Tensor) -> Tensor:
    """Of a tensor that vmap or jvp follows the one below: the whole batch, the primal."""
    if not isinstance(tensor, Wrapped):
        raise RuntimeError("get_unwrapped: no transform follows this tensor")
    return tensor._inner


def _add_batch_dim(tensor: Tensor, bdim: int, level: int) -> Tensor:
    """tensor, of which the dimension bdim becomes the hidden one of the vmap `level`."""
    return Batched.make(tensor, bdim % tensor.dim(), _numbered(level))


def _remove_batch_dim(tensor: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """tensor with the hidden dimension of the vmap `level` as its dimension out_dim."""
    if isinstance(tensor, Batched) and tensor._level is _numbered(level):
        return tensor._inner.movedim(tensor._bdim, out_dim)
    return tensor.unsqueeze(0).expand((batch_size, *tensor.shape)).movedim(0, out_dim)


def _wrap_for_grad(tensor: Tensor, level: int) -> Tensor:
    """tensor as grad `level` sees it. All grads share one tape, so that it is the tensor itself."""
    return tensor


def _unwrap_for_grad(tensor: Tensor, level: int) -> Tensor:
    """tensor without what grad `level` knows of it: an alias that has no history."""
    if isinstance(tensor, Dual):
        raise NotImplementedError("_unwrap_for_grad: not supported of a tensor with a tangent")
    return detached(tensor)
