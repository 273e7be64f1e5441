"""Modules as functions of their parameters: functional_call, stack_module_state, and BatchNorm
without running statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import _C
from ..nn import Module
from ..nn.normalization import _BatchNorm

Tensor = _C.Tensor


def _owner(module: Module, name: str) -> tuple[Any, dict[str, Any], str]:
    """The submodule that has the tensor, its table, and the last part of the name."""
    *path, last = name.split(".")
    at: Any = module
    for part in path:
        at = at._modules[part]
    table = at._parameters if last in at._parameters else at._buffers
    return at, table, last


def _tied(module: Module) -> dict[str, list[str]]:
    """For each name the names of the same tensor."""
    groups: dict[int, list[str]] = {}
    for kind in (module.named_parameters, module.named_buffers):
        for name, tensor in kind(remove_duplicate=False):
            groups.setdefault(id(tensor), []).append(name)
    return {name: group for group in groups.values() for name in group}


@contextmanager
def _replaced(
    module: Module, tensors: dict[str, Tensor], tie: bool, strict: bool
) -> Iterator[None]:
    known = _tied(module)
    unexpected = [n for n in tensors if n not in known]
    missing = [n for n in known if not any(m in tensors for m in known[n])] if strict else []
    if strict and (unexpected or missing):
        parts = []
        if unexpected:
            parts.append("Unexpected key(s): " + ", ".join(map(repr, sorted(unexpected))) + ".")
        if missing:
            parts.append("Missing key(s): " + ", ".join(map(repr, sorted(missing))) + ".")
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(parts)
        )
    values = {n: t for n, t in tensors.items() if n in known}
    for t in values.values():
        if not isinstance(t, Tensor):
            raise TypeError(f"{t!r} is not an instance of Tensor")
    if tie:
        for name, tensor in list(values.items()):
            for other in known[name]:
                if other in tensors and tensors[other] is not tensor:
                    raise ValueError(
                        f"functional_call got multiple values for keys {sorted(known[name])}, "
                        "which are tied. Consider using tie_weights=False"
                    )
                values[other] = tensor
    undo = []
    try:
        for name, tensor in values.items():
            _, table, last = _owner(module, name)
            undo.append((table, last, table[last]))
            table[last] = tensor
        yield
    finally:
        for table, last, before in reversed(undo):
            table[last] = before


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """module(*args, **kwargs) with the given tensors in place of its own parameters and buffers.

    parameter_and_buffer_dicts: by their names, in one dict or several without common keys
    (ValueError). tie_weights: a tensor also replaces those tied to it. strict: RuntimeError unless
    exactly the module's names are given.
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        tensors = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        tensors = {}
        for part in parameter_and_buffer_dicts:
            if not isinstance(part, dict):
                raise ValueError(
                    "Expected all elements of parameter_and_buffer_dicts to be dictionaries"
                )
            repeated = sorted(set(part) & set(tensors))
            if repeated:
                raise ValueError(
                    f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
                    "ambiguous"
                )
            tensors.update(part)
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _replaced(module, tensors, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """root, in which each BatchNorm, itself or inside, uses the statistics of its batch alone: it
    loses its running ones, which vmap couldn't update in place."""
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def stack_module_state(
    models: Sequence[Module],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(parameters, buffers) of several modules of one architecture, stacked by name along a new
    first dimension, for vmap over functional_call. RuntimeError if the modules differ."""
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = {}
    for name in dict(models[0].named_parameters()):
        rows = [dict(m.named_parameters())[name] for m in models]
        if any(r.requires_grad != rows[0].requires_grad for r in rows):
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        if rows[0].requires_grad and all(r.is_leaf for r in rows):
            parameters[name] = _C.stack([r.detach() for r in rows]).requires_grad_()
        else:
            parameters[name] = _C.stack(rows)
    buffers = {
        name: _C.stack([dict(m.named_buffers())[name] for m in models])
        for name in dict(models[0].named_buffers())
    }
    return parameters, buffers
