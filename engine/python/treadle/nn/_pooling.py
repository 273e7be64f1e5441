"""Pooling, and windows as columns: the part of nn.functional that looks through windows.

Shapes: (N, C, *) or (C, *) with one to three spatial dimensions; sizes are one number for all of
them or one for each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import _C

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "unfold",
]

Tensor = _C.Tensor
_nn = _C._nn

avg_pool1d = _C.avg_pool1d
avg_pool2d = _nn.avg_pool2d
avg_pool3d = _nn.avg_pool3d
adaptive_avg_pool1d = _C.adaptive_avg_pool1d

Size = int | Sequence[int]
OptionalSizes = int | Sequence[int | None] | None


def _filled(output_size: OptionalSizes, input: Tensor, rank: int) -> list[int]:
    """One size for each dimension; None stands for the input's."""
    if output_size is None or isinstance(output_size, int):
        output_size = [output_size] * rank
    if input.dim() < len(output_size) + 1:
        raise ValueError(
            f"Input dimension should be at least {len(output_size) + 1}, got {input.dim()}"
        )
    if len(output_size) != rank:
        raise RuntimeError(f"output_size must have {rank} elements, got {len(output_size)}")
    sizes = input.shape[-len(output_size) :]
    return [
        int(size) if given is None else given
        for given, size in zip(output_size, sizes, strict=True)
    ]


def adaptive_avg_pool2d(input: Tensor, output_size: OptionalSizes) -> Tensor:
    """Means of output_size windows that cut each dimension in equal parts; None: as the input."""
    return _nn.adaptive_avg_pool2d(input, _filled(output_size, input, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: OptionalSizes) -> Tensor:
    """Means of output_size windows that cut each dimension in equal parts; None: as the input."""
    return _nn.adaptive_avg_pool3d(input, _filled(output_size, input, 3))


# --- maxima ---------------------------------------------------------------------------------------


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """Maxima of windows, and their positions."""
    return _C.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """Maxima of windows, and their positions in the flattened plane."""
    return _nn.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """Maxima of windows, and their positions in the flattened volume."""
    return _nn.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Largest element of each window; with return_indices also its position."""
    both = max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return both if return_indices else both[0]


def max_pool2d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Largest element of each window; with return_indices also its position in the plane."""
    both = max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return both if return_indices else both[0]


def max_pool3d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Largest element of each window; with return_indices also its position in the volume."""
    both = max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return both if return_indices else both[0]


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Size, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Maxima of windows that cut the input in equal parts, and their positions."""
    return _C.adaptive_max_pool1d(input, output_size)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: OptionalSizes, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Maxima of windows that cut the input in equal parts, and their positions."""
    return _nn.adaptive_max_pool2d(input, _filled(output_size, input, 2))


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: OptionalSizes, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Maxima of windows that cut the input in equal parts, and their positions."""
    return _nn.adaptive_max_pool3d(input, _filled(output_size, input, 3))


def adaptive_max_pool1d(
    input: Tensor, output_size: Size, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """Maxima of windows that cut the input in equal parts; with return_indices also where."""
    both = adaptive_max_pool1d_with_indices(input, output_size)
    return both if return_indices else both[0]


def adaptive_max_pool2d(
    input: Tensor, output_size: OptionalSizes, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """Maxima of windows that cut the input in equal parts; with return_indices also where."""
    both = adaptive_max_pool2d_with_indices(input, output_size)
    return both if return_indices else both[0]


def adaptive_max_pool3d(
    input: Tensor, output_size: OptionalSizes, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """Maxima of windows that cut the input in equal parts; with return_indices also where."""
    both = adaptive_max_pool3d_with_indices(input, output_size)
    return both if return_indices else both[0]


def _fractional(
    rank: int,
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None,
    output_ratio: float | Sequence[float] | None,
    samples: Tensor | None,
) -> tuple[Tensor, Tensor]:
    name = f"fractional_max_pool{rank}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        assert output_ratio is not None
        if isinstance(output_ratio, (int, float)):
            output_ratio = [output_ratio] * rank
        if len(output_ratio) > rank:
            raise ValueError(f"{name} requires output_ratio to be a number or {rank} of them")
        output_size = [
            int(size * ratio) for size, ratio in zip(input.shape[-rank:], output_ratio, strict=True)
        ]
    if samples is None:
        batch = 1 if input.dim() == rank + 1 else input.size(0)
        wide = _C.float64 if input.dtype == _C.float64 else _C.float32
        samples = _C.rand([batch, input.size(-rank - 1), rank], dtype=wide).to(input.dtype)
    pool = _nn.fractional_max_pool2d if rank == 2 else _nn.fractional_max_pool3d
    return pool(input, kernel_size, output_size, samples)


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Maxima of windows that start at random steps (Graham 2014), and their positions."""
    return _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Maxima of windows that start at random steps (Graham 2014), and their positions."""
    return _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Maxima of windows that start at random steps; output_size or its ratio to the input."""
    both = _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return both if return_indices else both[0]


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Maxima of windows that start at random steps; output_size or its ratio to the input."""
    both = _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return both if return_indices else both[0]


# --- and back -------------------------------------------------------------------------------------


def _list(value: Size, rank: int) -> list[int]:
    return [value] * rank if isinstance(value, int) else list(value)


def _unpooled_size(
    input: Tensor,
    rank: int,
    kernel_size: Size,
    stride: Size | None,
    padding: Size,
    output_size: Sequence[int] | None,
) -> list[int]:
    kernel = _list(kernel_size, rank)
    steps = kernel if stride is None else _list(stride, rank)
    pads = _list(padding, rank)
    if any(step <= 0 for step in steps):
        raise RuntimeError(f"strides should be greater than zero, but got stride: {steps}")
    default = [
        (size - 1) * step + window - 2 * pad
        for size, step, window, pad in zip(input.shape[-rank:], steps, kernel, pads, strict=True)
    ]
    if output_size is None:
        return default
    size = list(output_size)
    if len(size) == rank + 2:
        size = size[2:]
    if len(size) != rank:
        raise ValueError(
            "output_size should be a sequence containing "
            f"{rank} or {rank + 2} elements, but it has a length of '{len(size)}'"
        )
    for d in range(rank):
        low, high = default[d] - steps[d], default[d] + steps[d]
        if not low < size[d] < high:
            raise ValueError(
                f'invalid output_size "{size}" (dim {d} must be between {low} and {high})'
            )
    return size


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Zeros with the elements of input at the positions that max_pool1d gave."""
    size = _unpooled_size(input, 1, kernel_size, stride, padding, output_size)
    return _nn.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1]).squeeze(-1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Zeros with the elements of input at the positions that max_pool2d gave."""
    size = _unpooled_size(input, 2, kernel_size, stride, padding, output_size)
    return _nn.max_unpool2d(input, indices, size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Zeros with the elements of input at the positions that max_pool3d gave."""
    size = _unpooled_size(input, 3, kernel_size, stride, padding, output_size)
    return _nn.max_unpool3d(input, indices, size)


# --- power averages -------------------------------------------------------------------------------


def _root(mean: Tensor, count: float, p: float) -> Tensor:
    return (mean.sign() * mean.abs().relu()).mul(count).pow(1.0 / p)


def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: int,
    stride: Size | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """(sum x^p)^(1/p) of each window."""
    window = kernel_size if isinstance(kernel_size, int) else kernel_size[0]
    mean = avg_pool1d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _root(mean, window, norm_type)


def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: Size,
    stride: Size | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """(sum x^p)^(1/p) of each window."""
    mean = avg_pool2d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _root(mean, math.prod(_list(kernel_size, 2)), norm_type)


def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: Size,
    stride: Size | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """(sum x^p)^(1/p) of each window."""
    mean = avg_pool3d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _root(mean, math.prod(_list(kernel_size, 3)), norm_type)


# --- windows as columns ---------------------------------------------------------------------------


def unfold(
    input: Tensor, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1
) -> Tensor:
    """The windows of images (N, C, H, W) as columns: (N, C * KH * KW, windows)."""
    return _nn.im2col(input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor,
    output_size: Size,
    kernel_size: Size,
    dilation: Size = 1,
    padding: Size = 0,
    stride: Size = 1,
) -> Tensor:
    """Images of output_size from columns, which are added where their windows overlap."""
    return _nn.col2im(input, output_size, kernel_size, dilation, padding, stride)
