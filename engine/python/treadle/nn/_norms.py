"""Normalisation, dropout and tables of vectors: parts of nn.functional."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

from .. import _C

__all__ = [
    "alpha_dropout",
    "batch_norm",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "one_hot",
    "rms_norm",
]

Tensor = _C.Tensor
_nn = _C._nn


# --- normalisation --------------------------------------------------------------------------------


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
    return _C.layer_norm(input, tuple(normalized_shape), weight, bias, eps)


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """x / sqrt(mean(x²) + eps) over the last dimensions, then * weight.

    eps: if None, the machine epsilon of the dtype that is computed in.
    """
    return _C.rms_norm(input, tuple(normalized_shape), weight, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Zero mean and unit variance of groups of channels of (N, C, *), then * weight + bias."""
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    if num_groups > 0:
        _check_batch([input.size(0) * input.size(1) // num_groups, num_groups, *input.shape[2:]])
    return _C.group_norm(input, num_groups, weight, bias, eps)


def _check_batch(shape: Sequence[int]) -> None:
    """ValueError unless statistics over the batch have more than one value."""
    if shape[0] * math.prod(shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {_C.Size(shape)}"
        )


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Zero mean and unit variance of each channel of (N, C, *), then * weight + bias.

    training: with the statistics of the batch, which then move the running ones by momentum;
    else with the running ones.
    """
    if training:
        _check_batch(input.shape)
    return _C.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, False
    )


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Zero mean and unit variance of each channel of each image, then * weight + bias."""
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(
            "Expected more than 1 spatial element when training, got input size "
            f"{list(input.shape)}"
        )
    return _C.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """x / (k + alpha mean(x²))^beta, the mean being over `size` neighbouring channels."""
    if input.dim() < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)"
        )
    if input.numel() == 0:
        return input
    square = input.mul(input).unsqueeze(1)
    before, after = size // 2, (size - 1) // 2
    if input.dim() == 3:
        mean = _nn.avg_pool2d(_nn.pad(square, (0, 0, before, after)), (size, 1), 1)
    else:
        shape = input.shape
        square = square.view(shape[0], 1, shape[1], shape[2], -1)
        mean = _nn.avg_pool3d(_nn.pad(square, (0, 0, 0, 0, before, after)), (size, 1, 1), 1)
        mean = mean.view(shape)
    if input.dim() == 3:
        mean = mean.squeeze(1)
    return input / mean.mul(alpha).add(k).pow(beta)


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """x / max(|x|_p, eps), the norm being along dim."""
    size = _nn._vector_norm(input, p, dim, True)
    bound = _C.where(size < eps, _C.full_like(size, eps), size)
    return input / bound if out is None else _C.div(input, bound, out=out)


# --- dropout --------------------------------------------------------------------------------------


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes elements with probability p and divides the rest by 1 - p; nothing unless training."""
    _check_probability(p)
    if inplace:
        return input.dropout_(p, training)
    return _C.dropout(input, p, training)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps mean and variance of what SELU gives."""
    _check_probability(p)
    if inplace:
        return input.alpha_dropout_(p, training)
    return _C.alpha_dropout(input, p, training)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """alpha_dropout of whole channels of (N, C, *)."""
    _check_probability(p)
    if inplace:
        return input.feature_alpha_dropout_(p, training)
    return _C.feature_alpha_dropout(input, p, training)


def _drop_channels(
    input: Tensor, p: float, training: bool, inplace: bool, unbatched: int | None
) -> Tensor:
    _check_probability(p)
    alone = input.dim() == unbatched
    if alone:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    if inplace:
        result = input.feature_dropout_(p, training)
    else:
        result = _C.feature_dropout(input, p, training)
    if alone:
        result = result.squeeze_(0) if inplace else result.squeeze(0)
    return result


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zeroes whole channels of (N, C, L) or (C, L) with probability p."""
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input."
        )
    return _drop_channels(input, p, training, inplace, 2)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zeroes whole channels of (N, C, H, W) with probability p.

    A 3-D input is taken for (N, C, L), as in PyTorch.
    """
    if input.dim() not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {input.dim()}-D input to dropout2d, which is deprecated and "
            "will result in an error in a future release.",
            stacklevel=2,
        )
    if input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
            "dim.",
            stacklevel=2,
        )
    return _drop_channels(input, p, training, inplace, None)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zeroes whole channels of (N, C, D, H, W) or (C, D, H, W) with probability p."""
    if input.dim() not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {input.dim()}-D input to dropout3d, which is deprecated and "
            "will result in an error in a future release.",
            stacklevel=2,
        )
    return _drop_channels(input, p, training, inplace, 4)


# --- tables of vectors ----------------------------------------------------------------------------


def _padding_row(padding_idx: int | None, rows: int) -> int | None:
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % rows


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

    The row padding_idx gets no gradient. max_norm: rows that are used are first scaled down in
    place to this norm. scale_grad_by_freq: the gradient of a row is divided by how often it is
    used. IndexError for an index outside the table; NotImplementedError for sparse gradients.
    """
    row = _padding_row(padding_idx, weight.size(0))
    if max_norm is not None:
        input = input.contiguous()
        _C.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    return _C.embedding(weight, input, -1 if row is None else row, scale_grad_by_freq, sparse)


_MODES = {"sum": 0, "mean": 1, "max": 2}


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of rows of weight.

    input: (B, n), one bag each, or (N) with offsets (B), where each bag begins.
    per_sample_weights, of input's shape and for mode "sum" only, multiply the rows. Rows
    padding_idx don't count.
    """
    if weight.dtype in (_C.long, _C.int) and input.is_floating_point():
        weight, input = input, weight  # the order of old PyTorch
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            "embedding_bag: If per_sample_weights is not None, then it must have the same shape "
            f"as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}"
        )
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                "of fixed length sequences. However, found offsets of type "
                f"{type(offsets).__name__}"
            )
        count, length = input.shape
        offsets = _C.arange(0, count, dtype=_C.int64) * length
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
        )
    if mode not in _MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        _C.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )
    return _C.embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        _MODES[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        _padding_row(padding_idx, weight.size(0)),
    )[0]


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """(*) of int64 classes to (*, num_classes) of 0 and 1; -1: largest class plus one."""
    return _nn.one_hot(tensor, num_classes)
