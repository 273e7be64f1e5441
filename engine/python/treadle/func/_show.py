"""How tensors inside transforms print: each transform that follows one, the innermost first.

vmap and jvp wrap the tensors that they follow and are read off the wrappers. grad doesn't: it
follows what depends on the arguments that it entered, which the tape tells.
"""

from __future__ import annotations

from typing import Any

from .. import _tensor
from ._batch import Batched
from ._dual import Dual
from ._levels import Level, Tensor, Wrapped, detached, innermost, stack


def grad_levels(t: Tensor) -> list[Level]:
    """The running grads that follow a tensor, outermost first."""
    levels = [v for v in stack.levels if v.kind == "grad"]
    t = innermost(t)
    if not levels or not t.requires_grad:
        return []
    nodes: list[Any] = []
    leaves: set[int] = {id(t)}
    todo = [t.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or any(node is n for n in nodes):
            continue
        nodes.append(node)
        if hasattr(node, "variable"):
            leaves.add(id(node.variable))
        todo.extend(n for n, _ in node.next_functions)
    return [
        v
        for v in levels
        if any(id(e) in leaves or any(e.grad_fn is n for n in nodes) for e in v.entered)
    ]


def text(t: Tensor) -> str | None:
    """repr() of a tensor that transforms follow; None of another one."""
    layers = [(level, "GradTrackingTensor(lvl={}, value=", ")") for level in grad_levels(t)]
    inner: Any = t
    while isinstance(inner, Wrapped):
        if isinstance(inner, Batched):
            start = f"BatchedTensor(lvl={{}}, bdim={inner._bdim}, value="
            layers.append((inner._level, start, ")"))
        elif isinstance(inner, Dual) and inner._tangent is not None and inner._level.alive:
            # as a tensor prints: with what else is known of it before the last bracket
            layers.append((inner._level, "", f", tangent={inner._tangent!r})"))
        inner = inner._inner
    if not layers:
        return None if inner is t else repr(inner)
    grads = any(level.kind == "grad" for level, _, _ in layers)
    made = _tensor.plain_repr(inner.detach() if grads else inner)
    for level, start, end in sorted(layers, key=lambda layer: layer[0].id):
        if start:
            indented = made.replace("\n", "\n    ")
            made = f"{start.format(level.number)}\n    {indented}\n{end}"
        else:
            made = made[:-1] + end
    return made


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor below those of the transforms that follow it, or (recurse=False) below the first
    of them, for a debugger: computing with it in a function that is transformed is undefined."""
    if recurse:
        return innermost(tensor).detach() if grad_levels(tensor) else innermost(tensor)
    levels = [*grad_levels(tensor), *([tensor._level] if isinstance(tensor, Wrapped) else [])]
    if levels and max(levels, key=lambda v: v.id).kind == "grad":
        return detached(tensor)
    return tensor._inner if isinstance(tensor, Wrapped) else tensor


_tensor._transformed_text = text
Wrapped.__repr__ = Wrapped.__str__ = lambda self, *, tensor_contents=None: text(self) or ""
