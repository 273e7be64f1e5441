"""Pooling modules: the largest element of each window.

To add one: a subclass that states its function's number of dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from . import functional as F
from .module import Module

Size = int | Sequence[int]


class _MaxPool(Module):
    _ndim = 0

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        dilation: Size = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: _C.Tensor) -> Any:
        """The pooled tensor; with return_indices also where in its plane each element was."""
        return getattr(F, f"max_pool{self._ndim}d")(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest element of each window of (N, C, L) or (C, L)."""

    _ndim = 1


class MaxPool2d(_MaxPool):
    """The largest element of each window of (N, C, H, W) or (C, H, W)."""

    _ndim = 2


class MaxPool3d(_MaxPool):
    """The largest element of each window of (N, C, D, H, W) or (C, D, H, W)."""

    _ndim = 3
