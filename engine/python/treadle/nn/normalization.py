"""Modules that normalise over the batch (BatchNorm) or over groups of channels (GroupNorm)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import _C
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


class _BatchNorm(Module):
    _version = 2  # the first had no num_batches_tracked
    _ranks: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: _C.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            value = _C.empty(num_features, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if value is None else Parameter(value))
        self.running_mean: _C.Tensor | None
        self.running_var: _C.Tensor | None
        self.num_batches_tracked: _C.Tensor | None
        if track_running_stats:
            self.register_buffer("running_mean", _C.zeros(num_features, device=device, dtype=dtype))
            self.register_buffer("running_var", _C.ones(num_features, device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked", _C.tensor(0, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        if self.running_mean is not None and self.running_var is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            assert self.num_batches_tracked is not None
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: _C.Tensor) -> _C.Tensor:
        if input.dim() not in self._ranks:
            expected = " or ".join(f"{n}D" for n in self._ranks)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean over all batches so far
                factor = 1.0 / float(self.num_batches_tracked)
        tracked = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if tracked else None,
            self.running_var if tracked else None,
            self.weight,
            self.bias,
            self.training or (self.running_mean is None and self.running_var is None),
            factor,
            self.eps,
        )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        *args: Any,
    ) -> None:
        key = prefix + "num_batches_tracked"
        if (local_metadata.get("version") or 0) < 2 and self.track_running_stats:
            if key not in state_dict:
                state_dict = {**state_dict, key: _C.tensor(0)}
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class BatchNorm1d(_BatchNorm):
    """Mean 0 and variance 1 of each channel of (N, C) or (N, C, L), then * weight + bias.

    While training the statistics are the batch's, and running_mean and running_var follow them:
    (1 - momentum) * running + momentum * batch's (momentum None: the mean over all batches).
    In evaluation the running ones are used, or the batch's if track_running_stats is False.
    affine: whether there are weight and bias; bias=False leaves the latter out.
    ValueError for an input of other dimensions.
    """

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """As BatchNorm1d, over (N, C, H, W)."""

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """As BatchNorm1d, over (N, C, D, H, W)."""

    _ranks = (5,)


class GroupNorm(Module):
    """Mean 0 and variance 1 over each of num_groups groups of the channels of (N, C, *), for each
    example; then * weight + bias, which are (C) (none with affine=False, no bias with bias=False).
    ValueError if num_groups doesn't divide C."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: _C.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            value = _C.empty(num_channels, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if value is None else Parameter(value))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: _C.Tensor) -> _C.Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )
