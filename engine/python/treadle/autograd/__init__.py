"""Gradients: backward, grad, the grad modes, custom functions and numerical checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from .._modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from .function import Function
from .gradcheck import GradcheckError, gradcheck, gradgradcheck

Tensors = _C.Tensor | Sequence[_C.Tensor]

__all__ = [
    "Function",
    "GradcheckError",
    "backward",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
]


def backward(
    tensors: Tensors,
    grad_tensors: _C.Tensor | Sequence[_C.Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Adds the gradients of `tensors` to the .grad of the leaves they were computed from.

    grad_tensors: what to multiply with, of the shapes of `tensors`; may be left out for one-element
    tensors. retain_graph: keep the tape for another backward (default: create_graph). inputs: only
    these leaves. Raises RuntimeError if nothing requires grad or the tape was freed already.
    """
    _C._backward(tensors, grad_tensors, retain_graph, create_graph, inputs)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: _C.Tensor | Sequence[_C.Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of `outputs` for each of `inputs`; nothing is added to any .grad.

    allow_unused: None for inputs that `outputs` don't depend on, instead of RuntimeError;
    materialize_grads: zeros for them. is_grads_batched raises NotImplementedError.
    """
    if is_grads_batched:
        raise NotImplementedError("autograd.grad: is_grads_batched is not supported")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, "
            "but got: allow_unused=False."
        )
    single = isinstance(inputs, _C.Tensor)
    result = _C._grad(
        outputs,
        inputs,
        grad_outputs,
        retain_graph,
        create_graph,
        materialize_grads if allow_unused is None else allow_unused,
    )
    if materialize_grads:
        sources = [inputs] if single else inputs
        result = tuple(
            _C.zeros_like(i, requires_grad=create_graph) if g is None else g
            for g, i in zip(result, sources)
        )
    return result
