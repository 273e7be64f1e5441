"""Modules as functions of lists of tensors, as programs wrote it before func.functional_call."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from .. import _C
from ..func import functional_call
from ..nn.module import Module

Tensors = tuple[_C.Tensor, ...]


class FunctionalModuleWithBuffers(Module):
    """A stateless copy of a module: called with its parameters, its buffers and then the inputs."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.stateless_model = copy.deepcopy(module)
        self.param_names = tuple(name for name, _ in module.named_parameters())
        self.buffer_names = tuple(name for name, _ in module.named_buffers())

    def forward(self, params: Sequence[_C.Tensor], buffers: Any, *args: Any, **kwargs: Any) -> Any:
        named = dict(zip(self.param_names, params)) | dict(zip(self.buffer_names, buffers))
        return functional_call(self.stateless_model, named, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """The same for a module without buffers."""

    def forward(self, params: Sequence[_C.Tensor], *args: Any, **kwargs: Any) -> Any:
        return super().forward(params, (), *args, **kwargs)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """(function, parameters, buffers): function(parameters, buffers, *inputs) is model(*inputs)."""
    params = tuple(model.parameters())
    if disable_autograd_tracking:
        params = tuple(p.detach() for p in params)
    return FunctionalModuleWithBuffers(model), params, tuple(model.buffers())


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, Tensors]:
    """(function, parameters) of a model; ValueError if it has buffers."""
    if len(list(model.buffers())) > 0:
        raise ValueError(
            "make_functional(model): `model` has buffers. Please use "
            "make_functional_with_buffers(model) instead."
        )
    params = tuple(model.parameters())
    if disable_autograd_tracking:
        params = tuple(p.detach() for p in params)
    return FunctionalModule(model), params


def _many(make: Callable[[], Module], ensemble_shape: Sequence[int]) -> tuple[Module, list[Module]]:
    if len(ensemble_shape) >= 2:
        raise ValueError("NYI: ensemble_shape with more than 1 element")
    model = make()
    count = ensemble_shape[0] if ensemble_shape else 0
    if ensemble_shape and count <= 0:
        raise ValueError(f"num_models {count} should be > 0")
    return model, [make() for _ in range(count)]


def _stacked(models: Sequence[Module], kind: str) -> Tensors:
    return tuple(
        _C.stack([t.detach() for t in together]).requires_grad_(together[0].requires_grad)
        for together in zip(*(tuple(getattr(m, kind)()) for m in models))
    )


def functional_init(
    model_class: Callable[..., Module],
    ensemble_shape: Sequence[int] = (),
    device: Any = "cpu",
) -> Callable[..., Any]:
    """A function of the class's arguments that returns (weights, function, names of the weights):
    of one model, or those of ensemble_shape[0] models, stacked. function(weights, inputs), where
    inputs is a tuple. ValueError if the model has buffers."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        model, models = _many(lambda: model_class(*args, **kwargs).to(device), ensemble_shape)
        function, weights = make_functional(model)
        if models:
            weights = _stacked(models, "parameters")
        return weights, lambda w, inputs: function(w, *inputs), function.param_names

    return wrapped


def functional_init_with_buffers(
    model_class: Callable[..., Module],
    ensemble_shape: Sequence[int] = (),
    device: Any = "cpu",
) -> Callable[..., Any]:
    """As functional_init: (weights, buffers, function, names of the weights, of the buffers);
    function(weights, buffers, inputs)."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        model, models = _many(lambda: model_class(*args, **kwargs).to(device), ensemble_shape)
        function, weights, buffers = make_functional_with_buffers(model)
        if models:
            weights, buffers = _stacked(models, "parameters"), _stacked(models, "buffers")
        return (
            weights,
            buffers,
            lambda w, b, inputs: function(w, b, *inputs),
            function.param_names,
            function.buffer_names,
        )

    return wrapped
