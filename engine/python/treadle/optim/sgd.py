"""Stochastic gradient descent with momentum."""

from __future__ import annotations

from typing import Any

from .. import _C
from .optimizer import Optimizer, Params, check_not_negative


class SGD(Optimizer):
    """p -= lr * v; v is the gradient g, or with momentum momentum * v + (1 - dampening) * g.

    weight_decay adds weight_decay * p to the gradient; nesterov looks ahead (needs momentum and no
    dampening); maximize climbs. `foreach`, `fused` and `differentiable` are accepted as hints of
    PyTorch's that change no result here; differentiable=True raises NotImplementedError.
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_not_negative(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        if differentiable:
            raise NotImplementedError("SGD: differentiable=True is not supported")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
            },
        )

    def _update(self, group: dict[str, Any], params: list[_C.Tensor]) -> None:
        momentum, lr = group["momentum"], group["lr"]
        for p in params:
            grad = -p.grad if group["maximize"] else p.grad
            if group["weight_decay"] != 0:
                grad = grad.add(p, alpha=group["weight_decay"])
            if momentum != 0:
                state = self.state[p]
                velocity = state.get("momentum_buffer")
                if velocity is None:
                    velocity = state["momentum_buffer"] = grad.detach().clone()
                else:
                    velocity.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
                grad = grad.add(velocity, alpha=momentum) if group["nesterov"] else velocity
            p.add_(grad, alpha=-lr)
