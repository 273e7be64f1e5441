"""What the program was built with and can run on: treadle.backends.NAME.is_available().

This build has the CPU alone. To add a backend: a `_Backend` here.
"""

from __future__ import annotations


class _Backend:
    """One library or device that PyTorch programs ask for."""

    def __init__(self, name: str, available: bool = False) -> None:
        self.__name__ = "treadle.backends." + name
        self._available = available
        self.enabled = available

    def is_available(self) -> bool:
        return self._available

    def is_built(self) -> bool:
        return self._available

    def version(self) -> None:
        """None: the library isn't there."""
        return None

    def __repr__(self) -> str:
        return f"<{self.__name__}: {'available' if self._available else 'not available'}>"


cpu = _Backend("cpu", True)
cuda = _Backend("cuda")
cudnn = _Backend("cudnn")
mkl = _Backend("mkl")
mkldnn = _Backend("mkldnn")
mps = _Backend("mps")
openmp = _Backend("openmp")
quantized = _Backend("quantized")
xeon = _Backend("xeon")
