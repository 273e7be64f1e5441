"""Losses as modules. reduction: "mean" (default), "sum" or "none"."""

from __future__ import annotations

from .. import _C
from . import functional as F
from .module import Module


class _Loss(Module):
    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self.reduction = F.chosen_reduction(reduction, size_average, reduce)


class MSELoss(_Loss):
    """(input - target)²; both of one shape (or broadcast, with a warning)."""

    def forward(self, input: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """|input - target|."""

    def forward(self, input: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class _WeightedLoss(_Loss):
    weight: _C.Tensor | None

    def __init__(
        self,
        weight: _C.Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class NLLLoss(_WeightedLoss):
    """-input[target]: input (N, C) or (C) log-probabilities, target (N) or () classes (int64)."""

    def __init__(
        self,
        weight: _C.Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        return F.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class CrossEntropyLoss(_WeightedLoss):
    """log_softmax and NLLLoss in one.

    input (N, C) or (C) unnormalised scores; target (N) or () classes (int64), or probabilities of
    the input's shape. weight (C); classes equal to ignore_index don't count.
    """

    def __init__(
        self,
        weight: _C.Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class SmoothL1Loss(_Loss):
    """Squared difference below beta, absolute beyond."""

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class BCELoss(_WeightedLoss):
    """Binary cross entropy of probabilities; input and target of one shape."""

    def forward(self, input: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """Binary cross entropy of scores before the sigmoid; pos_weight weighs the positive class."""

    pos_weight: _C.Tensor | None

    def __init__(
        self,
        weight: _C.Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: _C.Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: _C.Tensor, target: _C.Tensor) -> _C.Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )
