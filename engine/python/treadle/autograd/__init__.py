"""Gradients: backward, grad, the grad modes, custom functions, hooks and numerical checks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .. import _C
from .._modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from .._warn import first_time
from . import anomaly_mode, function, functional, grad_mode, graph
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function, NestedIOFunction
from .grad_mode import _force_original_view_tracking as _force_original_view_tracking
from .grad_mode import _unsafe_preserve_version_counter as _unsafe_preserve_version_counter
from .grad_mode import (
    is_multithreading_enabled,
    is_view_replay_enabled,
    set_multithreading_enabled,
)
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .graph import SavedTensor
from .variable import Variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import forward_ad as forward_ad
    from . import profiler as profiler
    from . import profiler_util as profiler_util

Tensors = _C.Tensor | Sequence[_C.Tensor]

__all__ = [
    "Function",
    "GradcheckError",
    "NestedIOFunction",
    "SavedTensor",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_multithreading_enabled",
    "is_view_replay_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

# What runs grad() for tensors inside func's transforms; set when those are first imported.
_wrapped_grad: Callable[..., tuple[Any, ...]] | None = None


def kineto_available() -> bool:
    """Whether PyTorch's tracer is there: never."""
    return False


def _calculate_shape(output: Any, grad: Any, is_grads_batched: bool) -> tuple[Any, Any]:
    """The shapes that must agree."""
    return output.shape, grad.shape[1:] if is_grads_batched else grad.shape


def _seeded(outputs: list[Any], grads: Any) -> Any:
    """Ones for edges whose tensor has one element, as for tensors."""
    if not any(isinstance(o, graph.GradientEdge) for o in outputs):
        return grads
    given = [None] * len(outputs) if grads is None else list(grads)
    for i, (o, g) in enumerate(zip(outputs, given)):
        if not isinstance(o, graph.GradientEdge) or o.like is None:
            continue
        if g is None:
            if o.like.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            given[i] = _C.ones(o.like.shape, dtype=o.like.dtype)
        elif g.shape != o.like.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] "
                f"has a shape of {o.like.shape}."
            )
        elif g.is_complex() != o.like.is_complex():
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same "
                f"dtype. Mismatch in dtype: grad_output[{i}] has a dtype of {g.dtype} and "
                f"output[{i}] has a dtype of {o.like.dtype}."
            )
    return given


def _listed(x: Any) -> list[Any]:
    return [x] if isinstance(x, (_C.Tensor, graph.GradientEdge)) else list(x)


def backward(
    tensors: Any,
    grad_tensors: _C.Tensor | Sequence[_C.Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Adds the gradients of `tensors` to the .grad of the leaves they were computed from.

    grad_tensors: what to multiply with, of the shapes of `tensors`; may be left out for one-element
    tensors. retain_graph: keep the tape for another backward (default: create_graph). inputs: only
    these leaves. Raises RuntimeError if nothing requires grad or the tape was freed already.
    """
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, 2
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if inputs is not None and not isinstance(inputs, (_C.Tensor, graph.GradientEdge)):
        inputs = list(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots = _listed(tensors)
    grads = grad_tensors
    if isinstance(grads, _C.Tensor):
        grads = [grads]
    _warn_create_graph(create_graph)
    _C._backward(roots, _seeded(roots, grads), retain_graph, create_graph, inputs)


def _warn_create_graph(create_graph: bool) -> None:
    """PyTorch's users look for this warning; here the garbage collector sees the cycle."""
    if create_graph and first_time("create_graph"):
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the "
            "parameter and its gradient which can cause a memory leak. We recommend using "
            "autograd.grad when creating the graph to avoid this. If you have to use this "
            "function, make sure to reset the .grad fields of your parameters to None after use to "
            "break the cycle and avoid the leak.",
            UserWarning,
            3,
        )


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: _C.Tensor | Sequence[_C.Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of `outputs` for each of `inputs`; nothing is added to any .grad.

    outputs and inputs: tensors or graph.GradientEdge. allow_unused: None for inputs that `outputs`
    don't depend on, instead of RuntimeError; materialize_grads: zeros for them. is_grads_batched:
    each of grad_outputs has a first dimension of several gradients, and so has each result.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, "
            "but got: allow_unused=False."
        )
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            2,
        )
    roots = _listed(outputs)
    sources = _listed(inputs)
    if not sources:
        raise ValueError("grad requires non-empty inputs.")
    grads: Any = grad_outputs
    if isinstance(grads, _C.Tensor):
        grads = [grads]
    if is_grads_batched:
        result = _batched(roots, sources, grads, create_graph, allow_unused)
    else:
        grads = _seeded(roots, grads)
        if _wrapped_grad is not None and _transformed([*roots, *sources, *(grads or [])]):
            result = _wrapped_grad(roots, sources, grads, create_graph, retain_graph, allow_unused)
        else:
            result = _C._grad(roots, sources, grads, retain_graph, create_graph, allow_unused)
    if materialize_grads:
        if any(g is None and isinstance(i, graph.GradientEdge) for g, i in zip(result, sources)):
            raise RuntimeError(
                "materialize_grads cannot be used when the given input is a GradientEdge"
            )
        result = tuple(
            _C.zeros_like(i, requires_grad=create_graph) if g is None else g
            for g, i in zip(result, sources)
        )
    return result


def _transformed(tensors: list[Any]) -> bool:
    return any(hasattr(t, "_level") for t in tensors)


def _batched(
    roots: list[Any], sources: list[Any], grads: Any, create_graph: bool, allow_unused: bool
) -> tuple[Any, ...]:
    if grads is None or not any(isinstance(g, _C.Tensor) for g in grads):
        raise RuntimeError("is_grads_batched needs grad_outputs with a first dimension")
    size = next(g.shape[0] for g in grads if g is not None)
    rows = []
    for i in range(size):
        one = [None if g is None else g[i] for g in grads]
        for k, (g, o) in enumerate(zip(one, roots)):
            if g is not None and isinstance(o, _C.Tensor) and g.shape != o.shape:
                raise RuntimeError(
                    f"If `is_grads_batched=True`, we interpret the first dimension of each "
                    f"grad_output as the batch dimension. The sizes of the remaining dimensions "
                    f"are expected to match the shape of corresponding output, but a mismatch was "
                    f"detected: grad_output[{k}] has a shape of {tuple(grads[k].shape)} and "
                    f"output[{k}] has a shape of {tuple(o.shape)}. If you only want some tensors "
                    "in `grad_output` to be considered batched, consider using vmap."
                )
        rows.append(_C._grad(roots, sources, one, True, create_graph, allow_unused))
    return tuple(
        None
        if all(g is None for g in column)
        else _C.stack([_C.zeros_like(s) if g is None else g for g in column], 0)
        for column, s in zip(zip(*rows), sources)
    )


def _profiler_enabled() -> bool:
    """Whether a profile is running in this thread."""
    from .profiler import _enabled

    return _enabled()


def __getattr__(name: str) -> Any:
    if name in ("forward_ad", "profiler", "profiler_util"):  # they load more modules
        import importlib

        return importlib.import_module("." + name, __name__)
    if name == "torch":  # PyTorch's module has it, by an import of its own
        import sys

        return sys.modules[__name__.rpartition(".")[0]]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
