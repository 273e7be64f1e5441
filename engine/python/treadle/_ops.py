"""Operators whose kernels are written in Python: HigherOrderOperator, and the keys of its kernels.

A call goes to the innermost running transform's kernel first; a kernel calls the operator again
inside `with interpreter.lower():`. Below all transforms the device's kernel answers. The functions
that kernels use on tensors of transforms are in func/_interpreter.py.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class DispatchKey(enum.Enum):
    """What a kernel can be registered for. The engine runs on CPUs: kernels of the other keys are
    kept and never called."""

    CPU = "CPU"
    CUDA = "CUDA"
    Autograd = "Autograd"
    AutogradCPU = "AutogradCPU"
    AutogradCUDA = "AutogradCUDA"
    CompositeImplicitAutograd = "CompositeImplicitAutograd"
    CompositeExplicitAutograd = "CompositeExplicitAutograd"


class HigherOrderOperator:
    """A named operator. Give it kernels by `py_impl(key)`, a decorator, for which key is a
    DispatchKey or a TransformType; a transform's kernel gets its interpreter as first argument."""

    # Below all transforms, in this order: those that record gradients themselves come first.
    _order = (
        DispatchKey.AutogradCPU,
        DispatchKey.Autograd,
        DispatchKey.CPU,
        DispatchKey.CompositeExplicitAutograd,
        DispatchKey.CompositeImplicitAutograd,
    )

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        if type(self) is HigherOrderOperator:
            raise RuntimeError(
                "Direct instantiation of HigherOrderOperator is not allowed. Please subclass it."
            )
        self._name = self.__name__ = name
        self._cacheable = cacheable
        self._kernels: dict[Any, Callable[..., Any]] = {}

    def py_impl(self, key: Any) -> Callable[[F], F]:
        """Registers the decorated function as the kernel of a key."""

        def register(fn: F) -> F:
            if key in self._kernels:
                raise RuntimeError(f"{self._name}: already has a kernel for {key}")
            self._kernels[key] = fn
            return fn

        return register

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        return key in self._kernels

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from .func._interpreter import peek_interpreter_stack

        interpreter = peek_interpreter_stack()
        if interpreter is not None:
            kernel = self._kernels.get(interpreter.key())
            if kernel is None:
                raise NotImplementedError(
                    f"{self._name}: there is no kernel for the transform {interpreter.key().name}; "
                    "register one by py_impl"
                )
            return kernel(interpreter, *args, **kwargs)
        for key in self._order:
            if key in self._kernels:
                return self._kernels[key](*args, **kwargs)
        raise NotImplementedError(f"{self._name}: there is no kernel for tensors of this device")

    def __repr__(self) -> str:
        return f"<HigherOrderOperator {self._name}>"
