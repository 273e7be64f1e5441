"""Functions of layers: what nn's modules call. Each is one op of the engine or composed of ops, so
that it has gradients of any order.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from .. import _C

Tensor = _C.Tensor
_nn = _C._nn


# --- layers ---------------------------------------------------------------------------------------


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias: (*, in) with weight (out, in) gives (*, out)."""
    return _nn.linear(input, weight, bias)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of weight (rows, columns): input (*) of integers gives (*, columns).

    The row padding_idx gets no gradient. IndexError for an index outside the table;
    NotImplementedError for max_norm, scale_grad_by_freq and sparse.
    """
    if max_norm is not None or scale_grad_by_freq or sparse:
        raise NotImplementedError(
            "embedding: max_norm, scale_grad_by_freq and sparse are not supported"
        )
    if padding_idx is not None:
        if not -weight.size(0) <= padding_idx < weight.size(0):
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= weight.size(0)
    return _C.embedding(weight, input, -1 if padding_idx is None else padding_idx)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) over the last dimensions, then * weight + bias.

    The variance is the biased one. RuntimeError if input doesn't end in normalized_shape.
    """
    return _nn.layer_norm(input, tuple(normalized_shape), weight, bias, eps)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes elements with probability p and divides the rest by 1 - p; nothing unless training."""
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if inplace:
        return input.dropout_(p, training)
    return _C.dropout(input, p, training)


# --- activations ----------------------------------------------------------------------------------


def _into(input: Tensor, result: Tensor, inplace: bool) -> Tensor:
    """What an activation returns that has no in-place op of its own."""
    return input.copy_(result) if inplace else result


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0)."""
    return input.relu_() if inplace else input.relu()


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where x > 0, else negative_slope * x."""
    return _into(input, _nn.leaky_relu(input, negative_slope), inplace)


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """x * Phi(x), or its tanh approximation (approximate="tanh")."""
    return _nn.gelu(input, approximate=approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
    return _into(input, _nn.silu(input), inplace)


def sigmoid(input: Tensor) -> Tensor:
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    return input.tanh()


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x > threshold."""
    return _nn.softplus(input, beta, threshold)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """x cut to [min_val, max_val]."""
    return _into(input, _nn.hardtanh(input, min_val, max_val), inplace)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), without overflow."""
    return _nn.logsigmoid(input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, else alpha (exp(x) - 1)."""
    return _into(input, _nn.elu(input, alpha), inplace)


def _softmax_dim(name: str, input: Tensor, dim: int | None) -> int:
    """dim, or with a warning the one that old PyTorch took."""
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if input.dim() in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: _C.dtype | None = None
) -> Tensor:
    """exp(x) / sum(exp(x)) along dim."""
    return input.softmax(_softmax_dim("softmax", input, dim), dtype=dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: _C.dtype | None = None
) -> Tensor:
    """log(softmax(x)) along dim, without overflow."""
    return input.log_softmax(_softmax_dim("log_softmax", input, dim), dtype=dtype)


# --- losses ---------------------------------------------------------------------------------------


def chosen_reduction(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """`reduction`, unless `size_average` and `reduce` of old PyTorch are given: they win."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def _same_size(input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """(input - target)²."""
    reduction = chosen_reduction(reduction, size_average, reduce)
    _same_size(input, target)
    return _nn.mse_loss(input, target, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """|input - target|."""
    reduction = chosen_reduction(reduction, size_average, reduce)
    _same_size(input, target)
    return _nn.l1_loss(input, target, reduction)


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
    reduction = chosen_reduction(reduction, size_average, reduce)
    return _nn.nll_loss(input, target, weight, reduction=reduction, ignore_index=ignore_index)


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
    reduction = chosen_reduction(reduction, size_average, reduce)
    return _nn.cross_entropy(
        input,
        target,
        weight,
        reduction=reduction,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
    )


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """d² / (2 beta) where |d| < beta, else |d| - beta / 2, with d = input - target."""
    reduction = chosen_reduction(reduction, size_average, reduce)
    _same_size(input, target)
    return _nn.smooth_l1_loss(input, target, reduction, beta)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-(t log(x) + (1 - t) log(1 - x)) of probabilities x."""
    reduction = chosen_reduction(reduction, size_average, reduce)
    return _nn.binary_cross_entropy(input, target, weight, reduction)


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
    reduction = chosen_reduction(reduction, size_average, reduce)
    return _nn.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """(*) of int64 classes to (*, num_classes) of 0 and 1; -1: largest class plus one."""
    return _nn.one_hot(tensor, num_classes)
