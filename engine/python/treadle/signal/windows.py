"""Windows of M numbers for signal processing, float32 or float64.

A symmetric window (`sym=True`, for filters) ends where it began; a periodic one (for spectra) is
the symmetric one of M + 1 numbers without its last. `requires_grad` marks the result. A negative M,
another dtype or a parameter out of its range raises ValueError.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import treadle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._C import Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


class _Window:
    """What all windows do with their common arguments."""

    def __init__(self, name, M, sym, dtype, layout, device, requires_grad):
        self.dtype = treadle.get_default_dtype() if dtype is None else dtype
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        if layout is not None and layout is not getattr(treadle, "strided", layout):
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        if self.dtype not in (treadle.float32, treadle.float64):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {self.dtype}")
        self.M, self.device, self.requires_grad = M, device, requires_grad
        # The numbers of the symmetric window, less one.
        self.last = M if not sym and M > 1 else M - 1

    def at(self, start: float, step: float) -> Tensor:
        """start, start + step, ...: M numbers."""
        if self.M == 0:
            return treadle.empty(0, dtype=self.dtype, device=self.device)
        end = start + (self.M - 1) * step
        return treadle.linspace(start, end, self.M, dtype=self.dtype, device=self.device)

    def ones(self) -> Tensor:
        return self.done(treadle.ones(self.M, dtype=self.dtype, device=self.device))

    def done(self, window: Tensor) -> Tensor:
        return window.requires_grad_(True) if self.requires_grad else window


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: treadle.dtype | None = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """e^(-|i - center| / tau); center defaults to the middle and is for periodic windows only."""
    w = _Window("exponential", M, sym, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = w.last / 2 if center is None else center
    return w.done((-w.at(-middle / tau, 1 / tau).abs()).exp())


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: treadle.dtype | None = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """sin(pi (i + 1/2) / M): half a wave."""
    w = _Window("cosine", M, sym, dtype, layout, device, requires_grad)
    step = math.pi / max(w.last + 1, 1)
    return w.done(w.at(step / 2, step).sin())


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: treadle.dtype | None = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """e^(-((i - middle) / std)^2 / 2)."""
    w = _Window("gaussian", M, sym, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    step = 1 / (std * math.sqrt(2))
    return w.done((-w.at(-w.last / 2 * step, step).square()).exp())


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: treadle.dtype | None = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """i0(beta sqrt(1 - x^2)) / i0(beta), x from -1 to 1."""
    w = _Window("kaiser", M, sym, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M <= 1:
        return w.ones()
    x = w.at(-1.0, 2 / w.last)
    top = treadle.tensor(float(beta), dtype=w.dtype).i0()
    return w.done((beta * (1 - x * x).clamp(min=0).sqrt()).i0() / top)


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: treadle.dtype | None = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """1 - |x|, x from -1 to 1: a triangle."""
    w = _Window("bartlett", M, sym, dtype, layout, device, requires_grad)
    if M <= 1:
        return w.ones()
    return w.done(1 - w.at(-1.0, 2 / w.last).abs())


def _cosines(w: _Window, a: Sequence[float]) -> Tensor:
    if w.M <= 1:
        return w.ones()
    i = w.at(0.0, 2 * math.pi / w.last)
    total = treadle.full_like(i, a[0])
    for k in range(1, len(a)):
        total = total + (-a[k] if k % 2 else a[k]) * (i * k).cos()
    return w.done(total)


def general_cosine(
    M: int,
    *,
    a: Sequence[float],
    sym: bool = True,
    dtype: treadle.dtype | None = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """The sum of (-1)^k a[k] cos(2 pi k i / (M - 1))."""
    w = _Window("general_cosine", M, sym, dtype, layout, device, requires_grad)
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _cosines(w, a)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: treadle.dtype | None = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """alpha - (1 - alpha) cos(2 pi i / (M - 1))."""
    w = _Window("general_hamming", M, sym, dtype, layout, device, requires_grad)
    return _cosines(w, (alpha, 1 - alpha))


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: treadle.dtype | None = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """0.54 - 0.46 cos(2 pi i / (M - 1))."""
    w = _Window("hamming", M, sym, dtype, layout, device, requires_grad)
    return _cosines(w, (0.54, 0.46))


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: treadle.dtype | None = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """(1 - cos(2 pi i / (M - 1))) / 2."""
    w = _Window("hann", M, sym, dtype, layout, device, requires_grad)
    return _cosines(w, (0.5, 0.5))


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: treadle.dtype | None = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """0.42 - 0.5 cos(t) + 0.08 cos(2 t), t = 2 pi i / (M - 1)."""
    w = _Window("blackman", M, sym, dtype, layout, device, requires_grad)
    return _cosines(w, (0.42, 0.5, 0.08))


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: treadle.dtype | None = None,
    layout: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Nuttall's minimum four-term window: general_cosine with his coefficients."""
    w = _Window("nuttall", M, sym, dtype, layout, device, requires_grad)
    return _cosines(w, (0.3635819, 0.4891775, 0.1365995, 0.0106411))
