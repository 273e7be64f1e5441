"""Adam and AdamW."""

from __future__ import annotations

import math
from typing import Any

from .. import _C
from .optimizer import Optimizer, Params, check_not_negative


class Adam(Optimizer):
    """Kingma and Ba, 2015. betas: decay of the running mean of g and of g²; eps: added to the root.

    weight_decay: added to the gradient (AdamW: taken off the parameter); amsgrad: uses the largest
    second moment so far; maximize climbs. `foreach`, `fused` and `capturable` are accepted as hints
    that change no result; differentiable=True raises NotImplementedError.
    """

    _decoupled = False

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_not_negative(lr=lr, eps=eps)
        for i, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        check_not_negative(weight_decay=weight_decay)
        if differentiable:
            raise NotImplementedError(
                f"{type(self).__name__}: differentiable=True is not supported"
            )
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
            },
        )

    def _update(self, group: dict[str, Any], params: list[_C.Tensor]) -> None:
        beta1, beta2 = group["betas"]
        lr, decay = group["lr"], group["weight_decay"]
        for p in params:
            grad = -p.grad if group["maximize"] else p.grad
            state = self.state[p]
            if not state:
                state["step"] = _C.tensor(0.0, dtype=_C.float32)
                state["exp_avg"] = _C.zeros_like(p)
                state["exp_avg_sq"] = _C.zeros_like(p)
                if group["amsgrad"]:
                    state["max_exp_avg_sq"] = _C.zeros_like(p)
            state["step"] += 1
            step = state["step"].item()
            mean, square = state["exp_avg"], state["exp_avg_sq"]
            if decay != 0:
                if self._decoupled:
                    p.mul_(1 - lr * decay)
                else:
                    grad = grad.add(p, alpha=decay)
            mean.mul_(beta1).add_(grad, alpha=1 - beta1)
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            if group["amsgrad"]:
                largest = state["max_exp_avg_sq"]
                _C.maximum(largest, square, out=largest)
                square = largest
            root = square.sqrt().div_(math.sqrt(1 - beta2**step)).add_(group["eps"])
            p.addcdiv_(mean, root, value=-lr / (1 - beta1**step))


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019); default 0.01."""

    _decoupled = True

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
        )
