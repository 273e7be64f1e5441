"""Dropout and its kin: modules that zero a part of their input while training.

To add one: a subclass of _Dropout whose forward calls the function of nn.functional.
"""

from __future__ import annotations

from .. import _C
from . import functional as F
from .module import Module


class _Dropout(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """While training, zeroes each element with probability p and divides the rest by 1 - p."""

    def forward(self, input: _C.Tensor) -> _C.Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Dropout):
    """Dropout of whole channels of (N, C, L) or (C, L)."""

    def forward(self, input: _C.Tensor) -> _C.Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """Dropout of whole channels of (N, C, H, W)."""

    def forward(self, input: _C.Tensor) -> _C.Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input: _C.Tensor) -> _C.Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropout):
    """Dropout that keeps mean 0 and variance 1 of its input, for networks of SELU."""

    def forward(self, input: _C.Tensor) -> _C.Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_Dropout):
    """AlphaDropout of whole channels of (N, C, *)."""

    def forward(self, input: _C.Tensor) -> _C.Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
