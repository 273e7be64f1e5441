"""Resampling and padding: the part of nn.functional that moves pixels.

Images are (N, C, *) with one to three spatial dimensions.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

from .. import _C

__all__ = [
    "affine_grid",
    "channel_shuffle",
    "grid_sample",
    "interpolate",
    "native_channel_shuffle",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

Tensor = _C.Tensor
_nn = _C._nn

pixel_shuffle = _C.pixel_shuffle
pixel_unshuffle = _C.pixel_unshuffle
channel_shuffle = _C.channel_shuffle
native_channel_shuffle = _C.native_channel_shuffle


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Padded by pad = (before, after) of the last dimension, then of the one before it, ...

    mode: "constant" (with value, 0 by default; any number of dimensions), "reflect", "replicate"
    or "circular" (all spatial dimensions). Negative numbers cut off. RuntimeError where the
    padding doesn't fit the input, NotImplementedError for other shapes.
    """
    return _nn.pad(input, list(pad), mode, value)


# --- interpolation --------------------------------------------------------------------------------

_SMOOTH = ("linear", "bilinear", "bicubic", "trilinear")
_RESIZE = {
    (3, "nearest"): "upsample_nearest1d",
    (4, "nearest"): "upsample_nearest2d",
    (5, "nearest"): "upsample_nearest3d",
    (3, "nearest-exact"): "_upsample_nearest_exact1d",
    (4, "nearest-exact"): "_upsample_nearest_exact2d",
    (5, "nearest-exact"): "_upsample_nearest_exact3d",
    (3, "linear"): "upsample_linear1d",
    (4, "bilinear"): "upsample_bilinear2d",
    (5, "trilinear"): "upsample_trilinear3d",
    (4, "bicubic"): "upsample_bicubic2d",
}
_AREA = {3: "adaptive_avg_pool1d", 4: "adaptive_avg_pool2d", 5: "adaptive_avg_pool3d"}


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Images of another size.

    size or scale_factor: one for all spatial dimensions or one for each. mode: "nearest",
    "nearest-exact", "area", "linear" (3-D input), "bilinear" and "bicubic" (4-D), "trilinear"
    (5-D). align_corners (of the last four): the centres of the corner pixels coincide, not the
    corners. antialias (bilinear and bicubic): the filter widens when the image shrinks.
    """
    if mode not in _SMOOTH:
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | "
                "bilinear | bicubic | trilinear"
            )
    elif align_corners is None:
        align_corners = False
    rank = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    scales: list[float] | None = None
    if size is not None:
        if isinstance(size, (list, tuple)):
            if len(size) != rank:
                raise ValueError(
                    "Input and output must have the same number of spatial dimensions, but got "
                    f"input with spatial dimensions of {list(input.shape[2:])} and output size of "
                    f"{size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
                    "output size in (o1, o2, ...,oK) format."
                )
            sizes = [int(s) for s in size]
        else:
            sizes = [int(size)] * rank  # type: ignore[call-overload]
    elif scale_factor is not None:
        if isinstance(scale_factor, (list, tuple)):
            if len(scale_factor) != rank:
                raise ValueError(
                    "Input and scale_factor must have the same number of spatial dimensions, but "
                    f"got input with spatial dimensions of {list(input.shape[2:])} and "
                    f"scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, "
                    "d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format."
                )
            scales = [float(s) for s in scale_factor]
        else:
            scales = [float(scale_factor)] * rank  # type: ignore[arg-type]
        sizes = [math.floor(float(n) * s) for n, s in zip(input.shape[2:], scales, strict=True)]
    else:
        raise ValueError("either size or scale_factor should be defined")
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if mode == "area" or recompute_scale_factor:
        scales = None
    if antialias and not (mode in ("bilinear", "bicubic") and input.dim() == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D "
            "tensor as input"
        )
    if mode == "area" and input.dim() in _AREA:
        pool = getattr(_C if input.dim() == 3 else _nn, _AREA[input.dim()])
        return pool(input, sizes)
    name = _RESIZE.get((input.dim(), mode))
    if name is None:
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | "
            f"area | nearest-exact (got {mode})"
        )
    if mode not in _SMOOTH:
        return getattr(_nn, name)(input, sizes, scales)
    if antialias:
        name = f"_{name}_aa"
    return getattr(_nn, name)(input, sizes, align_corners, scales)


def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """interpolate(), under its former name."""
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """interpolate(mode="nearest"), under its former name."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """interpolate(mode="bilinear", align_corners=True), under its former name."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# --- grids ----------------------------------------------------------------------------------------

_SAMPLING = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_OUTSIDE = {"zeros": 0, "border": 1, "reflection": 2}


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """input (N, C, *) at the points of grid (N, *, d), of which -1 and 1 are the borders.

    The last entries of a point are (x, y) or (x, y, z): x counts along the last dimension. mode:
    "bilinear", "nearest" or "bicubic"; padding_mode, for points outside: "zeros", "border" or
    "reflection".
    """
    if mode not in _SAMPLING:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in _OUTSIDE:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
            "1.3.0. Please specify align_corners=True if the old behavior is desired.",
            stacklevel=2,
        )
        align_corners = False
    return _C.grid_sampler(input, grid, _SAMPLING[mode], _OUTSIDE[padding_mode], align_corners)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The points of images of `size` under affine maps theta (N, d, d + 1), for grid_sample."""
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
            "1.3.0. Please specify align_corners=True if the old behavior is desired.",
            stacklevel=2,
        )
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {tuple(size)}."
        )
    d = len(size) - 2
    if theta.dim() != 3 or theta.size(-2) != d or theta.size(-1) != d + 1:
        raise ValueError(
            f"Expected a batch of {d}D affine matrices of shape Nx{d}x{d + 1} for size "
            f"{tuple(size)}. Got {tuple(theta.shape)}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {tuple(size)}")
    return _C.affine_grid_generator(theta, list(size), align_corners)
