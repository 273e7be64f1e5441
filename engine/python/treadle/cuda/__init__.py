"""CUDA, as far as a build without it can answer: there is no device."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """Whether tensors can be on a CUDA device: never in this build."""
    return False


def device_count() -> int:
    return 0


def is_initialized() -> bool:
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return False


def manual_seed(seed: int) -> None:
    """Nothing: there is no device whose generator could be seeded."""


def manual_seed_all(seed: int) -> None:
    """Nothing: there is no device whose generator could be seeded."""


def synchronize(device: Any = None) -> None:
    """Raises RuntimeError: there is no device."""
    raise RuntimeError("this build of treadle has only the cpu device")


def current_device() -> int:
    """Raises RuntimeError: there is no device."""
    raise RuntimeError("this build of treadle has only the cpu device")
