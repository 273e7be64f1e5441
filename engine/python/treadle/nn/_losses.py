"""Losses: the part of nn.functional that compares with a target.

reduction: "none", "mean" or "sum"; `size_average` and `reduce` of old PyTorch win where given.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence

from .. import _C

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "chosen_reduction",
    "cosine_embedding_loss",
    "cross_entropy",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "linear_cross_entropy",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]

Tensor = _C.Tensor
_nn = _C._nn

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def chosen_reduction(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """`reduction`, unless `size_average` and `reduce` of old PyTorch are given: they win."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def _number(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> int:
    chosen = chosen_reduction(reduction, size_average, reduce)
    if chosen == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
            stacklevel=3,
        )
        return 1
    if chosen not in _REDUCTIONS:
        raise ValueError(f"{chosen} is not a valid value for reduction")
    return _REDUCTIONS[chosen]


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    number = _number(reduction)
    return loss if number == 0 else loss.mean() if number == 1 else loss.sum()


def _same_size(input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )


def _weighted(
    loss: Callable[..., Tensor], input: Tensor, target: Tensor, reduction: int, weight: Tensor
) -> Tensor:
    """The loss of each element times its weight; the mean is over the weights."""
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    each = loss(input, target, 0) * weight
    if reduction == 0:
        return each
    return each.sum() / weight.sum() if reduction == 1 else each.sum()


# --- differences ----------------------------------------------------------------------------------


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(input - target)²."""
    number = _number(reduction, size_average, reduce)
    _same_size(input, target)
    if weight is not None:
        return _weighted(_nn.mse_loss, input, target, number, weight)
    return _nn.mse_loss(input, target, number)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|input - target|."""
    number = _number(reduction, size_average, reduce)
    _same_size(input, target)
    if weight is not None:
        return _weighted(_nn.l1_loss, input, target, number, weight)
    return _nn.l1_loss(input, target, number)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """d² / (2 beta) where |d| < beta, else |d| - beta / 2, with d = input - target."""
    number = _number(reduction, size_average, reduce)
    _same_size(input, target)
    return _nn.smooth_l1_loss(input, target, number, beta)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """d² / 2 where |d| <= delta, else delta (|d| - delta / 2), with d = input - target."""
    number = _number(reduction)
    _same_size(input, target)
    if weight is not None:
        return _weighted(
            lambda x, t, r: _nn.huber_loss(x, t, r, delta), input, target, number, weight
        )
    return _nn.huber_loss(input, target, number, delta)


# --- classes --------------------------------------------------------------------------------------


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-weight[target] * input[target]; see nn.NLLLoss for shapes."""
    number = _number(reduction, size_average, reduce)
    return _nn.nll_loss(input, target, weight, number, ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy of scores and classes or probabilities; see nn.CrossEntropyLoss."""
    number = _number(reduction, size_average, reduce)
    return _nn.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: object = None,
) -> Tensor:
    """cross_entropy(linear(input, linear_weight, linear_bias), target).

    linear_weight (C, *, features): each class has a score for each place in *, hence scores (N, C,
    *). ignore_index: -100 if None. options: how PyTorch divides the work; of no consequence here.
    """
    if linear_weight.dim() < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}"
        )
    classes, *places, features = linear_weight.shape
    if places and input.dim() < 2:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} "
            f"requires batched input, (N, {features}), got unbatched {tuple(input.shape)}"
        )
    scores = _nn.linear(
        input,
        linear_weight.reshape(-1, features),
        None if linear_bias is None else linear_bias.reshape(-1),
    )
    return cross_entropy(
        scores.reshape([*input.shape[:-1], classes, *places]),
        target,
        weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification: log_probs (T, N, C), targets (N, S) or concatenated.

    "mean" divides each loss by the length of its target first. zero_infinity: losses of targets
    that are longer than their input count as 0. There is no second derivative.
    """
    number = _number(reduction)
    if not isinstance(input_lengths, Tensor) and isinstance(target_lengths, Tensor):
        input_lengths = _C.tensor(input_lengths, dtype=_C.int64)
    if isinstance(input_lengths, Tensor) and not isinstance(target_lengths, Tensor):
        target_lengths = _C.tensor(target_lengths, dtype=_C.int64)
    return _C.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity
    )


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over the other classes of weight[target] max(0, margin - x[target] + x)^p, p 1 or 2."""
    number = _number(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return _nn.multi_margin_loss(input, target, p, margin, weight, number)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Sum of max(0, 1 - (x[target] - x[other])) over targets and other classes, over classes.

    target (N, C) or (C): classes, ended by -1.
    """
    return _nn.multilabel_margin_loss(input, target, _number(reduction, size_average, reduce))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over the classes of -(t log sigmoid(x) + (1 - t) log sigmoid(-x))."""
    chosen = chosen_reduction(reduction, size_average, reduce)
    loss = -(target * _nn.logsigmoid(input) + (1 - target) * _nn.logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.sum(input.dim() - 1) / input.size(input.dim() - 1), chosen)


# --- probabilities --------------------------------------------------------------------------------


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-(t log(x) + (1 - t) log(1 - x)) of probabilities x; the logs are cut at -100."""
    number = _number(reduction, size_average, reduce)
    return _nn.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """binary_cross_entropy(sigmoid(input), target), without overflow."""
    number = _number(reduction, size_average, reduce)
    return _C.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target (log(target) - input): input, and target with log_target, are log-probabilities.

    reduction "batchmean" divides the sum by the batch size, which is the mathematical definition;
    "mean" divides by the number of elements.
    """
    chosen = chosen_reduction(reduction, size_average, reduce)
    if chosen == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next major "
            "release.",
            stacklevel=2,
        )
    if chosen == "batchmean":
        total = _C.kl_div(input, target, 2, log_target=log_target)
        return total / input.size(0) if input.dim() != 0 else total
    return _C.kl_div(input, target, _number(chosen), log_target=log_target)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """exp(input) - target * input, or input - target * log(input + eps) without log_input.

    full: with Stirling's approximation of log(target!), for targets above 1.
    """
    number = _number(reduction, size_average, reduce)
    return _C.poisson_nll_loss(input, target, log_input, full, eps, number)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """(log(var) + (input - target)² / var) / 2, var being at least eps.

    var: of the input's shape, or without its last dimension or with 1 there, or a number. full:
    plus log(2 pi) / 2.
    """
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * _C.ones_like(input)
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif not (
            input.dim() == var.dim()
            and tuple(input.shape[:-1]) == tuple(var.shape[:-1])
            and var.size(-1) == 1
        ):
            raise ValueError("var is of incorrect size")
    if reduction not in _REDUCTIONS:
        raise ValueError(reduction + " is not valid")
    # The bound takes no part in the gradient.
    low = (eps - var.detach()).relu()
    var = var + low
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)


# --- margins and distances ------------------------------------------------------------------------


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """input where target is 1, max(0, margin - input) where it is -1."""
    number = _number(reduction, size_average, reduce)
    return _C.hinge_embedding_loss(input, target, margin, number)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target (input1 - input2) + margin)."""
    number = _number(reduction, size_average, reduce)
    return _C.margin_ranking_loss(input1, input2, target, margin, number)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where target is 1, max(0, cos - margin) where it is -1."""
    number = _number(reduction, size_average, reduce)
    return _C.cosine_embedding_loss(input1, input2, target, margin, number)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input))."""
    return _nn.soft_margin_loss(input, target, _number(reduction, size_average, reduce))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, |anchor - positive| - |anchor - negative| + margin); swap: the smaller of the two
    distances from negative."""
    number = _number(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return _C.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """triplet_margin_loss with a distance of one's own; pairwise_distance by default."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and "
            f"negative {negative.dim()}D inputs"
        )
    distance = _C.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _C.minimum(far, distance(positive, negative))
    apart = margin + near - far
    return _reduced(_C.where(apart < 0, _C.zeros_like(apart), apart), reduction)
