"""Calling a module: forward with its hooks, before, after and in the backward pass.

Without hooks a call costs one test of the tables. To add a kind of hook: a table in `tables`, a
`register_*` method, and its place in `_call_with_hooks`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _C
from ..utils.hooks import HookTable, RemovableHandle

_global_pre = HookTable()
_global_forward = HookTable()


class _Hook:
    """A hook and how it wants to be called."""

    __slots__ = ("fn", "with_kwargs", "always")

    def __init__(self, fn: Callable[..., Any], with_kwargs: bool, always: bool = False) -> None:
        if not callable(fn):
            raise TypeError(f"hook must be callable, not {type(fn).__name__}")
        self.fn, self.with_kwargs, self.always = fn, with_kwargs, always

    def __call__(self, *args: Any) -> Any:
        return self.fn(*args)


class Calls:
    """The part of Module that runs `forward`."""

    tables = (
        "_forward_pre_hooks",
        "_forward_hooks",
        "_backward_pre_hooks",
        "_backward_hooks",
    )
    _forward_pre_hooks: HookTable
    _forward_hooks: HookTable
    _backward_pre_hooks: HookTable
    _backward_hooks: HookTable
    forward: Callable[..., Any]

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """hook(module, args) before forward; what it returns replaces the arguments.

        with_kwargs: hook(module, args, kwargs), which returns None or a pair (args, kwargs).
        """
        return self._forward_pre_hooks.add(_Hook(hook, with_kwargs), prepend=prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """hook(module, args, output) after forward; a value other than None replaces the output.

        with_kwargs: hook(module, args, kwargs, output). always_call: also when forward raised,
        with output None.
        """
        return self._forward_hooks.add(_Hook(hook, with_kwargs, always_call), prepend=prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """hook(module, grad_output) once the gradient of the outputs is known; may replace it."""
        return self._backward_pre_hooks.add(hook, prepend=prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """hook(module, grad_input, grad_output) once the gradients of the inputs are known.

        Both are tuples with one entry for each positional tensor; the hook may return a new
        grad_input.
        """
        return self._backward_hooks.add(hook, prepend=prepend)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not (
            self._forward_pre_hooks
            or self._forward_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or _global_pre
            or _global_forward
        ):
            return self.forward(*args, **kwargs)
        return self._call_with_hooks(args, kwargs)

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        forward_hooks = [*_global_forward.values(), *self._forward_hooks.values()]
        called: set[int] = set()
        try:
            for hook in [*_global_pre.values(), *self._forward_pre_hooks.values()]:
                if hook.with_kwargs:
                    changed = hook(self, args, kwargs)
                    if changed is None:
                        continue
                    if not (isinstance(changed, tuple) and len(changed) == 2):
                        raise RuntimeError(
                            "forward pre-hook must return None or a tuple of (new_args, "
                            f"new_kwargs), but got {changed}."
                        )
                    args, kwargs = changed
                else:
                    changed = hook(self, args)
                    if changed is not None:
                        args = changed if isinstance(changed, tuple) else (changed,)
            watch = None
            if self._backward_hooks or self._backward_pre_hooks:
                watch = _BackwardWatch(self)
                args = watch.inputs(args)
            result = self.forward(*args, **kwargs)
            for hook in forward_hooks:
                called.add(id(hook))
                given = (self, args, kwargs, result) if hook.with_kwargs else (self, args, result)
                changed = hook(*given)
                if changed is not None:
                    result = changed
            return watch.outputs(result) if watch else result
        except Exception:
            for hook in forward_hooks:
                if hook.always and id(hook) not in called:
                    hook(*((self, args, kwargs, None) if hook.with_kwargs else (self, args, None)))
            raise


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """hook(module, args) before the forward of every module."""
    return _global_pre.add(_Hook(hook, False))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """hook(module, args, output) after the forward of every module."""
    return _global_forward.add(_Hook(hook, with_kwargs, always_call))


@functools.cache
def _identity() -> Any:
    """The Function of _BackwardWatch, under PyTorch's name."""
    from ..autograd import Function

    class BackwardHookFunction(Function):
        @staticmethod
        def forward(ctx: Any, seen: Callable[..., Any], *tensors: _C.Tensor) -> Any:
            ctx.seen = seen
            return tuple(t.view_as(t) for t in tensors)

        @staticmethod
        def backward(ctx: Any, *grads: _C.Tensor | None) -> Any:
            return (None, *ctx.seen(grads))

    return BackwardHookFunction


class _BackwardWatch:
    """One call's full backward hooks: an identity on the inputs and one on the outputs.

    The identities are tape nodes, so that the hooks see the gradient of exactly this call, and of
    all inputs together, whatever forward did in between.
    """

    def __init__(self, module: Calls) -> None:
        self.module = module
        self.grad_output: tuple[Any, ...] | None = None

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return self._through(args, self._seen_input)

    def outputs(self, result: Any) -> Any:
        if isinstance(result, _C.Tensor):
            return self._through((result,), self._seen_output)[0]
        if isinstance(result, tuple):
            return self._through(result, self._seen_output)
        if isinstance(result, list):
            return list(self._through(tuple(result), self._seen_output))
        return result

    def _through(self, values: tuple[Any, ...], seen: Callable[..., Any]) -> tuple[Any, ...]:
        where = [i for i, v in enumerate(values) if isinstance(v, _C.Tensor)]
        if not any(values[i].requires_grad for i in where) or not _C.is_grad_enabled():
            return values

        passed = iter(_identity().apply(seen, *(values[i] for i in where)))
        return tuple(next(passed) if i in where else v for i, v in enumerate(values))

    def _seen_output(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in list(self.module._backward_pre_hooks.values()):
            changed = hook(self.module, grads)
            if changed is not None:
                grads = changed if isinstance(changed, tuple) else (changed,)
        self.grad_output = grads
        return grads

    def _seen_input(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.grad_output is None:  # it didn't come by the outputs: a second derivative
            return grads
        for hook in list(self.module._backward_hooks.values()):
            changed = hook(self.module, grads, self.grad_output)
            if changed is not None:
                changed = changed if isinstance(changed, tuple) else (changed,)
                if len(changed) != len(grads):
                    raise RuntimeError(
                        f"Backward hook returned an invalid number of grad_input, got "
                        f"{len(changed)}, but expected {len(grads)}"
                    )
                grads = changed
        self.grad_output = None
        return grads
