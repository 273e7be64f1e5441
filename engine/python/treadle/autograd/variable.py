"""Variable, the name that tensors with gradients had before PyTorch 0.4."""

from __future__ import annotations

from typing import Any

from .. import _C


class _Engine:
    """What PyTorch calls its engine: callbacks of the backward pass that runs."""

    @staticmethod
    def queue_callback(callback: Any) -> None:
        """Calls it at the end of the backward pass that runs on this thread; RuntimeError: none."""
        _C._queue_callback(callback)


class _VariableMeta(type):
    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, _C.Tensor)


class Variable(metaclass=_VariableMeta):
    """Variable(tensor) is the tensor's alias; isinstance(tensor, Variable) is True."""

    _execution_engine = _Engine

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        made = _C.tensor([]) if data is None else data.detach()
        return made.requires_grad_(requires_grad) if requires_grad else made
