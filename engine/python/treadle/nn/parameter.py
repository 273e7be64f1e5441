"""Parameter and Buffer: tensors that a Module registers when they are assigned to it."""

from __future__ import annotations

from typing import Any

from .. import _C


class Parameter(_C.Tensor):
    """A tensor that belongs to a module's parameters. Shares storage with `data`.

    data: tensor of any shape (default: an empty float tensor); requires_grad: default True.
    Raises RuntimeError if gradients are asked of a dtype that has none (integers, bool).
    """

    # What it is given to makes tensors, not more parameters.
    __torch_function__ = staticmethod(_C._disabled_torch_function_impl)

    def __new__(cls, data: _C.Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = _C.empty(0)
        if not isinstance(data, _C.Tensor):
            raise TypeError(f"Parameter data must be a Tensor, not {type(data).__name__}")
        return _C._make_subclass(cls, data, requires_grad)

    def __init__(self, data: _C.Tensor | None = None, requires_grad: bool = True) -> None:
        pass  # all is done in __new__: the base class would build a second tensor

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return "Parameter containing:\n" + super().__repr__(tensor_contents=tensor_contents)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) in memo:
            return memo[id(self)]
        copied = type(self)(self.detach().clone(), self.requires_grad)
        copied.__dict__.update(self.__dict__)
        memo[id(self)] = copied
        return copied

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuild, (type(self), self.detach(), self.requires_grad, dict(self.__dict__))


class Buffer(_C.Tensor):
    """A tensor that a module registers as a buffer. persistent: whether state_dict() has it."""

    persistent: bool
    __torch_function__ = staticmethod(_C._disabled_torch_function_impl)

    def __new__(cls, data: _C.Tensor | None = None, *, persistent: bool = True) -> Buffer:
        if data is None:
            data = _C.empty(0)
        made = _C._make_subclass(cls, data, data.requires_grad)
        made.persistent = persistent
        return made

    def __init__(self, data: _C.Tensor | None = None, *, persistent: bool = True) -> None:
        pass


def _rebuild(
    cls: type[Parameter], data: _C.Tensor, requires_grad: bool, state: dict[str, Any]
) -> Parameter:
    made = cls(data, requires_grad)
    made.__dict__.update(state)
    return made
