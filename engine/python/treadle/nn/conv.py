"""Convolutions over 1, 2 and 3 dimensions.

They share _Conv: a subclass states its number of dimensions and its function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _C
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

Size = int | Sequence[int]


def _tuple(value: Any, n: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, Sequence) else (value,) * n


class _Conv(Module):
    _ndim = 0

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        super().__init__()
        n = self._ndim
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(
                "padding_mode must be one of {'zeros', 'reflect', 'replicate', 'circular'}, but "
                f"got padding_mode='{padding_mode}'"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _tuple(kernel_size, n)
        self.stride = _tuple(stride, n)
        self.padding = padding if isinstance(padding, str) else _tuple(padding, n)
        self.dilation = _tuple(dilation, n)
        self.groups = groups
        self.padding_mode = padding_mode
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}"
                )
            if padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        self.weight = Parameter(
            _C.empty(
                (out_channels, in_channels // groups, *self.kernel_size), device=device, dtype=dtype
            )
        )
        if bias:
            self.bias: Parameter | None = Parameter(
                _C.empty(out_channels, device=device, dtype=dtype)
            )
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Both uniform in ±1 / sqrt(fan in), PyTorch's default."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = self.weight.shape[1] * math.prod(self.kernel_size)
            if fan_in:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def _margins(self) -> list[int]:
        """The padding in F.pad's order: before and after, the last dimension first."""
        if self.padding == "valid":
            return [0] * (2 * self._ndim)
        made: list[int] = []
        for k in reversed(range(self._ndim)):
            if self.padding == "same":
                total = self.dilation[k] * (self.kernel_size[k] - 1)
                made += [total // 2, total - total // 2]
            else:
                made += [int(self.padding[k])] * 2
        return made

    def forward(self, input: _C.Tensor) -> _C.Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._margins(), mode=self.padding_mode), 0
        function: Any = getattr(F, f"conv{self._ndim}d")
        result: _C.Tensor = function(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )
        return result

    def extra_repr(self) -> str:
        n = self._ndim
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        if self.padding != (0,) * n:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * n:
            text += f", dilation={self.dilation}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class Conv1d(_Conv):
    """Cross-correlation of (N, C_in, L) or (C_in, L) with C_out filters of one dimension.

    weight (C_out, C_in / groups, kernel_size) and bias (C_out) are uniform in ±1 / sqrt(fan in).
    padding: a number on both sides, "valid" (none) or "same" (as long as the input; stride 1 only);
    padding_mode: "zeros", "reflect", "replicate" or "circular". ValueError for groups that don't
    divide the channels.
    """

    _ndim = 1


class Conv2d(_Conv):
    """As Conv1d, over (N, C_in, H, W) or (C_in, H, W)."""

    _ndim = 2


class Conv3d(_Conv):
    """As Conv1d, over (N, C_in, D, H, W) or (C_in, D, H, W)."""

    _ndim = 3
